"""The tail of two sides, judged apart from the median.

The p99 where there are samples for it (see `stats.tail_effect`). Where there are too few, one thing is still worth saying: a value on one side far
beyond anything else on either is no noise of the kind that the other values show. It makes the tail of that side worse until more is measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ridgeline.core import Caution, TailComparison, Verdict
from ridgeline.core.units import format_quantity
from ridgeline.stats import TailEffect, minimum_samples, tail_effect

from .sides import Floats, Side

__all__ = ["Tail", "compare_tails", "unjudged"]

_Q = 0.99
#: Two p99s within this of each other are the same to any reader.
_SAME = 0.05
#: An outlier is this many times as large as anything else on either side, and outliers are at most this part of a side.
_FAR, _FEW = 10.0, 0.2
#: Pieces of one process whose parts beyond the threshold are compared where processes are not known, of at least so many values.
_PIECES, _LEAST_OF_PIECE = 20, 25


@dataclass(frozen=True)
class Tail:
    """The verdict on the tail, what to warn of, and whether the tail of b holds outliers that a has not."""

    comparison: TailComparison
    warnings: tuple[Caution, ...] = ()


def compare_tails(a: Side, b: Side, confidence: float = 0.97) -> Tail:
    """The tail of b held against that of a.

    Args:
        a, b: sides with values.
        confidence: of the interval of the ratio.
    """
    if a.series.metric == "batched":
        return Tail(TailComparison(verdict="inconclusive", reason="a batch has no slow single calls: compare the latency"))
    higher = a.series.better == "higher"
    # Of a rate the slow end is the low one: its reciprocal has it where a time has it.
    pieces = [[1 / piece if higher else piece for piece in _pieces(side)] for side in (a, b)]
    found = tail_effect(pieces[0], pieces[1], _Q, confidence)
    if found is None:
        return _outliers(a, b) if not higher else Tail(TailComparison(verdict="inconclusive", reason=_too_few(a, b)))
    return Tail(_judged(found, higher), _few(found))


def _pieces(side: Side) -> list[Floats]:
    if side.unit == "process":
        return list(side.processes)
    return np.array_split(side.values, max(1, min(_PIECES, side.values.size // _LEAST_OF_PIECE)))


def _judged(found: TailEffect, higher: bool) -> TailComparison:
    verdict: Verdict = "inconclusive"
    if found.worse:
        verdict = "slower"
    elif found.better:
        verdict = "faster"
    elif found.low >= 1 / (1 + _SAME) and found.high <= 1 + _SAME:
        verdict = "same"
    low, ratio, high = found.low, found.ratio, found.high
    if higher:
        low, ratio, high = 1 / high, 1 / ratio, 1 / low if low > 0 else math.inf
    name = "p1, the slow end of a rate," if higher else "p99"
    interval = f"({low:.3g}–{high:.3g})" if math.isfinite(high) else f"(at least {low:.3g})" if low > 0 else "(no interval)"
    words = {
        "slower": f"the {name} is worse: {ratio:.3g} times {interval}",
        "faster": f"the {name} is better: {ratio:.3g} times {interval}",
        "same": f"the {name} is the same within {_SAME:.0%}: {ratio:.3g} times {interval}",
        "inconclusive": f"whether the {name} differs cannot be told: {ratio:.3g} times {interval}",
    }
    ends = (low, high if math.isfinite(high) else None)
    return TailComparison(verdict=verdict, ratio=ratio, ratio_ci=ends if ends != (0.0, None) else None, q=_Q, reason=words[verdict])


def _few(found: TailEffect) -> tuple[Caution, ...]:
    if not found.few:
        return ()
    message = f"the p99 is compared on {min(found.samples)} samples a side; under 1,000 single ones decide it"
    return (Caution(code="few-tail-samples", message=message, effect="the verdict on the tail may be chance"),)


def _outliers(a: Side, b: Side) -> Tail:
    """Too few samples for a p99: only what is far beyond everything else is said."""
    far_b, far_a = _far(b.values, a.values), _far(a.values, b.values)
    unit = a.series.unit
    if far_b.size:
        times = f"{far_b.max() / max(_rest(b.values, far_b), float(a.values.max())):.0f} times anything else"
        reason = f"{far_b.size} of {b.values.size} values of B are far out, up to {format_quantity(float(far_b.max()), unit)}, {times}; A has none"
        caution = Caution(code="tail-outlier", message=reason, effect="a tail that is worse, or one bad moment: measure more before keeping B")
        return Tail(TailComparison(verdict="slower", reason=f"{reason}; {_too_few(a, b)}"), (caution,))
    if far_a.size:
        reason = f"{far_a.size} of {a.values.size} values of A are far out, up to {format_quantity(float(far_a.max()), unit)}; B has none"
        caution = Caution(code="tail-outlier", message=reason, effect="one bad moment, or a tail that B does not have: measure more")
        return Tail(TailComparison(verdict="inconclusive", reason=f"{reason}; {_too_few(a, b)}"), (caution,))
    return Tail(TailComparison(verdict="inconclusive", reason=_too_few(a, b)))


def unjudged(sides: tuple[Side, Side], tail: TailComparison) -> tuple[Caution, ...]:
    """What is to be known where b is kept and its tail could not be judged; nothing where it could, or where there is none (batches)."""
    if tail.ratio is not None or tail.verdict != "inconclusive" or sides[0].series.metric == "batched":
        return ()
    needed, found = minimum_samples(_Q), min(side.values.size for side in sides)
    more = f": {needed - found} more samples a side are needed" if found < needed else ""
    message = f"the tail of B could not be judged{more}"
    return (Caution(code="tail-unjudged", message=message, effect="B may be kept by the other calls; its slowest 1 % may be worse"),)


def _far(values: Floats, others: Floats) -> Floats:
    """The few values that are far beyond the others and beyond the rest of their own side."""
    ordered = np.sort(values)
    least = max(1, math.ceil(ordered.size * (1 - _FEW)))
    rest = max(float(ordered[least - 1]), float(others.max()))
    return ordered[least:][ordered[least:] > _FAR * rest]


def _rest(values: Floats, far: Floats) -> float:
    return float(values[values < far.min()].max())


def _too_few(a: Side, b: Side) -> str:
    needed, found = minimum_samples(_Q), min(a.values.size, b.values.size)
    if found < needed:
        return f"a p99 needs {needed} samples a side, {needed - found} more than there are"
    return "a p99 is compared between four processes a side or more"
