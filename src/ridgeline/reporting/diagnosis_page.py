"""The page of a diagnosis, verdict first: what binds, what to do, what it is worth, then everything that it stands on.

This module decides the order and the first half (verdict, actions, what was tried); the measurements are in `measured`, the recipe and the
doubts in `recipe`. Nothing is computed here that the diagnosis does not say.
"""

from __future__ import annotations

from typing import Literal

from ridgeline.core import Action, Bottleneck, Diagnosis, RunnerUp, UsageError, Where, parse_budget
from ridgeline.core.units import format_quantity

from .expected_section import expected_sections
from .measured import disturbed, measured_sections
from .page import Block, Cell, Column, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, format_cell, missing, seconds, share, speedup, words
from .recipe import doubt_sections, recipe_section
from .text import shown_path
from .trace_section import trace_section
from .tried import tried_sections

__all__ = ["BOUND_WORDS", "after_words", "gain_words", "page", "place", "title"]

BOUND_WORDS = {
    "compute": "arithmetic binds",
    "bandwidth": "memory bandwidth binds",
    "latency": "neither arithmetic nor bandwidth is near its ceiling",
    "mixed": "both arithmetic and bandwidth are half used",
    "none": "nothing is left to delete",
    "inconclusive": "what was measured establishes none",
}

#: Changes of the time between results that may shorten a call as well, by how much is not known.
_MAY_SHORTEN = ("block-instead",)


def page(diagnosis: Diagnosis) -> Page:
    """The page of `diagnosis` as plain data, in the order in which it is read."""
    return Page(
        title=f"ridgeline: {diagnosis.target}",
        headline=_headline(diagnosis),
        tone=_tone(diagnosis),
        sections=(
            _verdict(diagnosis),
            _what_to_do(diagnosis),
            *tried_sections(diagnosis),
            *measured_sections(diagnosis),
            *expected_sections(diagnosis),
            *([trace_section(diagnosis.trace)] if diagnosis.trace is not None else []),
            *_evidence(diagnosis),
            *_runners_up(diagnosis),
            *doubt_sections(diagnosis),
            recipe_section(diagnosis),
        ),
    )


def place(where: Where) -> str:
    """Where, as text: the innermost name first, then the source line, then what it is part of; `the whole target` if nothing is named.

    >>> place(Where(operator="conv1", file="net.py", line=7, function="forward"))
    'conv1, in forward at net.py:7'
    """
    source = shown_path(where.file or "")
    if source and where.line is not None:
        source = f"{source}:{where.line}"
    if where.function and source:
        source = f"{where.function} at {source}"
    source = source or where.function or ""
    parts = [where.operator or ""]
    if source:
        parts.append(f"in {source}" if where.operator else source)
    parts += [f"{label} {text}" for label, text in (("stage", where.stage), ("instruction", where.instruction)) if text]
    if where.lane:
        parts.append(f"lane {where.lane}" if any(parts) else where.lane)
    return ", ".join(part for part in parts if part) or "the whole target"


def _tone(diagnosis: Diagnosis) -> Literal["good", "bad", "unsure"]:
    if diagnosis.bound == "inconclusive":
        return "unsure"
    return "bad" if diagnosis.bottleneck else "good"


def _headline(diagnosis: Diagnosis) -> str:
    if diagnosis.headline:
        return diagnosis.headline
    if diagnosis.bound == "inconclusive":
        return f"Inconclusive: {'; '.join(diagnosis.missing) or 'the facts at hand do not settle it'}."
    if diagnosis.bottleneck is None:
        return "Healthy: no bottleneck found."
    found = diagnosis.bottleneck
    return f"{place(found.where)}: {found.bound} bound, {found.cause}, {format_cell(share(found.share))} of the time."


def _verdict(diagnosis: Diagnosis) -> Section:
    rows = [*_bottleneck_rows(diagnosis.bottleneck, diagnosis), *_budget_rows(diagnosis)]
    if diagnosis.bottleneck is None:
        rows.insert(0, Pair(label="bound", cell=words(diagnosis.bound), note=BOUND_WORDS[diagnosis.bound]))
    blocks: list[Block] = [Pairs(rows=tuple(rows))]
    if diagnosis.bottleneck and diagnosis.bottleneck.summary.lower() not in _headline(diagnosis).lower():
        blocks.append(Paragraph(text=diagnosis.bottleneck.summary))
    return Section(title="Verdict", blocks=tuple(blocks))


def _bottleneck_rows(found: Bottleneck | None, diagnosis: Diagnosis) -> list[Pair]:
    if found is None:
        return []
    surety = _surety(found, diagnosis)
    return [
        _where(found),
        Pair(label="bound", cell=words(found.bound), note=BOUND_WORDS[found.bound]),
        Pair(label="cause", cell=words(found.cause), note=surety),
        Pair(label="share", cell=share(found.share), note=f"of the end-to-end time{_together(found)}"),
    ]


def _together(found: Bottleneck) -> str:
    return f", {found.operators} operators together" if found.operators > 1 else ""


def _where(found: Bottleneck | RunnerUp) -> Pair:
    """The place, and what the share is of when it is not of the place alone: the largest of several, or a number of operators that itself costs."""
    named, several = place(found.where), found.operators > 1
    if several and found.cause == "dispatch":
        return Pair(label="where", cell=words(f"{found.operators} operators"), note=f"most often {named}")
    return Pair(label="where", cell=words(named), note=f"the largest of {found.operators} operators that the share is of" if several else "")


def _surety(found: Bottleneck, diagnosis: Diagnosis) -> str:
    if found.confirmed:
        return "confirmed: an intervention moved the time as predicted"
    if any(trial.promise is not None for trial in diagnosis.tried):
        return "suspected: no intervention has moved the time as predicted"
    return "suspected: no intervention has been tried yet"


def _budget_rows(diagnosis: Diagnosis) -> list[Pair]:
    if not diagnosis.budget:
        return []
    try:
        budget = parse_budget(diagnosis.budget)
    except UsageError as error:
        # A record of a version that read budgets otherwise must still be shown.
        return [Pair(label="budget", cell=words("undecided"), note=str(error))]
    if diagnosis.ground_truth is None:
        return [Pair(label="budget", cell=words("undecided"), note=f"{budget}; no ground truth was measured")]
    found = diagnosis.budget_state
    if found is None:
        return [Pair(label="budget", cell=words(budget.state(diagnosis.ground_truth)), note=str(budget))]
    return [Pair(label="budget", cell=words(found.state), note=f"{budget}; {found.because}" if found.because else str(budget))]


def _what_to_do(diagnosis: Diagnosis) -> Section:
    """What is recommended, numbered; then combinations; then what a trial speaks against, so that nobody tries it again unknowing."""
    good = [action for action in diagnosis.actions if action.recommended]
    groups = (
        (True, [_action(action, diagnosis) for action in good if not action.combines]),
        (False, [_action(action, diagnosis) for action in good if action.combines]),
        (False, [_action(action, diagnosis) for action in diagnosis.actions if not action.recommended]),
    )
    blocks: list[Block] = [Items(items=tuple(items), numbered=numbered) for numbered, items in groups if items]
    if not any(action.basis == "promised" and action.recommended for action in diagnosis.actions):
        said = _nothing_to_do(diagnosis)
        if any(action.basis == "measured" and action.recommended for action in diagnosis.actions):
            said += " What follows no cause asked for: it was tried and found faster."
        blocks.insert(0, Paragraph(text=said))
    if disturbed(diagnosis) and any(action.action != "fix-environment" for action in good):
        rest = "All but fix-environment" if any(action.action == "fix-environment" for action in good) else "All of these"
        blocks.append(Paragraph(text=f"{rest} rest on times that other work disturbed: measure again on a quiet machine first."))
    return Section(title="What to do", blocks=tuple(blocks))


def _nothing_to_do(diagnosis: Diagnosis) -> str:
    if any(action.basis == "promised" for action in diagnosis.actions):
        return "Nothing that was proposed stands: what was tried did not bring what was promised."
    if diagnosis.bound == "inconclusive":
        # The diagnosis says first what its own verdict lacks; a record from before it did has only the summary.
        lacking = next(iter(diagnosis.missing), diagnosis.bottleneck.summary if diagnosis.bottleneck else "")
        return f"Nothing is promised while the verdict is open{f'. What is missing: {lacking}' if lacking else ''}."
    if diagnosis.bottleneck is None:
        return "Nothing: what runs is near its limit and nothing was found to delete."
    return "No change with a promise that could be worked out is known for this cause."


def gain_words(action: Action) -> str:
    """What a gain is of: of one call, or of the time between results, which most changes shorten while a call takes as long."""
    if action.metric != "period":
        return "for one call"
    return "between results, where calls run side by side" if action.action in _MAY_SHORTEN else "between results; one call gets no shorter"


def after_words(action: Action) -> str:
    """What `median_after_s` is."""
    return "time between results after" if action.metric == "period" else "median after"


def _action(action: Action, diagnosis: Diagnosis) -> Item:
    label = "measured gain" if action.settled or action.basis == "measured" else "gain"
    if not action.recommended and action.basis == "promised":
        label = "promised"
    if not action.recommended:
        numbers = [Pair(label=label, cell=speedup(action.speedup), note=gain_words(action))]
    else:
        after = missing("no time is known") if action.after_s is None else words(_span(*action.after_s))
        numbers = [Pair(label=label, cell=speedup(action.gain), note=gain_words(action)), Pair(label=after_words(action), cell=after)]
        if action.settled and action.basis == "promised":
            numbers.append(Pair(label="promised", cell=speedup(action.speedup)))
    # What a trial found goes before why it was promised.
    detail = "; ".join(part for part in (action.outcome, action.because) if part)
    return Item(title=title(action, diagnosis), numbers=tuple(numbers), detail=detail)


def title(action: Action, diagnosis: Diagnosis) -> str:
    """What to do and where, as one short text that says as well where a trial speaks against it."""
    names = {other.id: other.action for other in diagnosis.actions}
    if action.combines:
        named = "together: " + " + ".join(names.get(part, part) for part in action.combines)
    else:
        named = f"{action.action}: {action.on}" if action.on else action.action
    if action.recommended:
        return named
    return f"not recommended: {named}"


def _span(low: float, high: float) -> str:
    """Two times as `2.60 ms – 3.50 ms`, or one where they are written alike."""
    ends = format_cell(seconds(low)), format_cell(seconds(high))
    return ends[0] if ends[0] == ends[1] else " – ".join(ends)


def _evidence(diagnosis: Diagnosis) -> tuple[Section, ...]:
    if diagnosis.bottleneck is None or not diagnosis.bottleneck.evidence:
        return ()
    rows = tuple(
        (
            words(item.name),
            Cell(value=item.quantity.value, unit=item.quantity.unit),
            words(_interval(item.quantity.low, item.quantity.high, item.quantity.unit, item.quantity.confidence)),
            words(item.quantity.source),
            words(item.quantity.origin),
        )
        for item in diagnosis.bottleneck.evidence
    )
    columns = (
        Column(title="number", flexible=True, weight=10),
        Column(title="value", right=True, weight=10),
        Column(title="interval", weight=8),
        Column(title="kind", weight=5),
        Column(title="from", flexible=True, weight=6),
    )
    return (Section(title="Evidence", blocks=(Table(caption="what the verdict stands on", columns=columns, rows=rows),)),)


def _titled(where: Pair) -> str:
    return f"{where.cell.value} ({where.note})" if where.note else str(where.cell.value)


def _interval(low: float, high: float, unit: str, confidence: float) -> str:
    if low == high:
        return "exact"
    ends = f"{format_quantity(low, unit)} … {format_quantity(high, unit)}"
    return f"{ends} ({confidence * 100:.3g} %)"


def _runners_up(diagnosis: Diagnosis) -> tuple[Section, ...]:
    if not diagnosis.runners_up:
        return ()
    items = tuple(
        Item(
            title=_titled(_where(other)),
            numbers=(
                Pair(label="bound", cell=words(other.bound)),
                Pair(label="cause", cell=words(other.cause)),
                Pair(label="share", cell=share(other.share)),
            ),
            detail=other.summary,
        )
        for other in diagnosis.runners_up
    )
    return (Section(title="Runners-up", blocks=(*disturbed(diagnosis), Items(items=items, numbered=True))),)
