"""`PromiseReport`: how often the promises of diagnoses held, action by action and over time, whoever put them to the test."""

from __future__ import annotations

import msgspec

from .quantity import Quantity
from .verdict import Experiment

__all__ = ["PromiseLine", "PromisePoint", "PromiseReport", "PromiseTrend"]


class PromiseLine(msgspec.Struct, frozen=True, kw_only=True):
    """The trials of one action, or of all.

    Args:
        action: its name.
        kept: trials whose found gain lies in the promised interval.
        refuted: trials whose found interval lies wholly outside the promised one.
        open: trials in between.
        failed: trials without a result.
        untested: open ones of which nothing was found that the promise could be held against.
        rate: kept ÷ (kept + refuted + open − untested) with its Wilson interval; null where there are none.
        recommended: changes that were kept.
    """

    action: str
    kept: int = 0
    refuted: int = 0
    open: int = 0
    failed: int = 0
    untested: int = 0
    rate: Quantity | None = None
    recommended: int = 0


class PromisePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One promise that was tested and gave a result.

    Args:
        at: ISO 8601 time at which its result was kept, empty if not known.
        action, target, machine: whose.
        by: `trial` of `diagnose --try`, or `comparison` of a change that somebody made.
        promised, found: (low, high) speedup.
        promise: as in `Tried`.
        commits: of both versions, where they are known.
    """

    at: str
    action: str
    target: str
    machine: str
    by: str
    promised: tuple[float, float]
    found: tuple[float, float]
    promise: str
    commits: tuple[str, ...] = ()


class PromiseTrend(msgspec.Struct, frozen=True, kw_only=True):
    """Promised against found of one action on one machine.

    Args:
        action, machine: whose.
        points: oldest first.
        promised, found: geometric mean of the middles (the geometric mean of an interval's ends).
        ratio: found ÷ promised; under 1 the promises are too large.
    """

    action: str
    machine: str
    points: tuple[PromisePoint, ...]
    promised: float
    found: float
    ratio: float


class PromiseReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.promises/1"):
    """All experiments of a notebook, counted.

    Args:
        notebook: where they are.
        total: all promises together.
        actions: by action, most trials first.
        controls: changes of which nothing was promised, by verdict.
        output_changed: trials whose output differed.
        experiments: what was counted, oldest first.
        trials, comparisons: promises that `diagnose --try` tested, and that `compare --tests` did.
        hypotheses: comparisons of which no diagnosis promised anything, by verdict.
        trends: promised against found, by action and machine, most points first.
    """

    notebook: str
    total: PromiseLine
    actions: tuple[PromiseLine, ...]
    controls: dict[str, int]
    output_changed: int
    experiments: tuple[Experiment, ...]
    trials: int = 0
    comparisons: int = 0
    hypotheses: dict[str, int] = {}
    trends: tuple[PromiseTrend, ...] = ()
