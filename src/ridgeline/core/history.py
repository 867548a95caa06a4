"""`HistoryReport`: what became of the results of one target over its runs and commits."""

from __future__ import annotations

from typing import Literal

import msgspec

from .display import shown_inline
from .facts import Caution
from .series import Better

__all__ = ["HistoryChange", "HistoryEntry", "HistoryLine", "HistoryPoint", "HistoryReport"]


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One result of one run, as a history takes it.

    Args:
        run: its id, or the name of the file it is from.
        at: ISO 8601 time; commit: as in `Run`.
        name, metric, unit, better: as in `Series`.
        value: one value for the run; null where it has none.
        reason: why the value is null.
        keys: in which results must be equal to stand in one history.
    """

    run: str
    at: str
    commit: str | None
    name: str
    metric: str
    value: float | None
    unit: str = "s"
    better: Better = "lower"
    reason: str = ""
    keys: dict[str, str] = {}


class HistoryPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a history; `value` is null where it is left out, for `reason`."""

    run: str
    at: str
    commit: str | None
    value: float | None
    reason: str = ""


class HistoryChange(msgspec.Struct, frozen=True, kw_only=True):
    """Where a history changed its level, or its slope in one that drifts.

    Args:
        index: of the first point after it.
        before, after: medians of the runs to both sides, up to the next changes.
        ratio: after ÷ before; null where before is not above zero.
        word: whether it became faster or slower; for values of which more is better `faster` means better.
        chance: of so large a step without a change; null for a change of slope.
        last_before, first_after: ids of the runs that bracket it.
        from_commit, to_commit: their commits: what changed lies after the first, up to and with the second.
    """

    index: int
    before: float
    after: float
    ratio: float | None
    word: Literal["faster", "slower"]
    chance: float | None
    last_before: str
    first_after: str
    from_commit: str | None
    to_commit: str | None


class HistoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one metric that may be held against each other, oldest first.

    Args:
        name, metric, unit, better: as in `Series`.
        keys: in which all of its runs are equal.
        points: every run, left-out ones among them.
        shape: `flat`, `steps` between levels, or `drift`: it moves all the time.
        changes: in order.
        drift_per_run: relative change from one run to the next since the last change; null unless it drifts.
        level: of the runs since the last change (of a drift: where the next run is expected); null without a value.
        level_runs: how many these are.
        spread: relative standard deviation of a run around that level, steps and drift taken out; null under five runs.
        expected: (low, high) of the next run if nothing changes; null under five runs.
        confidence: of `expected`; with an `assured` below it, only if the logarithms of runs are a normal sample.
        assured: share of next runs in `expected` whatever the noise is, if runs do not depend on one another; null where that is not known.
        left_out: runs without a value.
        because: one sentence.
    """

    name: str
    metric: str
    unit: str
    better: Better
    points: tuple[HistoryPoint, ...]
    shape: Literal["flat", "steps", "drift"]
    changes: tuple[HistoryChange, ...] = ()
    keys: dict[str, str] = {}
    drift_per_run: float | None = None
    level: float | None = None
    level_runs: int = 0
    spread: float | None = None
    expected: tuple[float, float] | None = None
    confidence: float = 0.97
    assured: float | None = None
    left_out: int = 0
    because: str = ""


class HistoryReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.history/1"):
    """The histories of a target, those with the newest run first; runs that differ in a key that must be equal are in lines of their own.

    Args:
        target: what was asked for.
        lines: one for each metric and set of keys.
        runs: how many runs there are.
        split_by: keys in which they differ.
        warnings: what its reader must know.
    """

    target: str
    lines: tuple[HistoryLine, ...]
    runs: int
    split_by: tuple[str, ...] = ()
    warnings: tuple[Caution, ...] = ()

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)
