"""What kind of event a name stands for, where a format gives no more than the name: kernels, calls of CUDA, HIP and HSA, system calls, ranges.

This module decides it once for the readers of Nsight Systems, rocprof, rocpd, Perfetto and XSpace; analyses look at kinds only.
"""

from __future__ import annotations

import functools
import re

__all__ = ["bare_call", "bare_kernel", "call_kind", "device_kind", "iteration_of", "system_call_kind"]

_COLLECTIVE = re.compile(
    r"nccl|rccl|nvshmem|msccl|deep_?ep|all[_-]?reduce|all[_-]?gather|all[_-]?to[_-]?all|reduce[_-]?scatter|collective[_-]?permute|cross_device_reduce|(?:one|two)_?shot_all",
    re.IGNORECASE,
)
_COPY = re.compile(r"^(?:memcpy|(?:__amd_rocclr_|hip)?copy_?buffer|hsa.*copy)|__amd_rocclr_copy|^memory_?copy", re.IGNORECASE)
_FILL = re.compile(r"^memset|__amd_rocclr_fill|fillbuffer", re.IGNORECASE)
_VERSION = re.compile(r"(?:_v\d{4,5})?(?:_pt[sd][sz])?$")
#: Calls that return when something else is done. A plain copy returns when it has been made; an `Async` one need not.
_WAITS = re.compile(
    r"^(?:cuda|cu|hip)(?:Device|Ctx|Stream|Event|Graph)?(?:Module)?Synchronize"
    r"|^(?:cuda|cu|hip)Memcpy(?!.*Async)(?:$|_|[1-3A-Z])|^(?:cuda|hip)Memset(?!.*Async)(?:$|[1-3]D$)"
    r"|^hsa_signal_wait|^hipExtWait|^cuMemHostWait",
)
_BLOCKING = re.compile(
    r"wait|poll|select|sleep|^futex|^sem_|pthread_(?:join|mutex_(?:timed)?lock|rwlock_\w*lock|barrier)|^join|^pause|^sigsuspend|^flock|^lockf",
    re.IGNORECASE,
)
_READING = re.compile(
    r"^(?:p?readv?2?(?:64)?|f?read(?:_unlocked)?|fgets|getline|recv(?:from|msg|mmsg)?|open(?:at)?(?:64)?|mmap(?:64)?|fopen(?:64)?)$"
)
_ITERATION = re.compile(
    r"^(?:ProfilerStep\s*#|(?:(?:train(?:ing)?|eval|inference)[ _:.-]*)?(?:step|iter(?:ation)?|batch)(?:[ _]?num)?[ _#:=.-]*)(\d{1,12})$",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=2**16)
def device_kind(name: str) -> str:
    """Of a kernel by its name: `communication`, `copy`, `fill`, or `compute`."""
    start = name[:2000]
    if _COLLECTIVE.search(start):
        return "communication"
    if _COPY.search(start):
        return "copy"
    return "fill" if _FILL.search(start) else "compute"


def bare_kernel(name: str) -> str:
    """The name of a kernel without what AMD's loader adds: `axpy(float*) [clone .kd]` is `axpy(float*)`."""
    return name.removesuffix(" [clone .kd]").removesuffix(" (.kd)").removesuffix(".kd")


def bare_call(name: str) -> str:
    """The name of a call of a device's library without the version of its symbol: `cudaLaunchKernel_v7000` is `cudaLaunchKernel`."""
    return _VERSION.sub("", name, count=1)


@functools.lru_cache(maxsize=2**12)
def call_kind(name: str) -> str:
    """Of a call of a device's library: `wait` where it returns only when something else is done, else `runtime`."""
    return "wait" if _WAITS.search(name) else "runtime"


@functools.lru_cache(maxsize=2**12)
def system_call_kind(name: str) -> str:
    """Of a call of the operating system: `wait`, `input`, or `other`."""
    if _READING.search(name):
        return "input"
    return "wait" if _BLOCKING.search(name) else "other"


@functools.lru_cache(maxsize=2**16)
def iteration_of(name: str) -> int:
    """The number of the step that a range's name says, or −1: `ProfilerStep#5`, `step 12`, `iteration_3`."""
    found = _ITERATION.match(name.strip())
    return int(found[1]) if found else -1
