"""Traffic of weights in a narrower format, scales included, and the time that follows while the kernel stays on its bandwidth.

Limits: activations and arithmetic stay as they were; a kernel that leaves the bandwidth roof gains less (`roofline.ideal_time`), and unpacking
may cost instructions of its own. Formula: bits per weight = width + (scale + zero point) ÷ group.
"""

from __future__ import annotations

from ._checks import counting, non_negative, positive, share_of_whole

__all__ = ["quantised_time", "quantised_traffic_ratio"]


def quantised_traffic_ratio(
    *, old_bits: float, new_bits: float, group_size: int | None = None, scale_bits: float = 16, zero_point_bits: float = 0
) -> float:
    """(new + (scale + zero point) ÷ group) ÷ old: bytes of the new weights over those of the old.

    Args:
        old_bits, new_bits: width of one weight, bits, > 0.
        group_size: weights that share a scale; without it (one scale a tensor or channel) the scales are not counted.
        scale_bits, zero_point_bits: width of a group's scale and zero point, bits, ≥ 0.

    Raises:
        UsageError: a number out of its range.

    >>> quantised_traffic_ratio(old_bits=16, new_bits=8)
    0.5
    >>> quantised_traffic_ratio(old_bits=16, new_bits=4, group_size=32)
    0.28125
    """
    positive(old_bits=old_bits, new_bits=new_bits)
    non_negative(scale_bits=scale_bits, zero_point_bits=zero_point_bits)
    if group_size is None:
        return new_bits / old_bits
    counting(group_size=group_size)
    return (new_bits + (scale_bits + zero_point_bits) / group_size) / old_bits


def quantised_time(*, seconds: float, traffic_ratio: float, weight_share: float = 1.0) -> float:
    """t × (1 − w + w × ratio) in s: time of a bandwidth-bound kernel after its weights shrank.

    Args:
        seconds: time now, s, > 0.
        traffic_ratio: from `quantised_traffic_ratio`, > 0.
        weight_share: w, share of the kernel's bytes that are weights, in [0, 1].

    Raises:
        UsageError: a number out of its range.

    >>> round(quantised_time(seconds=4.6e-3, traffic_ratio=0.5) * 1e3, 3)
    2.3
    """
    positive(seconds=seconds, traffic_ratio=traffic_ratio)
    share_of_whole(weight_share=weight_share)
    return seconds * (1 - weight_share + weight_share * traffic_ratio)
