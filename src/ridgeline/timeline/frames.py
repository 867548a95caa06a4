"""Functions of sampled or traced stacks: the weight that ended in each and the weight below it.

A function is name, file and library, whatever its line or kind. Total weight counts a function once a stack, however often it recurs there. The root
frame of a process is no function: it is in the whole, never in a list. Two profiles are compared in `frame_changes`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, Frame, FrameUse, Stacks, UsageError

from .trees import inclusive, preorder

__all__ = ["frame_uses", "joined", "weight_of"]

Floats = NDArray[np.float64]


class _Function(NamedTuple):
    name: str
    file: str | None
    library: str


class _Weights(NamedTuple):
    """Functions with their own and total weight, shape (k,) each."""

    functions: list[_Function]
    lines: list[int | None]
    own: Floats
    total: Floats
    whole: float


def weight_of(stacks: Stacks) -> float:
    """All weight, in its unit: the denominator of every share of `frame_uses`."""
    return math.fsum(stacks.own.values)


def joined(stacks: Sequence[Stacks]) -> Stacks:
    """Stacks of several lanes as one forest, each lane that has a name below a root frame of its own.

    Args:
        stacks: of one measure and unit, at least one.

    Raises:
        UsageError: none, or of several measures or units.
    """
    if not stacks or len({(each.measure, each.unit) for each in stacks}) > 1:
        found = ", ".join(sorted({f"{each.measure} in {each.unit}" for each in stacks})) or "none"
        raise UsageError("stacks of one measure and unit", found=found, remedy="join those of one measure")
    if len(stacks) == 1:
        return stacks[0]
    frames: list[Frame] = []
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = []
    nodes = 0
    for each in stacks:
        root = nodes if each.lane else -1
        shift = nodes + (root >= 0)
        parent, frame = each.parent.values.astype(np.int64), each.frame.values.astype(np.int64) + len(frames) + (root >= 0)
        if root >= 0:
            parts.append((np.array([-1]), np.array([len(frames)]), np.zeros(1)))
            frames.append(Frame(function=each.lane, kind="process"))
        parts.append((np.where(parent < 0, root, parent + shift), frame, each.own.values))
        frames.extend(each.frames)
        nodes = shift + len(each)
    parents, indices, own = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    counts = [each.samples for each in stacks]
    samples = sum(count for count in counts if count is not None) if None not in counts else None
    return Stacks(
        measure=stacks[0].measure, unit=stacks[0].unit, frames=tuple(frames), parent=Column(parents, "count"), frame=Column(indices, "count"),
        own=Column(own, stacks[0].unit), samples=samples, interval_s=stacks[0].interval_s,
    )  # fmt: skip


def frame_uses(stacks: Stacks | Sequence[Stacks], most: int = 100) -> tuple[FrameUse, ...]:
    """The functions with the most own weight, then with the most in total.

    Args:
        stacks: one, or those of several lanes of one measure.
        most: how many are listed.
    """
    found = _weights(stacks if isinstance(stacks, Stacks) else joined(stacks))
    order = np.lexsort((-found.total, -found.own))[:most]
    whole = found.whole or 1.0
    return tuple(
        FrameUse(
            function=found.functions[index].name, own=float(found.own[index]), total=float(found.total[index]),
            own_share=min(1.0, float(found.own[index]) / whole), total_share=min(1.0, float(found.total[index]) / whole),
            file=found.functions[index].file, line=found.lines[index], library=found.functions[index].library,
        )
        for index in order
    )  # fmt: skip


def _weights(stacks: Stacks) -> _Weights:
    functions: dict[_Function, int] = {}
    lines: list[int | None] = []
    of_frame = np.full(len(stacks.frames), -1, np.int64)
    for index, frame in enumerate(stacks.frames):
        if frame.kind == "process":
            continue
        key = _Function(frame.function, frame.file, frame.library)
        place = functions.setdefault(key, len(functions))
        if place == len(lines):
            lines.append(frame.line)
        elif lines[place] != frame.line:
            lines[place] = None  # several lines of one function
        of_frame[index] = place
    own, total = (_whole_again(sums, stacks.unit) for sums in _sums(stacks, of_frame, len(functions)))
    return _Weights(list(functions), lines, own, total, weight_of(stacks))


def _whole_again(sums: Floats, unit: str) -> Floats:
    """Counts that only the rounding of a split between callers keeps from being whole numbers."""
    if unit not in ("count", "B", "cycle"):
        return sums
    whole = np.rint(sums)
    return np.where(np.abs(sums - whole) <= 1e-9 * np.maximum(1.0, whole), whole, sums)


def _sums(stacks: Stacks, of_frame: NDArray[np.int64], count: int) -> tuple[Floats, Floats]:
    """Own and total weight of each function, shape (count,)."""
    if not len(stacks) or not count:
        return np.zeros(count), np.zeros(count)
    parent, weight = stacks.parent.values, stacks.own.values
    function = of_frame[stacks.frame.values]
    chosen = np.flatnonzero(function >= 0)
    own = np.bincount(function[chosen], weights=weight[chosen], minlength=count).astype(np.float64)
    first = chosen[_outermost(function[chosen], *(column[chosen] for column in preorder(parent)))]
    total = np.bincount(function[first], weights=inclusive(parent, weight)[first], minlength=count).astype(np.float64)
    return own, total


def _outermost(function: NDArray[np.int64], place: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which nodes have no node of the same function above them, shape (n,): in preorder, those past the subtrees of all of it before."""
    order = np.lexsort((place, function))
    # One running maximum serves all functions: each lives in a range of its own.
    width = int((place + size).max()) + 1
    begin = place[order] + function[order] * width
    reach = np.maximum.accumulate(begin + size[order])
    outermost = np.ones(len(order), bool)
    outermost[1:] = begin[1:] >= reach[:-1]
    found = np.zeros(len(order), bool)
    found[order] = outermost
    return found
