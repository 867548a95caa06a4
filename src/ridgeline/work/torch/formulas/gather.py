"""Indexed access: one look-up for each element that is picked, or a copy where whole rows are; only what is picked is read, not the table.

A row picked twice is counted twice, since which rows are picked is data and not shape; the count never exceeds the table.
"""

from __future__ import annotations

import math

from ridgeline.core import BufferUse
from ridgeline.work.gathering import looked_up

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse

__all__: list[str] = []


def _rows(table: TensorUse, elements: int) -> BufferUse:
    return traffic.use(table, min(table.touched_bytes, math.ceil(elements * table.item_bytes)))


def _rest(op: RecordedOp, table: TensorUse) -> tuple[BufferUse, ...]:
    return traffic.merge(use for use in op.inputs if use is not table)


def _pick(op: RecordedOp, table: TensorUse, elements: int, row: int = 1, *, adds: bool = False) -> Work:
    """`row`: elements that lie side by side behind each index."""
    reads = (_rows(table, elements), *_rest(op, table))
    flop, engine, reason = looked_up(elements, row * table.item_bytes, adds=adds)
    return Work(group="gather", flop=flop, engine=engine, reads=reads, writes=traffic.writes(op), reason=reason)


def _behind(table: TensorUse, dim: int) -> int:
    """Elements side by side behind an index into a dimension, for a table in C order; of any other, single ones."""
    shape = table.shape[dim % max(1, len(table.shape)) + 1 :]
    steps = tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))
    return math.prod(shape) if table.stride is None or tuple(table.stride)[len(table.shape) - len(shape) :] == steps else 1


@formula("gather take take_along_dim masked_select")
def _lookup(op: RecordedOp) -> Work:
    return _pick(op, op.inputs[0], sum(use.numel for use in op.outputs))


@formula("embedding index_select")
def _picked_rows(op: RecordedOp) -> Work:
    table = op.inputs[0]
    return _pick(op, table, sum(use.numel for use in op.outputs), _behind(table, int(op.number("dim"))))


@formula("grid_sampler_2d grid_sampler_3d _grid_sampler_2d_cpu_fallback")
def _sample(op: RecordedOp) -> Work:
    """Each result looks at 2ᵈ (linear), 1 (nearest) or 4ᵈ (cubic) neighbours over d spatial dimensions; their weighing is not counted."""
    along = {0: 2, 1: 1, 2: 4}.get(int(op.number("interpolation_mode")), 2)
    return _pick(op, op.inputs[0], op.outputs[0].numel * along ** (len(op.inputs[0].shape) - 2))


@formula("index _unsafe_index _unsafe_masked_index")
def _index(op: RecordedOp) -> Work:
    return _pick(op, op.inputs[0], op.outputs[0].numel, _behind(op.inputs[0], _last_indexed(op)))


def _last_indexed(op: RecordedOp) -> int:
    """The last dimension of the table that an index picks from; a mask covers as many as it has."""
    last, dim = -1, 0
    indices = op.arguments.get("indices")
    for index in indices if isinstance(indices, tuple) else ():
        dim += len(index.shape) if isinstance(index, TensorUse) and index.dtype == "bool" else 1
        last = dim - 1 if isinstance(index, TensorUse) else last
    return last


@formula("_embedding_bag _embedding_bag_forward_only embedding_bag")
def _bag(op: RecordedOp) -> Work:
    """Every index picks a row of the table, which is summed into its bag."""
    table, indices = op.inputs[0], op.inputs[1]
    row = table.shape[-1] if table.shape else 1
    return _pick(op, table, indices.numel * row, row, adds=True)


@formula("nonzero nonzero_static argwhere")
def _find(op: RecordedOp) -> Work:
    return Work(group="gather", flop=float(op.inputs[0].numel), engine="gather", reads=traffic.reads(op), writes=traffic.writes(op))


@formula(
    """
    scatter scatter_add scatter_reduce index_add index_copy index_fill index_put _index_put_impl _unsafe_index_put put masked_scatter
    index_reduce _unsafe_masked_index_put_accumulate
    """
)
def _scatter(op: RecordedOp) -> Work:
    """In place only the picked places are written (and read where they are added to); out of place the whole result is."""
    target = op.inputs[0]
    source = op.tensor("src") or op.tensor("source") or op.tensor("values") or op.tensor("index") or op.inputs[-1]
    index = op.tensor("index")
    elements = index.numel if index is not None and op.kind.removeprefix("aten::").startswith("scatter") else source.numel
    rest = _rest(op, target)
    adds = "add" in op.kind or op.flag("accumulate") or "reduce" in op.kind
    flop, engine, reason = looked_up(elements, _row_of(op, target) * target.item_bytes, adds=adds)
    if op.mutated:
        places = _rows(target, elements)
        reads = (*((places,) if adds else ()), *rest)
        return Work(group="gather", flop=flop, engine=engine, reads=reads, writes=(places,), reason=reason)
    return Work(group="gather", flop=flop, engine=engine, reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)


def _row_of(op: RecordedOp, target: TensorUse) -> int:
    """Elements side by side that one index places: rows for the kinds that take whole ones."""
    name = op.kind.removeprefix("aten::").lstrip("_")
    if name.startswith(("index_put", "unsafe_index_put")):
        return _behind(target, _last_indexed(op))
    return _behind(target, int(op.number("dim"))) if name.startswith("index_") else 1


@formula("embedding_dense_backward _embedding_bag_dense_backward embedding_backward gather_backward grid_sampler_2d_backward")
def _scattered_rows(op: RecordedOp) -> Work:
    grad = op.inputs[0]
    row = grad.shape[-1] if grad.shape and "embedding" in op.kind else 1
    flop, engine, reason = looked_up(grad.numel, row * grad.item_bytes, adds=True)
    return Work(group="gather", flop=flop, engine=engine, reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)
