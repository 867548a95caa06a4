"""The log of the notebook as a table: runs, or comparisons, newest first. A column that no row fills is left out."""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.notebook import ComparisonSummary, RunSummary

from .page import Cell, Column, Page, Section, Table, count, number, seconds, words

__all__ = ["comparison_table", "log_table"]

_NO_RUNS = "No runs yet: `ridgeline diagnose TARGET` writes the first."
_NONE_SUCH = "No runs that the options allow."
_NO_COMPARISONS = "No comparisons yet: `ridgeline compare A B` writes the first."


def log_table(runs: Sequence[RunSummary], *, filtered: bool = False) -> Page:
    """Runs of the notebook.

    Args:
        runs: newest first.
        filtered: whether they are only some of the notebook's.
    """
    columns = (
        Column(title="run", weight=20),
        Column(title="at", weight=8),
        Column(title="verb", weight=14),
        Column(title="target", flexible=True, weight=15),
        Column(title="median", right=True, weight=13),
        Column(title="p99", right=True, weight=12),
        Column(title="processes", right=True, weight=5),
        Column(title="bound", flexible=True, least=9, weight=10),
        Column(title="cause", flexible=True, least=11, weight=11),
        Column(title="commit", flexible=True, weight=7),
        Column(title="machine", flexible=True, weight=6),
    )
    several = len({run.machine for run in runs}) > 1
    rows = [_run(run, several) for run in runs]
    empty = _NONE_SUCH if filtered else _NO_RUNS
    return _page("ridgeline log", "runs, newest first (times in UTC)", columns, rows, empty)


def _run(run: RunSummary, several_machines: bool) -> tuple[Cell, ...]:
    # Where one run alone was diagnosed the others' dash needs its reason, where none was the column is left out.
    return (
        words(run.id), words(run.at[:19].replace("T", " ")), words(run.verb), words(run.target), seconds(run.median_s, reason="nothing was timed"),
        seconds(run.p99_s, reason="too few samples"), count(run.processes, "nothing was timed"), words(run.bound or "", "no diagnosis"),
        words(run.cause or ("none" if run.bound else ""), "no diagnosis"), words(_commit(run.commit), "in no repository"),
        words(f"{run.machine_name} {run.machine[:6]}".strip() if several_machines else ""),
    )  # fmt: skip


def _commit(commit: str | None) -> str:
    """Its first twelve digits, with the mark of a changed tree."""
    name, plus, dirty = (commit or "").partition("+")
    return name[:12] + plus + dirty


def comparison_table(found: Sequence[ComparisonSummary]) -> Page:
    """Comparisons of the notebook, newest first."""
    columns = (
        Column(title="comparison", weight=20),
        Column(title="at", weight=8),
        Column(title="target", flexible=True, weight=15),
        Column(title="verdict", weight=18),
        Column(title="ratio", right=True, weight=17),
        Column(title="A", weight=9),
        Column(title="B", weight=9),
    )
    rows = [
        (
            words(one.id), words(one.at[:19].replace("T", " ")), words(one.target, "not named"), words(one.verdict),
            number(one.ratio, "1", reason="several benchmarks, or nothing to tell"),
            words(one.a_run or "", "no run"), words(one.b_run or "", "no run"),
        )
        for one in found
    ]  # fmt: skip
    return _page("ridgeline log --comparisons", "comparisons, newest first (times in UTC)", columns, rows, _NO_COMPARISONS)


def _page(title: str, caption: str, columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]], empty: str) -> Page:
    shown = [index for index in range(len(columns)) if any(row[index].known for row in rows)] if rows else list(range(len(columns)))
    table = Table(
        caption=caption,
        columns=tuple(columns[index] for index in shown),
        rows=tuple(tuple(row[index] for index in shown) for row in rows),
        empty=empty,
    )
    return Page(title=title, sections=(Section(title="", blocks=(table,)),))
