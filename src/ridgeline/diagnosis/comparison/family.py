"""Many benchmarks compared at once, so that the chance that any is called different without being so stays what it is for one.

Holm's rule: of m benchmarks the one with the smallest chance is judged at (1 − c) ÷ m, the next at (1 − c) ÷ (m − 1), and so on until one is not
different; the interval of each is that of its own level, so that it leaves out 1 exactly where the verdict says so. Sameness is judged at c: it is
no alarm. Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ridgeline.core import Caution, Comparison, ComparisonSet, Series, SeriesSet

from .judge import TAIL_CONFIDENCE, Pair

__all__ = ["compare_sets"]


def compare_sets(
    a: SeriesSet,
    b: SeriesSet,
    *,
    margin: float = 0.01,
    confidence: float = 0.97,
    changing: Collection[str] = (),
    versions_differ: bool = True,
) -> ComparisonSet:
    """Compare what both sets hold, matched by name and metric.

    Args:
        a, b: the sets.
        margin, changing, versions_differ: as in `compare_series`.
        confidence: that no benchmark of the family is called different by chance.

    Raises:
        UsageError: a margin or a confidence out of its range.
    """
    left, warnings_a = _by_name(a)
    right, warnings_b = _by_name(b)
    pairs = [(left[key], right[key]) for key in left if key in right]
    return ComparisonSet(
        a=a.source,
        b=b.source,
        comparisons=_family(pairs, margin, confidence, changing, versions_differ),
        missing=tuple(_label(key, left) for key in left if key not in right),
        new=tuple(_label(key, right) for key in right if key not in left),
        left_out_a=a.left_out,
        left_out_b=b.left_out,
        confidence=confidence,
        warnings=tuple(dict.fromkeys((*_nothing(a, b, pairs), *a.cautions, *b.cautions, *warnings_a, *warnings_b))),
    )


Key = tuple[str, str]
#: Benchmarks of a side that are named where both have none in common.
_NAMED = 5


def _nothing(a: SeriesSet, b: SeriesSet, pairs: Sequence[object]) -> tuple[Caution, ...]:
    if pairs:
        return ()
    named = [", ".join(list(dict.fromkeys(one.name for one in side.series))[:_NAMED]) or "nothing" for side in (a, b)]
    message = f"no benchmark is in both: A has {named[0]}; B has {named[1]}"
    return (Caution(code="nothing-compared", message=message, effect="nothing was compared"),)


def _by_name(given: SeriesSet) -> tuple[dict[Key, Series], list[Caution]]:
    """The series by name and metric; of two alike the first counts."""
    found: dict[Key, Series] = {}
    twice = []
    for series in given.series:
        key = (series.name, series.metric)
        if key in found:
            twice.append(f"{series.name} ({series.metric})")
        else:
            found[key] = series
    if not twice:
        return found, []
    message = f"{given.source} holds {', '.join(dict.fromkeys(twice))} more than once; the first is compared"
    return found, [Caution(code="duplicates", message=message, effect="the others are not compared")]


def _label(key: Key, series: dict[Key, Series]) -> str:
    """The name, with the metric where the name has several."""
    name, metric = key
    return name if sum(other == name for other, _ in series) == 1 else f"{name} ({metric})"


def _family(
    series: Sequence[tuple[Series, Series]], margin: float, confidence: float, changing: Collection[str], versions_differ: bool
) -> tuple[Comparison, ...]:
    pairs = [Pair(a, b, changing, versions_differ) for a, b in series]
    chances = {index: chance for index, pair in enumerate(pairs) if (chance := pair.p_value(confidence)) is not None}
    error, left = 1 - confidence, max(1, len(chances))
    # Of the tails there is no chance to order them by: each gets its part (Bonferroni).
    tail = 1 - (1 - TAIL_CONFIDENCE) / left
    own = [confidence] * len(pairs)
    for index in sorted(chances, key=lambda index: chances[index]):
        own[index] = 1 - error / left
        # After the first that is not different the level stays: all that follow have larger chances, and none is different either.
        if chances[index] <= error / left:
            left = max(1, left - 1)
    return tuple(pair.judged(margin, (level, confidence), tail) for pair, level in zip(pairs, own, strict=True))
