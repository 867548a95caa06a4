"""The page of a `PredictionReport`: one table over devices, where the time of each goes, and the operators that take most of it.

The headline names the fastest device with its interval, and says when the intervals do not tell it from the next. What is not known says why.
"""

from __future__ import annotations

from ridgeline.core import OperatorPrediction, Prediction, PredictionReport
from ridgeline.core.units import format_share

from .page import Block, Cell, Column, Item, Items, Page, Pair, Pairs, Section, Table, count, missing, number, quantity, share, words

__all__ = ["MOST_OPERATORS", "explanation_page", "prediction_page"]

#: Operators of a device that are shown; the rest is in `--json`.
MOST_OPERATORS = 10
#: Devices whose operators are shown: for more, the tables would hide the comparison.
_MOST_DETAILED = 4
_NO_REASON = "not known"


def prediction_page(report: PredictionReport, *, most: int = MOST_OPERATORS) -> Page:
    """What a model takes on devices; `most`: operators of each that are shown."""
    found = report.predictions
    sections = [
        Section(title="Devices", blocks=(_devices(report), *_apart(report))),
        Section(title="Where the time goes", blocks=(_split(report), _rates(report))),
    ]
    detailed = found if len(found) <= _MOST_DETAILED else ()
    sections += [Section(title=f"Operators on {_case(each, report)}", blocks=(_operators(each, most),)) for each in detailed]
    sections += [Section(title=f"Why, on {_case(each, report)}", blocks=_explanation(each)) for each in found if each.explanation is not None]
    doubts = [Section(title=f"Outside what is known, on {name}", blocks=(_items(reasons),)) for name, reasons in _doubts(report)]
    if report.warnings:
        warned = [f"{each.message}{f' ({each.effect})' if each.effect else ''}" for each in report.warnings]
        sections.append(Section(title="Warnings", blocks=(_items(tuple(warned)),)))
    return Page(title=f"ridgeline predict {report.model}", headline=_headline(report), tone="unsure", sections=(*sections, *doubts))


def explanation_page(report: PredictionReport) -> Page:
    """Why each prediction is what it is, without the rest of it."""
    sections = tuple(Section(title=_case(each, report), blocks=_explanation(each)) for each in report.predictions if each.explanation is not None)
    return Page(title=f"ridgeline model explain {report.model}", headline=_headline(report), tone="unsure", sections=sections)


def _headline(report: PredictionReport) -> str:
    # What does not run as a whole is no answer, however fast it would be.
    ranked = sorted(report.predictions, key=lambda each: (each.fits is False, _per_item(each)))
    best = ranked[0]
    level = format_share(best.latency_s.confidence)
    said = f"{report.model} on {_case(best, report)}: {best.latency_s} a call at {level}, by {_basis(best)}"
    if best.fits is False:
        said += ", if it fitted into memory"
    if len(ranked) == 1:
        return said
    near = [each for each in ranked[1:] if each.latency_s.low / (each.batch or 1) <= best.latency_s.high / (best.batch or 1)]
    told = f"; not told from {len(near)} of the {len(ranked) - 1} others" if near else "; faster than all others"
    return f"fastest of {len(ranked)} by item: {said}{told}"


def _per_item(each: Prediction) -> float:
    return each.latency_s.value / (each.batch or 1)


def _basis(each: Prediction) -> str:
    return {"analytic": "formulas", "learned": "a trained model", "interpolated": "a trained model", "measured": "measurement"}[each.basis]


def _case(each: Prediction, report: PredictionReport) -> str:
    """The device, and the batch where several were asked for."""
    several = len({other.batch for other in report.predictions}) > 1
    return f"{each.device}, batch {each.batch}" if several else each.device


def _known(each: Prediction, field: str) -> str:
    return each.unknown.get(field, _NO_REASON)


def _devices(report: PredictionReport) -> Table:
    columns = (
        Column(title="device", flexible=True, weight=30, least=18, lines=2), Column(title="batch", right=True, weight=6),
        Column(title="precision", weight=7), Column(title="latency", right=True, weight=25), Column(title="items/s", right=True, weight=12),
        Column(title="bound", weight=14), Column(title="of peak", right=True, weight=9), Column(title="of bandwidth", right=True, weight=8),
        Column(title="energy", right=True, weight=5), Column(title="memory", right=True, weight=10),
        Column(title="USD a million", right=True, weight=11), Column(title="by", weight=4),
    )  # fmt: skip
    rows = tuple(_device_row(each, _case(each, report)) for each in report.predictions)
    return Table(caption="one call on each device; brackets are the interval", columns=columns, rows=rows)


def _apart(report: PredictionReport) -> tuple[Pairs, ...]:
    """How far apart the cores of a CPU are taken to be, where it was measured or set: on a virtual machine another minute may have another time."""
    rows = [
        Pair(label="core to core", cell=number(each.state.core_to_core_s, "s"), note=f"a cache line between two cores of {_case(each, report)}")
        for each in report.predictions if each.state is not None and each.state.core_to_core_s is not None
    ]  # fmt: skip
    return (Pairs(rows=tuple(rows)),) if rows else ()


def _device_row(each: Prediction, case: str) -> tuple[Cell, ...]:
    cost = each.cost_per_million
    return (
        words(case), count(each.batch, "no axis of the inputs says it"), words(each.precision), quantity(each.latency_s),
        _plain(each.throughput_per_s.value if each.throughput_per_s else None), words(each.bound),
        share(each.peak_share.value if each.peak_share else None), share(each.bandwidth_share.value if each.bandwidth_share else None),
        number(each.energy_j.value if each.energy_j else None, "J", reason=_known(each, "energy_j")),
        number(each.peak_memory_bytes.value if each.peak_memory_bytes else None, "B", reason=_known(each, "peak_memory_bytes")),
        words(f"{cost.value:.3g}") if cost is not None else missing(_known(each, "cost_per_million")), words(each.basis),
    )  # fmt: skip


def _plain(value: float | None) -> Cell:
    if value is None:
        return missing(_NO_REASON)
    return words(f"{value:.3g}" if value < 100 else f"{value:.0f}")


def _split(report: PredictionReport) -> Table:
    """What takes the latency, as shares that add up."""
    terms = list(dict.fromkeys(name for each in report.predictions for name in each.split))
    ends = ("compute", "overhead", "communication")
    order = [
        *(["compute"] if "compute" in terms else []),
        *(name for name in terms if name not in ends),
        *(name for name in ends[1:] if name in terms),
    ]
    columns = (
        Column(title="device", flexible=True, weight=30, least=18, lines=2),
        *(Column(title=name, right=True, weight=20 - at) for at, name in enumerate(order)),
    )
    rows = tuple((words(_case(each, report)), *(share(each.split.get(name, 0.0)) for name in order)) for each in report.predictions)
    return Table(caption="shares of the latency: arithmetic, memory levels, starting operators", columns=columns, rows=rows)


def _rates(report: PredictionReport) -> Table:
    columns = (
        Column(title="device", flexible=True, weight=30, least=18, lines=2), Column(title="FLOP/s", right=True, weight=12),
        Column(title="memory traffic", right=True, weight=11), Column(title="levels' use", weight=8),
        Column(title="units busy", right=True, weight=9),
        Column(title="power", right=True, weight=7), Column(title="runtime", weight=5), Column(title="data", weight=3),
    )  # fmt: skip
    rows = tuple(
        (
            words(_case(each, report)), _rate(each.achieved_flop_per_s), _rate(each.achieved_byte_per_s),
            words(", ".join(f"{name} {format_share(used.value)}" for name, used in each.level_share.items())),
            share(each.occupancy.value if each.occupancy else None, _known(each, "occupancy")), quantity(each.power_w, _known(each, "power_w")),
            words(each.runtime), words(each.data_version),
        )
        for each in report.predictions
    )  # fmt: skip
    return Table(caption="rates and use", columns=columns, rows=rows)


def _rate(found: object) -> Cell:
    from ridgeline.core import Quantity

    return number(found.value, found.unit) if isinstance(found, Quantity) else missing(_NO_REASON)


def _operators(each: Prediction, most: int) -> Table:
    known = sorted((op for op in each.operators if op.latency_s is not None), key=_seconds, reverse=True)
    columns = (
        Column(title="operator", flexible=True, weight=20, least=16), Column(title="kind", flexible=True, weight=12, least=10),
        Column(title="latency", right=True, weight=18), Column(title="share", right=True, weight=15), Column(title="bound", weight=14),
        Column(title="by", weight=6),
    )  # fmt: skip
    rows = tuple((words(op.name), words(op.kind), quantity(op.latency_s), share(op.share), words(op.bound), words(op.basis)) for op in known[:most])
    left = len(known) - len(rows)
    without = sum(op.latency_s is None and not op.fused_into for op in each.operators)
    notes = [f"{left} more in --json" if left > 0 else "", f"{without} without a time" if without else ""]
    return Table(caption="those that take longest", columns=columns, rows=rows, note="; ".join(note for note in notes if note))


def _seconds(op: OperatorPrediction) -> float:
    return op.latency_s.value if op.latency_s is not None else 0.0


def _explanation(each: Prediction) -> tuple[Block, ...]:
    why = each.explanation
    assert why is not None
    columns = (
        Column(title="input"), Column(title="elasticity", right=True), Column(title="change", flexible=True, least=12),
        Column(title="speedup", right=True),
    )  # fmt: skip
    rows = tuple(
        (
            words(one.input), words(f"{one.elasticity:+.2f}" if one.elasticity is not None else "", "it has no amount"), words(one.change),
            words(f"{one.speedup:.3g}×"),
        )
        for one in why.sensitivities
    )  # fmt: skip
    pairs = Pairs(
        rows=(
            Pair(label="dominant", cell=words(why.dominant), note=format_share(why.shares.get(why.dominant, 0.0))),
            Pair(label="next ceiling", cell=words(why.next_ceiling), note=f"at {why.headroom:.3g} times the speed, if the first cost nothing"),
        )
    )
    table = Table(caption="what the latency of a call answers to, the strongest first", columns=columns, rows=rows)
    return (_items(why.sentences), pairs, table)


def _doubts(report: PredictionReport) -> list[tuple[str, tuple[str, ...]]]:
    """Reasons by case; those that several share are said once."""
    by: dict[tuple[str, ...], list[str]] = {}
    for each in report.predictions:
        if each.out_of_range:
            by.setdefault(each.out_of_range, []).append(_case(each, report))
    return [(", ".join(names), reasons) for reasons, names in by.items()]


def _items(texts: tuple[str, ...]) -> Items:
    return Items(items=tuple(Item(title=text) for text in texts))
