"""What a Python workload holds on to: objects of a type in its closure, its defaults, the object it is bound to, and the module it lives in.

A bounded walk over plain containers; it calls nothing of the program.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any, TypeVar

from ..prepared import Prepared, PythonFlavour

__all__ = ["reachable"]

T = TypeVar("T")

_DEEPEST = 5
_MOST = 20_000


def reachable(prepared: Prepared, kind: type[T]) -> list[T]:
    """Objects of `kind` that the workload can reach, each once, nearest first; none for a target that is no Python function."""
    flavour = prepared.flavour
    if not isinstance(flavour, PythonFlavour):
        return []
    found: dict[int, T] = {}
    seen: set[int] = set()
    waiting: list[tuple[Any, int]] = [(flavour.workload, 0), (flavour.function, 0), (vars(flavour.module), 0)]
    while waiting and len(seen) < _MOST:
        value, depth = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, kind):
            found[id(value)] = value
            continue
        if depth < _DEEPEST:
            waiting += [(item, depth + 1) for item in _held(value)]
    return list(found.values())


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from list(value)
    elif isinstance(value, types.MethodType):
        yield value.__self__
        yield value.__func__
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, types.FunctionType):
        yield from (value.__defaults__, value.__kwdefaults__)
        yield from _cells(value)
    elif not isinstance(value, type | types.ModuleType | str | bytes | int | float) and isinstance(getattr(value, "__dict__", None), dict):
        yield value.__dict__


def _cells(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
