"""Two sides of which at least one is only a mean with a standard deviation: what can be said of their ratio, and no value made up.

ln(mean b ÷ mean a) ± t √((sₐ ÷ mₐ)² ÷ nₐ + (s_b ÷ m_b)² ÷ n_b), t with the degrees of freedom of Welch and Satterthwaite; it takes the values to be
independent and their means near normal. Sources: B. Welch, Biometrika 34, 1947; the logarithm by the delta method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ridgeline.core import Series

from .sides import Side

__all__ = ["AggregateEffect", "aggregate_effect"]

#: Under which name tools say how many values an aggregate is of.
_COUNTS = ("n", "count", "samples", "repetitions", "runs", "rounds", "iterations")
#: A standard deviation so many times the mean is of no use to an interval, nor is an interval so many times its ratio; no mean is smaller.
_WILD, _WIDEST, _TINY = 1e3, 1e6, 1e-150


@dataclass(frozen=True)
class AggregateEffect:
    """The ratio b ÷ a of a statistic that both sides have; interval and chance are null where a spread or a count is missing."""

    statistic: str
    ratio: float
    interval: tuple[float, float] | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class _Moments:
    mean: float
    deviation: float
    count: float

    @property
    def variance(self) -> float:
        """Of the logarithm of the mean."""
        return (self.deviation / self.mean) ** 2 / self.count


def aggregate_effect(a: Side, b: Side, confidence: float) -> AggregateEffect | None:
    """What the aggregates say; `None` where the sides have no statistic in common."""
    moments = _moments(a), _moments(b)
    if moments[0] is not None and moments[1] is not None:
        return _welch(moments[0], moments[1], confidence)
    for statistic in ("median", "mean", "min", "p50"):
        values = _statistic(a, statistic), _statistic(b, statistic)
        if values[0] is not None and values[1] is not None and min(values[0], values[1]) > 0 and math.isfinite(values[1] / values[0]):
            return AggregateEffect(statistic, values[1] / values[0])
    return None


def _statistic(side: Side, name: str) -> float | None:
    if not side.values.size:
        return side.series.aggregates.get(name)
    values = side.values
    return float(values.mean() if name == "mean" else values.min() if name == "min" else np.median(values))


def _moments(side: Side) -> _Moments | None:
    means = [float(unit.mean()) for unit in side.units]
    if len(means) > 1 and min(means) > _TINY:
        mean = math.fsum(means) / len(means)
        return _Moments(mean, math.sqrt(math.fsum((value - mean) ** 2 for value in means) / (len(means) - 1)), len(means))
    return _given(side.series) if not means else None


def _given(series: Series) -> _Moments | None:
    given = series.aggregates
    count = next((given[name] for name in _COUNTS if name in given), 0.0)
    mean, deviation = given.get("mean", 0.0), given.get("stddev", -1.0)
    known = all(math.isfinite(number) for number in (count, mean, deviation)) and _TINY < mean < 1 / _TINY and count >= 2
    return _Moments(mean, deviation, count) if known and 0 <= deviation <= _WILD * mean else None


def _welch(a: _Moments, b: _Moments, confidence: float) -> AggregateEffect:
    shift = math.log(b.mean / a.mean)
    variance = a.variance + b.variance
    if variance == 0:
        return AggregateEffect("mean", math.exp(shift), (math.exp(shift), math.exp(shift)), 1.0 if shift == 0 else 0.0)
    from scipy.special import stdtr, stdtrit

    freedom = variance**2 / (a.variance**2 / (a.count - 1) + b.variance**2 / (b.count - 1))
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * math.sqrt(variance)
    if half > math.log(_WIDEST):
        return AggregateEffect("mean", math.exp(shift))
    ends = math.exp(shift - half), math.exp(shift + half)
    return AggregateEffect("mean", math.exp(shift), ends, 2 * float(stdtr(freedom, -abs(shift) / math.sqrt(variance))))
