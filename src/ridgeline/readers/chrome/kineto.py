"""What the categories and names of PyTorch's traces mean, of all generations and vendors.

This module decides the class of an event from its category, and, within some classes, its kind from its name: the only place that looks at names.
Sources: pytorch/kineto, libkineto/include/ActivityType.h and libkineto/src/output_json.cpp (categories, arguments); torch/csrc/autograd/profiler
(`ProfilerStep#`, `enumerate(DataLoader)`); NVIDIA, CUDA Runtime and Driver API, and AMD, HIP Runtime API (which calls wait); names of collective
kernels as NCCL, RCCL and oneCCL give them.
"""

from __future__ import annotations

import re

from ridgeline.core.timeline import EVENT_KINDS

__all__ = ["CLASSES", "FOUND", "KIND", "REPEATED", "Class", "class_of", "kind_of_name"]

#: Kind → its number in a timeline's `kind`.
KIND = {kind: number for number, kind in enumerate(EVENT_KINDS)}

#: Categories of what ridgeline found, in the files that it writes: of the program they are no events.
FOUND = frozenset(("ridgeline.findings", "ridgeline.gaps", "ridgeline.path"))

#: Categories of arrows that only repeat what correlations say.
REPEATED = frozenset(("ac2g", "async_gpu", "async_cpu_to_gpu"))


class Class:
    """How the events of a category are treated.

    Args:
        kind: of its events, unless their names say more.
        where: `thread`; `queue` (device work); `annotations` or `syncs` (lanes beside a queue); `ranges` (beside a thread).
        args: whether the arguments of its events are looked at.
        unit: what its device is called where the file does not say.
    """

    def __init__(self, kind: str, where: str = "thread", args: bool = False, unit: str = "GPU") -> None:
        self.kind = KIND[kind]
        self.where = where
        self.args = args
        self.unit = unit
        self.number = -1


_RUNTIME = Class("runtime", args=True)
_WORK = Class("compute", "queue", True)
_OPERATOR = Class("operator", args=True)
_MTIA = Class("compute", "queue", True, "MTIA")
_OTHER = Class("other", args=True)
CLASSES = {
    "": _OTHER,
    "cpu_op": _OPERATOR,
    "operator": _OPERATOR,
    "user_annotation": Class("annotation", args=True),
    "python_function": Class("python"),
    "python": Class("python"),
    "fee": Class("python"),  # viztracer
    "cuda_runtime": _RUNTIME,
    "cuda_driver": _RUNTIME,
    "runtime": _RUNTIME,
    "hip_runtime": _RUNTIME,
    "mtia_runtime": _RUNTIME,
    "glow_runtime": _RUNTIME,
    "xpu_runtime": _RUNTIME,
    "xpu_driver": _RUNTIME,
    "privateuse1_runtime": _RUNTIME,
    "privateuse1_driver": _RUNTIME,
    "kernel": _WORK,
    "concurrent_kernel": _WORK,
    "gpu_memcpy": Class("copy", "queue", True),
    "memcpy": Class("copy", "queue", True),
    "gpu_memset": Class("fill", "queue", True),
    "memset": Class("fill", "queue", True),
    "collective_comm": Class("communication", "queue", True),
    "mtia_ccp_events": _MTIA,
    "mtia_workloadd": _MTIA,
    "hpu_op": Class("compute", "queue", True, "HPU"),
    "gpu_user_annotation": Class("annotation", "annotations", True),
    "cuda_sync": Class("sync", "syncs", True),
    "xpu_sync": Class("sync", "syncs", True, "XPU"),
    "cuda_profiler_range": Class("annotation"),
    "mtia_insight": Class("annotation"),
    "overhead": Class("profiler"),
    "trace": Class("annotation"),
    # What ridgeline itself writes: kinds that no category of PyTorch's says.
    **{f"ridgeline.{kind}": Class(kind, args=True) for kind in EVENT_KINDS},
    **{f"ridgeline.device.{kind}": Class(kind, "queue", True) for kind in EVENT_KINDS},
    **{f"ridgeline.ranges.{kind}": Class(kind, "ranges", True) for kind in EVENT_KINDS},
    **{f"ridgeline.device.ranges.{kind}": Class(kind, "annotations", True) for kind in EVENT_KINDS},
}
for _number, _class in enumerate(dict.fromkeys(CLASSES.values())):
    _class.number = _number

_STEP = re.compile(r"^ProfilerStep#?\s*\d+")
_INPUT = re.compile(r"^(?:enumerate\()?(?:DataLoader|_(?:Single|Multi)ProcessDataLoaderIter|.*\bDataLoader\b.*__next__)")
_BLOCKS = re.compile(
    r"Synchronize|^(?:synchronize|synchronizeStream|synchronizeEvent)$|^(?:cu|cuda|hip)Memcpy(?!.*(?:Async|Peer|Batch))"
    r"|^(?:ur|pi)(?:EventWait|EventsWait|QueueFinish)$|^zeEventHost|HostSynchronize"
)
_COLLECTIVE = re.compile(
    r"^nccl|^rccl|\bnccl(?:Dev)?Kernel|oneccl|^ccl_|\bmscclKernel|::all_reduce_(?:one|two)_shot|cross_device_reduce_|\bmultimem_all_", re.IGNORECASE
)
_COPY = re.compile(r"^(?:mem(?:cpy|ory copy)|dma_request$|CopyDeviceToHost|CopyHostToDevice|CopyDeviceToDevice)", re.IGNORECASE)
_FILL = re.compile(r"^memset|^fillBuffer|__amd_rocclr_fillBuffer", re.IGNORECASE)
_MTIA_SYNC = re.compile(r"^event_(?:wait|record)$")


def class_of(category: object) -> Class | None:
    """The class of a category; `None` where nobody knows it. Of several joined by commas the first known one counts."""
    text = category.lower() if isinstance(category, str) else ""
    found = CLASSES.get(text)
    if found is None and "," in text:
        found = next((known for part in text.split(",") if (known := CLASSES.get(part.strip())) is not None), None)
    return found


def kind_of_name(kind: int, name: str) -> int:
    """The kind of an event of a class, where its name says more than its category."""
    if kind == KIND["compute"]:
        return _of_work(name)
    if kind in (KIND["annotation"], KIND["operator"]):
        if _STEP.match(name):
            return KIND["iteration"]
        return KIND["input"] if _INPUT.match(name) else kind
    if kind == KIND["runtime"] and _BLOCKS.search(name):
        return KIND["wait"]
    return kind


def _of_work(name: str) -> int:
    if _COLLECTIVE.search(name):
        return KIND["communication"]
    if _MTIA_SYNC.match(name):
        return KIND["sync"]
    if _COPY.match(name):
        return KIND["copy"]
    return KIND["fill"] if _FILL.match(name) else KIND["compute"]
