"""Evidence that a level moved: sums of clipped log likelihood ratios (CUSUM), and robust estimates of level and spread beside them.

With w the distance of ln (actual ÷ predicted) from the level, in standard deviations and clipped at ±2.5, and δ the shift that is looked for in the
same unit, each pair adds δ (w − δ/2 − 1/√n) to the evidence for a higher level, which never falls under 0; an alarm is evidence beyond 15. Clipping
makes an outlier of ten times count like one of 2.5 standard deviations, and the more evidence there is the less is learned, so that a shift does not
become the level before it is found; 1/√n pays for a level that is itself known from n pairs only. Where a pair
depends on the one before it, with correlation ρ, standard deviations are longer by √D, D = (1 + ρ) ÷ (1 − ρ), as those of long sums are.
Decides these constants, by simulation (`benchmarks/model/calibration.py`).
Sources: E. Page, "Continuous inspection schemes", Biometrika 41, 1954; G. Lorden, "Procedures for reacting to a change in distribution", Annals of
Mathematical Statistics 42, 1971 (a mean of at least exp(threshold) pairs to a false alarm); P. Huber, "Robust estimation of a location
parameter", Annals of Mathematical Statistics 35, 1964; R. Johnson, M. Bagshaw, "The effect of serial correlation on the performance of CUSUM tests",
Technometrics 16, 1974 (D).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from ridgeline.stats import mad_sigma

from .state import GroupLevel

__all__ = ["ALARM", "BURN_IN", "LEAST_SHIFT", "MEMORY", "begun", "correlated", "dependence", "deviation", "increments", "learned"]

#: ln of the factor that is looked for; pairs that a level takes to be known; evidence of an alarm; pairs over which a level forgets.
LEAST_SHIFT, BURN_IN, ALARM, MEMORY = math.log(1.1), 20, 15.0, 1000
_CLIP, _MOST_DELTA = 2.5, 1.0
#: E min(Z², 2.5²) of a standard normal Z.
_KEPT = 0.97756
_PRIOR_PAIRS, _LEAST_VARIANCE = 10, 0.005**2


def begun(group: GroupLevel, typical_variance: float) -> GroupLevel:
    """The group with level and spread from its first pairs, or the first since it moved: the median and 1.4826 × MAD, beside a typical spread."""
    logs = [seen.log_ratio for seen in group.recent]
    spread = mad_sigma(logs) ** 2
    variance = (_PRIOR_PAIRS * typical_variance + len(logs) * spread) / (_PRIOR_PAIRS + len(logs))
    return msgspec.structs.replace(group, level=float(np.median(logs)), variance=max(variance, _LEAST_VARIANCE))


def deviation(group: GroupLevel, log_ratio: float) -> float:
    """Distance from the level in standard deviations of the next pair, σ √(1 + 1/n), clipped at ±2.5."""
    distance = (log_ratio - group.level) / math.sqrt(group.variance * (1 + 1 / group.pairs))
    return min(_CLIP, max(-_CLIP, distance))


def correlated(correlation: float, last: float, distance: float, pairs: int) -> float:
    """Correlation from one pair to the next after one more, from the distances of both; few pairs do little."""
    return correlation + (last * distance / _KEPT - correlation) / (min(pairs, MEMORY) + _PRIOR_PAIRS)


def dependence(correlation: float) -> float:
    """(1 + ρ) ÷ (1 − ρ), a factor of variances of sums; 1 for ρ ≤ 0, and ρ at most 0.9."""
    held = min(0.9, max(0.0, correlation))
    return (1 + held) / (1 - held)


def increments(group: GroupLevel, distance: float, depends: float) -> tuple[float, float]:
    """What a pair at this distance adds to the evidence for a higher and for a lower level, a ln likelihood ratio.

    Args:
        depends: the factor D of variances of sums, dimensionless, ≥ 1.
    """
    longer = math.sqrt(depends)
    delta = min(_MOST_DELTA, LEAST_SHIFT / (longer * math.sqrt(group.variance)))
    allowed = delta / 2 + 1 / math.sqrt(group.pairs)
    return delta * (distance / longer - allowed), delta * (-distance / longer - allowed)


def learned(group: GroupLevel, log_ratio: float) -> tuple[float, float]:
    """(level, variance) after one more pair, both moved by the clipped pair only: Huber's proposal, one step a pair."""
    # What may be a shift is not learned as the level before it is known to be none.
    gain = (1 - min(0.9, 2 * max(group.up, group.down) / ALARM)) / min(group.pairs + 1, MEMORY)
    reach = _CLIP * math.sqrt(group.variance)
    held = min(reach, max(-reach, log_ratio - group.level))
    moved = (held * held / _KEPT - group.variance) / (min(group.pairs, MEMORY) + _PRIOR_PAIRS)
    return group.level + gain * held, max(group.variance + moved, _LEAST_VARIANCE)
