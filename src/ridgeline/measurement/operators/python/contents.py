"""How many Python objects lie in the containers that a call was given or gave back, as far as a quick look tells.

A list of a million numbers is counted by its length; what is inside containers is estimated from a few of them, spread over it. What a call made and
threw away, and what an iterator would have given, is not seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

__all__ = ["objects_in"]

_CONTAINERS = (list, tuple, dict, set, frozenset, deque)
#: Items of a container that are looked into, and how deep.
_LOOKED_INTO, _DEEPEST = 8, 4


def objects_in(values: Iterable[Any]) -> int:
    """Objects in the containers among some values; numbers, texts, arrays and objects of other classes hold none.

    >>> objects_in([[1, 2, 3], "text", {"a": [1, 2]}]), objects_in([b"x" * 8_000_000])
    (6, 0)
    """
    return round(sum(_held(value, 0) for value in values))


def _held(value: Any, depth: int) -> float:
    if isinstance(value, range):
        return float(max(0, (value.stop - value.start) // value.step))
    if type(value) not in _CONTAINERS or not value or depth >= _DEEPEST:
        return 0.0
    items = _some(value)
    return len(value) * (1.0 + sum(_held(item, depth + 1) for item in items) / len(items))


def _some(value: Any) -> list[Any]:
    """A few items spread over a list or tuple; the first ones of what has no order to pick from."""
    if isinstance(value, list | tuple):
        return list(value[:: max(1, len(value) // _LOOKED_INTO)][:_LOOKED_INTO])
    inside = iter(value.values()) if isinstance(value, dict) else iter(value)
    return [item for item, _ in zip(inside, range(_LOOKED_INTO), strict=False)]
