"""Matrix products in fp32 on a GPU from shapes and a data sheet: tile and wave quantisation, roofline, sustained power.

For each tile that the library has, and each split of a deep reduction that leaves less than two tiles a unit before it, of `b` products of (m, k)
with (k, n):

    tiles = b ⌈n ÷ tn⌉ ⌈m ÷ tm⌉ split,  waves = tiles ÷ units,  steps = 8 ⌈k ÷ (8 split)⌉ + 10 + 50 ÷ ⌈waves⌉
    compute = ⌈waves⌉ · 2 tm tn · steps ÷ (peak of a unit × share × efficiency of the tile)
    memory = 4 b (m k max(1, n ÷ side) + k n max(1, m ÷ side) + m n) ÷ (0.8 bandwidth)
    side = max(√min(b m n split, 2 units tm tn), L2 ÷ (8 k)): rows whose operands are shared, by tiles that run together or because L2 holds a strip
    work = (compute⁶ + memory⁶)^(1/6),  power = (11 pJ a padded FLOP + 190 pJ an operand byte from L2) × energy of the node ÷ board power
    seconds = work + heat max(0, power − work) + 3 µs of a split + 5 µs,  heat = 1 in a long run, work ÷ (work + 1.5 ms) of a kernel alone

and the one that takes least runs: under it the clock falls to what the board's power allows. Of one tile and split none of this falls with more
work or rises with a higher peak, bandwidth or power, so that the least of all does not either.

Sources: tiles read from the names of recorded kernels; the rest of the numbers are in `data/kernels.toml` with their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .constants import constants
from .sheet import GpuSheet, node_energy

__all__ = ["FEATURES", "Products", "products"]

Floats = NDArray[np.float64]

#: Names of the columns of `Products.features`.
FEATURES = (
    "compute", "memory", "near", "compulsory", "waves", "wave-fill", "tile-fill", "split", "depth", "depth-share", "tile-area", "aspect", "batch",
    "length", "aligned",
)  # fmt: skip
#: Candidates × shapes of a block, which should stay in cache.
_BLOCK = 16384
#: Tiles a unit up to which they are few: so many run side by side.
_FEW = 2.0
_LENGTH_S = 30e-6


class Products(NamedTuple):
    """Products of N shapes, (N,) each.

    `seconds`: of the kernel; `compute`, `memory`: its parts at full clock; `throttle`: by what power makes it longer; `power`: energy ÷ board power,
    s; `flop`: with what pads the tiles; `near_bytes`: operands from L2; `waves`, `fill`: rounds over the units, share of the tiles that is asked for;
    `features`: (N, 15), ratios.
    """

    seconds: Floats
    compute: Floats
    memory: Floats
    throttle: Floats
    power: Floats
    flop: Floats
    near_bytes: Floats
    waves: Floats
    fill: Floats
    features: Floats


class _Choice(NamedTuple):
    """Tiles and splits, in arrays that broadcast with shapes."""

    columns: Floats
    rows: Floats
    seconds: Floats  # of one step of a tile on a unit
    split: Floats


class _Cost(NamedTuple):
    compute: Floats
    memory: Floats
    tiles: Floats
    steps: Floats
    near: Floats  # bytes of operands from L2
    flop: Floats  # with what pads the tiles
    work: Floats
    power: Floats
    throttle: Floats
    seconds: Floats  # without the launch


def products(b: Floats, m: Floats, n: Floats, k: Floats, gpu: GpuSheet, *, batched: bool, heat: float | None = None) -> Products:
    """Seconds and what they are made of, for `b` products of (m, k) with (k, n) each.

    Args:
        b, m, n, k: ≥ 1, shape (N,).
        batched: which tiles the library has, and that it never splits the reduction.
        heat: 1 in the middle of a long run; of a kernel alone it follows from its length.
    """
    shapes = np.array([b, m, n, k], np.float64)
    choice = _fastest(shapes, gpu, batched, heat)
    cost = _cost(shapes, gpu, choice, heat)
    work = cost.work
    rate = gpu.dram_byte_per_s * constants().product.bandwidth_share
    area = choice.columns * choice.rows
    fill = b * m * n * choice.split / (cost.tiles * area)
    waves = cost.tiles / gpu.units
    compulsory = 4.0 * b * (m * k + k * n + m * n) / rate
    features = np.column_stack([
        np.log(cost.compute / work), np.log(cost.memory / work), np.log(cost.near / (rate * work)), np.log(compulsory / work), np.log(waves),
        np.ceil(waves) / waves, fill, np.log(choice.split), np.log(k), k / (choice.split * cost.steps), np.log(area), np.log(m / n), np.log(b),
        np.clip(np.log(work / _LENGTH_S), -1.0, 2.0), k % 4 == 0,
    ])  # fmt: skip
    seconds = cost.seconds + constants().product.launch_s
    return Products(seconds, cost.compute, cost.memory, cost.throttle, cost.power, cost.flop, cost.near, waves, fill, features)


def _power(flop: Floats, near_bytes: Floats, gpu: GpuSheet) -> Floats:
    energy = constants().energy
    scale = node_energy(gpu.node_nm) * (energy.matrix_share if gpu.amd else 1.0) / gpu.power_w
    return (flop * energy.flop_j + near_bytes * energy.near_byte_j) * scale


def _smooth(left: Floats, right: Floats) -> Floats:
    """(l⁶ + r⁶)^(1/6), from the larger one so that nothing under- or overflows."""
    large, small = np.maximum(left, right), np.minimum(left, right)
    square = np.square(small / large)
    return np.asarray(large * np.sqrt(np.cbrt(1.0 + square * square * square)))


def _choices(gpu: GpuSheet, batched: bool, splits: tuple[int, ...]) -> Floats:
    """Columns, rows, seconds of a step and split of every candidate, (4, C, 1)."""
    known = constants()
    menu = known.menus[gpu.generation.library]
    rate = gpu.matrix_flop_per_s / gpu.units * gpu.generation.share
    return np.array([
        (columns, rows, 2.0 * columns * rows / (rate * known.efficiency[columns, rows]), split)
        for columns, rows in (menu.batched if batched else menu.single) for split in splits
    ], np.float64).T[:, :, None]  # fmt: skip


def _fastest(shapes: Floats, gpu: GpuSheet, batched: bool, heat: float | None) -> _Choice:
    """The candidate of least time for each shape, (N,) each; shapes (b, m, n, k), (4, N)."""
    whole = _choices(gpu, batched, (1,))
    picked, least = _least(shapes, gpu, whole, heat)
    if not batched:
        b, m, n, _ = shapes
        # Where the tiles of any candidate are few; and adding the parts up alone takes what a split costs.
        tiles = (b * np.ceil(n / whole[0]) * np.ceil(m / whole[1])).min(axis=0)
        few = np.flatnonzero((tiles < _FEW * gpu.units) & (least > constants().product.split_s))
        if few.size:
            split, faster = _least(shapes[:, few], gpu, _choices(gpu, batched, constants().product.splits), heat)
            better = faster < least[few]
            picked[:, few[better]] = split[:, better]
    return _Choice(*picked)


def _least(shapes: Floats, gpu: GpuSheet, choices: Floats, heat: float | None) -> tuple[Floats, Floats]:
    """The choice of least time for each shape, (4, N), and that time, (N,)."""
    count = shapes.shape[1]
    picked, least = np.empty((4, count)), np.empty(count)
    candidates = _Choice(*choices)
    step = max(1, _BLOCK // choices.shape[1])
    for start in range(0, count, step):
        part = slice(start, start + step)
        cost = _cost(shapes[:, part], gpu, candidates, heat)
        # A reduction is not split where its tiles are enough for all units.
        enough = (candidates.split > 1) & (cost.tiles >= _FEW * gpu.units * candidates.split)
        total = np.where(enough, np.inf, cost.seconds)
        best = np.argmin(total, axis=0)
        picked[:, part] = choices[:, best, 0]
        least[part] = np.take_along_axis(total, best[None, :], axis=0)[0]
    return picked, least


def _cost(shapes: Floats, gpu: GpuSheet, choice: _Choice, heat: float | None) -> _Cost:
    """What a choice takes; shapes (b, m, n, k), (4, N), and choices broadcast."""
    b, m, n, k = shapes
    product = constants().product
    across, down = np.ceil(n / choice.columns), np.ceil(m / choice.rows)
    tiles = b * choice.split * across * down
    rounds = np.ceil(tiles / gpu.units)
    # Filling and draining a tile costs about 60 steps on a unit that has no other tile, 10 where others hide it.
    steps = np.ceil(k / (product.depth * choice.split)) * product.depth + product.hidden_steps + product.exposed_steps / rounds
    compute = rounds * choice.seconds * steps
    mn, area = m * n, choice.columns * choice.rows
    side = np.maximum(np.sqrt(np.minimum(b * choice.split * mn, _FEW * gpu.units * area)), gpu.l2_bytes / (8.0 * k))
    # m k max(1, n ÷ side) + k n max(1, m ÷ side), with one division.
    shared = mn / side
    operands = k * (np.maximum(m, shared) + np.maximum(n, shared))
    written = mn * np.where(choice.split > 1, 1.0 + 2.0 * choice.split, 1.0)
    memory = b * (operands + written) * (4.0 / (gpu.dram_byte_per_s * product.bandwidth_share))
    near = 4.0 * b * k * (m * across + n * down)
    flop = 2.0 * k * area / choice.split * tiles
    work, power = _smooth(compute, memory), _power(flop, near, gpu)
    hot = work / (work + product.governor_s) if heat is None else heat
    throttle = 1.0 + hot * np.maximum(0.0, power / work - 1.0)
    seconds = work * throttle + np.where(choice.split > 1, product.split_s, 0.0)
    return _Cost(compute, memory, tiles, steps, near, flop, work, power, throttle, seconds)
