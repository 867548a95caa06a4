"""The section of a diagnosis that holds operators against what a model says they should take: the sums, and those furthest off.

What is slower, and which term is missing, is decided in `diagnosis.expected`; here stands how it is said.
"""

from __future__ import annotations

from ridgeline.core import Diagnosis, ExpectedSummary, OperatorSummary
from ridgeline.core.units import format_quantity

from .page import Block, Cell, Column, Pair, Pairs, Paragraph, Section, Table, count, quantity, seconds, words

__all__ = ["expected_sections"]

#: Operators on the page; the JSON carries what is known of all of them.
_SHOWN = 5
_COLUMNS = (
    Column(title="operator", flexible=True, least=24, weight=20),
    Column(title="kind", flexible=True, weight=6),
    Column(title="actual", right=True, weight=14),
    Column(title="predicted", right=True, weight=12),
    Column(title="actual ÷ predicted", right=True, weight=15),
    Column(title="of a call", right=True, weight=10),
    Column(title="missing term", flexible=True, least=20, lines=2, weight=16),
)


def expected_sections(diagnosis: Diagnosis) -> tuple[Section, ...]:
    """Predicted against actual; nothing where no model was asked."""
    found = diagnosis.expected
    if found is None:
        return ()
    if found.because:
        blocks: tuple[Block, ...] = (Paragraph(text=f"Not compared: {found.because}."),)
    else:
        blocks = (Paragraph(text=_sentence(found)), Pairs(caption="sums over the operators of one call", rows=_sums(found)), *_operators(diagnosis))
    return (Section(title="Predicted against actual", blocks=blocks),)


def _sentence(found: ExpectedSummary) -> str:
    outside = found.slower + found.faster
    if not outside:
        said = f"None of {found.operators} operators lies outside the interval that is predicted for it."
    else:
        said = f"{found.slower} of {found.operators} operators are slower than the model says they could be, {found.faster} faster."
    if found.faster:
        said += " Where they are faster the model is wrong: such pairs are for `ridgeline model calibrate`."
    formulas = found.by.get("analytic", 0)
    if found.trained and formulas:
        said += f" Formulas answer for {formulas} of them, with wide intervals: the trained model knows nothing like these."
    elif not found.trained:
        said += " Formulas alone have wide intervals, so that only what lies far above them is called slow: --model FILE gives a trained model."
    return said


def _sums(found: ExpectedSummary) -> tuple[Pair, ...]:
    by = ", ".join(f"{number} {basis}" for basis, number in sorted(found.by.items(), key=lambda item: -item[1]))
    rows = [
        Pair(label="actual", cell=quantity(found.actual_s), note="by the profile"),
        Pair(label="predicted", cell=quantity(found.predicted_s), note=f"{by}; {found.data_version}"),
    ]
    if found.slower:
        low, high = (format_quantity(end, "s") for end in found.lost_s)
        rows.append(Pair(label="beyond it", cell=words(f"{low} – {high}"), note="what the slower ones take of a call more than the model says"))
    if found.unmatched:
        rows.append(Pair(label="not predicted", cell=count(found.unmatched), note=f"operators that take {format_quantity(found.unmatched_s, 's')}"))
    return tuple(rows)


def _operators(diagnosis: Diagnosis) -> tuple[Block, ...]:
    """Those outside their interval, by the seconds of a call that they are off; slower ones first."""
    outside = [op for op in diagnosis.operators if op.against is not None and op.against.verdict != "within"]
    if not outside:
        return ()
    ranked = sorted(outside, key=lambda op: (op.against is not None and op.against.verdict == "faster", -abs(_off(op))))
    shown = ranked[:_SHOWN]
    note = f"{len(ranked) - len(shown)} more in the JSON." if len(ranked) > len(shown) else ""
    return (Table(caption="furthest off, slower ones first", columns=_COLUMNS, rows=tuple(map(_row, shown)), note=note),)


def _off(op: OperatorSummary) -> float:
    """Seconds of a call beyond what is predicted."""
    return (op.total_s or 0.0) - (op.predicted_s.value if op.predicted_s is not None else 0.0)


def _row(op: OperatorSummary) -> tuple[Cell, ...]:
    assert op.against is not None
    off = _off(op)
    return (
        words(op.name), words(op.kind), seconds(op.total_s, reason="the level was perturbed"), quantity(op.predicted_s), quantity(op.against.ratio),
        words(f"{'+' if off >= 0 else '−'}{format_quantity(abs(off), 's')}"), words(_missing(op)),
    )  # fmt: skip


def _missing(op: OperatorSummary) -> str:
    if op.against is not None and op.against.verdict == "faster":
        return "the model is wrong here"
    if not op.missing:
        return "none that is known"
    return op.missing[0] if len(op.missing) == 1 else f"several would explain it: {', '.join(op.missing)}"
