"""`Capture`: what an operation saw, taken down while its arguments are still there, without keeping any array alive.

A block of memory is known by address and size. An address that the allocator hands out again is the same physical memory, and so the same block here
(what a cache remembers is the memory, not the array); that its content is new is told by `fresh`. Views share the block of their base.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import msgspec
import numpy as np

from ridgeline.work.numpy import ArrayFacts

from .contents import objects_in
from .identity import fingerprint, known_arguments
from .kinds import Kinds
from .naming import kind_of

__all__ = ["Blocks", "Seen", "array_facts", "arrays_in", "seen_call", "seen_operator", "seen_store"]

#: Longest list or tuple of arguments that is searched for arrays: `concatenate` of more than that counts the first ones only.
_LONGEST = 256
#: Longest list or tuple of small arguments that is taken down.
_MOST_PLAIN = 32
#: Captures of one call of the target that take down arguments and fingerprints.
MOST_CAREFUL = 20_000
_COMPILED = (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
_GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, map, filter, zip, enumerate)


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One operation without its arrays.

    Args:
        kind: such as `numpy.add`.
        inputs, outputs: arrays in order of the arguments; what is only written (`out=`) is among the outputs.
        options: small arguments that decide the work: keywords by name, `args` the positional ones with `None` for arrays.
        calls_back: whether it was given code of the user to run.
        arrays: whether any array took part.
        arguments: what it was given besides arrays; `None` where that was not taken down or cannot be compared.
        prints: fingerprints of the inputs' contents, in their order; empty where none were taken.
        objects: Python objects in the containers of a call of library code; `None` for other operations.
        native: whether it is a call of a function that is compiled.
    """

    kind: str
    inputs: tuple[ArrayFacts, ...] = ()
    outputs: tuple[ArrayFacts, ...] = ()
    options: dict[str, Any] = {}
    calls_back: bool = False
    arrays: bool = True
    arguments: Hashable | None = None
    prints: tuple[Hashable, ...] = ()
    objects: int | None = None
    native: bool = False


class Blocks:
    """Numbers for blocks of memory, in order of first sight.

    Attributes:
        wanted: whether captures take down arguments and fingerprints, by which repeated work is told.
        left: how many more captures may, since it costs more than a small operation.
        poked: blocks of which single elements were stored.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}
        self.wanted, self.left = True, MOST_CAREFUL
        self.poked: set[int] = set()

    def number(self, address: int, size_bytes: int) -> int:
        """The number of a block."""
        return self._numbers.setdefault((address, size_bytes), len(self._numbers))

    @property
    def careful(self) -> bool:
        """Whether the next capture takes down arguments and fingerprints."""
        return self.wanted and self.left > 0

    def poke(self, array: Any) -> None:
        """An element of a numpy array was stored, which is no event of its own."""
        if isinstance(array, np.ndarray):
            root = root_of(array)
            self.poked.add(self.number(root.__array_interface__["data"][0], int(root.nbytes)))


def root_of(array: Any) -> Any:
    """The array that a view is a view of, itself if of none."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def array_facts(array: Any, blocks: Blocks, known: Iterable[int] = ()) -> ArrayFacts:
    """Facts of one array; it is fresh when its block owns its memory and is not one of the `known` root objects (ids)."""
    root = root_of(array)
    size = int(root.nbytes)
    start = root.__array_interface__["data"][0]
    return ArrayFacts(
        shape=array.shape,
        dtype=array.dtype.name,
        item_bytes=array.dtype.itemsize,
        strides=array.strides,
        buffer=blocks.number(start, size),
        buffer_bytes=size,
        offset=array.__array_interface__["data"][0] - start,
        fresh=bool(root.flags.owndata) and id(root) not in known,
    )


def arrays_in(values: Iterable[Any], kinds: Kinds) -> list[Any]:
    """numpy arrays among values, and in lists and tuples among them."""
    found: list[Any] = []
    for value in values:
        if kinds[type(value)] == kinds.NUMPY:
            found.append(value)
        elif type(value) in (list, tuple):
            found.extend(item for item in value[:_LONGEST] if kinds[type(item)] == kinds.NUMPY)
    return found


def seen_operator(kind: str, operands: tuple[Any, ...], result: Any, kinds: Kinds, blocks: Blocks) -> Seen:
    """An operator between values of which at least one is an array."""
    if any(kinds[type(value)] == kinds.TORCH for value in (*operands, result)):
        return Seen(kind="torch." + kind.removeprefix("numpy."))
    inputs = arrays_in(operands, kinds)
    arguments = known_arguments(operands, kinds) if blocks.careful else None
    return _seen(kind, inputs, inputs, arrays_in((result,), kinds), {"args": _small(operands, kinds)}, blocks, arguments=arguments)


def seen_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, kinds: Kinds, blocks: Blocks, user: Callable[[Any], bool]
) -> Seen:
    """A call of library code."""
    kind = kind_of(function)
    owner = getattr(function, "__self__", None)
    values = (*args, *kwargs.values())
    if any(kinds[type(value)] == kinds.TORCH for value in (*values, owner, result)):
        return Seen(kind=kind if kind.startswith("torch.") else f"torch.{kind.rpartition('.')[2]}")
    calls_back = isinstance(function, np.vectorize) or any(user(value) or isinstance(value, _GENERATORS) for value in values)
    written = arrays_in((kwargs.get("out"),), kinds)
    method = [owner] if kinds[type(owner)] == kinds.NUMPY else []
    given = method + arrays_in(args, kinds)
    if function is np.copyto and len(args) > 1:
        written, given = arrays_in(args[:1], kinds), arrays_in(args[1:], kinds)
    if isinstance(function, np.ufunc) and len(args) > function.nin:
        written += arrays_in(args[function.nin :], kinds)
        given = arrays_in(args[: function.nin], kinds)
    inputs = given + arrays_in((value for name, value in kwargs.items() if name != "out"), kinds)
    outputs = arrays_in((result,), kinds) or written
    options = {"args": ((None,) if method else ()) + _small(args, kinds)} | {n: _small((v,), kinds)[0] for n, v in kwargs.items() if n != "out"}
    options["method"] = bool(method)
    arguments = _arguments(owner, args, kwargs, kinds) if blocks.careful and not calls_back else None
    found = _seen(kind, inputs, [*inputs, *written], outputs, options, blocks, calls_back=calls_back, arguments=arguments)
    # What the owner of a method holds (`names.sort()`) counts as given.
    return msgspec.structs.replace(found, objects=objects_in((owner, *values, result)), native=isinstance(function, _COMPILED))


def seen_store(target: Any, index: Any, value: Any, kinds: Kinds, blocks: Blocks) -> Seen:
    """`target[index] = value`: what is written is the part of the target behind the index."""
    whole = array_facts(target, blocks)
    entries = [np.asarray(entry) if type(entry) is list else entry for entry in (index if type(index) is tuple else (index,))]
    indices = arrays_in(entries, kinds)
    try:
        # With arrays an index makes a copy: what it picks is told from its shapes.
        part = msgspec.structs.replace(whole, shape=_picked(target, entries), strides=()) if indices else array_facts(target[index], blocks)
    except (AttributeError, IndexError, StopIteration, TypeError, ValueError):
        part = whole
    part, kind = msgspec.structs.replace(part, fresh=False), "numpy.put" if indices else "numpy.copyto"
    given = [*arrays_in((value,), kinds), *indices]
    inputs = tuple(array_facts(array, blocks, {id(root_of(array))}) for array in given)
    arguments = known_arguments((value,), kinds) if blocks.careful else None
    return Seen(kind=kind, inputs=inputs, outputs=(part,), arguments=arguments, prints=_prints(given, blocks))


def _picked(target: Any, index: list[Any]) -> tuple[int, int]:
    """Rows that an index with arrays picks, and elements of each that lie side by side: those of the axes behind the last array."""
    entries = list(index)
    axes = sum(entry.ndim if _is_mask(entry) else entry is not None and entry is not Ellipsis for entry in entries)
    if not any(entry is Ellipsis for entry in entries):
        entries.append(Ellipsis)
    place = next(number for number, entry in enumerate(entries) if entry is Ellipsis)
    entries[place : place + 1] = [slice(None)] * (target.ndim - axes)
    shapes, rows, row, axis = [], 1, 1, 0
    for entry in entries:
        if entry is None:
            continue
        if isinstance(entry, slice):
            row *= len(range(*entry.indices(target.shape[axis])))
        elif isinstance(entry, np.ndarray):
            shapes.append((int(np.count_nonzero(entry)),) if _is_mask(entry) else entry.shape)
            rows, row = rows * row, 1
        axis += entry.ndim if _is_mask(entry) else 1
    return rows * math.prod(np.broadcast_shapes(*shapes)), row


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, np.ndarray) and entry.dtype == bool


def _seen(
    kind: str,
    inputs: list[Any],
    known: list[Any],
    outputs: list[Any],
    options: dict[str, Any],
    blocks: Blocks,
    *,
    calls_back: bool = False,
    arguments: Hashable | None = None,
) -> Seen:
    roots = {id(root_of(array)) for array in known}
    return Seen(
        kind=kind,
        inputs=tuple(array_facts(array, blocks, roots) for array in inputs),
        outputs=tuple(array_facts(array, blocks, roots) for array in outputs),
        options=options,
        calls_back=calls_back,
        arrays=bool(inputs or outputs),
        arguments=arguments,
        prints=_prints(inputs, blocks),
    )


def _prints(arrays: list[Any], blocks: Blocks) -> tuple[Hashable, ...]:
    if not blocks.careful:
        return ()
    blocks.left -= 1
    return tuple(fingerprint(array) for array in arrays)


def _arguments(owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kinds: Kinds) -> Hashable | None:
    """All that a call was given: its owner where it is a method, its arguments, its keywords with their names."""
    given = () if owner is None or isinstance(owner, types.ModuleType | type) else (owner,)
    found = known_arguments((*given, *args, *kwargs.values()), kinds)
    return None if found is None else (found, tuple(kwargs))


def _small(values: tuple[Any, ...], kinds: Kinds) -> tuple[Any, ...]:
    return tuple(_plain(value, depth=2) for value in values)


def _plain(value: Any, depth: int) -> Any:
    """A number or text, or a short list of them (of axes, of pairs of axes) as a tuple; `None` for anything else."""
    if isinstance(value, bool | int | float | str):
        return value
    if type(value) not in (tuple, list) or len(value) > _MOST_PLAIN or not depth:
        return None
    items = tuple(_plain(item, depth - 1) for item in value)
    return None if None in items else items
