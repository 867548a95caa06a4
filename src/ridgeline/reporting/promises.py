"""The page of `log --promises`: how often promises held, by action; promised against found over time; every experiment behind it."""

from __future__ import annotations

from ridgeline.core import Experiment, PromiseLine, PromiseReport
from ridgeline.core.promises import PromiseTrend
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
    sections = (Section(title="Promises", blocks=blocks), *_over_time(report), *_experiments(report))
    return Page(title="ridgeline log --promises", sections=sections)


def _line(line: PromiseLine) -> tuple[Cell, ...]:
    return (words(line.action), *(words(str(getattr(line, name))) for name in _COUNTS), _held(line))


def _held(line: PromiseLine) -> Cell:
    """`2 of 3 (21–94 %)`: a bare share of one trial would be read as a verdict on all of them."""
    if line.rate is None:
        return missing("no trial with a result")
    low, high = (f"{100 * end:.0f}" for end in (line.rate.low, line.rate.high))
    return words(f"{line.kept} of {line.kept + line.refuted + line.open - line.untested} ({low}–{high} %)")


def _controls(report: PromiseReport) -> str:
    controls, hypotheses = (_verdicts(counts) for counts in (report.controls, report.hypotheses))
    text = f"Tested by `diagnose --try`: {report.trials}, by `compare --tests`: {report.comparisons}. "
    if report.total.untested:
        text += f"Open because what was compared is not what was promised, and not in the rates: {report.total.untested}. "
    text += f"Controls, of which nothing was promised: {controls}. Trials whose output differed: {report.output_changed}."
    return text + (f" Comparisons that tested no promise: {hypotheses}." if report.hypotheses else "")


def _verdicts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.items()) or "none"


def _over_time(report: PromiseReport) -> tuple[Section, ...]:
    """Promised against found by action and machine, and the points behind it, oldest first."""
    if not report.trends:
        return ()
    columns = (
        Column(title="action", flexible=True, weight=20),
        Column(title="machine", flexible=True, weight=8),
        Column(title="results", right=True, weight=12),
        Column(title="promised", right=True, weight=15),
        Column(title="found", right=True, weight=16),
        Column(title="found ÷ promised", right=True, weight=18),
    )
    means = Table(
        caption="promised against found, by action and machine (geometric means of the middles)",
        columns=columns,
        rows=tuple(_trend(trend) for trend in report.trends),
        note="under 1: the promises were too large; over 1: too small",
    )
    return (Section(title="Promised against found", blocks=(means, _points(report.trends))),)


def _trend(trend: PromiseTrend) -> tuple[Cell, ...]:
    return (
        words(trend.action), words(trend.machine, "not recorded"), words(str(len(trend.points))),
        speedup((trend.promised, trend.promised)), speedup((trend.found, trend.found)), words(f"{trend.ratio:.2f}"),
    )  # fmt: skip


def _points(trends: tuple[PromiseTrend, ...]) -> Table:
    columns = (
        Column(title="action", flexible=True, weight=18),
        Column(title="at", weight=20),
        Column(title="target", flexible=True, weight=9),
        Column(title="promised", right=True, weight=15),
        Column(title="found", right=True, weight=16),
        Column(title="promise", weight=17),
        Column(title="by", weight=10),
        Column(title="commits", flexible=True, weight=8),
    )
    rows = tuple(
        (
            words(point.action), words(point.at[:10], "not dated"), words(point.target), speedup(point.promised), speedup(point.found),
            words(point.promise), words(point.by), words(" → ".join(commit[:12] for commit in point.commits), "not recorded"),
        )
        for trend in trends
        for point in trend.points
    )  # fmt: skip
    return Table(caption="each result, by action and machine, oldest first", columns=columns, rows=rows)


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
        words(made.change or made.hypothesis, "not named"),
        speedup(made.action.speedup) if made.action else missing("nothing was promised"),
        words(format_speedup(*made.found)) if made.found else missing("no result"),
        words(made.verdict),
        words(made.promise or "", "nothing was promised" if made.action is None else "no result"),
    )
