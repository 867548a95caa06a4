"""`hooks`: the functions that transformed code calls, each doing exactly what the expression it stands for does.

A hook asks first whether an array takes part. If not, it does the operation and counts; if so, the operation is an event of the recorder.
"""

from __future__ import annotations

import operator
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .capture import Seen, seen_call, seen_operator, seen_store
from .elision import IN_PLACE, reusable
from .recorder import LONG_NS, Recorder
from .transform import BINARY, COMPARE, UNARY

__all__ = ["hooks"]

Hook = Callable[..., Any]

_UFUNC = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder", "pow": "power",
    "matmul": "matmul", "lshift": "left_shift", "rshift": "right_shift", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal", "neg": "negative",
    "pos": "positive", "invert": "invert",
}  # fmt: skip
#: Builtins that look at no element of an array, and classes that make a number.
_CHEAP = frozenset(
    map(id, (len, range, isinstance, issubclass, hasattr, getattr, setattr, delattr, callable, id, ord, chr, iter, next, enumerate, zip, map, filter,
             reversed, slice, int, float, bool, complex, property, staticmethod, classmethod, object, print, repr, format, hash,
             time.perf_counter, time.perf_counter_ns, time.monotonic, time.time))
)  # fmt: skip
_CONTAINERS = (list, dict, set, tuple, str, bytes, bytearray, frozenset)
_BASIC = frozenset({int, slice, type(None), type(Ellipsis), bool})
# Besides the two references of a direct call: the hook's caller hands its own over, and the hook's frame keeps one.
_HELD = 1


def hooks(recorder: Recorder) -> dict[str, Hook]:
    """All hooks by their short names."""
    found: dict[str, Hook] = {"slice": slice, "load_attribute": _load_attribute}
    for name in (*BINARY.values(), *COMPARE.values()):
        found[name] = _binary(recorder, name)
    for name in UNARY.values():
        found[name] = _unary(recorder, name)
    for name in BINARY.values():
        inplace = "i" + name.rstrip("_")
        found[inplace] = _inplace(recorder, inplace, name)
        found["store_" + inplace] = _store(recorder, found[inplace])
    return found | _item_hooks(recorder) | {"call": _call(recorder)}


def _binary(recorder: Recorder, name: str) -> Hook:
    function, kinds, hits = getattr(operator, name), recorder.kinds, recorder.hits
    inplace = IN_PLACE[name][0] if name in IN_PLACE else None
    describe = _described(recorder, f"numpy.{_UFUNC[name]}")

    def hook(site: int, left: Any, right: Any, /) -> Any:
        if not (kinds[type(left)] or kinds[type(right)]):
            hits[site] += 1
            return function(left, right)
        target = reusable(name, left, right, _HELD) if inplace is not None else None
        if target is not None and inplace is not None:
            return recorder.measured(site, inplace, (left, right, target), describe, (left, right))
        return recorder.measured(site, function, (left, right), describe, (left, right))

    return hook


def _unary(recorder: Recorder, name: str) -> Hook:
    function, kinds, hits = getattr(operator, name), recorder.kinds, recorder.hits
    describe = _described(recorder, f"numpy.{_UFUNC[name]}")

    def hook(site: int, value: Any, /) -> Any:
        if not kinds[type(value)]:
            hits[site] += 1
            return function(value)
        return recorder.measured(site, function, (value,), describe, (value,))

    return hook


def _inplace(recorder: Recorder, inplace: str, name: str) -> Hook:
    function, kinds, hits = getattr(operator, inplace), recorder.kinds, recorder.hits
    describe = _described(recorder, f"numpy.{_UFUNC[name]}")

    def hook(site: int, left: Any, right: Any, /) -> Any:
        if not (kinds[type(left)] or kinds[type(right)]):
            hits[site] += 1
            return function(left, right)
        return recorder.measured(site, function, (left, right), describe, (left, right))

    return hook


def _described(recorder: Recorder, kind: str) -> Callable[[tuple[Any, ...], Any], Seen]:
    return lambda operands, result: seen_operator(kind, operands, result, recorder.kinds, recorder.blocks)


class _Attribute:
    """A loaded `owner.name`, to be stored back."""

    __slots__ = ("name", "owner", "value")

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self.owner, self.name, self.value = owner, name, value

    def store(self, site: int, value: Any) -> None:
        setattr(self.owner, self.name, value)


class _Item:
    """A loaded `container[index]`, to be stored back by a hook or, without one, directly."""

    __slots__ = ("container", "hook", "index", "value")

    def __init__(self, container: Any, index: Any, value: Any, hook: Hook | None) -> None:
        self.container, self.index, self.value, self.hook = container, index, value, hook

    def store(self, site: int, value: Any) -> None:
        if self.hook is None:
            self.container[self.index] = value
        else:
            self.hook(site, value, self.container, self.index)


def _load_attribute(owner: Any, name: str, /) -> _Attribute:
    return _Attribute(owner, name, getattr(owner, name))


def _store(recorder: Recorder, inplace: Hook) -> Hook:
    def hook(site: int, loaded: Any, right: Any, /) -> None:
        loaded.store(site, inplace(site, loaded.value, right))

    return hook


def _item_hooks(recorder: Recorder) -> dict[str, Hook]:
    kinds, hits, blocks = recorder.kinds, recorder.hits, recorder.blocks
    taken = _described(recorder, "numpy.take")

    def stored(operands: tuple[Any, ...], _: Any) -> Seen:
        container, index, value = operands
        if kinds[type(container)] == kinds.TORCH:
            return Seen(kind="torch.setitem")
        return seen_store(container, index, value, kinds, recorder.blocks)

    def getitem(site: int, container: Any, index: Any, /) -> Any:
        if not kinds[type(container)] or _is_basic(index):
            hits[site] += 1
            return container[index]
        operands = (container, *(index if type(index) is tuple else (index,)))
        return recorder.measured(site, operator.getitem, (container, index), taken, operands)

    def setitem(site: int, value: Any, container: Any, index: Any, /) -> None:
        if not kinds[type(container)] or _is_element(index, container):
            hits[site] += 1
            if blocks.wanted and kinds[type(container)]:
                blocks.poke(container)
            container[index] = value
            return
        recorder.measured(site, operator.setitem, (container, index, value), stored, (container, index, value))

    def load_item(site: int, container: Any, index: Any, /) -> _Item:
        # numpy sees that a slice is stored onto itself and copies nothing, so only a scatter is an operation.
        moves = bool(kinds[type(container)]) and not _is_basic(index)
        if blocks.wanted and kinds[type(container)] and _is_element(index, container):
            blocks.poke(container)
        return _Item(container, index, getitem(site, container, index), setitem if moves else None)

    return {"getitem": getitem, "setitem": setitem, "load_item": load_item}


def _is_basic(index: Any) -> bool:
    """Whether an index makes a view or picks one element, so that no array of elements is moved."""
    if type(index) is tuple:
        return all(type(part) in _BASIC or isinstance(part, np.integer) for part in index)
    return type(index) in _BASIC or isinstance(index, np.integer)


def _is_element(index: Any, container: Any) -> bool:
    """Whether an index picks one element."""
    if type(index) is tuple:
        return len(index) == container.ndim and all(isinstance(part, int | np.integer) for part in index)
    return isinstance(index, int | np.integer) and container.ndim == 1


def _call(recorder: Recorder) -> Hook:
    kinds, hits, files, is_user = recorder.kinds, recorder.hits, recorder.sites.files, recorder.is_user
    clock, long_ns = time.perf_counter_ns, LONG_NS

    def call(site: int, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if (type(function) is types.FunctionType and function.__code__.co_filename in files) or id(function) in _CHEAP or is_user(function):
            hits[site] += 1
            return function(*args, **kwargs)
        tape = recorder.tape()
        outer, tape.nested_ns = tape.nested_ns, 0
        thread, process = (time.thread_time_ns(), time.process_time_ns()) if site in recorder.slow else (-1, -1)
        start = clock()
        try:
            result = function(*args, **kwargs)
        except BaseException:
            tape.nested_ns += outer
            raise
        end = clock()
        if thread >= 0:
            process, thread = time.process_time_ns() - process, time.thread_time_ns() - thread
        if not (end - start >= long_ns or site in recorder.loud or _touches_arrays(kinds, function, args, kwargs, result)):
            hits[site] += 1
            tape.nested_ns += outer
            return result
        inner, tape.nested_ns = tape.nested_ns, outer + end - start
        seen = seen_call(function, args, kwargs, result, kinds, recorder.blocks, is_user) if recorder.detail else None
        tape.add(site, start, end, inner, thread, process, seen)
        return result

    return call


def _touches_arrays(kinds: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> bool:
    """Whether a call works on arrays: one is given, returned, or owns the method. Putting one into a container does not count."""
    owner = getattr(function, "__self__", None)
    if owner is not None:
        if isinstance(owner, _CONTAINERS):
            return False
        if kinds[type(owner)]:
            return getattr(function, "__name__", "") != "item"
    if kinds[type(result)]:
        return True
    return any(kinds[type(value)] for value in args) or any(kinds[type(value)] for value in kwargs.values())
