"""The verdict on two series: which keys refuse it, what the interval says, whether the second may be kept, in sentences.

`same` is a claim of its own: the whole interval lies within the margin, so that both one-sided tests reject a difference as large as the margin
(D. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987). A difference that is certain and smaller than the margin is therefore `same`,
and said. What is neither shown to differ nor shown to be the same is `inconclusive`, with how many processes would settle it; so is what looks no
slower while a quarter of its calls is (see `shape`).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from ridgeline.core import Better, Caution, ChangedKey, Comparison, Series, TailComparison, UsageError, Verdict
from ridgeline.stats import Effect, effect, least_processes, processes_needed

from .aggregates import AggregateEffect, aggregate_effect
from .cautions import cautions_of, names_differ
from .keys import changed_keys
from .shape import shape_of
from .sides import Side, ground_truth_of, sides_of, summary_of
from .tails import compare_tails, unjudged
from .without_ratio import ranked
from .words import headline, incomparable_reasons, undecided

__all__ = ["TAIL_CONFIDENCE", "Pair", "compare_series", "judged"]

#: Of the verdict on the tail of one comparison.
TAIL_CONFIDENCE = 0.97


def compare_series(
    a: Series,
    b: Series,
    *,
    margin: float = 0.01,
    confidence: float = 0.97,
    changing: Collection[str] = (),
    versions_differ: bool = True,
) -> Comparison:
    """Hold b against a.

    Args:
        a, b: the series; unlike ones are answered with `incomparable`, never refused by raising.
        margin: relative difference up to which two versions are the same, ≥ 0.
        confidence: of the interval, in (0, 1); 0.97 calls three of a hundred equal pairs different.
        changing: keys whose difference is the point of the change.
        versions_differ: whether the code under test is another one, so that any other difference is one too many.

    Raises:
        UsageError: a margin or a confidence out of its range.

    Source: see `stats.comparison`, and for `same` this module.
    """
    found = Pair(a, b, changing, versions_differ).judged(margin, (confidence, confidence), TAIL_CONFIDENCE)
    caution = names_differ(a, b, found.changed_keys)
    if caution is None or found.verdict == "incomparable":
        return found
    first = f"{found.headline}; if {a.name!r} and {b.name!r} do the same work"
    return msgspec.structs.replace(found, reasons=(first, *found.reasons[1:]), warnings=(caution, *found.warnings))


def judged(
    a: Series,
    b: Series,
    margin: float,
    confidences: tuple[float, float],
    tail_confidence: float,
    changing: Collection[str] = (),
    versions_differ: bool = True,
) -> Comparison:
    """`compare_series` with a confidence of its own for a difference (first, stricter in a family), for sameness (second) and for the tail."""
    return Pair(a, b, changing, versions_differ).judged(margin, confidences, tail_confidence)


class Pair:
    """Two series, with all that does not depend on how sure the verdict has to be.

    Args:
        a, b, changing, versions_differ: as in `compare_series`.
        must: as in `changed_keys`.
    """

    def __init__(self, a: Series, b: Series, changing: Collection[str] = (), versions_differ: bool = True, must: Collection[str] = ()) -> None:
        self.sides = sides_of(a, b)
        self.changed = changed_keys(a, b, changing, must)
        self.refused = tuple(key for key in self.changed if key.kind == "must" and not key.declared)
        self._cautions = cautions_of(self.sides, self.changed, versions_differ, alike=not self.refused)
        self._effects: dict[float, Effect] = {}

    @property
    def mixed(self) -> bool:
        """Whether a side gathers at several levels: then no spread says what more processes would see."""
        return any(caution.code == "bimodal" for caution in self._cautions)

    def effect(self, confidence: float) -> Effect:
        """The effect by the values, which both sides must have."""
        if confidence not in self._effects:
            self._effects[confidence] = effect(self.sides[0].units, self.sides[1].units, confidence)
        return self._effects[confidence]

    def p_value(self, confidence: float) -> float | None:
        """The chance of so large a difference between equal versions; `None` without a test."""
        if self.refused:
            return None
        a, b = self.sides
        if a.has_ratio and b.has_ratio:
            return self.effect(confidence).p_value
        if a.units and b.units:
            return ranked(a, b, confidence).p_value
        found = aggregate_effect(*self.sides, confidence)
        return found.p_value if found else None

    def judged(self, margin: float, confidences: tuple[float, float], tail_confidence: float) -> Comparison:
        """The comparison, with a confidence of its own for a difference (first, stricter in a family) and for sameness (second)."""
        if not 0 <= margin < 1 or not all(0 < confidence < 1 for confidence in (*confidences, tail_confidence)):
            raise UsageError("0 ≤ margin < 1 and a confidence in (0, 1)", found=f"{margin!r} and {confidences[0]!r}", remedy="leave the defaults")
        outcome = _refused(self.refused) if self.refused else _outcome(self, margin, confidences, tail_confidence)
        a, b = self.sides
        return Comparison(
            verdict=outcome.verdict,
            ratio=outcome.ratio,
            ratio_ci=outcome.interval,
            confidence=outcome.confidence or confidences[0],
            tail=outcome.tail,
            keep=_kept(outcome),
            detectable_ratio=outcome.detectable,
            a=ground_truth_of(a.series, a),
            b=ground_truth_of(b.series, b),
            changed_keys=self.changed,
            reasons=outcome.reasons,
            name=b.series.name,
            metric=b.series.metric,
            unit=b.series.unit,
            better=b.series.better,
            margin=margin,
            statistic=outcome.statistic,
            ratios=outcome.ratios or {},
            intervals=outcome.intervals or {},
            shape=outcome.shape,
            p_value=outcome.p_value,
            side_a=summary_of(a.series, a),
            side_b=summary_of(b.series, b),
            warnings=(*outcome.warnings, *(unjudged(self.sides, outcome.tail) if _kept(outcome) else ()), *self._cautions),
        )


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    verdict: Verdict
    tail: TailComparison
    reasons: tuple[str, ...]
    ratio: float | None = None
    interval: tuple[float, float | None] | None = None
    confidence: float | None = None
    detectable: float | None = None
    statistic: str = ""
    ratios: dict[str, float] | None = None
    intervals: dict[str, tuple[float, float]] | None = None
    shape: TailComparison | None = None
    p_value: float | None = None
    warnings: tuple[Caution, ...] = ()


def _kept(outcome: _Outcome) -> bool:
    return outcome.verdict in ("faster", "same") and outcome.tail.verdict != "slower"


def _refused(keys: tuple[ChangedKey, ...]) -> _Outcome:
    tail = TailComparison(verdict="incomparable", reason="the sides are not alike")
    return _Outcome(verdict="incomparable", tail=tail, reasons=incomparable_reasons(keys))


def _outcome(pair: Pair, margin: float, confidences: tuple[float, float], tail_confidence: float) -> _Outcome:
    a, b = sides = pair.sides
    if not (a.units and b.units):
        return _of_aggregates(a, b, margin, confidences)
    if not (a.has_ratio and b.has_ratio):
        return _of_ranks(a, b, confidences[0])
    found, close = (pair.effect(confidence) for confidence in confidences)
    looks, source = _verdict(found, close, margin, a.series.better)
    shape = shape_of(looks, found, margin, sides)
    uneven = shape is not None and shape.verdict == "slower" and looks != "slower"
    verdict = "inconclusive" if uneven else looks
    tail = compare_tails(a, b, tail_confidence)
    low, high = source.low, source.high
    bounded = low > 0 and math.isfinite(high)
    needed = processes_needed(found.spread, 1 + margin, confidences[0]) if margin > 0 and not pair.mixed else None
    reasons = (
        headline(looks, tail.comparison.verdict, source.ratio, (low, high), sides, margin, source.statistic, shape),
        *(
            ()
            if verdict != "inconclusive" or uneven
            else undecided(sides, found.processes, needed, least_processes(found.level), margin, mixed=pair.mixed)
        ),
        tail.comparison.reason,
    )
    detectable = math.inf if pair.mixed else found.detectable_ratio
    return _Outcome(
        verdict=verdict,
        tail=tail.comparison,
        reasons=reasons,
        ratio=_finite(source.ratio),
        interval=(low, high if math.isfinite(high) else None) if bounded else None,
        confidence=source.confidence,
        detectable=_finite(detectable),
        statistic=source.statistic,
        ratios={name: ratio for name, ratio in source.ratios.items() if math.isfinite(ratio)},
        intervals={name: ends for name, ends in source.intervals.items() if ends[0] > 0 and math.isfinite(ends[1])},
        shape=shape,
        p_value=found.p_value,
        warnings=tail.warnings,
    )


def _of_ranks(a: Side, b: Side, confidence: float) -> _Outcome:
    found = ranked(a, b, confidence)
    tail = TailComparison(verdict="inconclusive", reason="the tail of values that may be zero is not judged")
    return _Outcome(verdict=found.verdict, tail=tail, reasons=(found.reason,), statistic="median", p_value=found.p_value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _verdict(found: Effect, close: Effect, margin: float, better: Better) -> tuple[Verdict, Effect]:
    """(verdict, effect that it rests on)."""
    # What is steadiest may be the same while the median is not: then nothing is the same.
    if _within(close.low, close.high, margin) and not _beyond(*found.intervals["median"], margin):
        return "same", close
    if found.differs:
        return _word(found.ratio, better), found
    return "inconclusive", found


def _within(low: float, high: float, margin: float) -> bool:
    return low >= 1 / (1 + margin) and high <= 1 + margin


def _beyond(low: float, high: float, margin: float) -> bool:
    return low > 1 + margin or high < 1 / (1 + margin)


def _word(ratio: float, better: Better) -> Verdict:
    return "slower" if (ratio > 1) == (better == "lower") else "faster"


def _of_aggregates(a: Side, b: Side, margin: float, confidences: tuple[float, float]) -> _Outcome:
    tail = TailComparison(verdict="inconclusive", reason="aggregates have no tail")
    found = aggregate_effect(a, b, confidences[0])
    if found is None:
        empty = [name for name, side in (("A", a), ("B", b)) if not side.values.size and not side.series.aggregates]
        reason = f"nothing was measured on side {' and '.join(empty)}" if empty else "the sides have no statistic in common, and no values"
        return _Outcome(verdict="inconclusive", tail=tail, reasons=(reason,))
    close = aggregate_effect(a, b, confidences[1]) or found
    verdict, interval = _aggregate_verdict(found, close, margin, a.series.better)
    said = (
        "the interval is from mean, standard deviation and count: it takes the values to be independent"
        if interval
        else "there are aggregates only, without the spread and count that an interval needs; no values are made up"
    )
    first = headline(verdict, "inconclusive", found.ratio, interval or (0.0, math.inf), (a, b), margin, found.statistic)
    caution = Caution(code="aggregates-only", message=said, effect="the interval may be too narrow" if interval else "no verdict")
    return _Outcome(
        verdict=verdict, tail=tail, reasons=(first, said), ratio=_finite(found.ratio), interval=interval, statistic=found.statistic,
        ratios={found.statistic: found.ratio}, p_value=found.p_value, warnings=(caution,),
        confidence=confidences[1] if verdict == "same" else confidences[0],
    )  # fmt: skip


def _aggregate_verdict(found: AggregateEffect, close: AggregateEffect, margin: float, better: Better) -> tuple[Verdict, tuple[float, float] | None]:
    if found.interval is None or close.interval is None:
        return "inconclusive", None
    if _within(*close.interval, margin):
        return "same", close.interval
    if found.interval[0] > 1 or found.interval[1] < 1:
        return _word(found.ratio, better), found.interval
    return "inconclusive", found.interval
