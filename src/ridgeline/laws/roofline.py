"""The roofline: how fast work of a given arithmetic intensity can run, and which fraction of that was reached.

Decides nothing about causes: thresholds on the fractions belong to `diagnosis`. Source: S. Williams, A. Waterman, D. Patterson,
"Roofline: an insightful visual performance model for multicore architectures", CACM 52(4), 2009.
"""

from __future__ import annotations

from typing import Literal

from ..core.quantity import Quantity, quotient
from ._checks import non_negative, positive

__all__ = [
    "arithmetic_intensity",
    "attainable",
    "bandwidth_fraction",
    "compute_fraction",
    "efficiency",
    "ideal_time",
    "limiting_resource",
    "ridge_point",
]


def arithmetic_intensity(*, flop: float, bytes: float) -> float:
    """I = W ÷ Q in FLOP/B.

    Args:
        flop: useful work W in FLOP, ≥ 0.
        bytes: traffic Q in B at the memory level in question, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> arithmetic_intensity(flop=2 * 4096 * 4096, bytes=4096 * 4096 * 2)
    1.0
    """
    non_negative(flop=flop)
    positive(bytes=bytes)
    return flop / bytes


def ridge_point(*, peak: float, bandwidth: float) -> float:
    """The intensity at which both ceilings meet: peak ÷ bandwidth in FLOP/B.

    Args:
        peak: arithmetic ceiling in FLOP/s, > 0.
        bandwidth: achievable bandwidth in B/s, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(ridge_point(peak=128e9, bandwidth=13e9), 1)
    9.8
    """
    positive(peak=peak, bandwidth=bandwidth)
    return peak / bandwidth


def attainable(*, intensity: float, peak: float, bandwidth: float) -> float:
    """P = min(peak, I × bandwidth) in FLOP/s.

    Args:
        intensity: arithmetic intensity I in FLOP/B, ≥ 0.
        peak: arithmetic ceiling in FLOP/s, > 0.
        bandwidth: achievable bandwidth in B/s, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> attainable(intensity=1.0, peak=128e9, bandwidth=13e9)
    13000000000.0
    """
    non_negative(intensity=intensity)
    positive(peak=peak, bandwidth=bandwidth)
    return min(peak, intensity * bandwidth)


def ideal_time(*, flop: float, bytes: float, peak: float, bandwidth: float) -> float:
    """t = max(W ÷ peak, Q ÷ bandwidth) in s: arithmetic and traffic overlap perfectly, so this is a lower bound.

    Args:
        flop: work in FLOP, ≥ 0; 0 for pure movement.
        bytes: traffic in B, ≥ 0; 0 for data that never leaves the registers.
        peak: FLOP/s, > 0.
        bandwidth: B/s, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(ideal_time(flop=33.55e6, bytes=33.55e6, peak=128e9, bandwidth=13e9) * 1e3, 2)
    2.58
    """
    non_negative(flop=flop, bytes=bytes)
    positive(peak=peak, bandwidth=bandwidth)
    return max(flop / peak, bytes / bandwidth)


def limiting_resource(*, flop: float, bytes: float, peak: float, bandwidth: float) -> Literal["compute", "bandwidth"]:
    """Which of the two terms of `ideal_time` is the longer; `compute` on the ridge itself.

    >>> limiting_resource(flop=33.55e6, bytes=33.55e6, peak=128e9, bandwidth=13e9)
    'bandwidth'
    """
    non_negative(flop=flop, bytes=bytes)
    positive(peak=peak, bandwidth=bandwidth)
    return "compute" if flop / peak >= bytes / bandwidth else "bandwidth"


def efficiency(*, flop: float, bytes: float, seconds: float, peak: float, bandwidth: float) -> float:
    """Ideal time ÷ measured time, a share of the roofline. Above 1 something was miscounted; it is not clamped.

    Args:
        seconds: measured time in s, > 0; the rest as `ideal_time`.

    Raises:
        UsageError: a number out of its range.

    >>> round(efficiency(flop=33.55e6, bytes=33.55e6, seconds=4.6e-3, peak=128e9, bandwidth=13e9), 2)
    0.56
    """
    positive(seconds=seconds)
    return ideal_time(flop=flop, bytes=bytes, peak=peak, bandwidth=bandwidth) / seconds


def compute_fraction(*, flop: Quantity, seconds: Quantity, peak: Quantity) -> Quantity:
    """f_c = (W ÷ t) ÷ peak, with the interval of the extreme quotients.

    Args:
        flop: useful work, FLOP.
        seconds: time of the kernel alone, s.
        peak: ceiling of the same engine, precision and threads, FLOP/s.

    Raises:
        UsageError: a denominator that touches zero.
    """
    return quotient(quotient(flop, seconds, "FLOP/s"), peak, "1", origin="achieved FLOP/s ÷ ceiling")


def bandwidth_fraction(*, bytes: Quantity, seconds: Quantity, bandwidth: Quantity) -> Quantity:
    """f_b = (Q ÷ t) ÷ achievable bandwidth, with the interval of the extreme quotients.

    With compulsory bytes this is a lower bound of the traffic really moved.

    Args:
        bytes: traffic, B.
        seconds: time of the kernel alone, s.
        bandwidth: achievable bandwidth of the level that holds the data, for that access mix and those threads, B/s.

    Raises:
        UsageError: a denominator that touches zero.
    """
    return quotient(quotient(bytes, seconds, "B/s"), bandwidth, "1", origin="achieved B/s ÷ achievable")
