"""Two versions compared by their processes: which is faster, by how much, and whether that can be told at all.

The unit is the process: samples of one process share its memory layout, its hash seeds and its luck, so that a thousand of them are one draw. Each
process is reduced to one number, a quantile of its times; the two sets of numbers are compared by the shift of their logarithms (Hodges and Lehmann)
with its exact rank interval, which holds for any distribution that the versions share up to the shift.

The median decides. A lower quantile stands in for it where it differs less from process to process within its own side (that spread knows nothing
of the shift) and where the median does not contradict it: its ratio lies in the median's interval. Otherwise the versions share no shift: some of
their calls differ in another way than the rest, and what the fastest do says nothing of the others. Since two statistics may then speak, the error
rate is divided: the one that stands in has most of it, a median that contradicts the rest, and where both find the same direction, that was already
paid for.

Sources: J. Hodges, E. Lehmann, Annals of Mathematical Statistics 34, 1963; H. Mann, D. Whitney, ibid. 18, 1947; E. Lehmann, "Nonparametrics", §2.3
(the size that finds a shift); T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013 (the process as the unit).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..core.errors import UsageError
from ._checks import Values, confidence_level, normal_quantile, positive_floats
from .quantile import process_quantiles
from .robust import hodges_lehmann_shift, mad_sigma, rank_sum_p_value

__all__ = ["Effect", "Statistic", "detectable_of", "detectable_ratio", "effect", "least_processes", "processes_needed"]

Statistic = Literal["median", "lower quartile", "minimum", "upper quartile"]
_QUANTILES: dict[Statistic, float] = {"median": 0.5, "lower quartile": 0.25, "minimum": 0.0, "upper quartile": 0.75}
#: What may stand in for the median: the upper quartile is for the reader, who is to see whether all calls differ alike.
_CANDIDATES: tuple[Statistic, ...] = ("median", "lower quartile", "minimum")
#: The median is what people mean; another quantile must be steadier than it by this much.
_STEADIER = 0.7
#: Confidence of the median's interval that the ratio of another statistic has to lie in: one that does not is contradicted.
_AGREEING = 0.95
#: Part of the error rate that a median has which contradicts the steadier statistic; of few processes what one that is wholly apart needs.
_CONTRADICTING, _MOST_CONTRADICTING = 0.1, 0.3
#: The detectable effect is found with this chance.
_POWER = 0.9
#: Processes of both sides together from which even one against all the others is as sure as any confidence that is asked for.
_COUNTED = 1000


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """How the times of one version stand to those of another.

    Args:
        statistic: of each process that is compared.
        ratio: time after ÷ time before; above 1 it is slower.
        low, high: ends of the interval of the ratio; 0 and infinity where there are too few processes for one.
        confidence: of the interval, whatever statistic was chosen.
        level: at which the interval was read, above `confidence` where two statistics share the error rate.
        steadiest: the statistic that differs least from process to process; another one than `statistic` where the median contradicts it.
        processes: of each side.
        spread: relative standard deviation from process to process within a side, both together: the robust one, or, where the interval is wider
            than that explains (single processes far out), the one that the interval implies.
        detectable_ratio: a slowdown by this ratio would be found in nine of ten such comparisons; infinity where none would.
        ratios: the ratio by each statistic, for the reader.
        intervals: (low, high) by each statistic alone, at `confidence`; of the chosen one `low` and `high`.
        p_value: two-sided chance of such ranks between equal versions (see `rank_sum_p_value`), with what choosing the statistic costs.
    """

    statistic: Statistic
    ratio: float
    low: float
    high: float
    confidence: float
    processes: tuple[int, int]
    spread: float
    detectable_ratio: float
    ratios: dict[Statistic, float]
    intervals: dict[Statistic, tuple[float, float]] = {}
    p_value: float = 1.0
    level: float = 0.0
    steadiest: Statistic = "median"

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 1."""
        return self.low > 1.0 or self.high < 1.0


def effect(before: Sequence[Values], after: Sequence[Values], confidence: float = 0.97) -> Effect:
    """The ratio of times after ÷ before, over processes.

    Args:
        before, after: the samples of each process, each of shape (n,), seconds or any one unit, > 0; process by process.
        confidence: in (0, 1); 0.97 calls three of a hundred equal pairs different.

    Raises:
        UsageError: a side without a process, a process without samples, a time that is not above zero.

    >>> before = [[1.0, 1.1], [1.01, 1.2], [1.02, 1.1], [1.03, 1.3], [1.0, 1.2]]
    >>> found = effect(before, [[2 * time for time in process] for process in before])
    >>> found.differs, round(found.ratio, 2)
    (True, 2.0)
    """
    confidence_level(confidence)
    sides = (_reduced(before, "before"), _reduced(after, "after"))
    shifts = {name: hodges_lehmann_shift(sides[0][name], sides[1][name], confidence) for name in _QUANTILES}
    chosen = _chosen(sides, confidence)
    sizes = (sides[0]["median"].size, sides[1]["median"].size)
    shift, low, high = hodges_lehmann_shift(sides[0][chosen.statistic], sides[1][chosen.statistic], chosen.level)
    spread = max(_spread(sides, chosen.statistic), _implied_spread(max(high - shift, shift - low), *sizes, chosen.level))
    return Effect(
        statistic=chosen.statistic,
        ratio=_exponential(shift),
        low=_exponential(low),
        high=_exponential(high),
        confidence=confidence,
        level=chosen.level,
        steadiest=chosen.steadiest,
        processes=sizes,
        spread=spread,
        detectable_ratio=detectable_ratio(spread, *sizes, chosen.level),
        ratios={name: _exponential(shift) for name, (shift, _, _) in shifts.items()},
        intervals={
            **{name: (_exponential(low), _exponential(high)) for name, (_, low, high) in shifts.items()},
            chosen.statistic: (_exponential(low), _exponential(high)),
        },
        p_value=chosen.p_value,
    )


def _exponential(shift: float) -> float:
    return math.exp(shift) if shift < 700 else math.inf


Reduced = dict[Statistic, NDArray[np.float64]]


def _reduced(processes: Sequence[Values], side: str) -> Reduced:
    """Logarithms of each statistic, one value a process."""
    if not len(processes):
        raise UsageError("a process on each side", found=f"none {side}", remedy="measure both versions")
    quantiles = process_quantiles(processes, tuple(_QUANTILES.values()))
    positive_floats(quantiles.ravel())
    return dict(zip(_QUANTILES, np.log(quantiles), strict=True))


def _spread(sides: tuple[Reduced, Reduced], name: Statistic) -> float:
    """Both sides' robust standard deviation, of one process; n ÷ (n − 0.8) is what few values lack (C. Croux, P. Rousseeuw, 1992)."""
    return math.sqrt(sum((mad_sigma(side[name]) * side[name].size / (side[name].size - 0.8)) ** 2 for side in sides) / 2)


def _steadiest(sides: tuple[Reduced, Reduced]) -> Statistic:
    spreads = {name: _spread(sides, name) for name in _CANDIDATES}
    least = min(spreads, key=lambda name: spreads[name])
    return least if spreads[least] < _STEADIER * spreads["median"] else "median"


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    """What a comparison rests on: statistic, level of its interval, chance."""

    statistic: Statistic
    steadiest: Statistic
    level: float
    p_value: float


def _chosen(sides: tuple[Reduced, Reduced], confidence: float) -> _Chosen:
    """The statistic and its part of the error rate.

    Of equal versions, s steadier than the median m: s alone speaks where m does not contradict it, at 1 − κ of the error rate. Where it does, m
    speaks at κ; or at 1 − κ where s found the same direction at 1 − κ, which is no event beyond those that s already has. So the parts add up to
    the whole.
    """
    steadiest = _steadiest(sides)
    p_value = _p_value(sides, steadiest)
    if steadiest == "median":
        return _Chosen(statistic="median", steadiest=steadiest, level=confidence, p_value=p_value)
    error = 1 - confidence
    part = _part_of_contradicting(sides, error)
    most, least = 1 - (1 - part) * error, 1 - part * error
    shift, _, _ = _shift(sides, steadiest, confidence)
    _, low, high = _shift(sides, "median", min(confidence, _AGREEING))
    # Equal times differ by rounding.
    if low - 1e-12 <= shift <= high + 1e-12:
        return _Chosen(statistic=steadiest, steadiest=steadiest, level=most, p_value=min(1.0, p_value / (1 - part)))
    of_median = _p_value(sides, "median")
    alone = min(1.0, of_median / part)
    if shift * _shift(sides, "median", confidence)[0] <= 0:
        return _Chosen(statistic="median", steadiest=steadiest, level=least, p_value=alone)
    both = min(1.0, max(of_median, p_value) / (1 - part))
    level = most if p_value / (1 - part) <= error * (1 + 1e-9) else least
    return _Chosen(statistic="median", steadiest=steadiest, level=level, p_value=min(alone, both))


def _part_of_contradicting(sides: tuple[Reduced, Reduced], error: float) -> float:
    surest = _surest(*(side["median"].size for side in sides)) / error * (1 + 1e-9)
    return surest if _CONTRADICTING < surest <= _MOST_CONTRADICTING else _CONTRADICTING


def _shift(sides: tuple[Reduced, Reduced], name: Statistic, confidence: float) -> tuple[float, float, float]:
    return hodges_lehmann_shift(sides[0][name], sides[1][name], confidence)


def _p_value(sides: tuple[Reduced, Reduced], name: Statistic) -> float:
    return rank_sum_p_value(sides[0][name], sides[1][name])


def _surest(before: int, after: int) -> float:
    """The smallest chance that ranks of these sizes can have: 2 ÷ C(m + n, n); of large ones, which a binomial would take long for, 0."""
    return 2 / math.comb(before + after, after) if before + after <= _COUNTED else 0.0


def least_processes(confidence: float = 0.97) -> int:
    """The fewest processes a side with which two versions can be told apart at all: 2 ÷ C(2n, n) ≤ 1 − c.

    >>> least_processes(0.97), least_processes(0.95)
    (4, 4)
    """
    confidence_level(confidence)
    n = 1
    while _surest(n, n) > (1 - confidence) * (1 + 1e-9):
        n += 1
    return n


def detectable_ratio(spread: float, before: int, after: int, confidence: float = 0.97) -> float:
    """The slowdown that a comparison of these sizes finds nine times of ten; infinity where their ranks can never be that sure.

    ln ratio = (t of the test + z of the power) × σ √(1/m + 1/n) ÷ √(3/π): ranks need π/3 times the normal test's sizes on normal values. σ
    itself comes from few values, hence t (its Cornish-Fisher expansion) instead of z.

    Args:
        spread: relative standard deviation from process to process.
        before, after: processes of each side.
        confidence: of the interval.

    Raises:
        UsageError: a confidence out of range.
    """
    confidence_level(confidence)
    if min(before, after) < 1 or _surest(before, after) > (1 - confidence) * (1 + 1e-9):
        return math.inf
    return _exponential((_critical(before, after, confidence) + normal_quantile(2 * _POWER - 1)) * spread * _error_of_shift(before, after))


def _critical(before: int, after: int, confidence: float) -> float:
    """Student's quantile by its first terms (R. Cornish, E. Fisher, 1937)."""
    z = normal_quantile(confidence)
    return z * (1 + (z * z + 1) / (4 * max(1, before + after - 2)))


def _error_of_shift(before: int, after: int) -> float:
    """Standard error of the shift, in standard deviations of one process."""
    return math.sqrt((1 / before + 1 / after) * math.pi / 3)


def _implied_spread(half: float, before: int, after: int, confidence: float) -> float:
    """The standard deviation from process to process of which an interval of ln ratio reaches as far as this: half ÷ (t × error of the shift).

    Single processes far out make the interval wide and leave a robust spread as it is; what the next comparison finds depends on the interval. Its
    longer half counts, since in the next one they may be on the other side.
    """
    return half / (_critical(before, after, confidence) * _error_of_shift(before, after)) if math.isfinite(half) else 0.0


def detectable_of(times: Values, confidence: float = 0.97) -> float:
    """`detectable_ratio` for a comparison with as many processes of another version that scatter as these do; infinity where none would be found.

    Args:
        times: one of each process, shape (n,), > 0.
        confidence: of the comparison.

    Raises:
        UsageError: no time, or one that is not above zero.
    """
    logs = np.log(positive_floats(times))
    count = logs.size
    _, _, high = hodges_lehmann_shift(logs, logs, confidence)
    robust = mad_sigma(logs) * count / (count - 0.8)
    return detectable_ratio(max(robust, _implied_spread(high, count, count, confidence)), count, count, confidence)


def processes_needed(spread: float, ratio: float, confidence: float = 0.97, most: int = 1_000_000) -> int | None:
    """The fewest processes a side that would find a slowdown by `ratio` nine times of ten; `None` beyond `most`.

    >>> processes_needed(0.01, 1.02)
    8
    """
    low, high = least_processes(confidence), most
    if detectable_ratio(spread, high, high, confidence) > ratio:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if detectable_ratio(spread, middle, middle, confidence) <= ratio else (middle + 1, high)
    return low
