"""Data movement: views cost nothing, copies read and write, conversions of layout or dtype are told apart from plain copies.

A copy whose source runs through memory in another order than its result, or has another dtype, is `movement` (a layout conversion or cast); bytes
copied as they are make a `copy`. Gathers of single elements count on the engine `gather`; gathers of whole rows are copies of bytes.
"""

from __future__ import annotations

from ridgeline.core import BufferUse
from ridgeline.work.gathering import looked_up
from ridgeline.work.work import Work

from .call import Call, formula, moved
from .facts import ArrayFacts, merge

__all__: list[str] = []

_COPIES = """copy copyto ascontiguousarray asfortranarray array asarray asanyarray require astype ravel flatten reshape resize transpose T
 permute_dims matrix_transpose concatenate concat stack vstack hstack dstack column_stack row_stack block pad tile repeat roll append insert delete
 tril triu flip fliplr flipud rot90 broadcast_to broadcast_arrays split array_split hsplit vsplit dsplit swapaxes moveaxis rollaxis expand_dims
 squeeze atleast_1d atleast_2d atleast_3d view diagonal diag diagflat real imag meshgrid lib.stride_tricks.sliding_window_view
 lib.stride_tricks.as_strided unstack byteswap tobytes frombuffer unpackbits packbits ndarray.copy"""
_UNWRITTEN = "empty zeros empty_like zeros_like ndarray"
_FILLED = "ones full arange linspace eye identity ones_like full_like logspace geomspace indices tri vander fill hamming hanning blackman kaiser"


@formula(_COPIES)
def _copy(call: Call) -> Work:
    stored = call.kind in ("numpy.copyto", "numpy.byteswap")
    if not stored and call.is_view:
        return Work(group="view", reason="view")
    if not call.inputs and not stored and not any(array.fresh for array in call.outputs):
        return Work(group="view", reason="view of a buffer")
    if not call.inputs:
        group = "copy" if stored else "python"
        reason = "" if stored else "made from Python objects, one at a time"
        return Work(group=group, writes=merge(call.outputs), reason=reason)
    if not call.outputs:
        return moved(call, "copy", 0.0, None)
    group, reason = _manner(call.inputs, call.outputs[0])
    return moved(call, group, 0.0, None, reason=reason)


def _manner(inputs: tuple[ArrayFacts, ...], result: ArrayFacts) -> tuple[str, str]:
    if any(array.dtype != result.dtype for array in inputs if array.size > 1):
        return "movement", "another dtype"
    if any(_reordered(array, result) for array in inputs):
        return "movement", "strided source: the result runs through memory in another order"
    if any(not array.dense for array in inputs):
        return "copy", "strided source"
    if not result.dense:
        return "copy", "strided target"
    return "copy", ""


def _reordered(source: ArrayFacts, result: ArrayFacts) -> bool:
    if source.shape != result.shape or not source.strides or not result.strides:
        return False
    return source.order != tuple(dim for dim in result.order if dim in source.order)


@formula(_UNWRITTEN)
def _reserve(call: Call) -> Work:
    """Memory that is only asked for: its pages are made when somebody writes them."""
    return Work(group="allocation", reason="untouched memory is not written yet")


@formula(_FILLED)
def _fill(call: Call) -> Work:
    outputs = call.outputs or call.inputs[:1]
    # The method `fill` writes into memory that is there.
    return Work(group="allocation" if call.outputs else "elementwise", writes=merge(outputs))


@formula("take", "take_along_axis", "compress", "extract")
def _gather(call: Call) -> Work:
    """The source is read where an index points, at most once a byte; a row that is taken whole is a copy of bytes."""
    source, indices = call.inputs[:1], call.inputs[1:]
    if not source or not call.outputs:
        return moved(call, "gather", None, None, reason="no array among its arguments")
    result = call.outputs[0]
    size = min(result.size * source[0].item_bytes, source[0].touched_bytes)
    seen = BufferUse(buffer=source[0].buffer, size_bytes=size, persistent=source[0].persistent)
    picked = sum(index.size for index in indices if index.dtype != "bool")
    stretch = result.size // picked * source[0].item_bytes if picked else 0
    flop, engine, reason = looked_up(max(result.size, *(index.size for index in indices), 0), stretch)
    return Work(
        group="gather",
        flop=flop,
        engine=engine,
        reads=(*((seen,) if size else ()), *merge(indices)),
        writes=merge(call.outputs),
        reason=reason,
    )


@formula("put", "put_along_axis", "putmask", "place", "fill_diagonal")
def _scatter(call: Call) -> Work:
    outputs = call.outputs or call.inputs[:1]
    inputs = call.inputs if call.outputs else call.inputs[1:]
    elements = max((array.size for array in (*inputs, *call.outputs)), default=0)
    # An assignment by index comes as rows and their length; the functions place single elements.
    row = (
        call.outputs[0].shape[-1] * call.outputs[0].item_bytes if call.kind == "numpy.put" and call.outputs and len(call.outputs[0].shape) == 2 else 0
    )
    flop, engine, reason = looked_up(elements, row)
    return Work(group="gather", flop=flop, engine=engine, reads=merge(inputs), writes=merge(outputs), reason=reason)


@formula("nonzero", "flatnonzero", "argwhere", "ix_")
def _positions(call: Call) -> Work:
    return moved(call, "gather", sum(array.size for array in call.inputs[:1]), "reduce")


@formula("tolist", "vectorize.__call__", "apply_along_axis", "apply_over_axes", "fromiter", "fromfunction", "frompyfunc", "piecewise", "ndenumerate")
def _interpreted(call: Call) -> Work:
    return moved(call, "python", None, None, reason="the interpreter handles the elements one at a time")


@formula("load save savez savez_compressed fromfile tofile loadtxt savetxt genfromtxt memmap")
def _file(call: Call) -> Work:
    return Work(group="other", flop=None, reads=merge(call.inputs), writes=merge(call.outputs), reason="input or output")
