"""Bytes behind cache misses, what a write-allocate cache reads on top, and how both compare with compulsory traffic.

Limits: demand misses leave out prefetched lines and write-backs, non-temporal stores bypass the cache; the estimate is a lower bound, mostly
within 20 %. Source of the write-allocate count: J. McCalpin, STREAM (the bytes that a copy names against those that it moves).
"""

from __future__ import annotations

from ._checks import non_negative, positive

__all__ = ["achieved_bandwidth", "bytes_from_misses", "traffic_ratio", "write_allocate_reads"]


def bytes_from_misses(*, misses: float, line_bytes: float = 64) -> float:
    """misses × line in B.

    Args:
        misses: last-level cache misses, ≥ 0.
        line_bytes: cache line in B, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> bytes_from_misses(misses=2.10e7)
    1344000000.0
    """
    non_negative(misses=misses)
    positive(line_bytes=line_bytes)
    return misses * line_bytes


def achieved_bandwidth(*, bytes: float, seconds: float) -> float:
    """Q ÷ t in B/s.

    >>> round(achieved_bandwidth(bytes=33.55e6, seconds=4.6e-3) / 1e9, 2)
    7.29
    """
    non_negative(bytes=bytes)
    positive(seconds=seconds)
    return bytes / seconds


def write_allocate_reads(*, read_bytes: float, written_bytes: float) -> float:
    """Reads that a write-allocate cache makes: read + written in B, since each stored line is fetched first.

    Args:
        read_bytes: compulsory reads, B, ≥ 0.
        written_bytes: compulsory writes to lines not yet in the cache, B, ≥ 0; 0 for in-place work and non-temporal stores.

    Raises:
        UsageError: a number out of its range.

    >>> write_allocate_reads(read_bytes=3.0, written_bytes=3.0)
    6.0
    """
    non_negative(read_bytes=read_bytes, written_bytes=written_bytes)
    return read_bytes + written_bytes


def traffic_ratio(*, moved_bytes: float, compulsory_bytes: float) -> float:
    """Moved ÷ compulsory: 1 is perfect reuse, much more is poor locality.

    Args:
        moved_bytes: measured or simulated traffic, B, ≥ 0.
        compulsory_bytes: what the algorithm must move, B, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> round(traffic_ratio(moved_bytes=1.344e9, compulsory_bytes=1.284e9), 3)
    1.047
    """
    non_negative(moved_bytes=moved_bytes)
    positive(compulsory_bytes=compulsory_bytes)
    return moved_bytes / compulsory_bytes
