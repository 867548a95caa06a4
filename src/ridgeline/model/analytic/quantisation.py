"""What whole tiles, whole waves and whole vectors cost: work that is done beside the work that was asked for.

Decides counts and shares from shapes and units. Source of tile and wave quantisation: NVIDIA, "Matrix Multiplication Background User's Guide",
DU-09799-001, chapter 3; split-K and stream-K: M. Osama et al., "Stream-K: work-centric parallel decomposition for dense matrix-matrix multiplication
on the GPU", PPoPP 2023 (arXiv:2301.03598).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import COUNT, NON_NEGATIVE, POSITIVE, SHARE, Reals, ceil_div, choose, numbers, round_up, smaller

__all__ = [
    "Split",
    "Tiles",
    "Waves",
    "aligned_share",
    "best_split_k",
    "split_k",
    "stream_k_share",
    "tile_quantisation",
    "wave_quantisation",
    "wave_time",
]


@dataclass(frozen=True, eq=False)
class Tiles:
    """Tiles that cover a matrix of outputs, and what of their work is useful.

    Args:
        rows, columns: tiles in each direction; count: their product times the batch.
        depth: steps along the summed dimension.
        padded_flop: work of all tiles; utilisation: useful ÷ padded, in (0, 1].
    """

    rows: Reals
    columns: Reals
    count: Reals
    depth: Reals
    padded_flop: Reals
    utilisation: Reals


@dataclass(frozen=True, eq=False)
class Waves:
    """Work-groups in waves over execution units.

    Args:
        slots: work-groups that run at once; waves: ⌈groups ÷ slots⌉; full: waves that are full.
        tail: work-groups of the last wave if it is not full, else 0.
        utilisation: groups ÷ (waves × slots), in (0, 1].
        busy_units: units that have anything to do at all.
    """

    slots: Reals
    waves: Reals
    full: Reals
    tail: Reals
    utilisation: Reals
    busy_units: Reals


@dataclass(frozen=True, eq=False)
class Split:
    """A product cut along its summed dimension.

    Args:
        parts: s; groups: work-groups together; steps: summed steps of each.
        extra_bytes: partial sums written and read again, B; 0 for one part.
    """

    parts: Reals
    groups: Reals
    steps: Reals
    extra_bytes: Reals


def tile_quantisation(m: ArrayLike, n: ArrayLike, k: ArrayLike, *, tile: tuple[ArrayLike, ArrayLike, ArrayLike], batch: ArrayLike = 1) -> Tiles:
    """⌈M/tₘ⌉⌈N/tₙ⌉ tiles do 2 ⌈M/tₘ⌉tₘ ⌈N/tₙ⌉tₙ ⌈K/tₖ⌉tₖ FLOP each batch, whether or not the outputs at the edge exist.

    Args:
        m, n, k: of the product, whole, ≥ 1.
        tile: tₘ, tₙ, tₖ, whole, ≥ 1; they are not cut to the shape, since the kernel is compiled for them.
        batch: products of this shape, whole, ≥ 1.

    Raises:
        UsageError: a number out of its range.

    >>> tiles = tile_quantisation(257, 128, 64, tile=(256, 128, 64))
    >>> float(tiles.count), round(float(tiles.utilisation), 3)
    (2.0, 0.502)
    """
    m_, n_, k_, tm, tn, tk, b = numbers(
        m=(m, COUNT),
        n=(n, COUNT),
        k=(k, COUNT),
        tile_rows=(tile[0], COUNT),
        tile_columns=(tile[1], COUNT),
        tile_depth=(tile[2], COUNT),
        batch=(batch, COUNT),
    )
    rows, columns, depth = ceil_div(m_, tm), ceil_div(n_, tn), ceil_div(k_, tk)
    padded = 2.0 * b * (rows * tm) * (columns * tn) * (depth * tk)
    return Tiles(
        rows=rows,
        columns=columns,
        count=b * rows * columns,
        depth=depth,
        padded_flop=padded,
        utilisation=2.0 * b * m_ * n_ * k_ / padded,
    )


def wave_quantisation(groups: ArrayLike, *, units: ArrayLike, groups_per_unit: ArrayLike = 1) -> Waves:
    """⌈G ÷ (U r)⌉ waves of U r slots.

    Args:
        groups: G, work-groups (tiles), whole, ≥ 1.
        units: U, execution units, whole, ≥ 1.
        groups_per_unit: r, resident work-groups on a unit (`occupancy`), whole, ≥ 1.

    Raises:
        UsageError: a number out of its range.

    >>> waves = wave_quantisation([98, 120], units=108)
    >>> waves.waves.tolist(), waves.tail.tolist(), [round(float(share), 3) for share in waves.utilisation]
    ([1.0, 2.0], [98.0, 12.0], [0.907, 0.556])
    """
    g, u, r = numbers(groups=(groups, COUNT), units=(units, COUNT), groups_per_unit=(groups_per_unit, COUNT))
    slots = u * r
    waves = ceil_div(g, slots)
    full: Reals = np.floor(g / slots)
    return Waves(
        slots=slots,
        waves=waves,
        full=full,
        tail=g - full * slots,
        utilisation=g / (waves * slots),
        busy_units=smaller(g, u),
    )


def wave_time(groups: ArrayLike, *, units: ArrayLike, group_s: ArrayLike, groups_per_unit: ArrayLike = 1, sharing: ArrayLike = 1.0) -> Reals:
    """t = ⌊G/(U r)⌋ τ(r) + τ(⌈tail/U⌉), τ(j) = t₁ (1 + σ (j − 1)), τ(0) = 0, in s.

    Args:
        groups, units, groups_per_unit: G, U and r, as `wave_quantisation`.
        group_s: t₁, seconds of one work-group that has a unit to itself, ≥ 0.
        sharing: σ in [0, 1]: 1 if the groups on a unit share its arithmetic, so that j of them take j times as long (then only the fullest unit
            counts: ⌈G/U⌉ t₁); 0 if they only fill each other's waits (then every wave costs the same).

    Raises:
        UsageError: a number out of its range.

    >>> float(wave_time(109, units=108, group_s=1.0)), float(wave_time(109, units=108, group_s=1.0, groups_per_unit=2, sharing=0.0))
    (2.0, 1.0)
    """
    g, u, r, t, share = numbers(
        groups=(groups, COUNT),
        units=(units, COUNT),
        groups_per_unit=(groups_per_unit, COUNT),
        group_s=(group_s, NON_NEGATIVE),
        sharing=(sharing, SHARE),
    )
    waves = wave_quantisation(g, units=u, groups_per_unit=r)
    fullest = ceil_div(waves.tail, u)
    tail = choose(waves.tail > 0, t * (1.0 + share * (fullest - 1.0)), 0.0)
    return waves.full * t * (1.0 + share * (r - 1.0)) + tail


def aligned_share(length: ArrayLike, *, unit: ArrayLike) -> Reals:
    """n ÷ (⌈n/u⌉ u): what of the lanes is useful when a loop of n runs in vectors, matrix instructions or channel blocks of u.

    Args:
        length: n, whole, ≥ 1: the vectorised dimension; for a matrix instruction take the product of the shares of its three sides; for NCHWc the
            channels.
        unit: u, lanes, side of the instruction, or c of the blocked layout; whole, ≥ 1.

    Raises:
        UsageError: a number out of its range.

    >>> aligned_share([16, 17, 3], unit=16).tolist()
    [1.0, 0.53125, 0.1875]
    """
    n, u = numbers(length=(length, COUNT), unit=(unit, COUNT))
    return n / round_up(n, u)


def split_k(m: ArrayLike, n: ArrayLike, *, groups: ArrayLike, steps: ArrayLike, parts: ArrayLike, sum_bytes: ArrayLike = 4.0) -> Split:
    """s parts make s G groups of ⌈steps/s⌉ steps, and move 2 s M N w bytes of partial sums for it (none for s = 1).

    Args:
        m, n: of the product; groups: G, tiles of outputs; steps: along the summed dimension; whole, ≥ 1.
        parts: s, whole, ≥ 1; not more than the steps are used.
        sum_bytes: w, bytes of a partial sum, > 0.

    Raises:
        UsageError: a number out of its range.

    >>> split = split_k(128, 128, groups=1, steps=64, parts=8)
    >>> float(split.groups), float(split.steps), float(split.extra_bytes) == 2 * 8 * 128 * 128 * 4
    (8.0, 8.0, True)
    """
    m_, n_, g, d, s, w = numbers(
        m=(m, COUNT), n=(n, COUNT), groups=(groups, COUNT), steps=(steps, COUNT), parts=(parts, COUNT), sum_bytes=(sum_bytes, POSITIVE)
    )
    s = smaller(s, d)
    return Split(parts=s, groups=g * s, steps=ceil_div(d, s), extra_bytes=choose(s > 1, 2.0 * s * m_ * n_ * w, 0.0))


def best_split_k(*, groups: ArrayLike, steps: ArrayLike, slots: ArrayLike, step_s: ArrayLike, extra_s: ArrayLike, most: int = 32) -> Reals:
    """The number of parts with the least time ⌈s G ÷ slots⌉ ⌈steps/s⌉ t + s e (nothing extra for s = 1); the smallest of equals.

    Args:
        groups, steps: as `split_k`.
        slots: work-groups that run at once, whole, ≥ 1.
        step_s: t, seconds of one step, > 0.
        extra_s: e, seconds of writing and reading the partial sums of one part, ≥ 0.
        most: parts that are tried.

    Raises:
        UsageError: a number out of its range.

    >>> best_split_k(groups=[1, 108], steps=64, slots=108, step_s=1e-6, extra_s=2e-7).tolist()
    [16.0, 1.0]
    """
    g, d, u, t, e = numbers(
        groups=(groups, COUNT), steps=(steps, COUNT), slots=(slots, COUNT), step_s=(step_s, POSITIVE), extra_s=(extra_s, NON_NEGATIVE)
    )
    best = ceil_div(g, u) * d * t
    parts = np.ones(np.broadcast_shapes(best.shape, e.shape))
    best = best + 0.0 * parts
    for candidate in range(2, most + 1):
        s = smaller(np.float64(candidate), d)
        time = ceil_div(s * g, u) * ceil_div(d, s) * t + s * e
        better = time < best
        best, parts = choose(better, time, best), choose(better, s, parts)
    return parts


def stream_k_share(*, groups: ArrayLike, steps: ArrayLike, units: ArrayLike) -> Reals:
    """I ÷ (U ⌈I/U⌉) with I = G × steps: utilisation when the summed steps of all tiles are dealt out evenly, whatever tile they belong to.

    Raises:
        UsageError: a number out of its range.

    >>> round(float(stream_k_share(groups=120, steps=64, units=108)), 4), float(wave_quantisation(120, units=108).utilisation) < 0.56
    (0.9877, True)
    """
    g, d, u = numbers(groups=(groups, COUNT), steps=(steps, COUNT), units=(units, COUNT))
    steps_together = g * d
    return steps_together / (u * ceil_div(steps_together, u))
