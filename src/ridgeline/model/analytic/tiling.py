"""Traffic of a blocked matrix product between a memory level and the one below: which operand is read how often when a block fits.

Decides bytes from shapes, tile and capacity, and a tile for a capacity. The level is taken to be fully associative and to replace what was used
least recently, so that data is still there when at most `capacity_bytes` of other data were touched since (R. Mattson et al., "Evaluation
techniques for storage hierarchies", IBM Systems Journal 9(2), 1970; as `ridgeline.laws.reuse`). Conflict misses, prefetched lines that are never
used and partial lines come on top. The loops over tiles: M. Lam, E. Rothberg, M. Wolf, "The cache performance and optimizations of
blocked algorithms", ASPLOS 1991; the block sizes follow K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
34(3), 2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import UsageError
from ._arrays import COUNT, POSITIVE, Reals, ceil_div, choose, each, larger, numbers, smaller

__all__ = ["Operands", "Tile", "Traffic", "Widths", "blocked", "choose_gemm_tile", "gemm_bytes_by_level", "gemm_traffic", "wave_tile"]

#: Bytes of one element of the left operand, the right operand and the output.
Widths: TypeAlias = tuple[ArrayLike, ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False)
class Traffic:
    """Bytes that pass between a level and the one below it; arrays of one shape.

    Args:
        left_bytes, right_bytes, out_bytes: by operand: A or the input, B or the weights, C or the output.
        total_bytes: their sum, between the next two.
        compulsory_bytes: each distinct byte once: the lower bound.
        untiled_bytes: both factors fetched for every multiply-add: the upper bound.
        fits: whether the tile fits the level; where it does not, the untiled bytes are given.
    """

    left_bytes: Reals
    right_bytes: Reals
    out_bytes: Reals
    total_bytes: Reals
    compulsory_bytes: Reals
    untiled_bytes: Reals
    fits: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tile:
    """Rows, columns and depth of the block of a matrix product that a level holds; whole numbers ≥ 1."""

    rows: Reals
    columns: Reals
    depth: Reals


class Operands(NamedTuple):
    """What `blocked` has to know of a product: bytes of whole operands, of panels and of tiles, as arrays that broadcast.

    `left_whole` once through; `left_read` once through with the halo of its tiles; `left_panel` what one row of tiles needs; the same on the right.
    `out_tile`, `out_row`, `out_column`: outputs of a tile, and of a row and a column of tiles. `resident`: bytes of the tiles themselves.
    """

    left_whole: Reals
    left_read: Reals
    left_panel: Reals
    left_tiles: Reals
    right_whole: Reals
    right_panel: Reals
    right_tiles: Reals
    out_whole: Reals
    out_tile: Reals
    out_row: Reals
    out_column: Reals
    resident: Reals
    untiled_left: Reals
    untiled_right: Reals


def blocked(operands: Operands, capacity: Reals) -> Traffic:
    """Traffic of the better of the two loop orders over tiles, with outputs kept until they are complete.

    Rows outside, columns inside: a panel on the left is read once if it survives one step of the inner loop (both panels and the output tile fit),
    else once for every column of tiles; the right operand is read once if all of it survives one step of the outer loop, else once for every row
    of tiles. Columns outside: the same with sides exchanged.
    """
    o = operands
    step = o.left_panel + o.right_panel + o.out_tile <= capacity
    one = np.ones(())
    left_outer = o.left_read * choose(step, one, o.right_tiles)
    right_inner = o.right_whole * choose(o.right_whole + o.left_panel + o.out_row <= capacity, one, o.left_tiles)
    right_outer = o.right_whole * choose(step, one, o.left_tiles)
    left_inner = choose(o.left_whole + o.right_panel + o.out_column <= capacity, smaller(o.left_read, o.left_whole), o.left_read * o.right_tiles)
    rows_first = left_outer + right_inner <= left_inner + right_outer
    fits = o.resident <= capacity
    left = choose(fits, choose(rows_first, left_outer, left_inner), o.untiled_left)
    right = choose(fits, choose(rows_first, right_inner, right_outer), o.untiled_right)
    # A tile never costs more than none at all, whatever its halo.
    left, right = smaller(left, o.untiled_left), smaller(right, o.untiled_right)
    compulsory = o.left_whole + o.right_whole + o.out_whole
    return Traffic(
        left_bytes=left,
        right_bytes=right,
        out_bytes=o.out_whole,
        total_bytes=left + right + o.out_whole,
        compulsory_bytes=compulsory,
        untiled_bytes=o.untiled_left + o.untiled_right + o.out_whole,
        fits=fits,
    )


def gemm_traffic(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    *,
    tile: Tile | tuple[ArrayLike, ArrayLike, ArrayLike],
    capacity_bytes: ArrayLike,
    element_bytes: Widths = (4.0, 4.0, 4.0),
    accumulate: bool = False,
    out_held: bool = True,
) -> Traffic:
    """Q = MK a ⌈N/tₙ⌉ + KN b ⌈M/tₘ⌉ + MN c in B for C = A·B, with each factor replaced by 1 where the operand survives until it is used again.

    Args:
        m, n, k: rows and columns of C, and the summed dimension; whole, ≥ 1.
        tile: rows, columns, depth of the block the level holds; cut to the shape.
        capacity_bytes: what of the level this product may use, B, > 0.
        element_bytes: a, b, c: bytes of an element of A, B and C, > 0 (0.5 for 4 bits).
        accumulate: whether C is read before it is written (beta ≠ 0).
        out_held: whether the tile of C waits in this level until it is complete; False where it waits in registers and takes none of the capacity.

    Returns:
        Bytes that the level *below* the one with this capacity serves.

    Raises:
        UsageError: a number out of its range.

    >>> moved = gemm_traffic(1024, 1024, 1024, tile=(64, 64, 8), capacity_bytes=32 * 1024)
    >>> float(moved.total_bytes) == 4 * (1024**3 / 64 * 2 + 1024**2)
    True
    >>> moved = gemm_traffic(64, 64, 64, tile=(16, 16, 8), capacity_bytes=1 << 20)
    >>> float(moved.total_bytes) == float(moved.compulsory_bytes) == 3 * 64 * 64 * 4
    True
    """
    rows, columns, depth = (tile.rows, tile.columns, tile.depth) if isinstance(tile, Tile) else tile
    m_, n_, k_, tm, tn, tk, capacity, a, b, c = numbers(
        m=(m, COUNT),
        n=(n, COUNT),
        k=(k, COUNT),
        tile_rows=(rows, COUNT),
        tile_columns=(columns, COUNT),
        tile_depth=(depth, COUNT),
        capacity_bytes=(capacity_bytes, POSITIVE),
        left_element_bytes=(element_bytes[0], POSITIVE),
        right_element_bytes=(element_bytes[1], POSITIVE),
        out_element_bytes=(element_bytes[2], POSITIVE),
    )
    tm, tn, tk = smaller(tm, m_), smaller(tn, n_), smaller(tk, k_)
    written = c * (2.0 if accumulate else 1.0)
    waiting = c * float(out_held)
    operands = Operands(
        left_whole=m_ * k_ * a,
        left_read=m_ * k_ * a,
        left_panel=tm * k_ * a,
        left_tiles=ceil_div(m_, tm),
        right_whole=k_ * n_ * b,
        right_panel=k_ * tn * b,
        right_tiles=ceil_div(n_, tn),
        out_whole=m_ * n_ * written,
        out_tile=tm * tn * waiting,
        out_row=tm * n_ * c,
        out_column=m_ * tn * c,
        resident=tm * tk * a + tk * tn * b + tm * tn * waiting,
        untiled_left=m_ * n_ * k_ * a,
        untiled_right=m_ * n_ * k_ * b,
    )
    return blocked(operands, capacity)


def choose_gemm_tile(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    *,
    capacity_bytes: ArrayLike,
    element_bytes: Widths = (4.0, 4.0, 4.0),
    depth: ArrayLike = 1.0,
    multiple: ArrayLike = 1.0,
) -> Tile:
    """The largest square tile of C that fits with its slices of A and B: t²c + t·d(a + b) ≤ Z; what a short side leaves over goes to the long one.

    Args:
        m, n, k: as `gemm_traffic`.
        capacity_bytes: Z, what of the level may be used, B, > 0.
        element_bytes: a, b, c, as `gemm_traffic`.
        depth: d, summed elements that are held at once, whole, ≥ 1; cut to k.
        multiple: tile sides are rounded down to a multiple of this where they are at least as long (vector width, matrix instruction).

    Returns:
        A tile with sides ≥ 1. If not even one element fits, `gemm_traffic` says so in `fits`.

    Raises:
        UsageError: a number out of its range.

    A square minimises MNK (a/tₙ + b/tₘ) for a = b; for unlike widths the sides follow tₘ/tₙ = b/a within the capacity.

    >>> tile = choose_gemm_tile(4096, 4096, 4096, capacity_bytes=32 * 1024, depth=8, multiple=16)
    >>> float(tile.rows), float(tile.columns)
    (80.0, 80.0)
    """
    m_, n_, k_, capacity, a, b, c, held, unit = numbers(
        m=(m, COUNT),
        n=(n, COUNT),
        k=(k, COUNT),
        capacity_bytes=(capacity_bytes, POSITIVE),
        left_element_bytes=(element_bytes[0], POSITIVE),
        right_element_bytes=(element_bytes[1], POSITIVE),
        out_element_bytes=(element_bytes[2], POSITIVE),
        depth=(depth, COUNT),
        multiple=(multiple, COUNT),
    )
    held = smaller(held, k_)
    # Rows r = t √(b/a) and columns t √(a/b): c t² + d t (a √(b/a) + b √(a/b)) = Z, where both terms of the bracket are √(ab).
    stretch = np.sqrt(b / a)
    slope = 2.0 * held * np.sqrt(a * b)
    side = (np.sqrt(slope**2 + 4.0 * c * capacity) - slope) / (2.0 * c)
    rows = smaller(_cut(side * stretch, unit), m_)
    columns = smaller(_cut((capacity - rows * held * a) / (rows * c + held * b), unit), n_)
    rows = larger(rows, smaller(_cut((capacity - columns * held * b) / (columns * c + held * a), unit), m_))
    return Tile(rows=rows, columns=columns, depth=held + 0.0 * rows)


def _cut(side: Reals, unit: Reals) -> Reals:
    """Rounded down to a multiple of `unit` where that leaves anything, else to a whole number ≥ 1."""
    whole: Reals = np.floor(side * (1 + 1e-12))
    return larger(choose(whole >= unit, np.floor(whole / unit) * unit, whole), 1.0)


def wave_tile(m: ArrayLike, n: ArrayLike, *, tile: tuple[ArrayLike, ArrayLike, ArrayLike], slots: ArrayLike, swizzled: bool = True) -> Tile:
    """The block of C that all work-groups that run at once make together: what a cache shared by them sees as one tile.

    With r × c tiles of tₘ × tₙ, r c ≤ slots: nearly square (r tₘ ≈ c tₙ) where the order of work-groups is swizzled, else along a row of tiles first.

    Args:
        m, n: of C, whole, ≥ 1.
        tile: tₘ, tₙ, tₖ of one work-group, whole, ≥ 1.
        slots: work-groups that run at once (units × resident), whole, ≥ 1.
        swizzled: whether neighbouring work-groups are laid out in a block.

    Returns:
        A tile for `gemm_traffic` with the capacity of the shared cache and `out_held=False`: depth stays tₖ, since the work-groups advance along k
        side by side.

    Raises:
        UsageError: a number out of its range.

    Source: NVIDIA, CUTLASS, "Efficient GEMM in CUDA", threadblock rasterization.

    >>> block = wave_tile(4096, 4096, tile=(128, 128, 32), slots=108)
    >>> float(block.rows) / 128, float(block.columns) / 128
    (10.0, 10.0)
    >>> block = wave_tile(4096, 4096, tile=(128, 128, 32), slots=108, swizzled=False)
    >>> float(block.rows) / 128, float(block.columns) / 128
    (3.0, 32.0)
    """
    m_, n_, tm, tn, tk, at_once = numbers(
        m=(m, COUNT), n=(n, COUNT), tile_rows=(tile[0], COUNT), tile_columns=(tile[1], COUNT), tile_depth=(tile[2], COUNT), slots=(slots, COUNT)
    )
    down, across = ceil_div(m_, tm), ceil_div(n_, tn)
    if swizzled:
        side: Reals = np.rint(np.sqrt(at_once * tn / tm))
        r = smaller(smaller(larger(side, 1.0), down), at_once)
        c = smaller(_cut(at_once / r, np.ones(())), across)
    else:
        c = smaller(at_once, across)
    r = smaller(_cut(at_once / c, np.ones(())), down)
    return Tile(rows=r * tm, columns=c * tn, depth=tk + 0.0 * r)


def gemm_bytes_by_level(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    *,
    holds_bytes: Mapping[str, ArrayLike],
    memory: str = "DRAM",
    element_bytes: Widths = (4.0, 4.0, 4.0),
    depth: ArrayLike = 1.0,
    multiple: ArrayLike = 1.0,
) -> dict[str, Reals]:
    """Bytes that each level serves when every level holds the tile that `choose_gemm_tile` gives it.

    Args:
        m, n, k: as `gemm_traffic`.
        holds_bytes: from the innermost outwards, such as `{"registers": …, "L1": …, "L2": …}`: bytes each may use, > 0.
        memory: name of the last level, which holds everything.
        element_bytes: of A, B and C.
        depth, multiple: as `choose_gemm_tile`.

    Returns:
        By serving level, B: with the names above `{"L1": …, "L2": …, "DRAM": …}`. An outer level never serves more than an inner one, since what
        it serves passes through that.

    Raises:
        UsageError: a number out of its range, no level, or a name used twice.

    >>> served = gemm_bytes_by_level(4096, 4096, 4096, holds_bytes={"registers": 2048, "L1": 32768, "L2": 1 << 20})
    >>> [f"{name} {float(served_bytes):.2e}" for name, served_bytes in served.items()]
    ['L1 2.58e+10', 'L2 6.31e+09', 'DRAM 1.28e+09']
    """
    served_by = (*list(holds_bytes)[1:], memory)
    if not holds_bytes or memory in holds_bytes:
        found = ", ".join(holds_bytes) or "none"
        raise UsageError("levels from the innermost outwards, without the memory below them", found=found, remedy="name each level once")
    found_bytes: dict[str, Reals] = {}
    through: Reals | None = None
    capacities, _ = each("holds_bytes", list(holds_bytes.values()), POSITIVE)
    for name, capacity in zip(served_by, capacities, strict=True):
        tile = choose_gemm_tile(m, n, k, capacity_bytes=capacity, depth=depth, multiple=multiple, element_bytes=element_bytes)
        moved = gemm_traffic(m, n, k, tile=tile, capacity_bytes=capacity, element_bytes=element_bytes).total_bytes
        through = moved if through is None else smaller(through, moved)
        found_bytes[name] = through
    return found_bytes
