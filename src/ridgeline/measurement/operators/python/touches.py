"""`touches`: for every block that a row uses, the distinct bytes it touches in one call and how far away they were last touched. Pure.

A loop over tiles of one array is one row with many executions, and only the places of the tiles tell it from a loop that runs over the same array
again and again. The reuse distance itself is `ridgeline.laws.reuse`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable

from ridgeline.laws.reuse import Touch, reuse_distances
from ridgeline.work.numpy import ArrayFacts

from .iteration import Iteration, ordered, row_key

__all__ = ["Use", "touches"]

#: Less than a page of memory is in the cache whatever happens.
_LEAST_BYTES = 4096
#: Calls that touch more stretches than this are left to the order of their rows.
_MOST_TOUCHES = 20_000

#: (distinct bytes of all executions, or `None` where each touches the same; reuse distance in bytes).
Use = tuple[int | None, int]


def touches(iteration: Iteration, views: Collection[Hashable] = ()) -> dict[Hashable, dict[int, Use]]:
    """Key of a row → block → its use; empty where there are too many touches to follow.

    Args:
        iteration: one call of the target with everything it saw.
        views: keys of rows that only make views.
    """
    places: list[tuple[Hashable, Touch, ArrayFacts]] = []
    for event in ordered(iteration):
        key = row_key(event)
        if event.seen is None or key in views:
            continue
        arrays = {(a.buffer, a.offset, a.shape, a.strides): a for a in (*event.seen.inputs, *event.seen.outputs) if a.touched_bytes >= _LEAST_BYTES}
        places += [(key, _touch(array), array) for array in arrays.values()]
        if len(places) > _MOST_TOUCHES:
            return {}
    distances = reuse_distances([touch for _, touch, _ in places])
    grouped: dict[Hashable, dict[int, list[tuple[Touch, ArrayFacts, int]]]] = {}
    for (row, touch, array), distance in zip(places, distances, strict=True):
        grouped.setdefault(row, {}).setdefault(touch.buffer, []).append((touch, array, distance))
    return {row: {buffer: _use(found) for buffer, found in blocks.items()} for row, blocks in grouped.items()}


def _touch(array: ArrayFacts) -> Touch:
    strides = array.strides if len(array.strides) == len(array.shape) else ()
    reach = [(size - 1) * step for size, step in zip(array.shape, strides, strict=False)]
    first = array.offset + sum(step for step in reach if step < 0)
    last = array.offset + sum(step for step in reach if step > 0) + array.item_bytes
    return Touch(array.buffer, first, last if strides else array.offset + array.touched_bytes, array.touched_bytes)


def _use(found: list[tuple[Touch, ArrayFacts, int]]) -> Use:
    views = {(touch, array.shape, array.strides): touch.size_bytes for touch, array, _ in found}
    block = found[0][1].buffer_bytes
    span = min(sum(views.values()), block) if block else sum(views.values())
    weight = sum(touch.size_bytes for touch, _, _ in found)
    distance = math.exp(sum(touch.size_bytes * math.log(max(1, distance)) for touch, _, distance in found) / weight)
    return (span if len(views) > 1 else None, round(distance))
