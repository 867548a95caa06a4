"""The values inside a result: where a device's tensor or a future may hide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["leaves_of", "wait_each"]

_DEEPEST = 6
_MOST = 2000


def leaves_of(result: Any) -> Iterator[Any]:
    """Values inside a result, itself included, up to a depth and a number; lists, tuples, dicts, sets and dataclasses are looked into."""
    stack, seen = [(result, 0)], 0
    while stack and seen < _MOST:
        value, depth = stack.pop()
        seen += 1
        yield value
        if depth < _DEEPEST:
            stack += [(item, depth + 1) for item in _items(value)]


def wait_each(belongs: Callable[[Any], bool], wait: Callable[[Any], Any]) -> Callable[[Any], None]:
    """A function that waits for every value of a kind inside a result."""

    def wait_for(value: Any) -> None:
        if belongs(value):  # the usual case, without a walk
            wait(value)
            return
        for leaf in leaves_of(value):
            if belongs(leaf):
                wait(leaf)

    return wait_for


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple | set | frozenset):
        return [*value][:_MOST]
    if isinstance(value, Mapping):
        return [*value.values()][:_MOST]
    # As dataclasses.fields says it, without importing that module for those who have none; of the class, since a stranger answers for its instances.
    if not isinstance(value, type) and isinstance(fields := getattr(type(value), "__dataclass_fields__", None), dict):
        return [getattr(value, name, None) for name in fields]
    return ()
