"""Calls and times of a run recomputed: the columns `times called`, `%` and `cdf%` of `benchmark_model` are not to be believed as they stand.

`times called` is calls ÷ runs without remainder, so what runs twice in three runs is `1` and what ran once in all is `0`; delegate kernels that give
their operators the same name share a row, whose mean is of one call and not of one run; and a tool that recorded one run of fifty divides by fifty.
Calls of a run are therefore `% × mean of all runs ÷ mean of the row` wherever that agrees with the column up to its rounding, else the column.
A row that says 0 was called once in all, or in every run: which of the two makes the rows add up to the mean of the runs decides for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from .rows import NodeRow
from .sections import Timings

__all__ = ["Repaired", "repaired"]

#: Text has three decimals of a millisecond and of a percent; half of the last one, in ms and as a share.
_MS, _SHARE = 0.0005, 0.000005
_RELATIVE = 2e-3


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """What the rows of a section are in one run.

    Args:
        calls: of one run, shape of the rows; total_s: seconds of one run; share: of the file, null where its column is broken.
        broken: columns that were, in words.
    """

    calls: tuple[float, ...]
    total_s: tuple[float, ...]
    share: tuple[float | None, ...]
    broken: tuple[str, ...]


def repaired(rows: Sequence[NodeRow], timings: Timings | None) -> Repaired:
    """Calls and seconds of one run for each row; rows have a mean."""
    known = [(row, row.mean_ms or 0.0) for row in rows]
    if timings is None or timings.mean_us <= 0:
        calls = [float(max(1, row.called)) for row in rows]
        return Repaired(calls=tuple(calls), total_s=_seconds(known, calls), share=tuple(row.share for row in rows), broken=())
    run_ms = timings.mean_us / 1e3
    once = 1.0 / timings.count
    each_run = _each_run(known, run_ms, once)
    calls, shares, kinds = [], [], set[str]()
    for row, mean in known:
        called, sound, remarks = _calls(row, mean, run_ms, 1.0 if each_run else once)
        calls.append(called)
        shares.append(row.share if sound else None)
        kinds.update(remarks)
    return Repaired(calls=tuple(calls), total_s=_seconds(known, calls), share=tuple(shares), broken=tuple(sorted(kinds, reverse=True)))


def _seconds(known: Sequence[tuple[NodeRow, float]], calls: Iterable[float]) -> tuple[float, ...]:
    return tuple(mean * called / 1e3 for (_, mean), called in zip(known, calls, strict=True))


def _each_run(known: Sequence[tuple[NodeRow, float]], run_ms: float, once: float) -> bool:
    """Whether rows that were called 0 times ran in every run: that adds up better than once in all."""
    counted = sum(mean * row.called for row, mean in known if row.called)
    zeros = sum(mean for row, mean in known if not row.called)
    return abs(counted + zeros - run_ms) < abs(counted + zeros * once - run_ms)


def _calls(row: NodeRow, mean: float, run_ms: float, where_zero: float) -> tuple[float, bool, tuple[str, ...]]:
    """Calls of one run, whether the share is sound, and which columns are broken."""
    stated = float(row.called) if row.called else where_zero
    remarks = ("times called",) if not row.called else ()
    if row.share is None or mean <= 0:
        return stated, False, remarks
    slack = _MS * max(1.0, stated) / run_ms + _SHARE + _RELATIVE * row.share
    if abs(row.share - stated * mean / run_ms) <= slack:
        return stated, True, remarks
    implied = row.share * run_ms / mean
    unsure = slack * run_ms / mean
    if row.called and row.called - unsure <= implied < row.called + 1 + unsure:
        return max(stated, implied), True, ("times called",)
    return stated, False, (*remarks, "%")
