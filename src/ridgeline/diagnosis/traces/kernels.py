"""What counters of kernels give away: uncoalesced access, divergence, low parallelism, and which ceiling a kernel is at.

A profiler that replays kernels shows each one alone: so shares and gains are of the kernel's own time, never of the program, and the summary says so.
How far a fix can carry is bounded twice. What is busy for a share a of the time while another unit is busy for b is busy alone for at least a − b
(inclusion and exclusion): only that part shrinks for sure. And no fix of one unit makes a kernel faster than the other one allows, 1 ÷ b.
Sectors are of 32 bytes. A request of 32 lanes needs as many as its elements are wide in bytes: 4 for fp32, 8 for fp64, 16 for the widest access. More
than 16 are never needed, and between 4 and 16 only the share of bytes that was asked for can tell (NVIDIA, Kernel Profiling Guide, "Memory Tables").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ridgeline.core import Action, Bound, Evidence, KernelCounts, KernelTable, Quantity, TraceFinding, Where
from ridgeline.core.units import format_quantity, format_share

__all__ = ["kernel_findings"]

#: A unit at this share of its peak is what the kernel waits for; as for the bounds of a diagnosis.
_LIMITS = 0.6
#: A good part of what a kernel could have: under it, coalescing, lanes or occupancy are told.
_GOOD, _OCCUPIED, _UNIFORM = 0.75, 0.5, 0.9
#: Sectors that a request needs for elements of 4 bytes, and for the widest ones.
_NARROW, _WIDEST = 4.0, 16.0
_WARP, _WAVEFRONT = 32, 64
#: Kernels under this share of the time of all profiled ones are passed over, and those after so many.
_LEAST, _MOST = 0.05, 20
#: Half the width is at best half the time; the lowest precisions are four times as fast.
_HALF, _LOWEST = 2.0, 4.0
#: More than that is never promised, whatever is far below its peak.
_NEVER = 100.0
_LIMITERS = {
    "blocks_by_registers": "registers",
    "blocks_by_shared_memory": "shared memory",
    "blocks_by_warps": "the size of its blocks",
    "blocks_by_sm": "the number of blocks that a multiprocessor holds",
    "blocks_by_barriers": "barriers",
}


@dataclass(frozen=True)
class _Kernel:
    """Launches of one kernel with one grid and block.

    Args:
        one: the first of them; figures: means over them, weighted by time; mean_s: of a launch, null if not known; alone: whether it was replayed.
    """

    one: KernelCounts
    figures: dict[str, float]
    launches: int
    mean_s: float | None
    alone: bool
    peak: float | None = None

    @property
    def compute(self) -> float | None:
        """Share of the busiest unit that computes, or of the multiprocessor's busiest unit where the file does not tell which that is."""
        return self.figures.get("arithmetic_share", self.figures.get("compute_share"))

    @property
    def dram(self) -> float | None:
        """Share of the peak of the memory."""
        rate = self.figures.get("dram_byte_per_s")
        return rate / self.peak if rate is not None and self.peak else self.figures.get("dram_share")

    @property
    def memory(self) -> float | None:
        """Share of the busiest level of the memory."""
        found = [value for name in ("memory_share", "l1_share", "l2_share") if (value := self.figures.get(name)) is not None]
        found += [self.dram] if self.dram is not None else []
        return max(found) if found else None

    def counted(self, name: str, unit: str = "1") -> Evidence:
        """A figure as evidence."""
        origin = "counters of one launch" if self.launches == 1 else f"counters of {self.launches} launches"
        return Evidence(name=name, quantity=Quantity.exact(self.figures[name], unit, source="counted", origin=origin))

    def evidence(self, *names: str) -> tuple[Evidence, ...]:
        """Figures as evidence, those that there are."""
        units = {"dram_byte_per_s": "B/s", "shared_bytes_per_block": "B"}
        # Against a peak that was given, the tool's own share of another peak would only confuse.
        found = [self.counted(name, units.get(name, "1")) for name in names if name in self.figures and not (self.peak and name == "dram_share")]
        if self.peak and self.dram is not None:
            of = f"of {format_quantity(self.peak, 'B/s')}" + ("; above its ceiling: check the clock and the ceiling" if self.dram > 1.0 else "")
            found.append(Evidence(name="dram_share", quantity=Quantity.exact(self.dram, "1", source="counted", origin=of)))
        if self.mean_s is not None:
            origin = "the kernel alone, by the profiler" if self.alone else "by the profiler"
            found.append(Evidence(name="duration", quantity=Quantity.exact(self.mean_s, "s", source="measured", origin=origin)))
        return tuple(found)

    def finding(
        self, cause: str, bound: Bound, said: str, gains: Sequence[tuple[str, str, tuple[float, float]]], evidence: Sequence[Evidence]
    ) -> TraceFinding:  # fmt: skip
        """A finding about it; gains are (action, because, (low, high) speedup of the kernel)."""
        actions = tuple(self._action(action, because, _bounded(low, high)) for action, because, (low, high) in gains if math.isfinite(high))
        share = max((1.0 - 1.0 / action.speedup[1] for action in actions), default=1.0)
        of = "of the kernel's own time, alone: what it is of the program is not known" if self.alone else "of the kernel's own time"
        return TraceFinding(
            where=Where(operator=self.one.name),
            bound=bound,
            cause=cause,
            share=share,
            evidence=tuple(evidence),
            summary=f"{said} ({of})",
            actions=actions,
        )

    def _action(self, action: str, because: str, gain: tuple[float, float]) -> Action:
        because = f"{because}; of the kernel's own time"
        after_s = (self.mean_s / gain[1], self.mean_s / gain[0]) if self.mean_s else None
        return Action(id="", action=action, on=self.one.name, because=because, metric="latency", speedup=gain, median_after_s=after_s)


def kernel_findings(table: KernelTable, *, dram_peak_byte_per_s: float | None = None) -> tuple[TraceFinding, ...]:
    """What limits each kernel that matters, the one with most time first.

    Args:
        table: counters of kernels.
        dram_peak_byte_per_s: what the memory can do, where it is known and the counters do not tell their share of it.

    Returns:
        Findings with shares and gains of the kernel's own time.
    """
    found: list[TraceFinding] = []
    for kernel in _largest(table, dram_peak_byte_per_s):
        of_it = [*_coalescing(kernel), *_divergence(kernel), *_parallelism(kernel)]
        # At a ceiling because of wasted sectors or lanes is no place to stop at.
        found += of_it or list(_ceiling(kernel))
    return tuple(found)


def _largest(table: KernelTable, peak: float | None) -> list[_Kernel]:
    """Kernels by their time, without those that hardly take any; by launches where no times are known."""
    groups: dict[tuple[object, ...], list[KernelCounts]] = {}
    for kernel in table.kernels:
        groups.setdefault((kernel.name, kernel.grid, kernel.block), []).append(kernel)
    timed = all(kernel.duration_s is not None for kernel in table.kernels)
    weighed = []
    for launches in groups.values():
        weights = [one.launches * (one.duration_s if timed and one.duration_s is not None else 1.0) for one in launches]
        count = sum(one.launches for one in launches)
        mean_s = sum(weights) / count if timed and count else None
        weighed.append((sum(weights), _Kernel(launches[0], _means(launches, weights), count, mean_s, table.replayed, peak)))
    whole = sum(weight for weight, _ in weighed)
    weighed.sort(key=lambda each: -each[0])
    return [kernel for weight, kernel in weighed[:_MOST] if whole > 0 and weight / whole >= _LEAST]


def _means(launches: Sequence[KernelCounts], weights: Sequence[float]) -> dict[str, float]:
    found = {}
    for name in {name for one in launches for name in one.figures}:
        parts = [(one.figures[name], weight) for one, weight in zip(launches, weights, strict=True) if name in one.figures]
        whole = sum(weight for _, weight in parts)
        mean = sum(value * (weight / whole) for value, weight in parts) if whole > 0 else math.nan
        if math.isfinite(mean):
            found[name] = mean
    return found


def _bounded(low: float, high: float) -> tuple[float, float]:
    """A promise in order, of at least nothing and at most what is ever promised."""
    low = min(max(1.0, low), _NEVER)
    return low, max(low, min(high, _NEVER))


def _alone(share: float | None, other: float | None) -> float:
    """The part of the time for which a unit is busy and the other is not, at least."""
    return max(0.0, min(1.0, share) - min(1.0, other or 0.0)) if share is not None else 0.0


def _allowed(other: float | None) -> float:
    """The speedup that another unit allows at the most."""
    return 1.0 / min(1.0, other) if other else math.inf


def _coalescing(kernel: _Kernel) -> Iterator[TraceFinding]:
    wasted = _wasted(kernel)
    if wasted is None or wasted[1] <= 1.0 - _GOOD:
        return
    low = 1.0 / (1.0 - wasted[0] * _alone(kernel.memory, kernel.figures.get("compute_share")))
    high = min(1.0 / (1.0 - wasted[1]), _allowed(kernel.figures.get("arithmetic_share")))
    figures = kernel.figures
    found = f"{figures['sectors_per_request']:.1f} sectors a request" if "sectors_per_request" in figures else "sectors"
    said = f"{found}: {format_share(wasted[0])} and more of the bytes that {_short(kernel)} moves were not asked for"
    because = "lanes side by side that read side by side need no more sectors than their elements are wide"
    evidence = kernel.evidence("sectors_per_request", "sectors_per_load", "sectors_per_store", "coalesced_share", "memory_share", "l1_hit_rate")
    yield kernel.finding("uncoalesced-access", "bandwidth", said, [("coalesce", because, (low, high))], evidence)


def _wasted(kernel: _Kernel) -> tuple[float, float] | None:
    """(low, high) share of the sectors that coalesced access would not need; null where that cannot be told."""
    asked = kernel.figures.get("coalesced_share")
    if asked is not None:
        share = 1.0 - min(1.0, max(asked, 1.0 / _WARP))
        return share, share
    sides = [kernel.figures[name] for name in ("sectors_per_load", "sectors_per_store", "sectors_per_request") if name in kernel.figures]
    worst = kernel.figures.get("sectors_per_request", max(sides, default=0.0))
    return (1.0 - _WIDEST / worst, 1.0 - _NARROW / worst) if worst > _WIDEST else None


def _divergence(kernel: _Kernel) -> Iterator[TraceFinding]:
    lanes = kernel.figures.get("active_lanes")
    if lanes is None:
        yield from _branches(kernel)
        return
    width = _WAVEFRONT if lanes > _WARP else _WARP
    active = lanes if lanes <= 1.0 else lanes / width
    threads = math.prod(kernel.one.block) if kernel.one.block else 0
    filled = threads / (width * math.ceil(threads / width)) if threads else 1.0
    evidence = kernel.evidence("active_lanes", "predicated_lanes", "branch_efficiency", "compute_share")
    if active / filled < _GOOD:
        gain = _lanes_gain(kernel, active / filled)
        part = format_share(active) if lanes <= 1.0 else f"{lanes:.1f} out of {width}"
        said = f"{part} of the lanes are active in an instruction of {_short(kernel)}"
        because = "lanes that take one way together finish in one pass"
        yield kernel.finding("divergence", "latency", said, [("uniform-branches", because, gain)], evidence)
    elif filled < _GOOD:
        said = f"blocks of {threads} threads fill {format_share(filled)} of the warps of {_short(kernel)}"
        because = f"blocks of a multiple of {width} threads leave no lane empty"
        yield kernel.finding("low-parallelism", "latency", said, [("rebalance", because, _lanes_gain(kernel, filled))], evidence)


def _lanes_gain(kernel: _Kernel, used: float) -> tuple[float, float]:
    sure = 1.0 / (1.0 - (1.0 - used) * _alone(kernel.figures.get("compute_share"), kernel.memory))
    return sure, min(1.0 / max(used, 1.0 / _WAVEFRONT), _allowed(kernel.dram))


def _branches(kernel: _Kernel) -> Iterator[TraceFinding]:
    """Where lanes were not counted: of branches that split a warp in two, both ways are run one after the other."""
    uniform = kernel.figures.get("branch_efficiency")
    if uniform is None or uniform >= _UNIFORM:
        return
    said = f"{format_share(1.0 - uniform)} of the branches of {_short(kernel)} split a warp"
    because = "a branch that all lanes take alike runs one of its ways; how much lies behind the branches was not counted"
    yield kernel.finding("divergence", "latency", said, [("uniform-branches", because, (1.0, _HALF))], kernel.evidence("branch_efficiency"))


def _parallelism(kernel: _Kernel) -> Iterator[TraceFinding]:
    """Too few warps to hide latency: told only where no unit is near its peak, since there more of them would wait for the same unit."""
    busiest = max((share for share in (kernel.compute, kernel.figures.get("compute_share"), kernel.memory) if share is not None), default=None)
    occupancy, waves = kernel.figures.get("occupancy"), kernel.figures.get("waves_per_sm")
    if busiest is None or busiest >= _LIMITS:
        return
    names = (
        "occupancy",
        "occupancy_limit",
        "waves_per_sm",
        *_LIMITERS,
        "registers_per_thread",
        "shared_bytes_per_block",
        "compute_share",
        "memory_share",
    )
    evidence = kernel.evidence(*names)
    if waves is not None and 0.0 < waves < 1.0:
        said = f"the grid of {_short(kernel)} fills the device {waves:.2f} times: {_blocks(kernel)}"
        gain = (1.0, min(1.0 / waves, _allowed(busiest)))
        yield kernel.finding("low-parallelism", "latency", said, [("parallelise", "more blocks use the rest of the device", gain)], evidence)
    elif occupancy is not None and 0.0 < occupancy < _OCCUPIED and kernel.compute is not None and kernel.memory is not None:
        limit = kernel.figures.get("occupancy_limit")
        gain = (1.0, min(1.0 / occupancy, _allowed(busiest)))
        uneven = limit is not None and limit >= _OCCUPIED
        why = "blocks end unevenly, or too few are left at the end" if uneven else f"limited by {_limiter(kernel)}"
        said = f"{format_share(occupancy)} of the warps that {_short(kernel)} could have are there; {why}"
        because = "blocks of equal work keep all multiprocessors occupied" if uneven else "more warps at once hide more latency"
        action = "rebalance" if uneven else "parallelise"
        yield kernel.finding("low-parallelism", "latency", said, [(action, because, gain)], evidence)


def _limiter(kernel: _Kernel) -> str:
    """What holds the fewest blocks."""
    found = {words: kernel.figures[name] for name, words in _LIMITERS.items() if name in kernel.figures}
    least = min(found.values(), default=0.0)
    return " and ".join(words for words, blocks in found.items() if blocks == least) or "what the file does not tell"


def _blocks(kernel: _Kernel) -> str:
    return f"{math.prod(kernel.one.grid)} blocks" if kernel.one.grid else "few blocks"


def _ceiling(kernel: _Kernel) -> Iterator[TraceFinding]:
    """Which ceiling a kernel is at, where it is at one."""
    compute, memory, dram = kernel.figures.get("compute_share"), kernel.memory, kernel.dram
    evidence = kernel.evidence(
        "compute_share", "arithmetic_share", "load_store_share", "memory_share", "dram_share", "dram_byte_per_s", "l2_hit_rate"
    )
    if dram is not None and dram >= _LIMITS and dram >= (compute or 0.0):
        low = 1.0 / (1.0 - 0.5 * _alone(dram, compute))
        gain = ("lower-precision", "half the width is half the bytes, where values allow it", (low, min(_HALF, _allowed(compute))))
        said = f"the memory is at {format_share(dram)} of its peak: {_short(kernel)} streams"
        yield kernel.finding("streaming", "bandwidth", said, [gain], evidence)
    elif compute is not None and compute >= _LIMITS and compute >= (memory or 0.0):
        yield from _computing(kernel, compute, evidence)
    elif memory is not None and memory >= _LIMITS:
        said = f"a cache is at {format_share(memory)} of its peak for {_short(kernel)}, and the memory behind it is not"
        gain = ("block", "values kept in registers or shared memory are not fetched again", (1.0, _allowed(max(compute or 0.0, dram or 0.0))))
        yield kernel.finding("poor-locality", "bandwidth", said, [gain], evidence)


def _computing(kernel: _Kernel, compute: float, evidence: Sequence[Evidence]) -> Iterator[TraceFinding]:
    arithmetic, loads = kernel.figures.get("arithmetic_share"), kernel.figures.get("load_store_share")
    at = f"a unit of the multiprocessors is at {format_share(compute)} of its peak for {_short(kernel)}"
    if arithmetic is None and loads is None:
        said = f"{at}; which one, arithmetic or load and store, the file does not tell (collect ComputeWorkloadAnalysis)"
        # Loads and stores at their peak are no arithmetic that binds.
        yield kernel.finding("near-peak", "inconclusive", said, [], evidence)
    elif (loads or 0.0) > (arithmetic or 0.0):
        said = f"{at}: the one that loads and stores, not arithmetic"
        gain = ("block", "values kept in registers are not loaded again", (1.0, min(_allowed(arithmetic), _allowed(kernel.dram))))
        yield kernel.finding("poor-locality", "bandwidth", said, [gain], evidence)
    else:
        low = 1.0 / (1.0 - 0.5 * _alone(compute, kernel.memory))
        gain = ("lower-precision", "narrower arithmetic has a higher ceiling, where values allow it", (low, min(_LOWEST, _allowed(kernel.memory))))
        yield kernel.finding("near-peak", "compute", f"{at}: arithmetic", [gain], evidence)


def _short(kernel: _Kernel) -> str:
    name = kernel.one.name or "a kernel without a name"
    return name if len(name) <= 60 else f"{name[:59]}…"
