"""Seconds of arithmetic: products by tiles, waves and vector lanes, and functions by their operations.

    GPU       2·batch·⌈m/tₘ⌉tₘ·⌈n/tₙ⌉tₙ·k ÷ (peak × reached × tile's efficiency × waves' utilisation): the best tile of a few, k split if they are few
    CPU       FLOP ÷ (peak × reached × share of the lanes × share of the threads)
    NPU       FLOP ÷ (peak × reached × units of its array that have work × rows that stream ÷ the longer of those and the loading of weights)

This module decides utilisation; peaks come from `roofs`. Sources: `model.analytic.quantisation` (tiles, waves, lanes), NVIDIA, "Matrix multiplication
background", DA-08101 (both quantisations).
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import KernelParameters, OutOfRange

from ..npu.shapes import gemm
from ..npu.systolic import SystolicArray, folds
from .asked import BY_ROW, Asked, Product
from .assumed import assumed
from .roofs import Peak, Roofs

__all__ = ["Arithmetic", "arithmetic", "unused"]

Floats = NDArray[np.float64]
#: Summed elements below which splitting a product does not pay.
_SPLIT_K, _MOST_SPLITS = 256.0, 16.0
#: Rows of a register block of a CPU kernel, and outputs below which another thread is not started.
_REGISTER_ROWS, _ITEMS_PER_THREAD = 4.0, 512.0
#: Architectures whose array has outputs on one side and a dot product on the other.
_OUTPUT_ARRAYS = "Ethos"
#: Elements of one thread of a GPU's stream kernel, and threads of its work-groups; rows have a work-group each.
_PER_THREAD, _GROUP = 4.0, 128.0


class Arithmetic(NamedTuple):
    """`seconds` of arithmetic, `occupancy`: share of the execution units that has work, `peak`: FLOP/s that the work is held against; (N,) each."""

    seconds: Floats
    occupancy: Floats
    peak: Floats


def arithmetic(work: Asked, roofs: Roofs, peak: Peak, kernel: KernelParameters | None = None) -> Arithmetic:
    """Seconds of the arithmetic of operators of one family under the peaks of a device.

    Args:
        work: of one family; kernel: a tile and split of matrix products that are set, else the best of a few.
    """
    lanes_s, busy = _lanes(work, roofs, peak)
    resident = _resident(roofs, kernel)
    if work.product is None:
        on_lanes = np.full_like(work.flop, peak.vector)
        if work.kind != "recurrent":
            return Arithmetic(lanes_s, busy * resident, on_lanes)
        gates_s = work.flop / (peak.vector * roofs.reached * assumed().share["recurrent"] * busy)
        return Arithmetic(lanes_s + gates_s, busy * resident, on_lanes)
    product = work.product
    used, busy = _used(product, roofs, kernel)
    # What has no reuse in registers cannot feed matrix units: it runs on the lanes, at the share that loads leave.
    peaks = np.where(product.vector, peak.vector, peak.matrix)
    dense = assumed().share["eight_bits"] if roofs.kind == "cpu" and peak.precision in ("int8", "int4") else 1.0
    reached = roofs.reached * np.where(product.vector, assumed().share["depthwise"], dense)
    seconds = work.flop / (peaks * reached * used)
    return Arithmetic(seconds + lanes_s, busy * resident, peaks)


def _resident(roofs: Roofs, kernel: KernelParameters | None) -> float:
    """Share of a GPU unit's threads that work-groups of that size, registers and shared memory keep resident; 1 where nothing is set or known."""
    device = roofs.device
    if roofs.kind != "gpu" or kernel is None or not kernel.work_group or not device.max_threads_per_unit:
        return 1.0
    threads = math.prod(kernel.work_group)
    fitting = [device.max_threads_per_unit // threads, device.max_groups_per_unit or threads]
    if kernel.registers and device.registers_bytes:
        fitting.append(device.registers_bytes // (4 * kernel.registers * threads))
    if kernel.shared_memory_bytes and device.shared_memory_bytes:
        fitting.append(device.shared_memory_bytes // kernel.shared_memory_bytes)
    if min(fitting) < 1:
        raise OutOfRange("a work-group that fits one execution unit", found=f"{threads} threads of {device.name}", remedy="make it smaller")
    return min(1.0, min(fitting) * threads / device.max_threads_per_unit)


def unused(kernel: KernelParameters | None, work: Asked, roofs: Roofs) -> tuple[str, ...]:
    """What is set of a kernel that no formula here knows: it changes nothing, which is said."""
    if kernel is None:
        return ()
    known = {"work_group", "registers", "shared_memory_bytes"} if roofs.kind == "gpu" else set()
    if work.product is not None:
        known |= {"gpu": {"tile", "split"}, "cpu": {"vector_width"}}.get(roofs.kind, set())
    names = [name for name in kernel.__struct_fields__ if getattr(kernel, name) not in (None, ()) and name not in known]
    what = ", ".join(name.replace("_", " ") for name in names)
    return (f"what {what} does to {work.kind} on {roofs.device.name} is not known: it changes nothing here",) if names else ()


def _lanes(work: Asked, roofs: Roofs, peak: Peak) -> tuple[Floats, Floats]:
    """(Seconds of operations of vector lanes, share of the units that has work)."""
    if roofs.kind == "gpu" and roofs.units:
        groups = work.items if work.kind in BY_ROW else np.ceil(work.items / (_PER_THREAD * _GROUP))
        busy = np.minimum(1.0, groups / roofs.units)
    elif roofs.kind == "cpu" and roofs.threads > 1:
        busy = np.minimum(roofs.threads, np.maximum(1.0, np.floor(_outputs(work) / _ITEMS_PER_THREAD))) / roofs.threads
    else:
        busy = np.ones_like(work.flop)
    # An operation is half a multiply-add: the lanes start as many of either kind.
    return work.lane_ops / (peak.vector / 2.0 * roofs.reached * busy), busy


def _outputs(work: Asked) -> Floats:
    return work.sizes["rows"] * work.sizes["columns"] if work.kind in BY_ROW else work.items


def _used(product: Product, roofs: Roofs, kernel: KernelParameters | None) -> tuple[Floats, Floats]:
    """(Share of the peak that edges, waves and lanes leave, share of the units that has work)."""
    if roofs.kind == "gpu":
        return _tiles(product, roofs.units, kernel)
    if roofs.kind == "cpu":
        return _vectors(product, roofs, kernel)
    return _array(product, roofs)


def _tiles(p: Product, units: int, kernel: KernelParameters | None) -> tuple[Floats, Floats]:
    rows, columns, efficiency = (values[:, None] for values in _menu(kernel))  # (tiles, 1) against (N,)
    tiles = p.batch * np.ceil(p.m / rows) * np.ceil(p.n / columns)
    share = p.m * p.n * p.batch / (tiles * rows * columns) * efficiency
    waves = np.ones_like(share)
    if units:
        groups = tiles * _splits(tiles, p.k, units, kernel)
        waves = groups / (np.ceil(groups / units) * units)
        share = share * waves
    chosen = np.argmax(share, axis=0)[None]
    best, busy = np.take_along_axis(share, chosen, 0)[0], np.take_along_axis(waves, chosen, 0)[0]
    if not p.vector.any():
        return best, busy
    groups = p.batch * p.m * p.n / (_PER_THREAD * _GROUP)
    lanes = np.minimum(1.0, np.ceil(groups) / units) if units else np.ones_like(groups)
    return np.where(p.vector, lanes, best), np.where(p.vector, lanes, busy)


def _menu(kernel: KernelParameters | None) -> tuple[Floats, Floats, Floats]:
    """(Rows, columns, efficiency) of the tiles that may be taken."""
    known = _known_tiles()
    if kernel is None or len(kernel.tile) < 2:
        return known
    rows, columns = float(kernel.tile[0]), float(kernel.tile[1])
    # A tile that is set is as good as the largest known one that it holds, and one that holds none is worse than the smallest by its size.
    sizes, efficiency = known[0] * known[1], known[2]
    fitting = efficiency[sizes <= rows * columns]
    smallest = int(np.argmin(sizes))
    best = float(fitting.max()) if len(fitting) else float(efficiency[smallest] * rows * columns / sizes[smallest])
    return np.array([rows]), np.array([columns]), np.array([best])


@cache
def _known_tiles() -> tuple[Floats, Floats, Floats]:
    rows, columns, efficiency = np.array(assumed().tiles, np.float64).T
    return rows, columns, efficiency


def _splits(tiles: Floats, k: Floats, units: int, kernel: KernelParameters | None) -> Floats | float:
    if kernel is not None and kernel.split is not None:
        return float(kernel.split)
    return np.asarray(np.clip(np.floor(units / tiles), 1.0, np.clip(np.floor(k / _SPLIT_K), 1.0, _MOST_SPLITS)), np.float64)


def _vectors(p: Product, roofs: Roofs, kernel: KernelParameters | None) -> tuple[Floats, Floats]:
    lanes = float((kernel.vector_width if kernel is not None else None) or roofs.lanes or 1)
    # Blocks of channels are the vectors of depthwise convolutions, so that their groups fill the lanes.
    along = np.where(p.vector, p.n * p.batch, p.n)
    filled = along / (np.ceil(along / lanes) * lanes)
    rows = np.minimum(1.0, 0.5 + 0.5 * p.m / _REGISTER_ROWS)  # one row leaves half of the adders waiting for loads
    threads = float(roofs.threads)
    parts = np.maximum(1.0, np.floor(p.batch * p.m * p.n * p.k / (_ITEMS_PER_THREAD * 32.0)))
    working = np.minimum(threads, parts)
    busy = working / threads
    chunks = p.batch * np.ceil(p.m / _REGISTER_ROWS) * np.ceil(p.n / lanes)
    shared = chunks / (np.ceil(chunks / working) * working)
    return filled * rows * busy * np.where(chunks >= working, shared, chunks / working), busy


def _array(p: Product, roofs: Roofs) -> tuple[Floats, Floats]:
    """Of an array that keeps weights and lets rows stream through: the units that have work, while the weights of the next pass take a cycle a row.

    An array whose rows are outputs and whose columns are one dot product (Ethos-U) is filled the other way round and loads nothing between.
    """
    arrays, one = roofs.device.mac_arrays, np.ones_like(p.m)
    if not arrays:
        return one, one
    array = max(arrays, key=lambda each: each.rows * each.columns * each.count)
    if roofs.device.architecture.startswith(_OUTPUT_ARRAYS):
        used = p.n / (np.ceil(p.n / array.rows) * array.rows) * p.k / (np.ceil(p.k / array.columns) * array.columns)
    else:
        products = gemm(_whole(p.m), _whole(p.n), _whole(p.k))
        cut = folds(SystolicArray(rows=array.rows, columns=array.columns, dataflow="weight"), products)
        used = cut.mapped * p.m / np.maximum(p.m, array.rows)
    # What has no reuse runs beside the array.
    used = np.where(p.vector, 1.0, used)
    return used, used


def _whole(sizes: Floats) -> NDArray[np.int64]:
    return np.maximum(1, np.rint(sizes)).astype(np.int64)
