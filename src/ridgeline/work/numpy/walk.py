"""Steps of a call of numpy through its operands: how far apart in memory the elements are that it visits one after the other.

numpy walks elementwise operations and reductions through memory in the order of the operands' steps, as long as they agree; where two operands
disagree, C order wins (the nditer documentation, order `K`). So a transposed array alone costs nothing, a sum over the first axis runs row by row,
and only a mixture of orders, or a view with holes, jumps. Functions that work along an axis, and products, are walked along that axis or along the
nearer of the last two. What the steps cost is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from .call import Call
from .facts import ArrayFacts

__all__ = ["along_axis", "steps"]

#: Functions that gather what lies along one axis, and the position of that axis among their arguments.
_ALONG = {
    "sort": 1, "argsort": 1, "partition": 2, "argpartition": 2, "cumsum": 1, "cumprod": 1, "argmax": 1, "argmin": 1, "median": 1, "percentile": 2,
    "quantile": 2, "add.accumulate": 1, "multiply.accumulate": 1, "maximum.accumulate": 1, "minimum.accumulate": 1,
    "fft.fft": 2, "fft.ifft": 2, "fft.rfft": 2, "fft.irfft": 2,
}  # fmt: skip
_LAST_BY_DEFAULT = frozenset({"sort", "argsort", "partition", "argpartition", "fft.fft", "fft.ifft", "fft.rfft", "fft.irfft"})
_WALKED = ("elementwise", "reduction", "copy", "movement")


def steps(call: Call, group: str) -> dict[int, int]:
    """Block → bytes between neighbours in the order of the walk, for operands whose neighbours do not lie side by side.

    Args:
        call: the execution.
        group: what its kind does, as in `ridgeline.core.OperatorRow`.
    """
    arrays = [array for array in (*call.inputs, *(out for out in call.outputs if not out.fresh)) if array.size > 1 and array.strides]
    axis = along_axis(call)
    if axis is not None:
        found = {array.buffer: _step_along(array, axis) for array in arrays if len(array.shape) > axis and array.shape[axis] > 1}
    elif group == "matmul":
        # A product takes either of the last two axes as the inner one.
        found = {array.buffer: min(_steps_of(array)) for array in arrays if _steps_of(array)}
    elif group in _WALKED:
        found = _walk(arrays)
    else:
        found = {}
    items = {array.buffer: array.item_bytes for array in arrays}
    return {buffer: step for buffer, step in found.items() if step > items[buffer]}


def along_axis(call: Call) -> int | None:
    """The axis that a function of this kind works along, `None` for kinds that choose their order themselves."""
    name = call.kind.removeprefix("numpy.").removeprefix("scipy.")
    if name not in _ALONG or not call.inputs:
        return None
    dimensions = len(call.inputs[0].shape)
    axis = call.option("axis", _ALONG[name], -1 if name in _LAST_BY_DEFAULT else None)
    if not isinstance(axis, int) or isinstance(axis, bool) or not -dimensions <= axis < dimensions:
        return None
    return axis % dimensions


def _step_along(array: ArrayFacts, axis: int) -> int:
    return abs(array.strides[axis])


def _steps_of(array: ArrayFacts) -> list[int]:
    pairs = list(zip(array.shape, array.strides, strict=True))[-2:]
    return [abs(step) for size, step in pairs if size > 1 and step]


def _walk(arrays: Sequence[ArrayFacts]) -> dict[int, int]:
    dimensions = max((len(array.shape) for array in arrays), default=0)
    aligned = [(array, (0,) * (dimensions - len(array.shape)) + _moving(array)) for array in arrays]
    order = _order([strides for _, strides in aligned], dimensions)
    found: dict[int, int] = {}
    for array, strides in aligned:
        found[array.buffer] = max(found.get(array.buffer, 0), _mean_step(array, strides, order))
    return found


def _moving(array: ArrayFacts) -> tuple[int, ...]:
    return tuple(abs(step) if size > 1 else 0 for size, step in zip(array.shape, array.strides, strict=True))


def _order(operands: Sequence[tuple[int, ...]], dimensions: int) -> list[int]:
    """Axes from the innermost to the outermost: an insertion sort by the steps of the operands, in which C order wins where they disagree."""
    order: list[int] = []
    for axis in reversed(range(dimensions)):
        place = len(order)
        for position in reversed(range(len(order))):
            said = [(strides[axis], strides[order[position]]) for strides in operands if strides[axis] and strides[order[position]]]
            if said and not all(outer < inner for outer, inner in said):
                break
            if said:
                place = position
        order.insert(place, axis)
    return order


def _mean_step(array: ArrayFacts, strides: tuple[int, ...], order: Sequence[int]) -> int:
    """Step along the innermost axis; where that axis is a run shorter than a cache line, the mean step from element to element."""
    moving = [axis for axis in order if strides[axis]]
    if not moving:
        return 0
    first = moving[0]
    if strides[first] > array.item_bytes or len(moving) == 1:
        return strides[first]
    length = array.shape[first - (len(strides) - len(array.shape))]
    run = length * array.item_bytes
    return strides[first] if run >= 64 else max(strides[first], strides[moving[1]] // length)
