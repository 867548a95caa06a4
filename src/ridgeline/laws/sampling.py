"""What a sampling profiler can tell: samples that land, seconds to record for a given error, and what sampling itself costs.

Source: the count of samples in a region that holds a share p of the time is binomial; its relative standard error is √((1 − p) ÷ n), with n
the samples *in* the region, and at most 1 ÷ √n. The careful 1 ÷ √n is what `share=None` gives.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from ..core.errors import UsageError
from ._checks import confidence_level, non_negative, positive, share_of_whole

__all__ = ["kernel_share", "overhead_share", "relative_error", "samples_needed", "samples_per_second", "seconds_to_record"]


def kernel_share(*, kernel_seconds: float, calls_per_second: float) -> float:
    """p = t × f: share of the wall that a kernel holds.

    Args:
        kernel_seconds: time of one call, s, ≥ 0.
        calls_per_second: calls per second, ≥ 0.

    Raises:
        UsageError: a number out of its range, or a product above 1 (calls that overlap have no single share).

    >>> round(kernel_share(kernel_seconds=180e-6, calls_per_second=500), 6)
    0.09
    """
    non_negative(kernel_seconds=kernel_seconds, calls_per_second=calls_per_second)
    share = kernel_seconds * calls_per_second
    if share > 1 + 1e-9:
        raise UsageError("kernel_seconds × calls_per_second ≤ 1", found=f"{share:.4g}", remedy="give the calls of one thread")
    return min(share, 1.0)


def samples_per_second(*, share: float, rate: float) -> float:
    """p × r: samples a second that land in a region with share p at sampling rate r (Hz).

    >>> round(samples_per_second(share=0.09, rate=4000), 6)
    360.0
    """
    share_of_whole(share=share)
    positive(rate=rate)
    return share * rate


def _z(confidence: float | None) -> float:
    """Two-sided normal quantile; one standard error where no confidence is asked for."""
    if confidence is None:
        return 1.0
    confidence_level(confidence)
    # From the lower tail: 0.5 + confidence ÷ 2 rounds to 1 before confidence does.
    return -NormalDist().inv_cdf((1 - confidence) / 2)


def samples_needed(*, relative_error: float, share: float | None = None, confidence: float | None = None) -> int:
    """n = ⌈(z ÷ ε)² (1 − p)⌉: samples in the region for a relative error ε on its share.

    Args:
        relative_error: ε > 0, such as 0.05.
        share: p in [0, 1], if known; without it the careful p → 0.
        confidence: of the half-width, such as 0.95 (z = 1.96); one standard error (z = 1) if not given.

    Raises:
        UsageError: a number out of its range.

    >>> samples_needed(relative_error=0.05), samples_needed(relative_error=0.05, confidence=0.95)
    (400, 1537)
    """
    if not 1e-9 <= relative_error < math.inf:
        raise UsageError("relative_error to be at least 1e-9", found=repr(relative_error), remedy="give for example 0.05")
    if share is not None:
        share_of_whole(share=share)
    exact = (_z(confidence) / relative_error) ** 2 * (1 - (share or 0.0))
    # 1 / 0.05 ** 2 is 399.99999999999994: a whole number must not grow by one through rounding.
    return max(1, math.ceil(exact - 1e-9 * exact))


def seconds_to_record(*, share: float, rate: float, relative_error: float, confidence: float | None = None, careful: bool = True) -> float:
    """T = n ÷ (p r) in s: how long to record so that a share of p is known to a relative error ε.

    Args:
        share: p in (0, 1].
        rate: sampling rate in Hz, > 0.
        relative_error, confidence: as `samples_needed`.
        careful: use 1 ÷ √n; False uses the binomial √((1 − p) ÷ n), which is shorter.

    Raises:
        UsageError: a number out of its range.

    >>> round(seconds_to_record(share=0.09, rate=4000, relative_error=0.05), 2)
    1.11
    """
    positive(share=share)
    needed = samples_needed(relative_error=relative_error, share=None if careful else share, confidence=confidence)
    return needed / samples_per_second(share=share, rate=rate)


def relative_error(*, samples: float, share: float | None = None, confidence: float | None = None) -> float:
    """ε = z √((1 − p) ÷ n): the relative error that n samples in the region leave. Arguments as `samples_needed`.

    >>> relative_error(samples=400)
    0.05
    """
    positive(samples=samples)
    if share is not None:
        share_of_whole(share=share)
    return _z(confidence) * math.sqrt((1 - (share or 0.0)) / samples)


def overhead_share(*, handler_seconds: float, rate: float) -> float:
    """c × r: share of a CPU's time spent in the sample handler. Above 1 the sampler cannot keep up.

    Args:
        handler_seconds: cost of one sample, s, ≥ 0.
        rate: samples per second and CPU, Hz, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(overhead_share(handler_seconds=1.5e-6, rate=4000), 6)
    0.006
    """
    non_negative(handler_seconds=handler_seconds)
    positive(rate=rate)
    return handler_seconds * rate
