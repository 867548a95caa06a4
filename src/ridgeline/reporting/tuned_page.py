"""The page of a `TuneReport`: the best configuration and how sure, what it was held against, what was tried, what each parameter is worth.

The headline says what may be relied on: a best that is not told from others, or no better setting, is said so. Drawing is left to `report.tuned`.
"""

from __future__ import annotations

import math
from typing import Literal

from ridgeline.core import ImportanceTable, ModelFit, TunedBest, TunedFront, TunedPrior, TuneReport
from ridgeline.core.space import Value
from ridgeline.core.units import format_quantity, format_share, format_speedup

from .page import (
    Block,
    Cell,
    Column,
    Item,
    Items,
    Page,
    Pair,
    Pairs,
    Paragraph,
    Section,
    Table,
    count,
    missing,
    number,
    seconds,
    share,
    speedup,
    words,
)

__all__ = ["config_text", "tuned_page", "value_text"]

#: Lines of the table of importance, and points of the curve.
_MOST_SHARES, _MOST_POINTS = 16, 12
#: Lines of the front, and others that one of them may be beaten by.
_MOST_FRONT, _MOST_UNTOLD = 40, 4
#: A gain over the default that can be no more than this is none.
_NO_GAIN = 1.05
_VERDICTS = {
    "won": "no other one that was tried is better",
    "tie": "some that were tried may be a little better, by less than 1 %",
    "open": "another one that was tried may be better: the runs did not suffice to tell",
}
_STOPPED = {"trials": "as many as were wanted", "time": "the time was up", "space": "all there are", "interrupted": "interrupted"}


def tuned_page(report: TuneReport) -> Page:
    """What a tuning found."""
    search = (Pairs(rows=_searched(report)), *_priors(report), *_curve(report))
    sections = [Section(title="Best", blocks=_of_best(report)), Section(title="Search", blocks=search)]
    if report.front is not None:
        sections.insert(1, Section(title="Front", blocks=_front(report, report.front)))
    sections.append(Section(title="Importance", blocks=_importance(report.importance)))
    if report.failures:
        sections.append(Section(title="Failures", blocks=(_failures(report),)))
    if report.warnings:
        lines = [f"{each.message}; {each.effect}" if each.effect else each.message for each in report.warnings]
        sections.append(Section(title="Warnings", blocks=(Items(items=tuple(Item(title=line) for line in lines)),)))
    return Page(title=f"ridgeline tune {report.target}", headline=_headline(report), tone=_tone(report), sections=tuple(sections))


def value_text(value: Value) -> str:
    """A value of a parameter as a person writes it."""
    return ("true" if value else "false") if isinstance(value, bool) else f"{value:.6g}" if isinstance(value, float) else str(value)


def config_text(config: dict[str, Value]) -> str:
    """A configuration in one line."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in config.items())


def _headline(report: TuneReport) -> str:
    if report.replay is not None:
        return f"{_found(report)}; replayed, nothing was measured"
    return _found(report)


def _found(report: TuneReport) -> str:
    found, front = _headline_of_best(report), report.front
    if front is None or len(front.points) < 2:
        return found
    return f"{found}; {len(front.points)} to choose from between {' and '.join(front.objectives)}"


def _headline_of_best(report: TuneReport) -> str:
    best = report.best
    if best is None:
        return f"{report.target}: nothing ran of {report.unique_evaluations} configurations that were tried"
    found = f"{report.target}: {format_quantity(best.objective, report.unit)}"
    if report.default is None:
        return f"{found}, {_sure(best)}"
    if report.default.speedup is None and report.default.config != best.config:
        return f"{found}; whether that is better than the default is not known: too few runs of both"
    if not report.default.better:
        tried = f"({report.unique_evaluations} were tried)"
        if report.default.speedup is None or report.default.speedup[1] < _NO_GAIN:
            return f"{report.target}: no better setting than the default was found {tried}"
        return f"{report.target}: none is shown to be better than the default: {format_speedup(*report.default.speedup)} its speed {tried}"
    assert report.default.speedup is not None
    if report.objective != "time":
        return f"{found}, the default's divided by {format_speedup(*report.default.speedup)}; {_sure(best)}"
    return f"{found}, {format_speedup(*report.default.speedup)} the default's speed; {_sure(best)}"


def _sure(best: TunedBest) -> str:
    if best.verdict == "won":
        return f"with {format_share(1.0 - best.probability_better)} no other that was tried is better by over 1 %"
    return "in a tie with others" if best.verdict == "tie" else "not told from others"


def _tone(report: TuneReport) -> Literal["good", "bad", "unsure", "plain"]:
    if report.best is None:
        return "bad"
    return "unsure" if report.best.verdict == "open" or (report.default is not None and not report.default.better) else "good"


def _of_best(report: TuneReport) -> tuple[Block, ...]:
    best = report.best
    if best is None:
        return (Paragraph(text="Nothing ran. The failures below say why."),)
    of_config = Pairs(caption="configuration", rows=tuple(Pair(label=name, cell=words(value_text(value))) for name, value in best.config.items()))
    rows = [
        Pair(
            label=report.objective,
            cell=number(best.objective, report.unit, best.objective_ci),
            note=f"median of {best.runs} run{'s' if best.runs != 1 else ''} in the finals",
        ),
        Pair(label="the lowest of those tried", cell=share(best.probability_best), note=_VERDICTS[best.verdict]),
        Pair(label="another is better by over 1 %", cell=share(best.probability_better)),
        *_replay_rows(report),
        *_default_rows(report),
        *_roofline_rows(report),
    ]
    return (of_config, *_how(report, best), Pairs(caption="how sure", rows=tuple(rows)), *_ties(report, best))


def _how(report: TuneReport, best: TunedBest) -> tuple[Block, ...]:
    """How to set what is not as in the default."""
    before = report.default.config if report.default is not None else {}
    moved = [(name, report.how.get(name, "")) for name, value in best.config.items() if before.get(name) != value]
    rows = tuple(Pair(label=f"{name} = {value_text(best.config[name])}", cell=words(how)) for name, how in moved if how)
    return (Pairs(caption="how to set what is not as in the default", rows=rows),) if rows else ()


def _why_no_gain(report: TuneReport) -> str:
    same = report.default is not None and report.best is not None and report.default.config == report.best.config
    return "the default is the best" if same else "too few runs of both"


def _replay_rows(report: TuneReport) -> tuple[Pair, ...]:
    if report.replay is None or report.replay.regret is None:
        return ()
    note = f"of {report.replay.configurations:,} in {report.replay.file}, by medians of all their runs"
    return (Pair(label="the best recorded takes less by", cell=share(1.0 - 1.0 / report.replay.regret), note=note),)


def _default_rows(report: TuneReport) -> tuple[Pair, ...]:
    default = report.default
    if default is None:
        return ()
    gain = speedup(default.speedup) if default.speedup is not None else missing(_why_no_gain(report))
    return (Pair(label="default", cell=number(default.objective, report.unit)), Pair(label="gain over the default", cell=gain))


def _roofline_rows(report: TuneReport) -> tuple[Pair, ...]:
    left = report.roofline
    if left is None:
        return ()
    note = f"of {left.ceiling}; at the ceiling it would take {format_quantity(left.floor_s, 's')}"
    return (Pair(label=f"of the {left.bound} ceiling", cell=share(left.share), note=note),)


def _ties(report: TuneReport, best: TunedBest) -> tuple[Block, ...]:
    if not best.ties:
        return ()
    columns = (
        Column(title="configuration", flexible=True, weight=20, lines=2),
        Column(title=report.objective, right=True),
        Column(title="is best", right=True),
    )
    rows = tuple(
        (words(_difference(each.config, best.config)), number(each.objective, report.unit), share(each.probability_best)) for each in best.ties
    )
    return (Table(caption="not told from the best, by what is different", columns=columns, rows=rows),)


def _difference(config: dict[str, Value], other: dict[str, Value]) -> str:
    parts = [f"{name} = {value_text(value)}" for name, value in config.items() if name not in other or other[name] != value]
    return ", ".join([*parts, *(f"no {name}" for name in other if name not in config)])


def _front(report: TuneReport, front: TunedFront) -> tuple[Block, ...]:
    columns = (
        Column(title="", right=True),
        Column(title="configuration", flexible=True, weight=20, lines=2),
        *(Column(title=name, right=True) for name in front.objectives),
        Column(title="runs", right=True),
        Column(title="may be beaten by"),
    )
    points = front.points if len(front.points) <= _MOST_FRONT else front.points[:: -(-len(front.points) // _MOST_FRONT)]
    first = report.best.config if report.best is not None else {}
    rows = tuple(
        (
            count(front.points.index(point) + 1),
            words(_difference(point.config, first) or "the best"),
            *(number(value, unit, interval) for value, unit, interval in zip(point.values, front.units, point.intervals, strict=True)),
            count(point.runs),
            words(", ".join(str(place + 1) for place in point.untold[:_MOST_UNTOLD]) or "none"),
        )
        for point in points
    )
    left_out = len(front.points) - len(points)
    text = (
        f"Of {front.measured} configurations that have all of {', '.join(front.objectives)}, every other one is as high or higher in all of them "
        f"than one of these {len(front.points)}. They dominate {format_share(front.hypervolume)} of the box from the lowest to the highest of each, "
        "in logarithms."
    )
    note = f"{left_out} more are in the JSON" if left_out else ""
    caption = "none of those tried beats these, by what is different from the best"
    return (Table(caption=caption, columns=columns, rows=rows, note=note), Paragraph(text=text))


def _searched(report: TuneReport) -> tuple[Pair, ...]:
    space = report.space
    return (
        Pair(label="configurations tried", cell=count(report.unique_evaluations), note=f"of {space.size:,} valid ones; {_STOPPED[report.stopped]}"),
        Pair(label="trials", cell=count(report.trials), note="with those of the finals and looks at the device"),
        Pair(label="parameters", cell=count(len(space.parameters)), note=", ".join(each.name for each in space.parameters)),
        *((Pair(label="given up", cell=count(report.given_up), note="clearly slower than the best so far"),) if report.given_up else ()),
        Pair(label="time", cell=seconds(report.search_s), note=f"{format_quantity(report.overhead_s, 's')} of it not in trials"),
        Pair(label="search", cell=words(report.strategy), note=f"seed {report.seed}"),
        *_model(report.model),
        *_where(report),
    )


def _model(fit: ModelFit | None) -> tuple[Pair, ...]:
    if fit is None:
        return ()
    order = "" if fit.rank_correlation is None else f", rank correlation {fit.rank_correlation:.2f}"
    note = f"of {fit.trials} configurations, believed before each was tried{order}"
    return (Pair(label="its model was off by", cell=words(f"{format_share(math.expm1(fit.median_error))} in the middle"), note=note),)


def _where(report: TuneReport) -> tuple[Pair, ...]:
    if report.replay is not None:
        return (Pair(label="recorded on", cell=words(report.machine, "not said")), Pair(label="replayed from", cell=words(report.replay.file)))
    record = words(report.record or "", "not kept: give --record FILE")
    return (Pair(label="machine", cell=words(report.machine)), Pair(label="record", cell=record, note=_resumed(report)))


def _resumed(report: TuneReport) -> str:
    return "" if report.resumed_from is None else "gone on with"


def _priors(report: TuneReport) -> tuple[Block, ...]:
    if not report.priors:
        return ()
    columns = (
        Column(title="begun from", flexible=True, weight=20, lines=2),
        Column(title="device", flexible=True, weight=12),
        Column(title="configurations", right=True),
        Column(title="dropped", right=True),
        Column(title="believed at the end", right=True),
    )
    rows = tuple((words(each.source), words(each.device, "not said"), *_counts(each), _trust(each.weight)) for each in report.priors)
    notes = [f"{each.source}: {each.note}" for each in report.priors if each.note]
    note = "what was seen or worked out there says where to look, never how long it takes here"
    listed = (Items(items=tuple(Item(title=line) for line in notes)),) if notes else ()
    return (Table(caption="begun from", columns=columns, rows=rows, note=note), *listed)


def _counts(prior: TunedPrior) -> tuple[Cell, Cell]:
    return (missing("a formula"), missing("")) if prior.trials is None else (count(prior.trials), count(prior.dropped))


def _trust(weight: float | None) -> Cell:
    return missing("the search takes none") if weight is None else share(weight)


def _curve(report: TuneReport) -> tuple[Block, ...]:
    if not report.curve:
        return ()
    points = report.curve if len(report.curve) <= _MOST_POINTS else (*report.curve[:2], *report.curve[-(_MOST_POINTS - 2) :])
    columns = (Column(title="configurations", right=True), Column(title="best so far", right=True))
    rows = tuple((count(each.evaluations), number(each.objective, report.unit)) for each in points)
    return (Table(caption="best so far, as it looked then", columns=columns, rows=rows),)


def _importance(table: ImportanceTable) -> tuple[Block, ...]:
    if not table.shares:
        return (Paragraph(text=f"What each parameter is worth is not known: {table.note or 'nothing was varied'}."),)
    columns = (
        Column(title="parameter", flexible=True, weight=20),
        Column(title="share", right=True, weight=19),
        Column(title="interval", right=True, weight=10),
    )
    rows = tuple((words(" × ".join(each.parameters)), share(each.share), _interval(each.low, each.high)) for each in table.shares[:_MOST_SHARES])
    explained = "" if table.explained is None else f" It explains {format_share(max(0.0, table.explained))} of trials that were left out."
    text = f"Share of how far configurations differ that each parameter, and each pair beyond both, accounts for: {table.method}.{explained}"
    note = (Paragraph(text=f"{table.note[:1].upper()}{table.note[1:]}."),) if table.note else ()
    return (Table(caption="importance", columns=columns, rows=rows), *note, Paragraph(text=text))


def _interval(low: float, high: float) -> Cell:
    return words(f"{format_share(low)} – {format_share(high)}")


_FAILURES = {
    "invalid": "refused by the compiler or the device",
    "compile": "did not compile",
    "run": "said that it failed",
    "crash": "its process ended",
    "wrong-output": "its result was wrong, however fast",
    "timeout": "did not end in time",
    "memory": "wanted more memory than allowed",
    "lost": "its worker was lost",
}


def _failures(report: TuneReport) -> Table:
    columns = (
        Column(title="failure"),
        Column(title="configurations", right=True),
        Column(title="what it is, and what the first one said", flexible=True, lines=4),
    )
    rows = tuple((words(kind), count(many), words(_told(kind, report))) for kind, many in sorted(report.failures.items(), key=lambda each: -each[1]))
    note = "the record holds the text of each" if report.record else "a record (--record FILE) holds the text of each"
    return Table(caption="configurations that failed, and never win", columns=columns, rows=rows, note=note)


def _told(kind: str, report: TuneReport) -> str:
    said = report.failure_texts.get(kind)
    return _FAILURES.get(kind, kind) + (f": {said}" if said else "")
