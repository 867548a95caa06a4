"""Time of parts that overlap: nothing, everything, or something between; pipelines with fill and drain; double buffering.

Decides how seconds of parts combine. Which parts run on different hardware, and so can overlap at all, is the caller's business.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._arrays import COUNT, FACTOR, NON_NEGATIVE, SHARE, Reals, choose, each, larger, largest, numbers, total

__all__ = ["double_buffered", "exposed", "overlapped", "p_norm", "pipelined"]


def overlapped(parts: Sequence[ArrayLike], *, overlap: ArrayLike = 1.0) -> Reals:
    """t = ω max(parts) + (1 − ω) Σ parts in s: the roofline's maximum at ω = 1, one after the other at ω = 0.

    Args:
        parts: seconds of each part, ≥ 0; they broadcast.
        overlap: ω in [0, 1].

    Raises:
        UsageError: a number out of its range, or no parts.

    Source: both ends are S. Williams et al., "Roofline", CACM 52(4), 2009 (maximum), and H. Stengel et al., "Quantifying performance bottlenecks of
    stencil computations using the Execution-Cache-Memory model", ICS 2015 (sum); the line between them is an interpolation for fitting, no law.

    >>> float(overlapped([3.0, 1.0])), float(overlapped([3.0, 1.0], overlap=0.0)), float(overlapped([3.0, 1.0], overlap=0.5))
    (3.0, 4.0, 3.5)
    """
    times, (share,) = each("parts", parts, NON_NEGATIVE, overlap=(overlap, SHARE))
    return combined(times, share)


def combined(times: Sequence[Reals], share: Reals) -> Reals:
    """`overlapped` for numbers that were checked already."""
    longest = largest(times)
    # From the longest upwards, so that rounding never takes the time below it.
    return longest + (1.0 - share) * larger(total(times) - longest, 0.0)


def p_norm(parts: Sequence[ArrayLike], *, p: ArrayLike) -> Reals:
    """t = (Σ tᵢᵖ)^(1/p) in s: the sum at p = 1, the maximum as p → ∞, a rounded knee between.

    Args:
        parts: seconds of each part, ≥ 0.
        p: ≥ 1.

    Raises:
        UsageError: a number out of its range.

    A smooth stand-in for the maximum: near the ridge both parts cost something. An interpolation for fitting, no law.

    >>> float(p_norm([3.0, 4.0], p=2.0)), float(p_norm([3.0, 4.0], p=1.0))
    (5.0, 7.0)
    """
    times, (power,) = each("parts", parts, NON_NEGATIVE, p=(p, FACTOR))
    longest = largest(times)
    # Relative to the longest: tᵖ alone would overflow or vanish.
    scale = choose(longest > 0, longest, 1.0)
    sums = total([(part / scale) ** power for part in times])
    return np.asarray(longest * sums ** (1.0 / power), np.float64)


def pipelined(stages: Sequence[ArrayLike], *, items: ArrayLike) -> Reals:
    """t = Σ stages + (n − 1) max(stages) in s: n items through stages that run side by side, fill and drain included.

    Args:
        stages: seconds of each stage for one item, ≥ 0; enough buffer between the stages that none waits for the next.
        items: n, whole, ≥ 1.

    Raises:
        UsageError: a number out of its range.

    Source: the classic pipeline count, J. Hennessy and D. Patterson, "Computer Architecture", appendix on pipelining.

    >>> float(pipelined([1.0, 2.0, 1.0], items=10))
    22.0
    """
    times, (count,) = each("stages", stages, NON_NEGATIVE, items=(items, COUNT))
    return total(times) + (count - 1.0) * largest(times)


def double_buffered(
    load_s: ArrayLike, compute_s: ArrayLike, *, blocks: ArrayLike, store_s: ArrayLike = 0.0, buffers: int = 2, channels: int = 1
) -> Reals:
    """t = load + compute + store + (n − 1) max(compute, load + store) in s: copies of one block behind the arithmetic of another.

    Args:
        load_s, compute_s, store_s: seconds for one block, ≥ 0.
        blocks: n, whole, ≥ 1.
        buffers: 2 or more overlap; with 1 every block waits for its copies.
        channels: 1 if loads and stores share one copy engine, 2 if each has its own (then the period is the longest of the three).

    Raises:
        UsageError: a number out of its range.

    Limits: fill and drain are not overlapped with anything; with one channel that is at most one store too long.

    >>> float(double_buffered(1.0, 2.0, blocks=4)), float(double_buffered(1.0, 2.0, blocks=4, buffers=1))
    (9.0, 12.0)
    """
    load, compute, store, count = numbers(
        load_s=(load_s, NON_NEGATIVE), compute_s=(compute_s, NON_NEGATIVE), store_s=(store_s, NON_NEGATIVE), blocks=(blocks, COUNT)
    )
    if buffers < 1 or channels not in (1, 2):
        raise UsageError("buffers ≥ 1 and channels 1 or 2", found=f"buffers={buffers}, channels={channels}", remedy="count them")
    alone = load + compute + store
    if buffers == 1:
        return count * alone
    copies = load + store if channels == 1 else larger(load, store)
    return alone + (count - 1.0) * larger(compute, copies)


def exposed(part_s: ArrayLike, behind_s: ArrayLike, *, overlap: ArrayLike = 1.0) -> Reals:
    """t − min(ω t, b) in s: what remains visible of a part that may hide behind another, as communication behind arithmetic.

    Args:
        part_s: t, seconds of the part, ≥ 0.
        behind_s: b, seconds it may hide behind, ≥ 0.
        overlap: ω, the share of the part that may hide at all (the last gradient's all-reduce cannot), in [0, 1].

    Raises:
        UsageError: a number out of its range.

    >>> float(exposed(3.0, 10.0)), float(exposed(3.0, 1.0)), float(exposed(3.0, 10.0, overlap=0.5))
    (0.0, 2.0, 1.5)
    """
    part, behind, share = numbers(part_s=(part_s, NON_NEGATIVE), behind_s=(behind_s, NON_NEGATIVE), overlap=(overlap, SHARE))
    return larger(part - behind, (1.0 - share) * part)
