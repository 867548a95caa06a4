"""Whether all calls of a version differ alike: each quartile of the processes held against the other side's, as the verdict's statistic is.

One ratio describes two versions whose calls all became longer or shorter by it. Where a quarter of the calls is slower, beyond the margin and as
surely as the verdict is given, the version is not faster and not the same, whatever its other calls do: the burden is on the version that is to be
kept. Where it is slower anyway, and that quarter by much more than the ratio says, that is told; so is a quarter that is faster where the verdict
says otherwise, which changes nothing. Reading the quartiles can take a verdict of `faster` or `same` back and never makes one, so that no equal
versions are called different for it.
"""

from __future__ import annotations

import math

from ridgeline.core import TailComparison, Verdict
from ridgeline.stats import Effect, Statistic

from .sides import Side

__all__ = ["shape_of"]

_QUARTILES: tuple[tuple[Statistic, float], ...] = (("upper quartile", 0.75), ("lower quartile", 0.25))

#: A quarter of the calls that is slower by so many times what the ratio says is told.
_FAR = 2.0


def shape_of(verdict: Verdict, found: Effect, margin: float, sides: tuple[Side, Side]) -> TailComparison | None:
    """The quartile that differs otherwise than the verdict and the ratio say; a slower one before a faster one, then the one that differs more.

    Args:
        verdict: by the statistic that was chosen.
        found: with the intervals of the quartiles, at the confidence of a difference.
        margin: relative difference that is none.
        sides: for direction and unit.
    """
    higher = sides[0].series.better == "higher"
    seen = [_judged(found, name, q, margin, higher=higher) for name, q in _QUARTILES]
    against = [one for one in seen if one is not None and (one.verdict != verdict or (verdict == "slower" and _far_beyond(one, found)))]
    if not against:
        return None
    worst = max(against, key=lambda one: (one.verdict == "slower", abs(math.log(one.ratio or 1.0))))
    return TailComparison(
        verdict=worst.verdict, ratio=worst.ratio, ratio_ci=worst.ratio_ci, q=worst.q, reason=_reason(worst, sides[1], higher=higher)
    )


def _far_beyond(one: TailComparison, found: Effect) -> bool:
    """Whether the whole interval of a quartile is so many times as far from 1 as that of the ratio."""
    low, high = one.ratio_ci or (1.0, 1.0)
    least, most = min(abs(math.log(end)) for end in (low, high or low)), max(abs(math.log(end)) for end in (found.low, found.high))
    return least > _FAR * most


def _judged(found: Effect, name: Statistic, q: float, margin: float, *, higher: bool) -> TailComparison | None:
    low, high = found.intervals[name]
    if low <= 0 or not math.isfinite(high) or (1 / (1 + margin) <= high and low <= 1 + margin):
        return None
    verdict: Verdict = "slower" if (low > 1) != higher else "faster"
    return TailComparison(verdict=verdict, ratio=found.ratios[name], ratio_ci=(low, high), q=q)


def _reason(one: TailComparison, side: Side, *, higher: bool) -> str:
    """Such as `the slowest quarter of its calls takes 1.9 times as long`."""
    which = "slowest" if (one.q > 0.5) != higher else "fastest"
    ratio = one.ratio or 1.0
    low, high = one.ratio_ci or (ratio, ratio)
    interval = f"({low:.4g}–{high:.4g})"
    if side.series.unit != "s":
        return f"the {'upper' if one.q > 0.5 else 'lower'} quartile of its values is {ratio:.4g} times A's {interval}"
    return f"the {which} quarter of its calls takes {ratio:.4g} times as long {interval}"
