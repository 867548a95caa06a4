"""The hierarchical roofline over arrays: one arithmetic ceiling an engine, one bandwidth ceiling a memory level, and which of them binds.

Decides time, rate, binding and next ceiling from work and traffic. What the traffic at each level is belongs to `tiling` and its neighbours; the
scalar law with Quantities is `ridgeline.laws.roofline`. Sources: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4), 2009; one roof a
level: A. Ilic, F. Pratas, L. Sousa, "Cache-aware roofline model", IEEE CAL 13(1), 2014, and C. Yang, T. Kurth, S. Williams, "Hierarchical roofline
analysis for GPUs", CCPE 32(20), 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._arrays import NON_NEGATIVE, POSITIVE, SHARE, Indices, Reals, by_name, choose, fit, larger, numbers, smaller
from .overlap import combined

__all__ = ["Roofline", "attainable", "attainable_by_level", "ridge_points", "roofline"]


@dataclass(frozen=True, eq=False)
class Roofline:
    """What the roofs say about many queries at once; all arrays broadcast to one shape.

    Args:
        time_s: seconds, by the overlap that was asked for.
        compute_s: seconds by engine; memory_s: seconds by memory level.
        ceilings: names of the roofs: the engines, then the levels.
        binding: index into `ceilings` of the longest term; the first of equals, so an engine before a level.
        next_ceiling: index of the second longest; equal to `binding` if there is only one roof.
        headroom: longest ÷ second longest term, ≥ 1: how far the binding roof may rise until the next binds; infinite if all else is nearly 0.
        rate: work of the first engine ÷ time, FLOP/s or op/s; 0 where no time passes.
    """

    time_s: Reals
    compute_s: dict[str, Reals]
    memory_s: dict[str, Reals]
    ceilings: tuple[str, ...]
    binding: Indices
    next_ceiling: Indices
    headroom: Reals
    rate: Reals


def roofline(
    *,
    work: Mapping[str, ArrayLike],
    peak: Mapping[str, ArrayLike],
    traffic_bytes: Mapping[str, ArrayLike],
    bandwidth: Mapping[str, ArrayLike],
    overlap: ArrayLike = 1.0,
) -> Roofline:
    """t = max over engines of W_e ÷ P_e and levels of Q_l ÷ B_l, in s; towards their sum as `overlap` falls to 0 (`overlap.overlapped`).

    Args:
        work: by engine (`fma`, `exp`, …) FLOP or operations, ≥ 0.
        peak: by the same engines FLOP/s or op/s, > 0.
        traffic_bytes: by memory level, the bytes that level serves, B, ≥ 0.
        bandwidth: by the same levels, achievable B/s for that access mix, > 0.
        overlap: ω in [0, 1].

    Raises:
        UsageError: a number out of its range, engines or levels without partner, a name used for both, no roof at all.

    >>> op = roofline(work={"fma": [2e9, 2e6]}, peak={"fma": 1e12}, traffic_bytes={"L2": [1e7, 1e7], "DRAM": [1e6, 2e6]},
    ...               bandwidth={"L2": 1e11, "DRAM": 1e10})
    >>> [round(float(t), 9) for t in op.time_s], [op.ceilings[i] for i in op.binding], [op.ceilings[i] for i in op.next_ceiling]
    ([0.002, 0.0002], ['fma', 'DRAM'], ['L2', 'L2'])
    >>> op.headroom.tolist()
    [20.0, 2.0]
    """
    amounts = by_name("work", work, NON_NEGATIVE)
    peaks = by_name("peak", peak, POSITIVE, like=work)
    moved = by_name("traffic_bytes", traffic_bytes, NON_NEGATIVE)
    rates = by_name("bandwidth", bandwidth, POSITIVE, like=traffic_bytes)
    (share,) = numbers(overlap=(overlap, SHARE))
    ceilings = (*work, *traffic_bytes)
    if not ceilings or len(set(ceilings)) < len(ceilings):
        raise UsageError(
            "at least one roof, each with a name of its own", found=", ".join(ceilings) or "none", remedy="name engines and levels apart"
        )
    fit(**{f"work.{name}": amount for name, amount in amounts.items()}, **{f"peak.{name}": value for name, value in peaks.items()})
    fit(**{f"traffic_bytes.{name}": amount for name, amount in moved.items()}, **{f"bandwidth.{name}": value for name, value in rates.items()})
    compute_s = {name: amount / peaks[name] for name, amount in amounts.items()}
    memory_s = {name: amount / rates[name] for name, amount in moved.items()}
    terms = [*compute_s.values(), *memory_s.values()]
    fit(**dict(zip(ceilings, terms, strict=True)), overlap=share)
    longest, second, binding, following = _two_longest(terms)
    time = combined(terms, share)
    with np.errstate(over="ignore"):  # a term that is next to nothing is no next roof
        headroom = choose(second > 0, longest / choose(second > 0, second, 1.0), np.inf)
    first = next(iter(amounts.values())) if amounts else np.zeros(())
    rate = choose(time > 0, first / choose(time > 0, time, 1.0), 0.0)
    return Roofline(
        time_s=time,
        compute_s=compute_s,
        memory_s=memory_s,
        ceilings=ceilings,
        binding=binding,
        next_ceiling=following,
        headroom=headroom,
        rate=rate,
    )


def _two_longest(terms: list[Reals]) -> tuple[Reals, Reals, Indices, Indices]:
    """Longest and second longest term with their indices: one pass, no sort."""
    shape = np.broadcast_shapes(*(term.shape for term in terms))
    longest = np.array(np.broadcast_to(terms[0], shape), np.float64)
    second = np.full(shape, -1.0)
    first_at = np.zeros(shape, np.int64)
    second_at = np.zeros(shape, np.int64)
    for place, term in enumerate(terms[1:], start=1):
        beats_first = term > longest
        beats_second = term > second
        second_at = np.where(beats_first, first_at, np.where(beats_second, place, second_at))
        second = np.where(beats_first, longest, np.where(beats_second, term, second))
        first_at = np.where(beats_first, place, first_at)
        longest = larger(longest, term)
    return longest, larger(second, 0.0), first_at, second_at


def attainable(*, intensity: ArrayLike, peak: ArrayLike, bandwidth: ArrayLike) -> Reals:
    """P = min(peak, I × bandwidth) in FLOP/s.

    Args:
        intensity: I in FLOP/B, ≥ 0.
        peak: FLOP/s, > 0.
        bandwidth: B/s, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> attainable(intensity=[1.0, 100.0], peak=128e9, bandwidth=13e9).tolist()
    [13000000000.0, 128000000000.0]
    """
    i, p, b = numbers(intensity=(intensity, NON_NEGATIVE), peak=(peak, POSITIVE), bandwidth=(bandwidth, POSITIVE))
    return smaller(p, i * b)


def attainable_by_level(*, intensity: Mapping[str, ArrayLike], peak: ArrayLike, bandwidth: Mapping[str, ArrayLike]) -> Reals:
    """P = min(peak, min over levels of I_l × B_l) in FLOP/s.

    Args:
        intensity: by level, W ÷ Q_l in FLOP/B, ≥ 0.
        peak: FLOP/s, > 0.
        bandwidth: by the same levels B/s, > 0.

    Raises:
        UsageError: a number out of its range, or levels without partner.

    >>> float(attainable_by_level(intensity={"L2": 4.0, "DRAM": 20.0}, peak=128e9, bandwidth={"L2": 50e9, "DRAM": 5e9}))
    100000000000.0
    """
    found: Reals
    (found,) = numbers(peak=(peak, POSITIVE))
    rates = by_name("bandwidth", bandwidth, POSITIVE, like=intensity)
    amounts = by_name("intensity", intensity, NON_NEGATIVE)
    fit(peak=found, **{f"bandwidth.{name}": rate for name, rate in rates.items()}, **{f"intensity.{name}": value for name, value in amounts.items()})
    for name, value in amounts.items():
        found = smaller(found, value * rates[name])
    return found


def ridge_points(*, peak: ArrayLike, bandwidth: Mapping[str, ArrayLike]) -> dict[str, Reals]:
    """peak ÷ B_l in FLOP/B by level: the intensity at which that level's roof meets the arithmetic one.

    Raises:
        UsageError: a number out of its range.

    >>> {level: float(ridge) for level, ridge in ridge_points(peak=1e12, bandwidth={"L2": 5e11, "DRAM": 1e11}).items()}
    {'L2': 2.0, 'DRAM': 10.0}
    """
    (top,) = numbers(peak=(peak, POSITIVE))
    rates = by_name("bandwidth", bandwidth, POSITIVE)
    fit(peak=top, **rates)
    return {name: top / rate for name, rate in rates.items()}
