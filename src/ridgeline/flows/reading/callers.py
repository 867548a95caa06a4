"""Who calls what blocks: of each function or event that waits, the nearest caller that is not itself such a call.

Decides only where to look; which names block is known to `diagnosis.traces`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import FrameUse, OperatorUse, Stacks, Timeline
from ridgeline.diagnosis.traces import blocks

__all__ = ["frame_callers", "operator_callers"]

Ints = NDArray[np.int64]


def operator_callers(timeline: Timeline, up: Ints, uses: Sequence[OperatorUse]) -> tuple[OperatorUse, ...]:
    """The uses, those that block with the name of what calls them for most of their time.

    Args:
        timeline: that they are of.
        up: `nesting.parents` of it, shape (n,).
        uses: of the names of its events.
    """
    wanted = {use.name for use in uses if blocks(use.name)}
    if not wanted:
        return tuple(uses)
    blocking = np.array([text in wanted for text in timeline.strings], dtype=bool)
    names = timeline.name.values.astype(np.int64)
    chosen = np.flatnonzero(blocking[names])
    caller = _outside(up, blocking[names], chosen)
    took = timeline.duration_tick.values[chosen].astype(np.float64)
    found = _largest(names[chosen], np.where(caller >= 0, names[np.maximum(caller, 0)], -1), took)
    called = {timeline.strings[name]: timeline.strings[by] for name, by in found.items()}
    return tuple(msgspec.structs.replace(use, caller=called[use.name]) if use.name in called else use for use in uses)


def frame_callers(stacks: Sequence[Stacks], uses: Sequence[FrameUse]) -> tuple[FrameUse, ...]:
    """The same of functions in stacks, by the weight that ended in them.

    Args:
        stacks: of one measure and unit.
        uses: of their functions.
    """
    wanted = {use.function for use in uses if use.own > 0 and blocks(use.function, use.file)}
    if not wanted:
        return tuple(uses)
    weights: dict[str, dict[str, float]] = {}
    for one in stacks:
        _weigh(one, wanted, weights)
    called = {name: max(by, key=lambda each: by[each]) for name, by in weights.items()}
    return tuple(msgspec.structs.replace(use, caller=called[use.function]) if use.function in called else use for use in uses)


def _weigh(stacks: Stacks, wanted: Collection[str], weights: dict[str, dict[str, float]]) -> None:
    """Add to name → caller → weight what one forest has."""
    blocking = np.array([frame.function in wanted for frame in stacks.frames], dtype=bool)
    frame, up = stacks.frame.values.astype(np.int64), stacks.parent.values.astype(np.int64)
    chosen = np.flatnonzero(blocking[frame] & (stacks.own.values > 0))
    caller = _outside(up, blocking[frame], chosen)
    for node, by in zip(chosen.tolist(), caller.tolist(), strict=True):
        if by < 0 or stacks.frames[frame[by]].kind == "process":
            continue
        of = weights.setdefault(stacks.frames[frame[node]].function, {})
        name = stacks.frames[frame[by]].function
        of[name] = of.get(name, 0.0) + float(stacks.own.values[node])


def _outside(up: Ints, blocking: NDArray[np.bool_], chosen: Ints) -> Ints:
    """The nearest ancestor of each that does not block, −1 where there is none."""
    at = up[chosen]
    while (again := (at >= 0) & blocking[at]).any():
        at[again] = up[at[again]]
    return at


def _largest(name: Ints, by: Ints, weight: NDArray[np.float64]) -> dict[int, int]:
    """Of each name the caller with most weight; names without a caller are left out."""
    found: dict[int, dict[int, float]] = {}
    pairs, place = np.unique(np.stack((name, by)), axis=1, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weights=weight)
    for one, caller, took in zip(*pairs.tolist(), sums.tolist(), strict=True):
        if caller >= 0:
            found.setdefault(one, {})[caller] = took
    return {one: max(of, key=lambda each: of[each]) for one, of in found.items()}
