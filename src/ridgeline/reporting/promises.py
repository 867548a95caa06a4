"""The page of `log --promises`: how often promises held, by action, and every experiment behind it."""

from __future__ import annotations

from ridgeline.core import Experiment, PromiseLine, PromiseReport
from ridgeline.core.units import format_speedup

from .page import Cell, Column, Page, Paragraph, Section, Table, missing, speedup, words

__all__ = ["promises_page"]

_COUNTS = ("kept", "refuted", "open", "failed", "recommended")
_NONE = "No promise has been tried yet: `ridgeline diagnose --try TARGET` tries the first."


def promises_page(report: PromiseReport) -> Page:
    """The promises of a notebook and what came of them."""
    columns = (
        Column(title="action", flexible=True, weight=20),
        *(Column(title=name, right=True, weight=15) for name in _COUNTS),
        Column(title="held", right=True, weight=18),
    )
    rows = tuple(_line(line) for line in (*report.actions, report.total)) if report.actions else ()
    counts = Table(
        caption="promises, by action: found gain inside the promised interval (kept), outside (refuted), or undecided (open)",
        columns=columns,
        rows=rows,
        empty=_NONE,
        note="held: kept, of all trials with a result; in brackets the share that would hold in the long run, as far as so many say (95 %)",
    )
    blocks = (counts, Paragraph(text=_controls(report)))
    return Page(title="ridgeline log --promises", sections=(Section(title="Promises", blocks=blocks), *_experiments(report)))


def _line(line: PromiseLine) -> tuple[Cell, ...]:
    return (words(line.action), *(words(str(getattr(line, name))) for name in _COUNTS), _held(line))


def _held(line: PromiseLine) -> Cell:
    """`2 of 3 (21–94 %)`: a bare share of one trial would be read as a verdict on all of them."""
    if line.rate is None:
        return missing("no trial with a result")
    low, high = (f"{100 * end:.0f}" for end in (line.rate.low, line.rate.high))
    return words(f"{line.kept} of {line.kept + line.refuted + line.open} ({low}–{high} %)")


def _controls(report: PromiseReport) -> str:
    controls = ", ".join(f"{number} {verdict}" for verdict, number in report.controls.items()) or "none"
    return f"Controls, of which nothing was promised: {controls}. Trials whose output differed: {report.output_changed}."


def _experiments(report: PromiseReport) -> tuple[Section, ...]:
    if not report.experiments:
        return ()
    columns = (
        Column(title="target", flexible=True, weight=15),
        Column(title="change", flexible=True, weight=20),
        Column(title="promised", weight=18),
        Column(title="found", weight=19),
        Column(title="verdict", weight=16),
        Column(title="promise", weight=17),
    )
    rows = tuple(_experiment(made) for made in reversed(report.experiments))
    return (Section(title="Experiments", blocks=(Table(caption="experiments, newest first", columns=columns, rows=rows),)),)


def _experiment(made: Experiment) -> tuple[Cell, ...]:
    return (
        words(made.target),
        words(made.change),
        speedup(made.action.speedup) if made.action else missing("a control"),
        words(format_speedup(*made.found)) if made.found else missing("the trial failed"),
        words(made.verdict),
        words(made.promise or "", "a control" if made.action is None else "the trial failed"),
    )
