"""The sentences of a comparison."""

from __future__ import annotations

import math

from ridgeline.core import ChangedKey, TailComparison, Verdict

from .sides import Side

__all__ = ["headline", "incomparable_reasons", "undecided"]

#: More than this nobody measures for one verdict.
_MEASURABLE = 1000
_UNITS = {"process": "processes", "value": "values", "block": "blocks of values"}
#: Kinds of units in words, where two of them cannot be compared.
_KINDS = {
    "s": "seconds", "B": "bytes", "count": "counts", "op/s": "operations a second", "B/s": "bytes a second", "count/s": "counts a second",
    "FLOP": "operations", "FLOP/s": "operations a second", "J": "joules", "W": "watts", "Hz": "hertz", "1": "pure numbers", "cycle": "cycles",
}  # fmt: skip


def incomparable_reasons(keys: tuple[ChangedKey, ...]) -> tuple[str, ...]:
    """Why two series are not compared, and how to say that a difference is meant."""
    units = next((key for key in keys if key.key == "unit"), None)
    named = "; ".join(f"{key.key}: {key.a} against {key.b}" for key in keys)
    if units is not None:
        first = f"not comparable: {_KINDS.get(units.a, units.a)} against {_KINDS.get(units.b, units.b)}"
        return (first, named)
    first = f"not comparable: {named}"
    if any(key.key in ("better", "metric") for key in keys):
        return (first,)
    return (first, f"where that is the point of the change, declare it: {' '.join(f'--changing {key.key}' for key in keys)}")


def headline(
    verdict: Verdict,
    tail: Verdict,
    ratio: float,
    interval: tuple[float, float],
    sides: tuple[Side, Side],
    margin: float,
    statistic: str,
    shape: TailComparison | None = None,
) -> str:
    """The first sentence.

    Args:
        verdict: by the statistic.
        shape: a quartile that says otherwise; a slower one takes the verdict back.
    """
    of = "" if statistic in ("median", "") else f", by the {statistic}"
    if shape is not None and shape.verdict == "slower" and verdict != "slower":
        looks = {"faster": "not faster as a whole", "same": "not the same"}.get(verdict, "cannot tell")
        return f"{looks}: {ratio:.4g}{_interval(*interval)} by the {statistic}, {_sizes(sides)}; {shape.reason}"
    text = f"{_sentence(verdict, ratio, interval, sides, margin)}{of}"
    if tail == "slower" and verdict in ("faster", "same"):
        text = f"{'improved median' if verdict == 'faster' else 'same median'}, worse tail: {text}"
    if shape is None:
        return text
    return f"{text}; {'and' if shape.verdict == verdict else 'but'} {shape.reason}"


def _sentence(verdict: Verdict, ratio: float, interval: tuple[float, float], sides: tuple[Side, Side], margin: float) -> str:
    found = f"{ratio:.4g}{_interval(*interval)}"
    sizes = _sizes(sides)
    rate = sides[0].series.better == "higher"
    if verdict == "same":
        low, high = interval
        certain = low > 1 or high < 1
        small = f"it differs by {abs(ratio - 1):.2%}, for certain, and by less than the margin" if certain else "no difference beyond the margin"
        return f"B is the same as A within {100 * margin:.3g} %: {small}: {found}, {sizes}"
    if verdict == "inconclusive":
        return f"cannot tell: {found}, {sizes}"
    much = f"{abs(ratio - 1):.1%}" if abs(ratio - 1) >= 0.001 else f"{abs(ratio - 1):.2%}"
    direction = ("lower" if ratio < 1 else "higher") if rate else verdict
    worse = " (worse)" if rate and verdict == "slower" else " (better)" if rate else ""
    return f"B is {much} {direction}{worse}: {found}, {sizes}"


def _interval(low: float, high: float) -> str:
    if low <= 0 and not math.isfinite(high):
        return ""
    return f" ({low:.4g}–{high:.4g})" if math.isfinite(high) else f" (at least {low:.4g})"


def _sizes(sides: tuple[Side, Side]) -> str:
    if not (sides[0].units and sides[1].units):
        return "from aggregates"
    counts = len(sides[0].units), len(sides[1].units)
    names = _UNITS[sides[0].unit], _UNITS[sides[1].unit]
    if names[0] != names[1]:
        return f"{counts[0]} {names[0]} against {counts[1]} {names[1]}"
    return f"{counts[0]} {names[0]} each" if counts[0] == counts[1] else f"{counts[0]} and {counts[1]} {names[0]}"


def undecided(
    sides: tuple[Side, Side], sizes: tuple[int, int], needed: int | None, least: int, margin: float, *, mixed: bool = False
) -> tuple[str, ...]:
    """What would settle it.

    Args:
        needed: processes of each side that would; null where no number does, or where that is not known (`mixed`: a side has several levels).
        least: fewest that can tell anything.
    """
    names = _UNITS[sides[0].unit]
    if min(sizes) < least:
        return (f"with fewer than {least} {names} a side nothing can be told; there are {sizes[0]} and {sizes[1]}",)
    effect = f"a difference of {100 * margin:.3g} %"
    if needed is None or needed > _MEASURABLE:
        than = f"more {names} a side than can be measured, over {_MEASURABLE:,}, would be needed for {effect}"
        return (f"{than}: make it quieter or longer",) if margin > 0 and not mixed else ()
    more = max(0, needed - min(sizes))
    if not more:
        return (f"there are enough {names} to find {effect} nine times of ten; a smaller one would need more",)
    return (f"about {needed} {names} a side, {more} more, would find {effect} nine times of ten",)
