"""Seconds of arithmetic: products by tiles, waves and vector lanes, and functions by their operations.

    GPU       waves × units × 2 tₘ tₙ k ÷ (parts × tile's efficiency), waves = ⌈batch ⌈m/tₘ⌉ ⌈n/tₙ⌉ parts ÷ units⌉: the best tile of a few
    CPU       threads × the longest of them: its share of the blocks of 4 rows and one vector, at least a grain
    NPU       2 batch × rows that stream, at least as many as the array has, × whole columns and rows of the array

each ÷ (peak × reached): what the units could have done in that time. Where an operator has little to do, some of them wait, but what one of them does
never gets less with more work. Of candidates (tiles; vector lanes or matrix units where products have little reuse) the fastest counts, so that the
time never falls with more work and never rises with a higher peak.

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
#: Rows of a register block of a CPU kernel; outputs, and multiply-adds of a product, below which another thread is not started.
_REGISTER_ROWS, _ITEMS_PER_THREAD, _MACS_PER_THREAD = 4.0, 512.0, 512.0 * 32.0
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
        gates_s = _shared_out(work.flop, work.items, roofs) / (peak.vector * roofs.reached * assumed().share["recurrent"])
        return Arithmetic(lanes_s + gates_s, busy * resident, on_lanes)
    product = work.product
    spent, busy = _used(product, roofs, kernel)
    dense = assumed().share["eight_bits"] if roofs.kind == "cpu" and peak.precision in ("int8", "int4") else 1.0
    seconds, peaks = spent * work.kept / (peak.matrix * roofs.reached * dense), np.full_like(work.flop, peak.matrix)
    if product.vector.any():
        # What has little reuse in registers feeds matrix units badly: the lanes do it, at the share that loads leave, unless those are faster still.
        spent, also = _used_by_lanes(product, roofs, kernel)
        alone = spent * work.kept / (peak.vector * roofs.reached * assumed().share["depthwise"])
        lanes = product.vector & (alone <= seconds)
        seconds, busy, peaks = np.where(lanes, alone, seconds), np.where(lanes, also, busy), np.where(lanes, peak.vector, peaks)
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
    items = _outputs(work) if roofs.kind == "cpu" else work.items
    if roofs.kind == "gpu" and roofs.units:
        groups = items if work.kind in BY_ROW else np.ceil(items / (_PER_THREAD * _GROUP))
        busy = np.minimum(1.0, groups / roofs.units)
    elif roofs.kind == "cpu" and roofs.threads > 1:
        busy = np.minimum(roofs.threads, np.maximum(1.0, np.floor(items / _ITEMS_PER_THREAD))) / roofs.threads
    else:
        busy = np.ones_like(work.flop)
    # An operation is half a multiply-add: the lanes start as many of either kind.
    spent = _shared_out(work.lane_ops, items, roofs, each=1.0 if roofs.kind == "gpu" and work.kind in BY_ROW else None)
    return spent / (peak.vector / 2.0 * roofs.reached), busy


def _outputs(work: Asked) -> Floats:
    return work.sizes["rows"] * work.sizes["columns"] if work.kind in BY_ROW else work.items


def _shared_out(amount: Floats, items: Floats, roofs: Roofs, each: float | None = None) -> Floats:
    """What all units could have done while the busiest does its part: a fair share, at least that of `each` items, which stay on one unit."""
    if roofs.kind == "gpu":
        units, usual = roofs.units, _PER_THREAD * _GROUP
    else:
        units, usual = roofs.threads if roofs.kind == "cpu" else 1, _ITEMS_PER_THREAD
    together = np.minimum(1.0, (each or usual) / items)
    return np.asarray(np.maximum(amount, max(units, 1) * amount * together))


def _used(product: Product, roofs: Roofs, kernel: KernelParameters | None) -> tuple[Floats, Floats]:
    """(FLOP that the units could have done in the time that edges, waves and lanes make it, share of the units that has work)."""
    if roofs.kind == "gpu":
        return _tiles(product, roofs.units, kernel)
    if roofs.kind == "cpu":
        return _vectors(product, roofs, kernel)
    return _array(product, roofs)


def _used_by_lanes(p: Product, roofs: Roofs, kernel: KernelParameters | None) -> tuple[Floats, Floats]:
    """The same of vector lanes; blocks of channels are their vectors, so that groups fill them."""
    if roofs.kind == "cpu":
        return _vectors(p._replace(n=p.n * p.batch, batch=np.ones_like(p.batch)), roofs, kernel)
    flop, outputs = 2.0 * p.batch * p.m * p.n * p.k, p.batch * p.m * p.n
    if roofs.kind == "gpu" and roofs.units:
        return _shared_out(flop, outputs, roofs), np.minimum(1.0, np.ceil(outputs / (_PER_THREAD * _GROUP)) / roofs.units)
    return flop, np.ones_like(flop)


def _blocks(p: Product, rows: Floats | float, columns: Floats | float) -> Floats:
    """Tiles of one product, without those in which no row has a column."""
    down = np.ceil(p.m / rows)
    whole = down * np.ceil(p.n / columns)
    if np.isinf(p.sees).all():
        return np.asarray(whole)
    # From the last row of tiles upwards each ends `rows` columns sooner, once the window does not end it.
    wide = np.minimum(p.n, p.sees + rows - 1.0)
    ended = np.clip(np.floor((p.n - wide) / rows) + 1.0, 0.0, down)
    rest = down - ended
    seen = ended * wide + rest * (p.n - rows * (ended + down - 1.0) / 2.0)
    return np.where(np.isinf(p.sees), whole, np.minimum(whole, np.maximum(np.ceil(seen / columns), down)))


def _tiles(p: Product, units: int, kernel: KernelParameters | None) -> tuple[Floats, Floats]:
    rows, columns, efficiency = (values[:, None] for values in _menu(kernel))  # (tiles, 1) against (N,)
    tiles = p.batch * _blocks(p, rows, columns)
    spent, waves = 2.0 * tiles * rows * columns * p.k / efficiency, np.ones_like(tiles)
    if units:
        parts = _splits(tiles, p.k, units, kernel)
        groups = tiles * parts
        waves = groups / (np.ceil(groups / units) * units)
        spent = spent / waves
    chosen = np.argmin(spent, axis=0)[None]
    return np.take_along_axis(spent, chosen, 0)[0], np.take_along_axis(waves, chosen, 0)[0]


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
    """Parts of a product that are summed side by side where tiles leave units without work; the last part may be shorter than the others."""
    if kernel is not None and kernel.split is not None:
        return float(kernel.split)
    return np.asarray(np.clip(np.floor(units / tiles), 1.0, np.clip(k / _SPLIT_K, 1.0, _MOST_SPLITS)), np.float64)


def _vectors(p: Product, roofs: Roofs, kernel: KernelParameters | None) -> tuple[Floats, Floats]:
    lanes = float((kernel.vector_width if kernel is not None else None) or roofs.lanes or 1)
    threads = float(roofs.threads)
    line = 2.0 * p.k * lanes
    block = line * _as_rows(np.minimum(p.m, _REGISTER_ROWS))
    chunks = p.batch * _blocks(p, _REGISTER_ROWS, lanes)
    whole = np.minimum(chunks * block, line * p.batch * np.ceil(p.n / lanes) * _as_rows(p.m))
    macs = p.batch * p.m * p.n * p.k
    longest = np.maximum(np.minimum(np.ceil(chunks / threads) * block, whole), np.minimum(2.0 * _MACS_PER_THREAD, whole))
    return threads * longest, np.clip(np.floor(macs / _MACS_PER_THREAD), 1.0, threads) / threads


def _as_rows(rows: Floats) -> Floats:
    """Rows of a full block that take as long: one row alone leaves half of the adders waiting for loads."""
    return np.asarray(rows / np.minimum(1.0, 0.5 + 0.5 * rows / _REGISTER_ROWS))


def _array(p: Product, roofs: Roofs) -> tuple[Floats, Floats]:
    """Of an array that keeps weights and lets rows stream through: the units that have work, while the weights of the next pass take a cycle a row.

    An array whose rows are outputs and whose columns are one dot product (Ethos-U) is filled the other way round and loads nothing between.
    """
    arrays, flop = roofs.device.mac_arrays, 2.0 * p.batch * p.m * p.n * p.k
    if not arrays:
        return flop, np.ones_like(flop)
    array = max(arrays, key=lambda each: each.rows * each.columns * each.count)
    if roofs.device.architecture.startswith(_OUTPUT_ARRAYS):
        outputs = np.minimum(p.m * np.ceil(p.n / array.rows), _blocks(p, 1.0, array.rows)) * array.rows
        spent = 2.0 * p.batch * outputs * np.ceil(p.k / array.columns) * array.columns
    else:
        cut = folds(SystolicArray(rows=array.rows, columns=array.columns, dataflow="weight"), gemm(1, _whole(p.n), _whole(p.k)))
        streamed = np.minimum(
            np.maximum(p.m, array.rows) * cut.across * array.columns, _blocks(p, array.rows, array.columns) * array.rows * array.columns
        )
        spent = 2.0 * p.batch * streamed * cut.down * array.rows
    return spent, np.minimum(1.0, flop / spent)


def _whole(sizes: Floats) -> NDArray[np.int64]:
    return np.maximum(1, np.rint(sizes)).astype(np.int64)
