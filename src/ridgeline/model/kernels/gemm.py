"""The analytical time of one matrix product on tiled matrix units, and the dimensionless features of a learned correction.

This module decides which output tile and which split of the reduction a library would take (the fastest of a menu under the form itself, so that its
time neither falls with more work nor rises with a higher peak or bandwidth), and what the product then costs in waves of tiles and in traffic. It
leaves launch, sustained shares and quantising to `calibrated`, the rest to the correction. For C[m, n] = A[m, k] B[k, n], a tile (tm, tn) and a
split s:

    tiles = min over both orientations of ⌈m ÷ tm⌉ ⌈n ÷ tn⌉,  waves = ⌈tiles s ÷ units⌉
    compute = waves · 2 tm tn · 64 ⌈k ÷ (64 s)⌉ ÷ (peak ÷ units · share · e),  e = 1 ÷ (1 + half ÷ 2 (1 ÷ min(tm, 128) + 1 ÷ min(tn, 128)))
    memory = (in (m k + n k) + out m n + 8 m n (s − 1)) ÷ (bandwidth · share)
    time = √((c compute)² + (b memory)²) + wave · waves + part (s − 1),   the least of which is taken

Where it is fitted or learned from, c = b = 1, and wave and part are those of the menu; where `calibrated` makes seconds of it, c, b and wave are its
constants and part is 0, as in its own formula.

Sources: NVIDIA, "Matrix Multiplication Background User's Guide", sections 2 and 3 (tile and wave quantisation); partial sums of a split are written
and read once in fp32.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .constants import Menu, constants
from .sheet import KernelSheet

__all__ = ["FEATURES", "GemmCost", "Weights", "gemm_cost", "gemm_features"]

Floats = NDArray[np.float64]

#: Names of the columns of `gemm_features`.
FEATURES: tuple[str, ...] = (
    "m", "n", "k", "compute-over-launch", "memory-over-launch", "compute-over-memory", "waves", "fill", "tile-m", "tile-n", "split", "tiles-128",
    "fill-128", "fill-256", "fill-64", "even-m", "even-n", "even-k", "result-over-cache", "weights-over-cache", "narrow", "padded-128", "padded-64",
    "work",
)  # fmt: skip
#: Shapes a block: what is kept of them stays in the second-level cache.
_BLOCK = 4096
#: What features measure times by, s: near the least time of any kernel.
_LAUNCH_S = 2e-6
_DEPTH = 64.0
#: Stands for the cache of a device whose data sheet does not say it, B.
_CACHE = 64e6


class Weights(NamedTuple):
    """What the parts of a product weigh in its time: factors of compute and memory; seconds of a round over the units, and of each further part."""

    compute: float
    memory: float
    wave_s: float
    split_s: float = 0.0


class GemmCost(NamedTuple):
    """Products of N shapes, (N,) each.

    `time`: without launch, s; `compute`, `memory`: its parts before they are weighed, s; `waves`: rounds over the units; `fill`: share of the units'
    rounds that has a tile; `tile_m`, `tile_n`, `split`: what was chosen.
    """

    time: Floats
    compute: Floats
    memory: Floats
    waves: Floats
    fill: Floats
    tile_m: Floats
    tile_n: Floats
    split: Floats

    def rows(self, chosen: NDArray[np.int64]) -> GemmCost:
        """The rows that indexes choose."""
        return GemmCost(*(column[chosen] for column in self))


def gemm_cost(m: Floats, n: Floats, k: Floats, sheet: KernelSheet, *, in_bytes: float, out_bytes: float, weights: Weights | None = None) -> GemmCost:
    """Cost of each product under the fastest tile and split.

    Args:
        m, n, k: ≥ 1, shape (N,).
        in_bytes, out_bytes: of one element of the operands and of the result, B.
        weights: by which the fastest is found; those of the menu if not given, for what is fitted or learned from the parts.
    """
    menu = constants().menu
    weigh = weights or Weights(1.0, 1.0, menu.wave_s, menu.split_s)
    choices = [(float(tm), float(tn), float(split)) for tm, tn in menu.tiles for split in menu.splits]
    m, n, k = (np.asarray(each, np.float64) for each in (m, n, k))
    chosen = np.empty(len(m), np.int64)
    for start in range(0, len(chosen), _BLOCK):
        part = slice(start, start + _BLOCK)
        chosen[part] = _fastest(m[part], n[part], k[part], sheet, weigh, in_bytes, out_bytes)
    tile_m, tile_n, split = np.array(choices).T[:, chosen]
    tiles = _tiles(m, n, tile_m, tile_n)
    waves = np.ceil(tiles * split / sheet.units)
    compute = waves * _depth(k, split) * _tile_s(tile_m, tile_n, sheet, menu)
    memory = _memory(m, n, k, split, in_bytes, out_bytes) / (sheet.byte_per_s * menu.stream_share)
    time = np.hypot(weigh.compute * compute, weigh.memory * memory) + weigh.wave_s * waves + weigh.split_s * (split - 1.0)
    return GemmCost(time, compute, memory, waves, tiles * split / (waves * sheet.units), tile_m, tile_n, split)


def _tiles(m: Floats, n: Floats, tile_m: Floats, tile_n: Floats) -> Floats:
    """The library may compute the product transposed: the wide edge of the tile lies on either side."""
    return np.asarray(np.minimum(np.ceil(m / tile_m) * np.ceil(n / tile_n), np.ceil(m / tile_n) * np.ceil(n / tile_m)))


def _depth(k: Floats, split: Floats | float) -> Floats:
    return np.asarray(_DEPTH * np.ceil(k / (_DEPTH * split)))


def _memory(m: Floats, n: Floats, k: Floats, split: Floats | float, in_bytes: float, out_bytes: float) -> Floats:
    return np.asarray(in_bytes * k * (m + n) + (out_bytes + 8.0 * (split - 1.0)) * (m * n))


def _tile_s(tile_m: Floats, tile_n: Floats, sheet: KernelSheet, menu: Menu) -> Floats:
    """Seconds of one step of the reduction on one unit."""
    efficiency = 1.0 / (1.0 + 0.5 * menu.tile_half * (1.0 / np.minimum(tile_m, 128.0) + 1.0 / np.minimum(tile_n, 128.0)))
    return np.asarray(2.0 * tile_m * tile_n / (sheet.flop_per_s / sheet.units * menu.peak_share * efficiency))


def _fastest(m: Floats, n: Floats, k: Floats, sheet: KernelSheet, weigh: Weights, in_bytes: float, out_bytes: float) -> NDArray[np.int64]:
    """Index of the cheapest choice for each shape of a block; the columns of a choice are overwritten by the next, which is what makes it fast."""
    menu = constants().menu
    rate = sheet.byte_per_s * menu.stream_share / weigh.memory
    rows = {edge: np.ceil(m / edge) for edge in {edge for tile in menu.tiles for edge in tile}}
    columns = {edge: np.ceil(n / edge) for edge in rows}
    depth = [_depth(k, split) for split in menu.splits]
    memory = [np.square(_memory(m, n, k, split, in_bytes, out_bytes) / rate) for split in menu.splits]
    least, found = np.full(len(m), np.inf), np.zeros(len(m), np.int64)
    waves, cost, better = np.empty(len(m)), np.empty(len(m)), np.empty(len(m), bool)
    number = 0
    for tile_m, tile_n in menu.tiles:
        step = weigh.compute * float(_tile_s(_edge(tile_m), _edge(tile_n), sheet, menu))
        rounds = np.minimum(rows[tile_m] * columns[tile_n], rows[tile_n] * columns[tile_m]) / sheet.units
        for place, split in enumerate(menu.splits):
            np.ceil(np.multiply(rounds, split, out=waves), out=waves)
            np.multiply(waves, depth[place], out=cost)
            cost *= step
            cost *= cost
            cost += memory[place]
            np.sqrt(cost, out=cost)
            waves *= weigh.wave_s
            cost += waves
            cost += weigh.split_s * (split - 1)
            np.less(cost, least, out=better)
            np.copyto(found, number, where=better)
            np.minimum(cost, least, out=least)
            number += 1
    return found


def gemm_features(m: Floats, n: Floats, k: Floats, cost: GemmCost, sheet: KernelSheet, *, in_bytes: float, out_bytes: float) -> Floats:
    """Features of a learned correction, shape (N, len(FEATURES)): ratios and counts, but for the logs of the three edges and of the work."""
    cache = sheet.cache_bytes or _CACHE
    square, wide, small = _tiles(m, n, _edge(128), _edge(128)), _tiles(m, n, _edge(128), _edge(256)), _tiles(m, n, _edge(64), _edge(64))
    columns = (
        np.log2(m), np.log2(n), np.log2(k), np.log(cost.compute / _LAUNCH_S), np.log(cost.memory / _LAUNCH_S), np.log(cost.compute / cost.memory),
        np.log(cost.waves), cost.fill, np.log2(cost.tile_m), np.log2(cost.tile_n), np.log2(cost.split), np.log(square / sheet.units),
        _filled(square, sheet.units), _filled(wide, sheet.units), _filled(small, sheet.units), _twos(m), _twos(n), _twos(k),
        np.log(out_bytes * m * n / cache), np.log(in_bytes * n * k / cache), np.log2(np.minimum(m, n)), np.ceil(m / 128) * 128 / m,
        np.ceil(m / 64) * 64 / m, np.log(m) + np.log(n) + np.log(k),
    )  # fmt: skip
    return np.stack(columns, axis=1)


def _edge(size: int) -> Floats:
    return np.asarray(size, np.float64)


def _filled(tiles: Floats, units: int) -> Floats:
    return np.asarray(tiles / (np.ceil(tiles / units) * units))


def _twos(size: Floats) -> Floats:
    """How often 2 divides a size: alignment."""
    whole = size.astype(np.int64)
    return np.asarray(np.log2((whole & -whole).astype(np.float64)))
