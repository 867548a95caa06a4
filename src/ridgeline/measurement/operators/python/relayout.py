"""`relayouts`: operations of a numpy program repeated as they are and on the layout that suits them, or in tiles that a near cache holds.

The operands are made anew with the shapes, steps and places of the recorded ones, in blocks of the recorded sizes, so that the caches are as hard
pressed as in the program. The other layout has the elements side by side in the order in which the operation visits them; each view of a block gets
a place of its own in a block of the same size. What is repeated, and what the ratio means, is decided elsewhere; what cannot be repeated from its
shapes is left out.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import Quantity, Relayout
from ridgeline.measurement.medians import median_of
from ridgeline.work.numpy import ArrayFacts
from ridgeline.work.numpy.call import Call
from ridgeline.work.numpy.walk import along_axis

from .capture import Seen
from .iteration import Iteration, ordered, row_key
from .sites import Place
from .table import describe_shapes, name_of

__all__ = ["relayouts"]

#: Executions of one row that are repeated; a loop does the same again and again.
_MOST_EXECUTIONS = 64
_LEAST_PASSES = 5
_MOST_BYTES = 2**30
_LINE = 64
_SIDE_BY_SIDE, _IN_TILES = "side by side", "in tiles"

_Call = Callable[[], Any]


class _NotRepeatable(Exception):
    """An operation that its record does not suffice for."""


def relayouts(
    iteration: Iteration, places: Sequence[Place], wanted: Mapping[tuple[str, str], tuple[int, float, int]], seconds: float
) -> tuple[Relayout, ...]:
    """Repeat rows both ways.

    Args:
        iteration: one call with everything it saw.
        places: of the sites.
        wanted: (name, shapes) of a row → (its index, executions per call, bytes of a tile or 0 for another layout).
        seconds: for all of them together.
    """
    executions: dict[tuple[str, str], list[Seen]] = {}
    keys: dict[Hashable, tuple[str, str]] = {}
    for event in ordered(iteration):
        if event.seen is None:
            continue
        row = keys.setdefault(row_key(event), (name_of(event.site, event.seen.kind, places), describe_shapes(event.seen)))
        if row in wanted and len(executions.setdefault(row, [])) < _MOST_EXECUTIONS:
            executions[row].append(event.seen)
    found = []
    for row, seen in executions.items():
        try:
            found.append(_repeated(*wanted[row], seen, seconds / len(executions)))
        except _NotRepeatable:
            continue
    return tuple(found)


def _repeated(index: int, calls: float, tile_bytes: int, seen: Sequence[Seen], seconds: float) -> Relayout:
    try:
        memory = _Memory(seen, changed=False)
        other = _tiled_calls(seen, tile_bytes) if tile_bytes else _calls(seen, _Memory(seen, changed=True))
        as_is, changed = _timed(_calls(seen, memory), other, seconds)
    except (MemoryError, _NotRepeatable):
        raise _NotRepeatable from None
    except Exception as error:  # whatever the library says of made-up numbers
        raise _NotRepeatable from error
    factor, layout = calls / len(seen), _IN_TILES if tile_bytes else _SIDE_BY_SIDE
    return Relayout(
        operator=index,
        as_is_s=_quantity(as_is, factor, "repeated as it is"),
        changed_s=_quantity(changed, factor, f"repeated {layout}"),
        layout=layout,
        executions=len(seen),
    )


def _calls(seen: Sequence[Seen], memory: _Memory) -> list[_Call]:
    return [_call(one, memory) for one in seen]


def _tiled_calls(seen: Sequence[Seen], tile_bytes: int) -> list[_Call]:
    """The same work tile by tile, always on the same tile: what it costs where the data is near."""
    found: list[_Call] = []
    for one in seen:
        tile, times = _tile(one, tile_bytes)
        found += [_call(tile, _Memory([tile], changed=False))] * times
    return found


def _tile(seen: Seen, tile_bytes: int) -> tuple[Seen, int]:
    """The operation on the first rows of its operands, and how often that makes the whole."""
    arrays = (*seen.inputs, *seen.outputs)
    lead = max((array.shape[0] for array in arrays if array.shape), default=0)
    moving = [array for array in arrays if array.shape and array.shape[0] == lead]
    row_bytes = sum(array.touched_bytes for array in moving) / max(1, lead)
    rows = int(tile_bytes / row_bytes) if row_bytes else 0
    if rows < 1 or rows * 2 > lead:
        raise _NotRepeatable

    def cut(array: ArrayFacts) -> ArrayFacts:
        shape = (rows, *array.shape[1:]) if array.shape and array.shape[0] == lead else array.shape
        return msgspec.structs.replace(array, shape=shape, offset=0, buffer_bytes=0)

    tile = msgspec.structs.replace(seen, inputs=tuple(map(cut, seen.inputs)), outputs=tuple(map(cut, seen.outputs)))
    return tile, -(-lead // rows)


def _timed(as_is: Sequence[_Call], changed: Sequence[_Call], seconds: float) -> tuple[list[float], list[float]]:
    """Walls of interleaved passes over both, the first of each left out."""
    walls: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while len(walls[0]) <= _LEAST_PASSES or (time.perf_counter() < end and len(walls[0]) < 200):
        for calls, spent in zip((as_is, changed), walls, strict=True):
            before = time.perf_counter()
            for call in calls:
                call()
            spent.append(time.perf_counter() - before)
        if len(walls[0]) >= 3 and time.perf_counter() > end + seconds:
            break
    return walls[0][1:], walls[1][1:]


def _quantity(walls: Sequence[float], factor: float, origin: str) -> Quantity:
    return median_of([wall * factor for wall in walls], origin)


class _Memory:
    """Blocks of memory as the recorded ones, and the views in them."""

    def __init__(self, seen: Sequence[Seen], *, changed: bool) -> None:
        arrays = [array for one in seen for array in (*one.inputs, *(out for out in one.outputs if not out.fresh))]
        sizes = {array.buffer: max(array.buffer_bytes, array.touched_bytes, _end(array)) for array in arrays}
        if sum(sizes.values()) > _MOST_BYTES:
            raise _NotRepeatable
        # Room for the views of a block to begin on lines of their own.
        self._blocks = {buffer: np.empty(size + 2 * _LINE, np.uint8) for buffer, size in sizes.items()}
        self._sizes, self._changed = sizes, changed
        self._placed: dict[Hashable, Any] = {}
        self._used: dict[int, int] = {}
        for array in arrays:
            _fill(self._blocks[array.buffer], np.dtype(array.dtype))

    def view(self, array: ArrayFacts, axis: int | None) -> Any:
        """The array in its block: where it was, or side by side along `axis` (the last one if `None`)."""
        key = (array.buffer, array.offset, array.shape, array.strides, array.dtype, axis)
        if key not in self._placed:
            self._placed[key] = self._side_by_side(array, axis) if self._changed else self._as_it_was(array)
        return self._placed[key]

    def _as_it_was(self, array: ArrayFacts) -> Any:
        return np.ndarray(array.shape, np.dtype(array.dtype), self._blocks[array.buffer], array.offset, array.strides or None)

    def _side_by_side(self, array: ArrayFacts, axis: int | None) -> Any:
        needed = -(-array.size * array.item_bytes // _LINE) * _LINE
        start = self._used.get(array.buffer, 0)
        block = self._blocks[array.buffer]
        if start + needed > block.size:
            start = 0
        if needed > block.size:
            # A broadcast operand has fewer bytes than elements: it stays as it is.
            return self._as_it_was(array)
        self._used[array.buffer] = start + needed
        return np.ndarray(array.shape, np.dtype(array.dtype), block, start, _strides(array, axis))


def _strides(array: ArrayFacts, axis: int | None) -> tuple[int, ...]:
    order = [dim for dim in range(len(array.shape)) if dim != axis] + ([] if axis is None else [axis])
    strides, step = [0] * len(array.shape), array.item_bytes
    for dim in reversed(order):
        strides[dim] = step
        step *= array.shape[dim]
    return tuple(strides)


def _end(array: ArrayFacts) -> int:
    reach = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=False) if step > 0)
    return array.offset + reach + array.item_bytes


def _fill(block: Any, dtype: Any) -> None:
    """Numbers between a half and two, and small integers: no denormals, no NaN, no order."""
    if dtype.hasobject or dtype.kind not in "biufc":
        raise _NotRepeatable
    whole = block[: block.size // dtype.itemsize * dtype.itemsize].view(dtype)
    random = np.random.default_rng(1)
    some = (random.random(4099) + 0.5) if dtype.kind in "fc" else random.integers(0, 2 if dtype.kind == "b" else 100, 4099)
    for start in range(0, whole.size, some.size):
        whole[start : start + some.size] = some[: whole.size - start]


def _call(seen: Seen, memory: _Memory) -> _Call:
    """The operation with its operands from `memory`."""
    function = _function(seen.kind)
    axis = _axis_of(seen)
    inputs = [memory.view(array, axis) for array in seen.inputs]
    waiting = iter(inputs)
    args = [next(waiting, None) if value is None else value for value in seen.options.get("args", ())]
    keywords: dict[str, Any] = {}
    for name, value in seen.options.items():
        if name not in ("args", "method"):
            keywords[name] = next(waiting, None) if value is None else value
    if next(waiting, None) is not None or any(value is None for value in (*args, *keywords.values())):
        raise _NotRepeatable
    targets = [memory.view(array, axis) for array in seen.outputs if not array.fresh]
    if targets:
        keywords["out"] = targets[0]
    return lambda: function(*args, **keywords)


def _axis_of(seen: Seen) -> int | None:
    """The axis that the operation works along, see `ridgeline.work.numpy.walk`."""
    return along_axis(Call(kind=seen.kind, inputs=seen.inputs, outputs=seen.outputs, options=seen.options))


def _function(kind: str) -> Callable[..., Any]:
    package, *names = kind.split(".")
    if package not in ("numpy", "scipy"):
        raise _NotRepeatable
    found: Any = importlib.import_module(package)
    try:
        for name in names:
            found = getattr(found, name)
    except AttributeError as error:
        raise _NotRepeatable from error
    if not callable(found):
        raise _NotRepeatable
    return found  # type: ignore[no-any-return]
