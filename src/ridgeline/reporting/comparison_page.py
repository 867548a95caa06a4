"""The page of a comparison: the sentence, then the numbers, the tail, what could have been seen, what changed, why, and how to get it again.

Nothing is computed here that the comparison does not say; differences of two of its numbers are written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ridgeline.core import ChangedKey, Comparison, ComparisonSet, Contribution, LeftOut, SideSummary, Verdict
from ridgeline.core.units import format_quantity, format_speedup

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
    words,
)
from .recipe import apart_pairs

__all__ = ["comparison_page"]

_TONES: dict[Verdict, Literal["good", "bad", "unsure", "plain"]] = {
    "faster": "good",
    "slower": "bad",
    "same": "plain",
    "inconclusive": "unsure",
    "incomparable": "unsure",
}
#: Keys that are named where only one side knows them.
_NAMED = 5
_VIEWS = {"stages": "by stage", "operators": "by operator", "kernels": "by kernel", "wall": "by what the time went to"}


def comparison_page(found: Comparison | ComparisonSet) -> Page:
    """The page of one comparison, or of a whole set."""
    return _set_page(found) if isinstance(found, ComparisonSet) else _one_page(found)


def _one_page(found: Comparison) -> Page:
    tone = _TONES[found.verdict]
    if tone in ("good", "plain") and not found.keep:
        tone = "bad" if found.tail.verdict == "slower" else "unsure"
    return Page(
        title=f"ridgeline compare: {found.name_a or 'a'} and {found.name_b or 'b'}",
        headline=_sentence(found.headline),
        tone=tone,
        sections=tuple(
            section
            for section in (_verdict(found), _sides(found), _changed(found), _why(found), _promise(found), _warnings(found), _recipe(found))
            if section is not None
        ),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _verdict(found: Comparison) -> Section:
    rows = [
        Pair(label="verdict", cell=words(found.verdict), note=_verdict_note(found)),
        Pair(label="ratio", cell=_ratio(found.ratio, found.ratio_ci, "nothing to divide"), note=_ratio_note(found)),
        *_others(found),
        Pair(label="tail", cell=words(found.tail.verdict), note=found.tail.reason),
        Pair(label="keep B", cell=words(_keep(found)), note=_keep_note(found)),
        Pair(label="could be seen", cell=_detectable(found), note="found nine times of ten by a comparison of this size"),
    ]
    if found.verdict == "incomparable":
        rows = rows[:1]
    others = [reason for reason in found.reasons[1:] if reason and reason != found.tail.reason]
    blocks: list[Block] = [Pairs(rows=tuple(rows))]
    if others:
        blocks.append(Items(items=tuple(Item(title=_sentence(reason)) for reason in others)))
    return Section(title="Verdict", blocks=tuple(blocks))


def _verdict_note(found: Comparison) -> str:
    if found.verdict == "incomparable":
        return "the sides are not alike"
    known = f"{found.name}, {found.metric}" if found.name else found.metric
    return f"of {known}; {'higher' if found.better == 'higher' else 'lower'} is better"


def _ratio_note(found: Comparison) -> str:
    if found.ratio is None:
        return ""
    return f"B ÷ A of the {found.statistic or 'statistic'}, {found.confidence * 100:.3g} % confidence, margin {found.margin * 100:.3g} %"


def _ratio(value: float | None, interval: tuple[float, float | None] | None, reason: str) -> Cell:
    """`1.048 (1.032–1.061)`; an interval without an end says from where it runs."""
    if value is None:
        return missing(reason)
    if interval is None:
        return words(f"{value:.4g}", "no interval")
    low, high = interval
    return words(f"{value:.4g} ({low:.4g}–{high:.4g})" if high is not None else f"{value:.4g} (at least {low:.4g})")


def _others(found: Comparison) -> list[Pair]:
    """The median where another statistic decides, and the quartile that says otherwise."""
    rows = []
    if found.statistic not in ("median", "") and "median" in found.ratios:
        note = "the median of a process; it differs more from process to process and does not contradict the ratio"
        rows.append(Pair(label="by the median", cell=_ratio(found.ratios["median"], found.intervals.get("median"), ""), note=note))
    if found.shape is not None:
        label = "upper quartile" if found.shape.q > 0.5 else "lower quartile"
        rows.append(Pair(label=label, cell=_ratio(found.shape.ratio, found.shape.ratio_ci, ""), note="not all calls differ alike"))
    return rows


def _keep(found: Comparison) -> str:
    if not found.keep:
        return "no"
    return f"yes, by the {found.statistic or 'median'}" if _unjudged(found) is not None else "yes"


def _unjudged(found: Comparison) -> str | None:
    """That the tail could not be judged, and what would be needed; null where it was, or where there is none."""
    return next((caution.message for caution in found.warnings if caution.code == "tail-unjudged"), None)


def _keep_note(found: Comparison) -> str:
    if found.keep:
        unjudged = _unjudged(found)
        told = "its tail is no worse" if found.tail.verdict in ("same", "faster") else "nothing says that its tail is"
        return unjudged if unjudged is not None else f"it is no slower, and {told}"
    if found.shape is not None and found.shape.verdict == "slower":
        return found.shape.reason
    if found.tail.verdict == "slower" and found.verdict in ("faster", "same"):
        return "its tail is worse"
    return {"slower": "it is slower", "inconclusive": "nothing can be told yet", "incomparable": "the sides are not alike"}.get(found.verdict, "")


def _detectable(found: Comparison) -> Cell:
    if found.detectable_ratio is None:
        return missing("too few processes, or they differ too much")
    percent = 100 * (found.detectable_ratio - 1)
    return words(f"{percent:.2g} %" if percent < 99.5 else f"{percent:.0f} %")


def _sides(found: Comparison) -> Section | None:
    sides = [(label, name, side) for label, name, side in (("A", found.name_a, found.side_a), ("B", found.name_b, found.side_b)) if side is not None]
    if not sides:
        return None
    columns = (
        Column(title=""),
        Column(title="version", flexible=True, weight=10, least=8),
        Column(title="processes", right=True, weight=8),
        Column(title="samples", right=True, weight=6),
        Column(title="median", right=True, weight=20),
        Column(title="lower quartile", right=True, weight=4),
        Column(title="least", right=True, weight=7),
        Column(title="p99", right=True, weight=9),
    )
    rows = tuple(_side(label, name, side, found) for label, name, side in sides)
    return Section(title="Both sides", blocks=(Table(caption="each over the processes", columns=columns, rows=rows),))


def _side(label: str, name: str, side: SideSummary, found: Comparison) -> tuple[Cell, ...]:
    truth = found.a if label == "A" else found.b
    interval = truth.median_ci_s if truth is not None else None
    return (
        words(label),
        words(name or side.name),
        count(side.processes if side.processes_known else None, "the file does not tell processes apart"),
        count(side.samples),
        number(side.median, side.unit, interval, "aggregates only"),
        number(side.lower_quartile, side.unit, reason="aggregates only"),
        number(side.minimum, side.unit, reason="aggregates only"),
        number(side.p99, side.unit, reason="too few samples"),
    )


def _changed(found: Comparison) -> Section | None:
    if not found.changed_keys:
        return None
    columns = (
        Column(title="key", flexible=True, weight=20),
        Column(title="A", flexible=True, weight=15),
        Column(title="B", flexible=True, weight=15),
        Column(title="weighs", weight=10),
    )
    shown = [key for key in found.changed_keys if (key.a and key.b) or key.declared]
    rows = tuple(
        (
            words(key.key),
            words(key.a, "not known there"),
            words(key.b, "not known there"),
            words("declared" if key.declared else {"must": "MUST BE EQUAL", "warn": "a warning"}[key.kind]),
        )
        for key in shown
    )
    blocks: list[Block] = [Table(caption="keys in which the sides differ", columns=columns, rows=rows)] if rows else []
    blocks += [Paragraph(text=line) for line in _one_sided([key for key in found.changed_keys if key not in shown])]
    return Section(title="What differs besides", blocks=tuple(blocks))


def _one_sided(keys: Sequence[ChangedKey]) -> list[str]:
    """A line for each side that knows keys which the other does not."""
    lines = []
    for label, names in (("A", [key.key for key in keys if key.a]), ("B", [key.key for key in keys if key.b])):
        if names:
            named = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
            lines.append(f"Known of {label} only: {len(names)} key{'s' * (len(names) != 1)} ({named}).")
    return lines


def _why(found: Comparison) -> Section | None:
    if not found.why:
        return None
    views = [view for view in _VIEWS if any(part.level == view for part in found.why)]
    others = [part for part in found.why if part.level not in _VIEWS]
    blocks: list[Block] = [Paragraph(text="Each table divides the same difference in its own way; parts of one add up, parts of two do not.")]
    blocks += [_parts(_VIEWS[view], [part for part in found.why if part.level == view]) for view in views]
    blocks += [_parts("other parts", others)] if others else []
    return Section(title="Why", blocks=tuple(blocks))


def _parts(title: str, parts: Sequence[Contribution]) -> Table:
    columns = (
        Column(title="kind", weight=12),
        Column(title="part", flexible=True, weight=20, least=18),
        Column(title="A", right=True, weight=9),
        Column(title="B", right=True, weight=9),
        Column(title="difference", right=True, weight=18),
        Column(title="of it", right=True, weight=17),
        Column(title="because", flexible=True, weight=6, least=12),
    )
    rows = tuple(
        (
            words(part.kind),
            words(part.name),
            number(part.a_s, "s"),
            number(part.b_s, "s"),
            number(part.difference_s, "s", part.difference_ci_s),
            words(f"{100 * part.share:+.0f} %") if part.share is not None else missing("the whole is not known well enough"),
            words(part.because),
        )
        for part in parts
    )
    return Table(caption=f"{title}: seconds a call, B − A", columns=columns, rows=rows)


def _promise(found: Comparison) -> Section | None:
    if not (found.hypothesis or found.tests):
        return None
    rows = [Pair(label="hypothesis", cell=words(found.hypothesis))] if found.hypothesis else []
    if found.tests:
        rows.append(Pair(label="tests", cell=words(found.tests), note="an action of a diagnosis"))
    if found.promised is not None:
        between = found.promised_metric == "period"
        rows.append(Pair(label="promised", cell=words(format_speedup(*found.promised)), note="of the time between results" if between else ""))
    gain = found.gained if found.tests else _gain(found)
    if gain is not None:
        rows.append(Pair(label="found", cell=words(format_speedup(*gain))))
    elif found.tests:
        rows.append(Pair(label="found", cell=missing("what was compared is not what was promised")))
    if found.promise is not None:
        rows.append(Pair(label="promise", cell=words(found.promise)))
    return Section(title="What was tested", blocks=(Pairs(rows=tuple(rows)),))


def _gain(found: Comparison) -> tuple[float, float] | None:
    low, high = found.ratio_ci or (0.0, None)
    if high is None or not low > 0:
        return None
    return (low, high) if found.better == "higher" else (1 / high, 1 / low)


def _warnings(found: Comparison) -> Section | None:
    if not found.warnings:
        return None
    items = tuple(Item(title=f"{caution.code}: {caution.message}", detail=caution.effect) for caution in found.warnings)
    return Section(title="Warnings", blocks=(Items(items=items),))


def _recipe(found: Comparison) -> Section:
    rows = (
        Pair(label="command", cell=words(found.command, "a call of the library")),
        Pair(label="A", cell=words(found.run_a or found.name_a, "not kept"), note="its run in the notebook" if found.run_a else ""),
        Pair(label="B", cell=words(found.run_b or found.name_b, "not kept"), note="its run in the notebook" if found.run_b else ""),
        *(pair for label, side in (("A", found.side_a), ("B", found.side_b)) for pair in _apart(label, side)),
    )
    return Section(title="How to reproduce", blocks=(Pairs(rows=rows),))


def _apart(label: str, side: SideSummary | None) -> tuple[Pair, ...]:
    return apart_pairs(side.core_to_core, f"core to core, {label}") if side is not None else ()


def _set_page(found: ComparisonSet) -> Page:
    worse = [one for one in found.comparisons if one.verdict == "slower"]
    tails = [one for one in found.comparisons if one.tail.verdict == "slower" and one.verdict != "slower"]
    refused = [one for one in found.comparisons if one.verdict in ("incomparable", "inconclusive")]
    tone: Literal["good", "bad", "unsure"] = "bad" if worse or tails else "unsure" if refused or not found.comparisons else "good"
    sections = [Section(title="Benchmarks", blocks=(_table(found),))]
    lists = (("Missing in B", found.missing), ("New in B", found.new))
    sections += [Section(title=title, blocks=(Items(items=tuple(Item(title=name) for name in names)),)) for title, names in lists if names]
    left = [*(("A", entry) for entry in found.left_out_a), *(("B", entry) for entry in found.left_out_b)]
    if left:
        sections.append(Section(title="Not compared", blocks=(Items(items=tuple(_left(side, entry) for side, entry in left)),)))
    if found.warnings:
        items = tuple(Item(title=f"{caution.code}: {caution.message}", detail=caution.effect) for caution in found.warnings)
        sections.append(Section(title="Warnings", blocks=(Items(items=items),)))
    return Page(title=f"ridgeline compare: {found.a} and {found.b}", headline=_set_headline(found), tone=tone, sections=tuple(sections))


def _set_headline(found: ComparisonSet) -> str:
    verdicts = [one.verdict for one in found.comparisons]
    counts = [
        f"{verdicts.count(verdict)} {verdict}" for verdict in ("slower", "faster", "same", "inconclusive", "incomparable") if verdict in verdicts
    ]
    tails = sum(one.tail.verdict == "slower" for one in found.comparisons)
    counts += [f"{tails} with a worse tail"] if tails else []
    chance = f"at most {100 * (1 - found.confidence):.3g} in 100 such sets call any benchmark different by chance"
    return f"{len(verdicts)} benchmark{'s' * (len(verdicts) != 1)}: {', '.join(counts) or 'none in common'}; {chance}."


def _table(found: ComparisonSet) -> Table:
    columns = (
        Column(title="benchmark", flexible=True, weight=20),
        Column(title="metric", weight=5),
        Column(title="A", right=True, weight=8),
        Column(title="B", right=True, weight=8),
        Column(title="ratio", right=True, weight=17),
        Column(title="verdict", weight=19),
        Column(title="tail", weight=10),
        Column(title="keep", weight=9),
    )
    order: dict[str, int] = {verdict: place for place, verdict in enumerate(("slower", "incomparable", "inconclusive", "faster", "same"))}
    rows = tuple(_line(one) for one in sorted(found.comparisons, key=lambda one: (order[one.verdict], -abs((one.ratio or 1.0) - 1.0))))
    return Table(caption="worst first; ratio is B ÷ A", columns=columns, rows=rows, empty="No benchmark is in both.", note=_table_note(found))


def _table_note(found: ComparisonSet) -> str:
    if any(_unjudged(one) is not None for one in found.comparisons):
        return "yes, but tail: kept by the other calls; there are too few samples to judge the tail"
    return ""


def _line(one: Comparison) -> tuple[Cell, ...]:
    return (
        words(one.name),
        words(one.metric),
        _middle(one.side_a),
        _middle(one.side_b),
        _ratio(one.ratio, one.ratio_ci, "nothing to divide"),
        words(one.verdict),
        words(one.tail.verdict),
        words("no" if not one.keep else "yes" if _unjudged(one) is None else "yes, but tail"),
    )


def _middle(side: SideSummary | None) -> Cell:
    if side is None or side.median is None:
        return missing("aggregates only")
    return words(format_quantity(side.median, side.unit))


def _left(side: str, entry: LeftOut) -> Item:
    more = f", the first is {entry.first}" if entry.first else ""
    return Item(title=f"{side}: {entry.count} {'entries' if entry.count != 1 else 'entry'}{more}", detail=entry.reason)
