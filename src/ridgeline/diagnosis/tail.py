"""The slowest 1 % of the calls: what was seen in them that can be why.

A reason whose seconds are known (waiting for a CPU, blocked in a sleep, for a disk or for another thread, collecting garbage) explains a call where
what it took beyond the usual is at least half of what the call took beyond the median, and no more than the call lasted: such things happen in long
calls because they are long, so being there proves nothing. A reason that is only counted (faults, stolen time, throttling) explains the calls it was
seen in if it is found among the slowest more often than chance allows (p ≤ 0.01 for each, process by process, so that a slow process is no evidence
for what all of its calls have; where counters were read around blocks of calls, block by block). A reason that is in every call explains nothing
either way. Calls of a slow process or of a large input are not mysterious: these are reasons of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, Samples
from ridgeline.core.benchmark import TailReport
from ridgeline.core.samples import FLAG_STOLEN, FLAG_THROTTLED
from ridgeline.stats.association import more_often, more_often_in_time

__all__ = ["LEAST", "explain_tail"]

#: Calls under which there is no slowest 1 %.
LEAST = 100
_SLOWEST = 0.01
#: Part of the excess of a call that a reason must carry to explain it.
_CARRIES = 0.5
_CHANCE = 0.01
#: A group of fewer calls has no level of its own.
_LEAST_OF_GROUP = 5
#: Faults beyond this multiple of what is usual in the process are many.
_MANY_FAULTS = 2
#: What is told of a call may exceed it by this part: the counters are read a little before and after the clock.
_LOOSE = 1.05

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Calls:
    """The steady calls in the order of time.

    Attributes:
        wall: seconds of a call.
        excess: seconds of a sample beyond the median of all calls.
        slow: the slowest, which are slower than the median.
        process: of each.
        lasted: seconds of a sample.
        block: of each, around which its counters were read.
    """

    samples: Samples
    order: NDArray[np.intp]
    wall: Values
    excess: Values
    slow: Mask
    process: NDArray[np.int64]
    lasted: Values
    block: NDArray[np.int64]

    def taken(self, column: Column | None) -> Values | None:
        """The values of a column for these calls; null where it was not taken."""
        return None if column is None else np.asarray(column.values[self.order], dtype=np.float64)

    def beyond_usual(self, values: Values) -> Values:
        """Values less the median of their process."""
        return values - self.level(values, self.process)

    def level(self, values: Values, group: NDArray[np.int64]) -> Values:
        """The median of the group that each belongs to."""
        levels = np.zeros(len(values))
        for number in np.unique(group):
            levels[group == number] = np.median(values[group == number])
        return levels


@dataclass(frozen=True)
class _Reason:
    """Where a reason was seen, and which calls it explains if it explains any; `by_chance`: p-value that decides that, null where time did."""

    name: str
    seen: Mask
    explains: Mask
    by_chance: float | None = None


def explain_tail(samples: Samples, steady: NDArray[np.bool_] | None = None, *, unseen: Mapping[str, str] | None = None) -> TailReport | None:
    """What the slowest 1 % of the calls have in common; null under 100 calls.

    Args:
        samples: of one benchmark.
        steady: which of them are not warm-up, shape (n,); null for all.
        unseen: reason → why it could not be looked for, where the caller knows, such as stolen time on a machine that does not tell.
    """
    calls = _steady_calls(samples, steady)
    if calls is None:
        return None
    missing = dict(unseen or {})
    explained: dict[str, int] = {}
    usual: dict[str, float] = {}
    any_reason = np.zeros(len(calls.wall), np.bool_)
    for reason in _reasons(calls, missing):
        explains = reason.explains & calls.slow
        if not explains.any() or (reason.by_chance is not None and reason.by_chance > _CHANCE):
            continue
        explained[reason.name], usual[reason.name] = int(explains.sum()), float(reason.seen[~calls.slow].mean())
        any_reason |= explains
    return TailReport(
        slowest=int(calls.slow.sum()),
        threshold_s=float(calls.wall[calls.slow].min() if calls.slow.any() else calls.wall.max()),
        explained=dict(sorted(explained.items(), key=lambda item: -item[1])),
        usual=usual,
        unexplained=int((calls.slow & ~any_reason).sum()),
        not_seen=missing,
    )


def _steady_calls(samples: Samples, steady: NDArray[np.bool_] | None) -> _Calls | None:
    kept = np.flatnonzero(np.ones(len(samples), np.bool_) if steady is None else steady)
    if len(kept) < LEAST:
        return None
    order = kept[np.argsort(samples.start_s.values[kept], kind="stable")]
    wall = np.asarray(samples.wall_s.values[order], dtype=np.float64)
    slow = np.zeros(len(wall), np.bool_)
    slow[np.argsort(wall, kind="stable")[-max(1, int(len(wall) * _SLOWEST)) :]] = True
    inner = samples.inner.values[order]
    excess = (wall - np.median(wall)) * inner
    slow &= excess > 0
    process = samples.process.values[order].astype(np.int64)
    block = np.arange(len(wall))
    if samples.block is not None:
        own = samples.block.values[order].astype(np.int64)
        block = np.unique(own + process * (int(own.max()) + 1), return_inverse=True)[1]
    return _Calls(samples, order, wall, excess, slow, process, wall * inner, block)


def _reasons(calls: _Calls, missing: dict[str, str]) -> Iterator[_Reason]:
    """Every reason that can be looked for; the others go to `missing` with why not."""
    yield from _levels(calls)
    yield from _waiting(calls, missing)
    yield from _blocked(calls, missing)
    yield from _faults(calls, missing)
    yield from _collected(calls, missing)
    yield from _flagged(calls, missing)


def _carries(calls: _Calls, seconds: Values) -> Mask:
    return (calls.excess > 0) & (seconds >= _CARRIES * calls.excess)


def _mattering(calls: _Calls, seconds: Values) -> Mask:
    """Where a reason took so long that it would make one of the slowest calls."""
    least = float(calls.excess[calls.slow].min()) if calls.slow.any() else 0.0
    return (seconds > 0) & (seconds >= _CARRIES * least)


def _levels(calls: _Calls) -> Iterator[_Reason]:
    """Calls of a group whose level alone is so high."""
    inputs = calls.taken(calls.samples.input_id)
    for name, group in (("process", calls.process), ("input", None if inputs is None else inputs.astype(np.int64))):
        if group is None or len(np.unique(group)) < 2:
            continue
        large = np.isin(group, [number for number in np.unique(group) if (group == number).sum() >= _LEAST_OF_GROUP])
        level = (calls.level(calls.wall, group) - np.median(calls.wall)) * calls.samples.inner.values[calls.order]
        yield _Reason(name, large & _mattering(calls, level), large & _carries(calls, level))


def _waiting(calls: _Calls, missing: dict[str, str]) -> Iterator[_Reason]:
    """Taken off the CPU, or kept from it after a sleep."""
    switches, queue = calls.taken(calls.samples.involuntary_switches), calls.taken(calls.samples.run_queue_s)
    taken_off = None if switches is None else calls.beyond_usual(switches) > 0
    if taken_off is None:
        missing.setdefault("preempted", "involuntary switches were not counted")
    if queue is None:
        missing.setdefault("run queue", "the kernel does not tell how long a thread waits for a CPU")
        if switches is not None:
            yield _counted("preempted", calls, [(switches, 1)])
        return
    # A longer wait was not in the call, or not all of it: threads are often switched where the counters are read.
    waited = np.where(queue <= _LOOSE * calls.lasted, calls.beyond_usual(queue), 0.0)
    carried, mattering = _carries(calls, waited), _mattering(calls, waited)
    off = np.zeros(len(waited), np.bool_) if taken_off is None else taken_off
    yield _Reason("preempted", off & mattering, off & carried)
    yield _Reason("run queue", ~off & mattering, ~off & carried)


def _blocked(calls: _Calls, missing: dict[str, str]) -> Iterator[_Reason]:
    """Off the CPU without waiting for one: what is left of a call beside its CPU time and its wait in the run queue."""
    cpu, queue = calls.taken(calls.samples.thread_cpu_s), calls.taken(calls.samples.run_queue_s)
    if cpu is None or queue is None:
        missing.setdefault("blocked", "CPU time or waits for a CPU were not told")
        return
    # A thread whose CPU time goes on while the machine is taken away, and one whose time does not, look alike: such calls are left to `stolen`.
    flags = calls.taken(calls.samples.flags)
    stolen = np.zeros(len(cpu), np.bool_) if flags is None else (flags.astype(np.int64) & FLAG_STOLEN) != 0
    blocked = np.where(stolen, 0.0, calls.beyond_usual(np.maximum(0.0, calls.lasted - cpu - queue)))
    yield _Reason("blocked", _mattering(calls, blocked), _carries(calls, blocked))


def _faults(calls: _Calls, missing: dict[str, str]) -> Iterator[_Reason]:
    columns = [calls.taken(column) for column in (calls.samples.minor_faults, calls.samples.major_faults)]
    known = [(values, _MANY_FAULTS) for values in columns if values is not None]
    if not known:
        missing.setdefault("faults", "page faults were not counted")
        return
    yield _counted("faults", calls, known)


def _counted(name: str, calls: _Calls, counts: Sequence[tuple[Values, int]]) -> _Reason:
    """A reason of which only the number is known: in blocks of counters that have more of it than a multiple of what is usual in their process.

    The items of the test are blocks, since what was counted in one is known of none of its calls.
    """
    blocks = int(calls.block.max()) + 1
    process, slow = np.zeros(blocks, np.int64), np.zeros(blocks, np.bool_)
    process[calls.block] = calls.process
    slow[calls.block[calls.slow]] = True
    many = np.zeros(blocks, np.bool_)
    for values, times in counts:
        totals = np.bincount(calls.block, values, blocks).astype(np.float64)
        many |= totals > times * calls.level(totals, process)
    seen = many[calls.block]
    return _Reason(name, seen, seen, more_often(many, slow, process))


def _collected(calls: _Calls, missing: dict[str, str]) -> Iterator[_Reason]:
    seconds, counted = calls.taken(calls.samples.gc_s), calls.taken(calls.samples.gc_collections)
    if seconds is not None:
        spent = calls.beyond_usual(seconds)
        yield _Reason("collected", _mattering(calls, spent), _carries(calls, spent))
    elif counted is not None:
        yield _counted("collected", replace(calls, block=np.arange(len(calls.wall))), [(counted, 1)])
    else:
        missing.setdefault("collected", "garbage collections were not counted")


def _flagged(calls: _Calls, missing: dict[str, str]) -> Iterator[_Reason]:
    """What is known of stretches of time only: neighbours share it, so it is tested against rotations as well."""
    flags = None if calls.samples.flags is None else calls.samples.flags.values[calls.order].astype(np.int64)
    for name, bit in (("stolen", FLAG_STOLEN), ("throttled", FLAG_THROTTLED)):
        if flags is None:
            missing.setdefault(name, "calls were not marked with it")
        elif name not in missing:
            seen = (flags & bit) != 0
            chance = max(more_often(seen, calls.slow, calls.process), more_often_in_time(seen, calls.slow)) if seen.any() else 1.0
            yield _Reason(name, seen, seen, chance)
