"""Reuse distance: how many distinct bytes a program touches before it comes back to the same ones.

A fully associative cache of that capacity that replaces what was used least recently would still hold them: Mattson, Gecsei, Slutz and Traiger,
"Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970. Whether a real cache does is for the reader of the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Touch", "reuse_distances"]

#: Entries of the stack that are looked at for one touch; what was not found among so many is far away.
_LONGEST_WALK = 1000
#: A stretch counts as found once this part of it was; tiles of a loop rarely add up to the byte.
_COVERED = 0.95


class Touch(NamedTuple):
    """Bytes `first` ≤ b < `last` of a buffer, of which `size_bytes` distinct ones are read or written."""

    buffer: int
    first: int
    last: int
    size_bytes: int


def reuse_distances(touches: Sequence[Touch], *, ring: bool = True) -> list[int]:
    """Distance in bytes of every touch, its own bytes included; everything touched so far for what comes up for the first time.

    Args:
        touches: in order of execution.
        ring: whether the sequence repeats, so that what is first touched was last touched in the turn before.

    >>> a, b = Touch(1, 0, 100, 100), Touch(2, 0, 50, 50)
    >>> reuse_distances([a, b, a])
    [100, 150, 150]
    >>> reuse_distances([a, b, a], ring=False)
    [100, 150, 150]
    """
    stack: dict[tuple[int, int, int], int] = {}
    if ring:
        for touch in touches:
            _push(stack, touch)
    distances = []
    for touch in touches:
        distances.append(_depth(stack, touch))
        _push(stack, touch)
    return distances


def _push(stack: dict[tuple[int, int, int], int], touch: Touch) -> None:
    key = (touch.buffer, touch.first, touch.last)
    stack.pop(key, None)
    stack[key] = touch.size_bytes


def _depth(stack: dict[tuple[int, int, int], int], touch: Touch) -> int:
    """Bytes touched since all of this was last touched; everything so far if it was not."""
    wanted, covered, depth = _COVERED * (touch.last - touch.first), 0, 0
    for walked, ((buffer, first, last), size_bytes) in enumerate(reversed(stack.items())):
        depth += size_bytes
        if buffer == touch.buffer:
            covered += max(0, min(last, touch.last) - max(first, touch.first))
            if covered >= wanted:
                return max(depth, touch.size_bytes)
        if walked >= _LONGEST_WALK:
            break
    known = (touch.buffer, touch.first, touch.last) in stack
    return sum(stack.values()) + (0 if known else touch.size_bytes)
