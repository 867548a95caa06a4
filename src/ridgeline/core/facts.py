"""The facts that a diagnosis stands on: what was measured and counted, per level, and nothing that was concluded.

`Facts` is what `diagnosis.next` reads and what a stored `Run` carries, so that every verdict can be replayed.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .caution import Caution
from .cold import ColdStart
from .column import Column
from .core_to_core import CoreToCore
from .device import Device, Engine
from .expected import ExpectedTable
from .graph import Placement
from .partitions import PartitionTable
from .primitives import PrimitiveTable
from .quantity import Quantity
from .relayout import Relayout
from .samples import Samples
from .site import Site
from .stages import StageTable
from .target_info import TargetInfo
from .trials import ChangeTrial, Untried
from .waits import WaitTable

__all__ = [
    "BufferUse",
    "Caution",
    "ClockState",
    "Counters",
    "DispatchFit",
    "Facts",
    "HotSpot",
    "HotSpots",
    "LevelRecord",
    "Machine",
    "OpTable",
    "OperatorRow",
    "Sentinels",
    "TargetInfo",
    "WallSplit",
]


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The host, as far as it can be seen without privilege.

    Args:
        cpu_model, architecture, kernel: as the system names them.
        isa: instruction sets usable by `_native`.
        cpus_online: logical CPUs of the machine.
        cpus_allowed: logical CPUs this process may run on.
        quota_cpus: CPU quota of the container in CPUs, null if none.
        threads_per_core: 2 with hyper-threads, null if not visible.
        memory_bytes: physical memory or the container's limit, the smaller.
        hypervisor: name, or empty on bare metal.
        container: whether this process runs in one, null if not visible.
        governor: cpufreq governor, null if not visible.
        fingerprint: digest of what decides speed; the key of the probe's cache.
    """

    cpu_model: str
    architecture: str
    kernel: str
    isa: tuple[str, ...]
    cpus_online: int
    cpus_allowed: tuple[int, ...]
    memory_bytes: int
    fingerprint: str
    quota_cpus: float | None = None
    threads_per_core: int | None = None
    hypervisor: str = ""
    container: bool | None = None
    governor: str | None = None

    @property
    def description(self) -> str:
        """For a person: under this text the same machine is the same in every record."""
        return f"{self.cpu_model}, {self.cpus_usable} CPUs usable"

    @property
    def cpus_usable(self) -> int:
        """Whole CPUs that affinity and quota leave: what `all threads` means here, at least 1."""
        allowed = len(self.cpus_allowed)
        return max(1, allowed if self.quota_cpus is None else min(allowed, int(self.quota_cpus + 0.5)))


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """State of the clocks while measuring: governor, frequency in Hz, whether throttling was seen, share of time stolen by the hypervisor.

    `core_to_core`: how far apart the hypervisor had put the cores; null where nobody looked.
    """

    governor: str | None = None
    hz: float | None = None
    throttled: bool | None = None
    steal: float | None = None
    core_to_core: CoreToCore | None = None


class Sentinels(msgspec.Struct, frozen=True, kw_only=True):
    """The ceilings of the moment, from short FMA and stream loops interleaved with the samples.

    Args:
        fma_ratio, stream_ratio: rate now ÷ rate in the probe; 1 is undisturbed.
        run_queue_share: share of the wall in which the calling thread was runnable but waiting.
        steal_share: share of CPU time taken by the hypervisor; null if not visible.
        involuntary_per_s: involuntary context switches per second of measuring.
        other_load: CPUs kept busy by other processes while measuring; null if not visible.
    """

    fma_ratio: Quantity | None = None
    stream_ratio: Quantity | None = None
    run_queue_share: float | None = None
    steal_share: float | None = None
    involuntary_per_s: float | None = None
    other_load: float | None = None


class WallSplit(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the wall of one call, as Quantities in unit 1; they sum to 1.

    Args:
        blocked: the calling thread slept and no other thread of the process worked for it.
        waiting: runnable but not running.
        system: in the kernel.
        interpreter: in the Python interpreter, or in framework dispatch.
        kernels: in native user code, including what worker threads did while the caller waited for them.
        python_samples: stack samples this rests on, 0 if none were taken.
        how: the instruments used, for a person.
    """

    blocked: Quantity
    waiting: Quantity
    system: Quantity
    interpreter: Quantity
    kernels: Quantity
    python_samples: int = 0
    how: str = ""


class BufferUse(msgspec.Struct, frozen=True, kw_only=True):
    """A buffer an operator touches: identity within one call of the target, bytes touched, whether it is a weight or a fresh allocation.

    `persistent`: it was there before the call and the call never writes it, so it is the same in every call; every constant is persistent too.
    `stride_bytes`: step between elements that the operator visits one after the other, where that is more than their size; null where they lie
    side by side.
    `span_bytes`: distinct bytes of the buffer that all executions of one call touch together; null where every execution touches the same.
    `reuse_bytes`: distinct bytes touched since these were last touched, these included (mean over the executions of a call, by logarithm); null
    where only the order of the rows says.
    """

    buffer: int
    size_bytes: int
    constant: bool = False
    fresh: bool = False
    persistent: bool = False
    stride_bytes: int | None = None
    span_bytes: int | None = None
    reuse_bytes: int | None = None


class OperatorRow(msgspec.Struct, frozen=True, kw_only=True):
    """One operator site, per call of the target, in order of first execution.

    Args:
        name: node name, or `kind@file:line`.
        kind: operator type, such as `Conv`, `aten::addmm`, `numpy.add`.
        calls: executions in one call of the target (may be fractional when it varies).
        total_s: exclusive seconds in one call of the target, all executions together.
        flop: operations of one call of the target on `engine`; null if unknown.
        engine: arithmetic engine; null for pure data movement or unknown work.
        reads, writes: buffers of one execution; null if unknown.
        group: what the kind does: `elementwise`, `matmul`, `convolution`, `reduction`, `movement`, `copy`, `view`, `attention`, `normalisation`,
            `gather`, `sort`, `random`, `allocation`, `python` (the interpreter at work, callbacks included), `blocking` (asleep in a wait), `other`.
        placement: where and how it ran.
        site: source line that called it, where known.
        after: rows whose result it reads, as indices into the table.
        shapes: for display, such as `f32[1,64,112,112]`.
        inserted: whether the framework added it (reorders, casts) and the model does not name it.
        reason: why work is unknown.
        distinct: executions of one call that differ in what they are given; null if not known. Fewer than `calls` is work done twice.
        objects: Python objects in the containers that one execution was given or gave back; null if not counted.
    """

    name: str
    kind: str
    calls: float
    total_s: Quantity
    flop: float | None = None
    engine: Engine | None = None
    reads: tuple[BufferUse, ...] | None = None
    writes: tuple[BufferUse, ...] | None = None
    group: str = "other"
    placement: Placement = Placement()
    site: Site | None = None
    after: tuple[int, ...] = ()
    shapes: str = ""
    inserted: bool = False
    reason: str = ""
    distinct: float | None = None
    objects: float | None = None


class OpTable(msgspec.Struct, frozen=True, kw_only=True):
    """Operators of one call of the target and what their profile cost.

    Args:
        rows: the operators.
        instrument: how they were taken.
        wall_s: wall of the instrumented calls, per call.
        operators_s: union of operator intervals, per call.
        iterations: instrumented calls.
        check_wall_s: the same wall by an independent timer, null if there was none.
        python_calls: calls, operators and subscripts of the user's own code that no array takes part in, per call; null if not counted.
    """

    rows: tuple[OperatorRow, ...]
    instrument: str
    wall_s: Quantity
    operators_s: Quantity
    iterations: int
    check_wall_s: float | None = None
    python_calls: float | None = None


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Event counts, each with the fraction of time it was really counted (shape (n,) each).

    `units`: of each, for what is no count (`s` of clocks, `J` of energy); empty where all are counts. `deviation`: relative standard error of each
    over repeated runs, shape (n,); null where it ran once.
    """

    names: tuple[str, ...]
    counts: Column
    counted_fraction: Column
    instrument: str = ""
    units: tuple[str, ...] = ()
    deviation: Column | None = None


class HotSpot(msgspec.Struct, frozen=True, kw_only=True):
    """A leaf place with its samples; `state` is `interpreter`, `native`, `blocked` or `unknown`.

    `call`: the library function that the line was found in, as it is written there, where the program calls it once; empty where it is called in a
    loop, or that is not known.
    `again`: how the program comes to that line more than once in a call: `loop` around it or around a call that led there, `recursion`, `no`; empty
    where that is not known.
    """

    site: Site
    samples: int
    state: str = "unknown"
    library: str = ""
    call: str = ""
    again: Literal["loop", "recursion", "no", ""] = ""


class HotSpots(msgspec.Struct, frozen=True, kw_only=True):
    """Sampled stacks by leaf place, most samples first."""

    spots: tuple[HotSpot, ...]
    samples: int
    interval_s: float
    instrument: str


class DispatchFit(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of issuing one operator, from a fit of uninstrumented time over operator count.

    Args:
        per_operator_s: slope, seconds an operator.
        operators: operators in one call of the target.
        library: whose dispatch.
        how: what was fitted.
    """

    per_operator_s: Quantity
    operators: float
    library: str
    how: str = ""


class LevelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One level of measurement as it was taken, for the observer check."""

    level: int
    instrument: str
    total_s: Quantity | None = None
    ratio_to_ground_truth: Quantity | None = None
    perturbed: bool | None = None
    skipped: str | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything measured so far; what is null was not measured yet or cannot be (see `cannot`).

    Args:
        cannot: instrument → why it is not to be had here, so that a diagnosis does not ask for it again.
        outside_s: seconds of starting the process, for commands.
        expected: what a model says of the operators, for `diagnosis.expected`.
        trials: changes that were tried beside the original; untried: those that were not, and why.
    """

    target: TargetInfo
    machine: Machine
    device: Device | None = None
    samples: Samples | None = None
    first_s: float | None = None
    batched_s: Quantity | None = None
    overhead_s: float | None = None
    noise_floor: float | None = None
    warmup: int = 0
    steady: bool | None = None
    sentinels: Sentinels | None = None
    clock: ClockState = ClockState()
    wall_split: WallSplit | None = None
    stages: StageTable | None = None
    operators: OpTable | None = None
    expected: ExpectedTable | None = None
    partitions: PartitionTable | None = None
    primitives: PrimitiveTable | None = None
    relayouts: tuple[Relayout, ...] | None = None
    waits: WaitTable | None = None
    cold: ColdStart | None = None
    dispatch: DispatchFit | None = None
    hot_spots: HotSpots | None = None
    counters: Counters | None = None
    levels: tuple[LevelRecord, ...] = ()
    warnings: tuple[Caution, ...] = ()
    cannot: dict[str, str] = {}
    trials: tuple[ChangeTrial, ...] = ()
    untried: tuple[Untried, ...] = ()
