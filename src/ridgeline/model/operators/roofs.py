"""The roofs of one device in one state of the machine: peaks by precision, memory levels from the inside outwards, and the cost of an operator.

This module decides which ceilings of a `Device` count for how many threads, what stands in for one that is missing, and says so: every stand-in is a
reason, never silent. What work does under the roofs is decided in `estimates`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ridgeline.core import Ceiling, Device, OutOfRange, SystemState
from ridgeline.core.device import MEMORY_MIXES

from ..analytic.contention import max_min_shares
from .assumed import assumed
from .clocking import clock_ratio
from .described import check_description

__all__ = ["Level", "Peak", "Roofs", "memory_rate", "most_threads", "roofs"]

_NARROW = frozenset(("bf16", "fp16", "fp8", "fp4", "int8", "int4"))
#: What may stand in for a peak that is not stated, best first; a wider format holds whatever a narrower one does.
_STAND_INS: dict[str, tuple[str, ...]] = {
    "any": ("fp32", "bf16", "fp16", "int8"), "fp32": ("tf32",), "tf32": ("fp32",), "fp16": ("bf16", "fp32"), "bf16": ("fp16", "fp32"),
    "fp8": ("bf16", "fp16", "fp32"), "fp4": ("fp8", "bf16", "fp16"), "int8": ("fp16", "bf16", "fp32"), "int4": ("int8", "fp16", "bf16"), "fp64": (),
}  # fmt: skip
#: A processor that states nothing of eight bits may have no instructions for them: it does them at its rate in fp32, whatever else it has.
_ON_CPU = _STAND_INS | {"int8": ("fp32",), "int4": ("int8", "fp32")}
_MEMORIES = ("DRAM", "HBM", "VRAM", "flash", "host")
#: Mixes by reads ÷ writes: what a stream with that much of each is like.
_MIX_ORDER = ("copy", "triad", "read", "fill")


class Peak(NamedTuple):
    """Peaks of one precision.

    `matrix`: of products, by whichever circuits are fastest, FLOP/s; `vector`: of all other code; `precision`: executed; `sparse`: of products whose
    weights are zero two times of four, 0 if there is none; `reason`: why the precision is not the one asked for; `vector_reason`: what the other peak
    rests on. Both are empty where nothing had to stand in.
    """

    matrix: float
    vector: float
    precision: str
    reason: str = ""
    vector_reason: str = ""
    sparse: float = 0.0


class Level(NamedTuple):
    """One memory level, all of its instances that the work uses.

    `capacity_bytes`: of what stays from one operator to the next, infinite for the last one; `instance_bytes`: of one instance; `byte_per_s`:
    achievable, 0 where no ceiling says it; `ceiling_byte_per_s`: the ceiling itself; `line_bytes`: unit of transfer.
    """

    name: str
    capacity_bytes: float
    instance_bytes: float
    byte_per_s: float
    ceiling_byte_per_s: float
    line_bytes: int


class Roofs(NamedTuple):
    """One device in one state.

    `units`: execution units that work; `lanes`: vector elements of fp32 at once, 0 if not known; `clock_hz`: 0 if not known; `clock_ratio`: of the
    clock at which the ceilings hold; `levels`: from the inside outwards, the last one holds everything; `dispatch_s`: of one operator;
    `core_to_core_s`: of a cache line; `stretch`: ≥ 1, how much longer it takes as cores are shared with neighbours; `reached`: share of the peaks;
    `reasons`: what is assumed or not known, for whatever runs; `power_ratio`: most power ÷ design power; `memory_left`: share of the
    outermost memory's rate that others leave; `slowest`, `fastest`: what the clock may be, ÷ what is taken.
    """

    device: Device
    kind: Literal["cpu", "gpu", "npu"]
    units: int
    threads: int
    lanes: int
    clock_hz: float
    clock_ratio: float
    levels: tuple[Level, ...]
    dispatch_s: float
    core_to_core_s: float
    stretch: float
    reached: float
    reasons: tuple[str, ...]
    power_ratio: float
    memory_left: float
    slowest: float = 1.0
    fastest: float = 1.0

    def peak(self, precision: str) -> Peak:
        """The peaks of a precision.

        Raises:
            OutOfRange: the device states none, and nothing that could stand in.
        """
        device = self.device
        for tried in (precision, *(_ON_CPU if self.kind == "cpu" else _STAND_INS).get(precision, ())):
            found = _peaks(device, tried, self.threads)
            if found is not None:
                reason = "" if tried == precision or precision == "any" else f"no peak in {precision} is known of {device.name}: {tried} is taken"
                sparse = max((each.rate.value for each in device.sparse if each.precision == tried), default=0.0)
                scale = self.clock_ratio
                return Peak(found[0] * scale, found[1] * scale, tried, reason, "" if found[2] else _no_lanes(device), sparse * scale)
        stated = ", ".join(sorted({each.precision for each in device.ceilings if each.engine == "fma"})) or "none"
        raise OutOfRange(
            f"a device that states a peak in {precision}", found=f"{device.name}, which states {stated}", remedy="ask in a precision that it has"
        )


def _no_lanes(device: Device) -> str:
    return f"no rate of {device.name} beside that of its matrix units is known: a sixteenth is assumed"


def _peaks(device: Device, precision: str, threads: int) -> tuple[float, float, bool] | None:
    """(Of all circuits, of the vector lanes, whether that is stated) in FLOP/s; what matrix units cannot do, lanes do, in fp32 if not stated."""
    own = [each for each in device.ceilings if each.engine == "fma" and each.precision == precision]
    if not own:
        return None
    whole = _of_threads(own, threads, device.execution_units)
    wide = [each for each in device.ceilings if each.engine == "fma" and each.units != "matrix" and each.precision == "fp32"]
    lanes = [each for each in own if each.units != "matrix"] or wide
    if device.kind == "cpu" and precision in _NARROW and wide:
        # What a processor has for narrow formats are dot products: everything else is computed in fp32 lanes.
        lanes = wide
    # A device of matrix units alone does everything else with circuits that no sheet describes.
    return whole, _of_threads(lanes, threads, device.execution_units) if lanes else whole * assumed().share["lanes"], bool(lanes)


def _of_threads(ceilings: Sequence[Ceiling], threads: int, units: int | None) -> float:
    """The rate of so many threads: of a probe the nearest number not above, of a specification the share of the units."""
    best = 0.0
    for each in ceilings:
        if each.threads == 0:
            share = min(1.0, threads / units) if units and each.level in (None, "L1", "L2") else 1.0
            best = max(best, each.rate.value * share)
    counted = [each for each in ceilings if 0 < each.threads <= threads]
    if counted:
        most = max(each.threads for each in counted)
        best = max(best, max(each.rate.value for each in counted if each.threads == most))
    return best or max((each.rate.value for each in ceilings), default=0.0)


def roofs(device: Device, state: SystemState | None = None, library: str = "onnxruntime") -> Roofs:
    """The roofs of a device in a state of the machine.

    Args:
        device: of the catalogue, a file, or a probe.
        state: threads, clocks, contention, neighbours and power cap; what it says that no formula knows becomes a reason.
        library: whose cost of dispatching an operator counts.

    Raises:
        OutOfRange: a device without any arithmetic or memory ceiling, or a state in which nothing is left for the work.
    """
    state = state or SystemState()
    reasons: list[str] = []
    if not any(each.engine == "fma" for each in device.ceilings):
        raise OutOfRange("a device with a peak of arithmetic", found=f"{device.name} without", remedy="probe it, or add its data sheet")
    check_description(device)
    threads = _threads(device, state, reasons)
    clock = clock_ratio(device, state, reasons)
    core = clock.ratio
    memory = _outermost(device)
    if memory is None:
        raise OutOfRange("a device with a rate of its memory", found=f"{device.name} without", remedy="probe it, or add its data sheet")
    rate = _rate(device, memory, threads)
    left = _left(rate, state)
    levels = _levels(device, threads, core, (memory, left), state, reasons)
    stretch = _shared_cores(device, state, threads)
    if device.kind == "gpu" and device.execution_units is None:
        reasons.append(f"the number of execution units of {device.name} is not known: waves are not counted")
    if state.temperature_k is not None:
        reasons.append("what a temperature does is not known: its clock is what counts, give --core-clock")
    return Roofs(
        device=device, kind=device.kind, units=threads if device.kind == "cpu" else device.execution_units or 0, threads=threads,
        lanes=device.vector_bits // 32 if device.vector_bits else 0, clock_hz=device.clock_hz.value * core if device.clock_hz else 0.0,
        clock_ratio=core, levels=levels, core_to_core_s=_hop(device, state, threads, reasons),
        dispatch_s=_dispatch(device, state, library, reasons), stretch=stretch, reached=_reached(device, "arithmetic"),
        reasons=tuple(reasons), power_ratio=clock.power, memory_left=left / rate, slowest=clock.slowest, fastest=clock.fastest,
    )  # fmt: skip


def most_threads(device: Device) -> int:
    """How many threads can work at once, a count: the number that a runtime takes where nobody says another."""
    return max((each.threads for each in device.ceilings if each.engine == "fma"), default=0) or device.execution_units or 1


def _threads(device: Device, state: SystemState, reasons: list[str]) -> int:
    most = most_threads(device)
    if device.kind != "cpu":
        if state.threads is not None:
            reasons.append(f"threads of the host say nothing of {device.name}")
        return most
    if state.threads is not None and state.threads > most:
        reasons.append(f"{state.threads} threads on {most} cores: no more than {most} can work at once")
    return min(state.threads or most, most)


def _reached(device: Device, what: str) -> float:
    probed = any(each.rate.source == "measured" for each in device.ceilings)
    return assumed().reached[f"measured_{what}" if probed else f"{device.kind}_{what}"]


def _shared_cores(device: Device, state: SystemState, threads: int) -> float:
    """Stretch where threads and the neighbours' busy cores are more than there are, shared out evenly (max-min fairness)."""
    busy = [each.cores for each in state.neighbours if each.cores > 0]
    units = device.execution_units
    if not busy or not units:
        return 1.0
    wanted = float(threads if device.kind == "cpu" else units)
    share = float(max_min_shares([wanted, *busy], capacity=float(units))[0])
    if share <= 0:
        raise OutOfRange("cores that are left for the work", found="neighbours that take all of them", remedy="give fewer cores to neighbours")
    return wanted / share


# ── memory ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _levels(device: Device, threads: int, core: float, outermost: tuple[str, float], state: SystemState, reasons: list[str]) -> tuple[Level, ...]:
    memory, left = outermost
    reached = _reached(device, "memory")
    found = []
    for level in sorted(device.levels, key=lambda each: each.capacity_bytes):
        if level.name == memory:
            continue
        rate = _rate(device, level.name, threads)
        instances = _instances(device, level.shared_by, threads)
        capacity = float(level.capacity_bytes)
        # What a GPU's own memories of its units hold is gone when the next kernel starts.
        kept = 0.0 if device.kind == "gpu" and level.shared_by == 1 else capacity * instances
        found.append(Level(level.name, kept, capacity, rate * core * reached, rate * core, level.line_bytes))
    _filled(found, state)
    found.extend(_unsized(device, memory, {each.name for each in found}, core, reached))
    chip = _chip(device, memory, found, reasons)
    if state.memory_clock_hz is not None:
        reasons.append("the memory clock at which the bandwidth holds is not known: the clock that is set changes nothing here")
    line = next((each.line_bytes for each in device.levels if each.name == memory), 64)
    return (*found, *chip, Level(memory, math.inf, math.inf, left * reached, left, line))


def _chip(device: Device, memory: str, inner: Sequence[Level], reasons: list[str]) -> tuple[Level, ...]:
    """What stands in for memory on the chip of which nothing is known: without it a product would be cut into blocks of a few registers."""
    if memory == "host" and not any(each.capacity_bytes > 0 for each in inner):
        reasons.append(f"how much memory {device.name} has on the chip is not known: it is taken to hold the whole model")
        return (Level("chip", math.inf, math.inf, 0.0, 0.0, 64),)
    if device.kind == "npu" and not inner:
        reasons.append(f"how much memory {device.name} has on the chip is not known: what an operator reads is taken to pass {memory} once")
        return (Level("chip", 0.0, math.inf, 0.0, 0.0, 64),)
    return ()


def _filled(levels: list[Level], state: SystemState) -> None:
    """Neighbours fill a part of the outermost cache."""
    taken = sum(each.cache_bytes for each in state.neighbours)
    if taken > 0 and levels:
        last = levels[-1]
        levels[-1] = last._replace(capacity_bytes=max(0.0, last.capacity_bytes - taken))


def _unsized(device: Device, memory: str, known: set[str], core: float, reached: float) -> list[Level]:
    """A level whose rate is stated but not its capacity holds nothing for sure, and is passed by everything."""
    names = dict.fromkeys(each.level for each in device.ceilings if each.engine in MEMORY_MIXES and each.level)
    rates = {name: _rate(device, name, 0) for name in names if name != memory and name not in known}
    return [Level(name, 0.0, 0.0, rate * core * reached, rate * core, 64) for name, rate in rates.items() if name not in _MEMORIES]


def _outermost(device: Device) -> str | None:
    """The memory behind all others: a name for memory, else the slowest level."""
    rates: dict[str, float] = {}
    for each in device.ceilings:
        if each.engine in MEMORY_MIXES and each.level and each.rate.value > 0:
            rates[each.level] = max(rates.get(each.level, 0.0), each.rate.value)
    named = [name for name in _MEMORIES if name in rates]
    return named[0] if named else min(rates, key=lambda name: rates[name], default=None)


def memory_rate(device: Device) -> float:
    """The rate of the memory behind all others with all threads, B/s; 0 where none is stated."""
    memory = _outermost(device)
    return 0.0 if memory is None else _rate(device, memory, most_threads(device))


def _rate(device: Device, level: str, threads: int) -> float:
    """B/s of a level: of the mixes the copy, which reads and writes, else the best of the others; of several sizes the median."""
    for mix in _MIX_ORDER:
        own = [each for each in device.ceilings if each.engine == mix and each.level == level]
        if own:
            counted = [each for each in own if 0 < each.threads <= max(1, threads)]
            if counted:
                most = max(each.threads for each in counted)
                return float(np.median([each.rate.value for each in counted if each.threads == most]))
            return max(each.rate.value for each in own)
    return 0.0


def _instances(device: Device, shared_by: int | None, threads: int) -> float:
    if device.kind == "cpu":
        return float(math.ceil(threads / shared_by)) if shared_by else 1.0
    return float(device.execution_units or 1) if shared_by == 1 else 1.0  # of a unit's own memory there is one for each


def _left(rate: float, state: SystemState) -> float:
    """What neighbours leave of a bandwidth: the share that is not taken, and a fair part beside those named."""
    rate *= 1.0 - state.memory_contention
    asked = [each.byte_per_s for each in state.neighbours if each.byte_per_s > 0]
    return float(max_min_shares([rate, *asked], capacity=rate)[0]) if asked else rate


# ── costs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _dispatch(device: Device, state: SystemState, library: str, reasons: list[str]) -> float:
    if state.dispatch_s is not None and device.kind == "cpu":
        return state.dispatch_s  # an accelerator's host works beside it: what it needs is no part of an operator
    cost = device.cost("dispatch", library) or device.cost("dispatch", "torch")
    if cost is None:
        seconds = assumed().dispatch_s[device.kind]
        reasons.append(f"what starting an operator costs on {device.name} is not known: {seconds * 1e6:g} µs are assumed")
        return seconds
    return cost.value


def _hop(device: Device, state: SystemState, threads: int, reasons: list[str]) -> float:
    if state.core_to_core_s is not None:
        return state.core_to_core_s
    cost = device.cost("core-to-core")
    if cost is not None:
        return cost.value
    seconds = assumed().core_to_core_s
    if device.kind == "cpu" and threads > 1:
        reasons.append(f"how far apart the cores of {device.name} are is not known: {seconds * 1e9:g} ns for a cache line between two are assumed")
    return seconds
