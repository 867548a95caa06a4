"""Predicted against actual: which operators run slower than a model says they could, by how much, and which term is missing. Pure.

Slower is only what lies above the whole expected interval with its own whole interval: wide intervals, as of formulas alone, call little slow. The
missing term is told by hypothesis: the model was asked again with one thing otherwise (operands from further away, one thread, no vector lanes, one
more dispatch, a lower clock), and what then takes the measured time within 15 % would explain it. One that the expected interval holds anyway
explains nothing. An operator that is faster than the interval says that the model is wrong there.

Operators are matched by name; onnxruntime's optimiser renames what it fuses, so that the names they began with count next, and what is left goes by
kind and shapes in order, where as many are left on both sides.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from ridgeline.core import AgainstExpected, ExpectedOperator, ExpectedSummary, OperatorRow, Quantity, quotient, total

from .case import Case

__all__ = ["Held", "HeldOperator", "held_against_expected", "matched"]

#: A hypothesis within this factor of the measured time would explain it.
_NEAR = 1.15
#: How the optimiser names what it made of a node, and how a profile's row says what was fused into it.
_SUFFIX = re.compile(r"(_nchwc)?(_token_\d+)?$")
_FUSED = " (fused: "
_SHAPE = re.compile(r"\w+\[([0-9,]*)\]")

Key = Callable[[OperatorRow], Hashable]


class HeldOperator(NamedTuple):
    """What stands in the summary of one operator; see `core.OperatorSummary`."""

    predicted_s: Quantity
    against: AgainstExpected | None = None
    missing: tuple[str, ...] = ()


class Held(NamedTuple):
    """Row of the operator table → how it stands; `summary` of all, null where no model was asked."""

    operators: dict[int, HeldOperator]
    summary: ExpectedSummary | None


def held_against_expected(case: Case, *, disturbed: bool) -> Held:
    """Hold the measured operators against the expected ones.

    Args:
        disturbed: whether other work ran beside them, so that nothing is judged.
    """
    table = case.facts.expected
    if table is None:
        return Held({}, None)
    about = ExpectedSummary(device=table.device, data_version=table.data_version, trained=table.trained)
    rows = case.rows
    pairs = matched(rows, table.operators)
    because = _not_judged(case, disturbed)
    if because:
        # What was predicted holds whatever happened to the measurement.
        known = {index: HeldOperator(said) for index, op in pairs.items() if (said := _predicted(rows[index], op)) is not None}
        return Held(known, msgspec.structs.replace(about, because=because))
    found = {index: held for index, op in pairs.items() if (held := _held(rows[index], op)) is not None}
    if not found:
        return Held({}, msgspec.structs.replace(about, because="no measured operator is one that the model knows"))
    against = [held.against for held in found.values() if held.against is not None]
    verdicts = Counter(each.verdict for each in against)
    slower = [each.lost_s for each in against if each.verdict == "slower"]
    rest = [row.total_s.value for index, row in enumerate(rows) if index not in found]
    summary = msgspec.structs.replace(
        about, operators=len(found), slower=verdicts["slower"], faster=verdicts["faster"], unmatched=len(rest), unmatched_s=math.fsum(rest),
        predicted_s=total([held.predicted_s for held in found.values()], "s", origin="sum over the operators that were measured as well"),
        actual_s=total([rows[index].total_s for index in found], "s", origin="sum over the operators that are known to the model"),
        lost_s=(math.fsum(low for low, _ in slower), math.fsum(high for _, high in slower)),
        by=dict(Counter(pairs[index].basis for index in found)),
    )  # fmt: skip
    return Held(found, summary)


def _not_judged(case: Case, disturbed: bool) -> str:
    if disturbed:
        return "measured beside other work"
    if not case.shares_hold:
        return "profiling the operators changed their times"
    return ""


# ── one operator ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _held(row: OperatorRow, op: ExpectedOperator) -> HeldOperator | None:
    """How a row stands to what is expected of it; null where nothing is."""
    predicted, actual = _predicted(row, op), row.total_s
    if predicted is None or predicted.low <= 0 or actual.low < 0:
        return None
    verdict = _verdict(predicted, actual)
    against = AgainstExpected(
        verdict=verdict, ratio=quotient(actual, predicted, "1", origin="measured ÷ predicted"),
        lost_s=(actual.low - predicted.high, actual.high - predicted.low),
    )  # fmt: skip
    others = {name: seconds * row.calls / op.calls for name, seconds in op.alternatives.items()}
    return HeldOperator(predicted, against, _missing(predicted, actual, others) if verdict == "slower" else ())


def _predicted(row: OperatorRow, op: ExpectedOperator) -> Quantity | None:
    """What is expected of as many calls as were measured."""
    return op.seconds.scaled(row.calls / op.calls) if op.seconds is not None and op.calls > 0 and row.calls > 0 else None


def _verdict(predicted: Quantity, actual: Quantity) -> Literal["slower", "faster", "within"]:
    if actual.low > predicted.high:
        return "slower"
    return "faster" if actual.high < predicted.low else "within"


def _missing(predicted: Quantity, actual: Quantity, others: dict[str, float]) -> tuple[str, ...]:
    """Hypotheses that take the measured time, the nearest first."""
    off = {name: abs(math.log(seconds / actual.value)) for name, seconds in others.items() if seconds > predicted.high and actual.value > 0}
    return tuple(sorted((name for name, by in off.items() if by <= math.log(_NEAR)), key=lambda name: (off[name], name)))


# ── which is which ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def matched(rows: Sequence[OperatorRow], operators: Sequence[ExpectedOperator]) -> dict[int, ExpectedOperator]:
    """Index of a row → the expected operator that it is; rows and operators without a partner are left out."""
    found: dict[int, ExpectedOperator] = {}
    left = list(range(len(operators)))
    steps: tuple[tuple[Key, Callable[[ExpectedOperator], Hashable], bool], ...] = (
        (lambda row: (row.name, row.kind), lambda op: (op.name, op.kind), False),
        (lambda row: (_began(row.name), row.kind), lambda op: (_stem(op.name), op.kind), False),
        (lambda row: (row.kind, _results(row.shapes)), lambda op: (op.kind, op.outputs), True),
    )
    for of_row, of_op, in_order in steps:
        mine = _by_key((index, of_row(row)) for index, row in enumerate(rows) if index not in found)
        theirs = _by_key((index, of_op(operators[index])) for index in left)
        for key, places in mine.items():
            others = theirs.get(key, [])
            if len(others) == len(places) and (in_order or len(places) == 1):
                found.update({place: operators[other] for place, other in zip(places, others, strict=True)})
                left = [index for index in left if index not in others]
    return found


def _by_key(keyed: Iterable[tuple[int, Hashable]]) -> dict[Hashable, list[int]]:
    by: dict[Hashable, list[int]] = defaultdict(list)
    for index, key in keyed:
        by[key].append(index)
    return by


def _began(name: str) -> str:
    """The node that a row is named after."""
    return _stem(name.partition(_FUSED)[0])


def _stem(name: str) -> str:
    return _SUFFIX.sub("", name).rstrip("/")


def _results(shapes: str) -> tuple[tuple[int, ...], ...] | None:
    """Shapes of the results of a row, from the text for display; null where it has none."""
    _, arrow, behind = shapes.partition("→")
    if not arrow:
        return None
    return tuple(tuple(int(size) for size in match.split(",") if size) for match in _SHAPE.findall(behind))
