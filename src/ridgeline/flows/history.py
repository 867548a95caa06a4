"""`history`: what became of a target over the runs of the notebook: one value a run, changes bracketed by commits, drift told from steps.

What a change is, is decided in `diagnosis.history`; here is decided which runs there are and which value of each is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ridgeline.core import Better, Caution, HistoryEntry, HistoryReport, ReadError, Run, Series, SeriesSet, UsageError
from ridgeline.diagnosis.comparison import class_of, process_medians, series_of
from ridgeline.diagnosis.history import history_report
from ridgeline.stats import minimum_samples

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

__all__ = ["METRICS", "entries_of", "entries_of_set", "history", "runs_of"]

METRICS = ("median", "p99", "throughput")
#: Runs that are read when nobody says how many.
DEFAULT_LIMIT = 500
_P99 = 0.99


def history(
    target: str,
    *,
    notebook: str | Path | None = None,
    metrics: Collection[str] = METRICS,
    machine: str | None = None,
    limit: int = DEFAULT_LIMIT,
    confidence: float = 0.97,
) -> HistoryReport:
    """The history of a target.

    Args:
        target: as it was written when it was measured.
        notebook: path or URL; the default notebook if not given.
        metrics: of `METRICS`: median over the medians of processes, p99 of all calls, calls a second when many are issued.
        machine: only runs of machines whose CPU's name contains this, or whose fingerprint begins so.
        limit: the newest so many runs, ≥ 1.
        confidence: of what is expected of the next run, in (0, 1).

    Raises:
        UsageError: no such notebook, or a metric that there is not.
        ReadError: a notebook that is none.
    """
    from ridgeline.notebook import Notebook

    unknown = set(metrics) - set(METRICS)
    if unknown or not 0 < confidence < 1:
        found = ", ".join(sorted(unknown)) or f"confidence {confidence!r}"
        raise UsageError(f"metrics of {', '.join(METRICS)}, and a confidence in (0, 1)", found=found, remedy="leave them out")
    with Notebook.open(notebook, create=False) as book:
        damaged: list[str] = []
        runs = runs_of(book, target, limit, machine=machine, damaged=damaged)
        close = [] if runs else _others(book, target)
    if not runs:
        remedy = f"there are {', '.join(close)}" if close else "measure it: `ridgeline bench TARGET`"
        raise UsageError("a target with runs in the notebook", found=f"none of {target!r}", remedy=remedy)
    report = history_report(target, [entry for run in runs for entry in entries_of(run, metrics=metrics)], confidence=confidence)
    # A metric that no run has says nothing.
    report = msgspec.structs.replace(report, lines=tuple(line for line in report.lines if line.level is not None))
    return _with_damaged(report, damaged)


def runs_of(notebook: Notebook, target: str, limit: int, *, machine: str | None = None, damaged: list[str] | None = None) -> list[Run]:
    """Runs of exactly this target, oldest first; those whose document is damaged are passed over, and named in `damaged`."""
    from ridgeline.notebook import RunFilter

    found: list[Run] = []
    for summary in notebook.runs(wanted=RunFilter(target=target, machine=machine)):
        if summary.target != target or len(found) >= limit:
            continue
        try:
            found.append(notebook.get(summary.id))
        except ReadError:
            if damaged is not None:
                damaged.append(summary.id)
    return found[::-1]


def _others(notebook: Notebook, target: str) -> list[str]:
    """Targets that are written a little otherwise."""
    name = target.rsplit("/", 1)[-1]
    return list(dict.fromkeys(summary.target for summary in notebook.runs(200, target=name)))[:3]


def _with_damaged(report: HistoryReport, damaged: Sequence[str]) -> HistoryReport:
    if not damaged:
        return report
    message = f"{len(damaged)} run{'s' * (len(damaged) > 1)} of the notebook cannot be read, the first is {damaged[0]}"
    caution = Caution(code="damaged-runs", message=message, effect="they are in no history")
    return msgspec.structs.replace(report, warnings=(*report.warnings, caution))


def entries_of(run: Run, *, metrics: Collection[str] = METRICS) -> list[HistoryEntry]:
    """The values of one run; a metric that it has no values of is an entry without one, with the reason."""
    series = {found.metric: found for found in series_of(run).series}
    latency = series.get("latency")
    keys = _must(latency or series.get("batched"))
    name = run.facts.target.spec

    def entry(metric: str, value: float | None, reason: str, unit: str = "s", better: Better = "lower") -> HistoryEntry:
        return HistoryEntry(
            run=run.id, at=run.at, commit=run.commit, name=name, metric=metric, value=value, unit=unit, better=better, reason=reason, keys=keys
        )

    found = {
        "median": lambda: entry("median", _median(latency), "no samples"),
        "p99": lambda: entry("p99", _tail(latency), f"under {minimum_samples(_P99)} samples"),
        "throughput": lambda: entry("throughput", _throughput(series.get("batched")), "no batches", "count/s", "higher"),
    }
    made = [found[metric]() for metric in METRICS if metric in metrics]
    return [each if each.value is None else _without_reason(each) for each in made]


def _without_reason(entry: HistoryEntry) -> HistoryEntry:
    return msgspec.structs.replace(entry, reason="")


def entries_of_set(found: SeriesSet, *, at: str = "", commit: str | None = None) -> list[HistoryEntry]:
    """The medians of a result file, one entry a series, for histories of files."""
    return [
        HistoryEntry(
            run=found.source, at=series.at or at, commit=commit, name=series.name, metric=series.metric, value=_median(series),
            unit=series.unit, better=series.better, reason="no values", keys=_must(series),
        )
        for series in found.series
    ]  # fmt: skip


def _must(series: Series | None) -> dict[str, str]:
    return {} if series is None else {key: value for key, value in series.keys.items() if class_of(key) == "must"}


def _median(series: Series | None) -> float | None:
    """The median over processes of their medians, of the calls that nothing slowed."""
    medians = process_medians(series) if series is not None else ()
    return float(np.median(medians)) if len(medians) else None


def _tail(series: Series | None) -> float | None:
    if series is None or len(series.values) < minimum_samples(_P99):
        return None
    return float(np.quantile(series.values.values, _P99))


def _throughput(batched: Series | None) -> float | None:
    seconds = _median(batched)
    return 1 / seconds if seconds else None
