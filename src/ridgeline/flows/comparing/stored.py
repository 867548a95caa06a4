"""Two sides that were measured before: runs of the notebook, result files of other tools, or one of each."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from ridgeline.core import Caution, Comparison, ComparisonSet, Run, Series, SeriesSet, UsageError
from ridgeline.diagnosis.comparison import compare_series, compare_sets, series_of

from .live import metric_of
from .sides import FileSide, RunSide

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

__all__ = ["Opened", "compared_stored", "opened"]


#: Benchmarks of a side that are named where both have none in common.
_NAMED = 5


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A stored side: its series, and the run that they are of; null for a file."""

    name: str
    series: SeriesSet
    run: Run | None = None


def opened(side: RunSide | FileSide, notebook: Notebook | None) -> Opened:
    """Read a stored side.

    Raises:
        UsageError: no notebook, no such run, or one that measured nothing.
        ReadError: a file that is no result file.
    """
    if isinstance(side, RunSide):
        return _run(side, notebook)
    if side.series is not None:
        return Opened(name=side.name, series=side.series)
    from ridgeline.readers.results import read_results

    return Opened(name=side.name, series=read_results(side.name))


def _run(side: RunSide, notebook: Notebook | None) -> Opened:
    if side.run is None and notebook is None:
        raise UsageError("a notebook with the run", found="--no-notebook", remedy="leave it out")
    run = side.run if side.run is not None else notebook.get(side.name)  # type: ignore[union-attr]
    series = series_of(run)
    if not series.series:
        found = f"run {run.id}, a {run.verb} without samples"
        raise UsageError("a run that measured its target", found=found, remedy="give one of `ridgeline log --verb bench`")
    return Opened(name=run.id, series=series, run=run)


def compared_stored(
    a: Opened, b: Opened, *, margin: float, confidence: float, changing: Collection[str], metric: str | None = None
) -> Comparison | ComparisonSet:
    """Compare two stored sides: one benchmark of each directly, many by name and metric.

    Args:
        a, b: the sides.
        margin, confidence, changing: see `compare_series`.
        metric: only series of this; of a run its latency if not given.

    Raises:
        UsageError: no benchmark is in both, of several.
    """
    # Of a run the latency of a call, unless asked for; a file says itself what it holds.
    sets = [_only(side.series, metric or (metric_of(side.run) if side.run is not None else None)) for side in (a, b)]
    if _measured_together(a, b):
        changing = {*changing, "workload"}
    if all(len(found.series) == 1 for found in sets):
        first, second, assumed = _one_metric(sets[0].series[0], sets[1].series[0], a, b)
        one = compare_series(first, second, margin=margin, confidence=confidence, changing=changing, versions_differ=_versions_differ(a, b))
        return _closed(one, a, b, assumed)
    many = compare_sets(sets[0], sets[1], margin=margin, confidence=confidence, changing=changing)
    if not many.comparisons:
        found = f"{a.name} has {_named(sets[0])}; {b.name} has {_named(sets[1])}"
        raise UsageError("a benchmark that is on both sides", found=found, remedy="give two results of the same benchmarks")
    if len(many.comparisons) == 1 and not many.missing and not many.new:
        return _closed(many.comparisons[0], a, b, many.warnings)
    closed = tuple(
        msgspec.structs.replace(found, name_a=a.name, name_b=b.name, run_a=a.run.id if a.run else None, run_b=b.run.id if b.run else None)
        for found in many.comparisons
    )
    return msgspec.structs.replace(many, a=a.name, b=b.name, comparisons=closed)


def _one_metric(first: Series, second: Series, a: Opened, b: Opened) -> tuple[Series, Series, tuple[Caution, ...]]:
    """Both series under one metric, where a run stands against the times of a file: each tool has its own word for the time of a call."""
    alike = first.unit == second.unit == "s" and first.better == second.better
    if first.metric == second.metric or (a.run is None) == (b.run is None) or not alike:
        return first, second, ()
    message = f"{first.metric} of A is held against {second.metric} of B: that both are the time of one call is taken for granted"
    caution = Caution(code="metric-assumed", message=message, effect="if they are not, the ratio means nothing")
    return first, msgspec.structs.replace(second, metric=first.metric), (caution,)


def _named(side: SeriesSet) -> str:
    names = list(dict.fromkeys(f"{series.name} ({series.metric})" for series in side.series))
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "") if names else "nothing"


def _only(series: SeriesSet, metric: str | None) -> SeriesSet:
    if metric is None:
        return series
    return msgspec.structs.replace(series, series=tuple(one for one in series.series if one.metric == metric))


def _versions_differ(a: Opened, b: Opened) -> bool:
    """Whether the code under test may be another one: only two runs of one commit and one file are known to be of the same."""
    if a.run is None or b.run is None:
        return True
    dirty = any((run.commit or "").endswith("+dirty") for run in (a.run, b.run))
    same = a.run.commit == b.run.commit and a.run.facts.target.digest == b.run.facts.target.digest
    return not same or dirty


def _measured_together(a: Opened, b: Opened) -> bool:
    """Whether both are sides of one comparison: that they do the same work was said then."""
    runs = [side.run for side in (a, b) if side.run is not None]
    return len(runs) == 2 and all(run.verb == "compare" for run in runs) and len({(run.at, run.command) for run in runs}) == 1


def _closed(found: Comparison, a: Opened, b: Opened, more: tuple[Caution, ...] = ()) -> Comparison:
    return msgspec.structs.replace(
        found,
        name_a=a.name,
        name_b=b.name,
        run_a=a.run.id if a.run is not None else None,
        run_b=b.run.id if b.run is not None else None,
        warnings=(*found.warnings, *more),
    )
