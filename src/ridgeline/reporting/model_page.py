"""The page of a trained `OperatorModel`: how each family did on shapes that it had not seen, what was left out, and how that was made sure.

The headline says the worst family beside the mean: a mean alone never stands there.
"""

from __future__ import annotations

from ridgeline.core.units import format_share
from ridgeline.model.operators.identity import MeasuredDevice
from ridgeline.model.operators.model import Card, FamilyCard, OperatorModel

from .page import Block, Cell, Column, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, count, missing, share, words

__all__ = ["model_page"]

#: Entries of what was left out that are shown; all of them are in the file.
_MOST_LEFT = 20


def model_page(model: OperatorModel) -> Page:
    """What a model file says of itself."""
    card = model.card
    sections = [
        Section(title="Held-out shapes", blocks=(_families(card),)),
        Section(title="Devices", blocks=(_devices(model),)),
    ]
    left = _left(card)
    if left:
        sections.append(Section(title="Left out", blocks=(left,)))
    sections.append(Section(title="How", blocks=_how(model)))
    tone = "plain" if all(_as_promised(each, model.level) for each in card.families) else "unsure"
    return Page(title="ridgeline model train", headline=_headline(card), tone=tone, sections=tuple(sections))  # type: ignore[arg-type]


def _as_promised(family: FamilyCard, level: float) -> bool:
    return family.coverage is None or family.coverage >= level - 0.1


def _headline(card: Card) -> str:
    rows = sum(each.rows for each in card.families)
    mean = sum(each.mape * each.rows for each in card.families) / rows
    worst = max(card.families, key=lambda each: each.mape)
    learned = f"learned from {card.rows_learned} of {card.rows_given} rows, {len(card.families)} families"
    return f"{learned}; on held-out shapes off by {_percent(mean)} in the mean, {_percent(worst.mape)} for {worst.kind}, the worst of them"


def _families(card: Card) -> Table:
    columns = (
        Column(title="family", flexible=True, weight=20),
        Column(title="rows", right=True, weight=15),
        Column(title="shapes", right=True, weight=9),
        Column(title="corrected by", weight=10),
        Column(title="mean", right=True, weight=19),
        Column(title="median", right=True, weight=12),
        Column(title="90th percentile", right=True, weight=18),
        Column(title="largest", right=True, weight=14),
        Column(title="formula alone", right=True, weight=13),
        Column(title="inside", right=True, weight=16),
    )
    ordered = sorted(card.families, key=lambda each: (-each.mape, each.kind))
    note = "inside: share of held-out rows inside of intervals that were made without them; formula alone: mean error of the estimates"
    return Table(caption="errors on shapes that were held out", columns=columns, rows=tuple(_family(each) for each in ordered), note=note)


def _family(family: FamilyCard) -> tuple[Cell, ...]:
    inside = missing("too few rows") if family.coverage is None else share(family.coverage)
    return (
        words(family.kind), count(family.rows), count(family.shapes), words(family.method), words(_percent(family.mape)),
        words(_percent(family.median)), words(_percent(family.p90)), words(_percent(family.largest)), words(_percent(family.formula_mape)), inside,
    )  # fmt: skip


def _percent(value: float) -> str:
    """An error as a percentage with three figures; beyond ten times as a factor."""
    return f"{100 * value:.3g} %" if value < 9.995 else f"{value:.3g} times"


def _devices(model: OperatorModel) -> Table:
    columns = (
        Column(title="device", flexible=True, weight=20), Column(title="kind", weight=10), Column(title="rows", right=True, weight=15),
        Column(title="threads", right=True, weight=9),
    )  # fmt: skip
    rows = tuple((words(each.name), words(each.kind), count(each.rows), _threads(each)) for _, each in sorted(model.devices.items()))
    return Table(caption="devices that were measured", columns=columns, rows=rows)


def _threads(device: MeasuredDevice) -> Cell:
    if device.kind != "cpu":
        return missing("no CPU")
    return count(device.threads) if device.threads else words("as the runtime takes by itself")


def _left(card: Card) -> Items | None:
    excluded = sorted(card.excluded, key=lambda entry: -entry.events)
    lines = [f"{entry.events} × {entry.reason}" for entry in excluded[:_MOST_LEFT]]
    if len(excluded) > _MOST_LEFT:
        lines.append(f"{len(excluded) - _MOST_LEFT} more reasons, with fewer rows each, are in the file")
    lines += [f"{kind}: no corrector: {why}" for kind, why in sorted(card.left_out.items())]
    lines += [f"not checked for {check}: {rows} rows" for check, rows in sorted(card.unchecked.items()) if rows]
    return Items(items=tuple(Item(title=line) for line in lines)) if lines else None


def _how(model: OperatorModel) -> tuple[Block, ...]:
    card = model.card
    software = ", ".join(f"{name} {number}" for name, number in sorted(card.versions.items()))
    text = f"Choice and intervals {card.split}. What lies outside of what was measured is answered, flagged, and given a wider interval."
    rows = (
        Pair(label="data version", cell=words(model.data_version), note="of the rows that were learned from"),
        Pair(label="intervals at", cell=words(format_share(model.level))),
        Pair(label="seed", cell=words(str(card.seed))),
        Pair(label="measurements", cell=words(card.source, "not named")),
        Pair(label="trained with", cell=words(software)),
    )
    notes: tuple[Block, ...] = (Items(items=tuple(Item(title=note) for note in card.notes)),) if card.notes else ()
    return (Paragraph(text=text), Pairs(rows=rows), *notes)
