"""What a flame graph draws of stacks: functions merged whatever their line, small paths left out, and how much that is.

This module decides what is left out; how it looks is left to `block` and its script.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Frame, Stacks
from ridgeline.timeline.frames import joined, weight_of
from ridgeline.timeline.trees import inclusive

from ..text import clean, shorten

__all__ = ["Drawn", "drawn"]

_LONGEST_NAME = 240


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """The tree as the script reads it: nodes in an order in which parents come first, siblings with the most weight first.

    Args:
        measure, unit, whole: of the weights, and all of them together.
        names, places, kinds: of each function: its name, file and library, kind of frame.
        parent, function, total, own: of each node.
        left_out: nodes that are not drawn; left_out_weight: the weight that ended in them.
    """

    measure: str
    unit: str
    whole: float
    names: list[str]
    places: list[str]
    kinds: list[str]
    parent: list[int]
    function: list[int]
    total: list[float]
    own: list[float]
    left_out: int = 0
    left_out_weight: float = 0.0


def drawn(stacks: Stacks | Sequence[Stacks], most: int = 12_000) -> Drawn:
    """The heaviest `most` nodes of the tree: whatever is not among them is narrower than any that is.

    Args:
        stacks: one, or those of several lanes of one measure.
        most: nodes that are drawn.
    """
    one = stacks if isinstance(stacks, Stacks) else joined(stacks)
    functions: dict[tuple[str, str | None, str, str], int] = {}
    of_frame = np.array([functions.setdefault(_key(frame), len(functions)) for frame in one.frames], np.int64)
    parent, function, own = _merged(one, of_frame)
    total = inclusive(parent, own)
    # Heaviest first, and a parent before its children where both weigh the same.
    kept = np.lexsort((np.arange(len(total)), -total))[:most]
    kept = kept[total[kept] > 0]
    place = np.full(len(total) + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    used, index = np.unique(function[kept], return_inverse=True)
    keys = list(functions)
    return Drawn(
        measure=one.measure, unit=one.unit, whole=weight_of(one), names=[shorten(clean(keys[each][0]), _LONGEST_NAME) for each in used],
        places=[_place(keys[each]) for each in used], kinds=[keys[each][3] for each in used], parent=place[parent[kept]].tolist(),
        function=index.tolist(), total=_short(total[kept]), own=_short(own[kept]), left_out=int((total > 0).sum()) - len(kept),
        left_out_weight=max(0.0, weight_of(one) - float(own[kept].sum())) if len(kept) < len(total) else 0.0,
    )  # fmt: skip


def _key(frame: Frame) -> tuple[str, str | None, str, str]:
    return (frame.function, frame.file, frame.library, frame.kind)


def _place(key: tuple[str, str | None, str, str]) -> str:
    return shorten(clean(" · ".join(part for part in (key[1] or "", key[2]) if part)), _LONGEST_NAME)


def _merged(stacks: Stacks, of_frame: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Parent, function and own weight of the nodes, those of one function below one parent as one."""
    nodes: dict[tuple[int, int], int] = {}
    new: list[int] = []
    for parent, frame in zip(stacks.parent.values.tolist(), of_frame[stacks.frame.values].tolist() if len(stacks) else [], strict=True):
        new.append(nodes.setdefault((new[parent] if parent >= 0 else -1, frame), len(nodes)))
    columns = np.array(list(nodes), np.int64).reshape(-1, 2)
    own = np.bincount(np.array(new, np.int64), weights=stacks.own.values, minlength=len(nodes)).astype(np.float64)
    return columns[:, 0], columns[:, 1], own


def _short(values: NDArray[np.float64]) -> list[float]:
    """Seven figures are more than a screen shows."""
    return [int(number) if (number := float(f"{value:.7g}")).is_integer() and abs(number) < 1e15 else number for value in values.tolist()]
