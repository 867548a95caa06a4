"""Amdahl's law: what a local gain is worth for the whole, forwards and backwards, alone and combined.

Shares are of the critical path: work off it has share 0 here, whatever its time. Source: G. Amdahl, "Validity of the single processor
approach to achieving large scale computing capabilities", AFIPS 1967.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.errors import OutOfRange, UsageError
from ._checks import factor, non_negative, positive, share_of_whole

__all__ = [
    "combined_speedup",
    "required_local_speedup",
    "required_shrink",
    "speedup",
    "speedup_bound",
    "speedup_interval",
]


def speedup(*, share: float, local_speedup: float) -> float:
    """S = 1 ÷ ((1 − p) + p ÷ s), old time ÷ new time of the whole.

    Args:
        share: p, share of the whole's time in [0, 1].
        local_speedup: s, old ÷ new time of that part, > 0; `inf` if the part vanishes; below 1 it got slower.

    Returns:
        S, `inf` only if the whole vanishes.

    Raises:
        UsageError: a number out of its range.

    >>> round(speedup(share=21 / 61, local_speedup=2), 3)
    1.208
    """
    share_of_whole(share=share)
    factor(local_speedup=local_speedup)
    remaining = (1 - share) + share / local_speedup
    return math.inf if remaining <= 0 else 1 / remaining


def speedup_bound(*, share: float) -> float:
    """S∞ = 1 ÷ (1 − p): what remains if the part costs nothing.

    >>> round(speedup_bound(share=21 / 61), 3)
    1.525
    """
    return speedup(share=share, local_speedup=math.inf)


def speedup_interval(*, share: tuple[float, float], local_speedup: tuple[float, float]) -> tuple[float, float]:
    """(low, high) of S over a box of shares and local speedups.

    S is monotone in each argument by itself, so the extremes lie at corners of the box.

    Args:
        share: (low, high) in [0, 1].
        local_speedup: (low, high) > 0.

    Raises:
        UsageError: a number out of its range, or ends in the wrong order.

    >>> low, high = speedup_interval(share=(0.4, 0.5), local_speedup=(2, 4))
    >>> round(low, 3), round(high, 3)
    (1.25, 1.6)
    """
    if share[0] > share[1] or local_speedup[0] > local_speedup[1]:
        raise UsageError("intervals with low ≤ high", found=f"share={share} local_speedup={local_speedup}", remedy="sort the ends")
    corners = [speedup(share=p, local_speedup=s) for p in share for s in local_speedup]
    return min(corners), max(corners)


def combined_speedup(*, parts: Sequence[tuple[float, float]]) -> float:
    """S = 1 ÷ (1 − Σpᵢ + Σpᵢ ÷ sᵢ) for disjoint parts.

    Args:
        parts: pairs (share, local speedup); the shares do not overlap and sum to at most 1.

    Raises:
        UsageError: a number out of its range, or shares that sum to more than 1.

    >>> round(combined_speedup(parts=[(0.5, 2), (0.25, 2)]), 3)
    1.6
    """
    for share, local in parts:
        share_of_whole(share=share)
        factor(local_speedup=local)
    covered = math.fsum(share for share, _ in parts)
    # 1e-9 leaves room for shares that were each rounded once.
    if covered > 1 + 1e-9:
        raise UsageError("disjoint shares that sum to at most 1", found=f"{covered:.6g}", remedy="count overlapping work once")
    remaining = max(0.0, 1 - covered) + math.fsum(share / local for share, local in parts)
    return math.inf if remaining <= 0 else 1 / remaining


def required_local_speedup(*, share: float, target_speedup: float) -> float:
    """s = p ÷ (1 ÷ S − (1 − p)): how much faster the part must become for the whole to gain S.

    Args:
        share: p in [0, 1].
        target_speedup: S, finite and > 0.

    Returns:
        s > 0, `inf` where the part must vanish.

    Raises:
        OutOfRange: no gain of this part is enough, since S > 1 ÷ (1 − p).
        UsageError: a number out of its range.

    >>> round(required_local_speedup(share=40 / 61, target_speedup=61 / (1000 / 30)), 2)
    3.24
    """
    share_of_whole(share=share)
    positive(target_speedup=target_speedup)
    if share == 0 and target_speedup == 1:
        return 1.0
    left = 1 / target_speedup - (1 - share)
    if abs(left) < 1e-12 and share > 0:
        return math.inf
    if left < 0 or share == 0:
        raise OutOfRange(
            f"a whole speedup up to {speedup_bound(share=share):.3g}, which a part of {share:.1%} can give",
            found=f"{target_speedup:.3g}",
            remedy="choose a larger part or a smaller target",
        )
    return share / left


def required_shrink(*, total: float, fixed: float, target: float) -> float:
    """(total − fixed) ÷ (target − fixed): by what factor all the rest must shrink so that the whole meets a target time.

    Args:
        total: time of the whole now, s, > 0.
        fixed: time of the part that stays, s, 0 ≤ fixed ≤ total.
        target: time the whole must reach, s.

    Returns:
        The factor, above 1 where work is left to do; `inf` where the rest must vanish; below 1 where there is slack.

    Raises:
        OutOfRange: the fixed part alone misses the target.
        UsageError: a number out of its range.

    >>> round(required_shrink(total=61e-3, fixed=21e-3, target=1 / 30), 2)
    3.24
    """
    positive(total=total, target=target)
    non_negative(fixed=fixed)
    if fixed > total:
        raise UsageError("fixed ≤ total", found=f"fixed={fixed!r} total={total!r}", remedy="the fixed part belongs to the whole")
    if target < fixed:
        raise OutOfRange(
            f"a target of at least the fixed {fixed:.4g} s", found=f"{target:.4g} s", remedy="shorten the fixed part, or run it beside the rest"
        )
    if total == fixed:
        return 1.0
    return math.inf if target == fixed else (total - fixed) / (target - fixed)
