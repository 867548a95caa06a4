"""Memory-bound work by class of access: bytes named and bytes moved, small sizes, threads, random, strided and transposed access.

Decides bytes and seconds from counts and ceilings. A ceiling of `Device` counts the bytes a program names (`core.device.MEMORY_MIXES`); the bytes
that move below a write-allocate cache are more, and both are here so that the two are never divided by each other's rate. Sources: J. McCalpin,
STREAM (classes and counting); R. Hockney, "The communication challenge for MPP", Parallel Computing 20(3), 1994 (latency, half-performance length).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._arrays import COUNT, COUNT_OR_NONE, FACTOR, NON_NEGATIVE, POSITIVE, SHARE, Reals, choose, larger, numbers, outside, round_up, smaller

__all__ = [
    "distinct_lines",
    "gather_bytes",
    "gather_time",
    "half_size_bytes",
    "moved_bytes",
    "named_bytes",
    "stream_time",
    "strided_bytes",
    "threads_bandwidth",
    "transpose_bytes",
]

Mix = Literal["read", "copy", "triad", "fill"]
#: (arrays read, arrays written) of each class; triad is also STREAM's add.
_ARRAYS: dict[str, tuple[int, int]] = {"read": (1, 0), "copy": (1, 1), "triad": (2, 1), "fill": (0, 1)}


def _arrays(mix: str) -> tuple[int, int]:
    if mix not in _ARRAYS:
        raise UsageError(f"mix to be one of {', '.join(_ARRAYS)}", found=repr(mix), remedy="name one of these")
    return _ARRAYS[mix]


def named_bytes(array_bytes: ArrayLike, *, mix: Mix) -> Reals:
    """(r + w) n in B: what the program names, and what a `Device` ceiling of that mix counts.

    Args:
        array_bytes: n, bytes of one array, ≥ 0.
        mix: r and w: read 1, 0; copy 1, 1; triad 2, 1; fill 0, 1.

    Raises:
        UsageError: a number out of its range, or another mix.

    >>> [float(named_bytes(100, mix=mix)) for mix in ("read", "copy", "triad", "fill")]
    [100.0, 200.0, 300.0, 100.0]
    """
    read, written = _arrays(mix)
    (n,) = numbers(array_bytes=(array_bytes, NON_NEGATIVE))
    return (read + written) * n


def moved_bytes(array_bytes: ArrayLike, *, mix: Mix, write_allocate: ArrayLike = 1.0) -> Reals:
    """(r + (1 + α) w) n in B: what moves when a share α of the stored lines is read first.

    Args:
        array_bytes, mix: as `named_bytes`.
        write_allocate: α in [0, 1]: 1 for ordinary stores, 0 for non-temporal stores or hardware that claims whole lines.

    Raises:
        UsageError: a number out of its range, or another mix.

    >>> [float(moved_bytes(100, mix=mix)) for mix in ("read", "copy", "triad", "fill")]
    [100.0, 300.0, 400.0, 200.0]
    """
    read, written = _arrays(mix)
    n, share = numbers(array_bytes=(array_bytes, NON_NEGATIVE), write_allocate=(write_allocate, SHARE))
    return (read + (1.0 + share) * written) * n


def stream_time(size_bytes: ArrayLike, *, bandwidth: ArrayLike, latency_s: ArrayLike = 0.0) -> Reals:
    """t = λ + Q ÷ B in s: a fixed start, then the stream.

    Args:
        size_bytes: Q in the same counting as the bandwidth, ≥ 0.
        bandwidth: B, B/s, > 0.
        latency_s: λ, ≥ 0.

    Raises:
        UsageError: a number out of its range.

    >>> stream_time([0, 1e6], bandwidth=1e9, latency_s=1e-6).tolist()
    [1e-06, 0.001001]
    """
    size, rate, latency = numbers(size_bytes=(size_bytes, NON_NEGATIVE), bandwidth=(bandwidth, POSITIVE), latency_s=(latency_s, NON_NEGATIVE))
    return latency + size / rate


def half_size_bytes(*, bandwidth: ArrayLike, latency_s: ArrayLike) -> Reals:
    """n½ = λ B in B: the size at which half of the bandwidth is reached.

    >>> float(half_size_bytes(bandwidth=1e9, latency_s=1e-6))
    1000.0
    """
    rate, latency = numbers(bandwidth=(bandwidth, POSITIVE), latency_s=(latency_s, NON_NEGATIVE))
    return latency * rate


def threads_bandwidth(threads: ArrayLike, *, single: ArrayLike, full: ArrayLike, knee: ArrayLike = 1e6) -> Reals:
    """B(n) = ((n b)^−p + F^−p)^(−1/p) in B/s: linear in the threads at first, then the ceiling.

    Args:
        threads: n, whole, ≥ 1.
        single: b, bandwidth of one thread, B/s, > 0.
        full: F, of the level with all threads, B/s, > 0.
        knee: p ≥ 1: the default is min(n b, F); about 3 rounds the knee as queueing does. For fitting, no law.

    Raises:
        UsageError: a number out of its range.

    >>> [round(float(rate) / 1e9, 2) for rate in threads_bandwidth([1, 2, 4], single=20e9, full=37e9)]
    [20.0, 37.0, 37.0]
    """
    n, one, most, p = numbers(threads=(threads, COUNT), single=(single, POSITIVE), full=(full, POSITIVE), knee=(knee, FACTOR))
    linear = n * one
    low, high = smaller(linear, most), larger(linear, most)
    return np.asarray(low / (1.0 + (low / high) ** p) ** (1.0 / p), np.float64)


def distinct_lines(accesses: ArrayLike, *, lines: ArrayLike) -> Reals:
    """L (1 − (1 − 1/L)^a): expected distinct lines that a uniformly random accesses touch among L.

    Args:
        accesses: a, ≥ 0.
        lines: L, whole, ≥ 1.

    Raises:
        UsageError: a number out of its range.

    Source: the occupancy problem, W. Feller, "An introduction to probability theory", vol. 1, section II.5; A. Cardenas, CACM 18(5), 1975.

    >>> float(distinct_lines(1, lines=100)), round(float(distinct_lines(100, lines=100)), 2)
    (1.0, 63.4)
    """
    a, n = numbers(accesses=(accesses, NON_NEGATIVE), lines=(lines, COUNT))
    # (1 − 1/L)^a through logarithms, exact also for large L; one line is touched by any access at all.
    missed = a * np.log1p(-1.0 / larger(n, 2.0))
    return choose(n > 1, -n * np.expm1(missed), smaller(a, 1.0))


def gather_bytes(
    accesses: ArrayLike, *, element_bytes: ArrayLike, table_bytes: ArrayLike, line_bytes: ArrayLike = 64.0, capacity_bytes: ArrayLike
) -> Reals:
    """Bytes that uniformly random reads move from beyond a level: whole lines, of which those that stay are read once.

    max(D, (1 − min(Z/T, 1)) a) × line: D distinct lines (`distinct_lines`) come in once, and of a table larger than the level only the share Z/T is
    found there again. Elements longer than a line count whole lines.

    Args:
        accesses: a, whole, ≥ 0.
        element_bytes: e, > 0; lies within one line or starts on one.
        table_bytes: T, > 0; capacity_bytes: Z of the level, > 0.
        line_bytes: > 0.

    Raises:
        UsageError: a number out of its range.

    >>> float(gather_bytes(1_000_000, element_bytes=4, table_bytes=4e9, capacity_bytes=1e6)) > 15 * 4e6
    True
    """
    a, e, table, line, capacity = numbers(
        accesses=(accesses, COUNT_OR_NONE),
        element_bytes=(element_bytes, POSITIVE),
        table_bytes=(table_bytes, POSITIVE),
        line_bytes=(line_bytes, POSITIVE),
        capacity_bytes=(capacity_bytes, POSITIVE),
    )
    unit = round_up(e, line)
    places: Reals = larger(np.ceil(table / unit), 1.0)
    distinct = smaller(distinct_lines(a, lines=places), a)
    kept = smaller(capacity / table, 1.0)
    return larger(distinct, (1.0 - kept) * a) * unit


def gather_time(accesses: ArrayLike, *, moved: ArrayLike, bandwidth: ArrayLike, latency_s: ArrayLike, outstanding: ArrayLike) -> Reals:
    """t = max(Q ÷ B, a λ ÷ m) in s: limited by bandwidth or by the misses that can be under way at once.

    Args:
        accesses: a that miss, ≥ 0.
        moved: Q, B, from `gather_bytes`, ≥ 0.
        bandwidth: B, B/s, > 0.
        latency_s: λ of one access, > 0.
        outstanding: m, misses in flight over all cores, ≥ 1; 1 where each address depends on the last load.

    Raises:
        UsageError: a number out of its range.

    >>> round(float(gather_time(1e6, moved=64e6, bandwidth=20e9, latency_s=100e-9, outstanding=10)), 6)
    0.01
    """
    a, q, rate, latency, m = numbers(
        accesses=(accesses, NON_NEGATIVE),
        moved=(moved, NON_NEGATIVE),
        bandwidth=(bandwidth, POSITIVE),
        latency_s=(latency_s, POSITIVE),
        outstanding=(outstanding, FACTOR),
    )
    return larger(q / rate, a * latency / m)


def strided_bytes(elements: ArrayLike, *, stride_bytes: ArrayLike, element_bytes: ArrayLike, line_bytes: ArrayLike = 64.0) -> Reals:
    """n min(stride, ⌈e⌉ lines) in B: neighbours share a line until the stride is one.

    Args:
        elements: n, whole, ≥ 0.
        stride_bytes: from one element to the next, at least element_bytes.
        element_bytes: e, > 0; line_bytes: > 0.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: a stride shorter than the element.

    Limits: the line is used once before it leaves; a second pass over its other elements in time is reuse (`tiling`), not stride.

    >>> strided_bytes(1000, stride_bytes=[4, 32, 4096], element_bytes=4).tolist()
    [4000.0, 32000.0, 64000.0]
    """
    n, stride, e, line = numbers(
        elements=(elements, COUNT_OR_NONE),
        stride_bytes=(stride_bytes, POSITIVE),
        element_bytes=(element_bytes, POSITIVE),
        line_bytes=(line_bytes, POSITIVE),
    )
    outside(stride < e, "stride_bytes", stride, "a stride at least as long as the element", "give the distance in bytes")
    return n * smaller(stride, round_up(e, line))


def transpose_bytes(
    rows: ArrayLike,
    columns: ArrayLike,
    *,
    element_bytes: ArrayLike,
    capacity_bytes: ArrayLike,
    line_bytes: ArrayLike = 64.0,
    write_allocate: ArrayLike = 1.0,
) -> Reals:
    """Bytes of a transpose: R C e read, and written with whole lines where a line of every open row fits the level, else a line an element.

    Args:
        rows, columns: whole, ≥ 1; the input is walked along its rows, so that the output has `columns` lines open at once.
        element_bytes: e, > 0, at most line_bytes.
        capacity_bytes: of the level, > 0; line_bytes: > 0.
        write_allocate: share of stored lines that are read first, in [0, 1].

    Raises:
        UsageError: a number out of its range.
        OutOfRange: an element longer than a line.

    A blocked transpose opens only its tile: give the tile's side as `columns` and scale.

    >>> small = transpose_bytes(1000, 100, element_bytes=4, capacity_bytes=32768, write_allocate=0)
    >>> large = transpose_bytes(1000, 10_000, element_bytes=4, capacity_bytes=32768, write_allocate=0)
    >>> float(small) / (1000 * 100 * 4), float(large) / (1000 * 10_000 * 4)
    (2.0, 17.0)
    """
    r, c, e, capacity, line, share = numbers(
        rows=(rows, COUNT),
        columns=(columns, COUNT),
        element_bytes=(element_bytes, POSITIVE),
        capacity_bytes=(capacity_bytes, POSITIVE),
        line_bytes=(line_bytes, POSITIVE),
        write_allocate=(write_allocate, SHARE),
    )
    outside(e > line, "element_bytes", e, "elements no longer than a line", "copy them as rows instead")
    n = r * c
    written = choose((c * line <= capacity) | (r == 1), n * e, n * line)
    return n * e + (1.0 + share) * written
