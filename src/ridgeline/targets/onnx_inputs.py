"""Inputs of a model: read from files, or generated with shapes and values on which a model of that kind can run.

A generated input is a guess about the values, and an assumed size one about the shape; both are said in cautions, since time may depend on either.
Sizes that the model leaves open are bound by `--shape`, batch-like ones are 1, and for the others a few usual sizes are tried until the model runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Caution, UsageError

from .input_slot import InputSlot
from .inputs import Inputs
from .onnx_files import fitting, read_each
from .spec import TargetSpec

__all__ = ["Feeds", "feeds_for", "trial_feeds"]

_SAMPLE_RATE = 16_000
_TOKENS = 100
#: Sizes tried for open axes, best guess first: pictures, audio, and sequences of tokens or features.
_HEIGHT = (224, 48, 320, 640, 32)
_WIDTH = (224, 320, 320, 640, 100)
_AUDIO = (512, 576, 16_000, 1024, 128)
_SEQUENCE = (128, 64, 512, 16, 1)
_ATTEMPTS = 5
_MOST_BYTES = 2**34
_BATCH = re.compile(r"(^|[^a-z])(n|b|bs|batch|batch_?size)($|[^a-z])|batch", re.IGNORECASE)
_STATE = re.compile(r"(^|[^a-z])(h|c|h0|c0|hx|cx|hn|cn|state|hidden|cell|past|cache|memory)", re.IGNORECASE)
_LENGTHS = re.compile(r"(^|_|\.)(len|length|lengths|seq_len|num_?frames)($|_|\.)", re.IGNORECASE)
_RATE = re.compile(r"^(sr|sample_?rate|sampling_?rate)$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Feeds:
    """Arrays for one call, and for others where there are many inputs.

    Attributes:
        arrays: of the first input.
        each: name of an input → its arrays; the first among them. Empty where inputs are generated.
        descriptions: such as `x: float32[1,3,224,224] (synthetic)`.
        guesses: axis → size, where a size was guessed and another may have to be tried.
    """

    arrays: dict[str, NDArray[Any]]
    descriptions: tuple[str, ...]
    cautions: tuple[Caution, ...] = ()
    guesses: dict[str, int] = field(default_factory=dict)
    each: dict[str, dict[str, NDArray[Any]]] = field(default_factory=dict)

    def of_one_shape(self) -> bool:
        """Whether all inputs have the shapes of the first."""
        shapes = {name: array.shape for name, array in self.arrays.items()}
        return all({name: array.shape for name, array in other.items()} == shapes for other in self.each.values())

    def inputs(self, given: dict[Any, NDArray[Any]], keys: Sequence[Any]) -> Inputs | None:
        """Inputs to select from, `None` where there is one.

        Args:
            given: what every call reads; changed when another input is selected.
            keys: in `given`, of the arrays in the order of the model's inputs.
        """
        if len(self.each) < 2:
            return None
        choices = [dict(zip(keys, arrays.values(), strict=True)) for arrays in self.each.values()]
        return Inputs(names=tuple(self.each), select=lambda number: given.update(choices[number]))


def feeds_for(slots: Sequence[InputSlot], spec: TargetSpec, attempt: int = 0) -> Feeds:
    """Arrays for every input: from `spec.input` or the function `spec.inputs` where one is given, else generated.

    Args:
        attempt: which of the usual sizes to take for open axes, from 0.

    Raises:
        UsageError: a file or shape that does not fit the model.
    """
    if spec.input is not None or spec.inputs:
        return _given(slots, spec)
    bound = _Bound(slots, spec, attempt)
    rng = np.random.default_rng(spec.seed)
    shapes = {slot.name: bound.shape(slot) for slot in slots}
    _refuse_unused(spec, bound)
    _refuse_memory(slots, shapes)
    arrays = {slot.name: _generated(slot, shapes[slot.name], shapes, rng) for slot in slots}
    _refuse_empty(slots, arrays)
    descriptions = tuple(f"{_described(name, array)} (synthetic)" for name, array in arrays.items())
    return Feeds(arrays=arrays, descriptions=descriptions, cautions=_cautions(arrays, bound), guesses=bound.guesses)


def _given(slots: Sequence[InputSlot], spec: TargetSpec) -> Feeds:
    if spec.shapes:
        raise UsageError("--input or --shape", found="both", remedy="leave out --shape: the files have their own")
    cautions: list[Caution] = []
    each = read_each(spec.input, slots) if spec.input is not None else _made(slots, spec, cautions)
    for arrays in each.values():
        _refuse_empty(slots, arrays)
        cautions += [] if cautions else _not_finite(arrays)
    first = next(iter(each.values()))
    more = f", the first of {len(each)}" if len(each) > 1 else ""
    descriptions = tuple(_described(name, array) + more for name, array in first.items())
    return Feeds(arrays=dict(first), each=each, descriptions=descriptions, cautions=tuple(cautions))


def _made(slots: Sequence[InputSlot], spec: TargetSpec, cautions: list[Caution]) -> dict[str, dict[str, NDArray[Any]]]:
    """Inputs that a function of the user returns: each the array of the only input, or a dict input → array."""
    from .functions import load_function
    from .inputs import gathered

    place = os.path.basename(spec.inputs)
    chosen = gathered(load_function(spec.inputs)(), place)
    cautions += chosen.cautions
    each = {}
    for name, item in chosen.items.items():
        given = item if isinstance(item, Mapping) else {slots[0].name: item} if len(slots) == 1 else None
        if given is None:
            names = ", ".join(slot.name for slot in slots)
            raise UsageError(f"a dict of the inputs {names}", found=f"a {type(item).__name__} as input {name} of {place}", remedy="return dicts")
        each[name] = fitting({str(key): np.asarray(array) for key, array in given.items()}, slots, f"input {name} of {place}")
    return each


def trial_feeds(slots: Sequence[InputSlot], spec: TargetSpec, first: Feeds, attempt: Callable[[dict[str, NDArray[Any]]], str]) -> Feeds:
    """The first of the usual sizes on which the model runs.

    Args:
        first: the feeds of attempt 0.
        attempt: runs the model; empty, or why it does not run.

    Raises:
        UsageError: it runs on none of them; `found` has the reason of the first.
    """
    feeds, reason = first, ""
    for number in range(_ATTEMPTS):
        if number:
            feeds = feeds_for(slots, spec, number)
        why = attempt(feeds.arrays)
        if not why:
            return feeds
        reason = reason or why
    guesses = ", ".join(first.guesses)
    raise UsageError(
        f"sizes for {guesses} on which the model runs", found=reason, remedy="give them with --shape NAME=1x3x224x224, or data with --input"
    )


class _Bound:
    """Sizes for axes: what `--shape` says, 1 for batch-like ones, a usual size for the rest."""

    def __init__(self, slots: Sequence[InputSlot], spec: TargetSpec, attempt: int) -> None:
        self._slots, self._given, self._attempt = slots, spec.shapes, attempt
        self.symbols: dict[str, int] = {}
        self.used: set[str] = set()
        self.assumed: dict[str, int] = {}
        self.guesses: dict[str, int] = {}
        # A full shape binds the symbols in it for the other inputs as well.
        for slot in slots:
            for name, size in zip(slot.shape, self._given.get(slot.name, ()), strict=False):
                if isinstance(name, str) and name.isidentifier():
                    self.symbols.setdefault(name, size)

    def shape(self, slot: InputSlot) -> tuple[int, ...]:
        given = self._given.get(slot.name)
        if given is not None and not (len(given) == 1 and slot.name in slot.shape):
            self.used.add(slot.name)
            return _checked(slot, given)
        return tuple(size if isinstance(size, int) else self._open(slot, axis, size) for axis, size in enumerate(slot.shape))

    def _open(self, slot: InputSlot, axis: int, symbol: str | None) -> int:
        if symbol in self._given and len(self._given[symbol]) == 1:
            self.used.add(symbol)
            return self._given[symbol][0]
        # Exporters write ? or unk__7 where they know no name.
        named = symbol is not None and symbol not in {"", "?"} and not symbol.startswith("unk__")
        if named and symbol in self.symbols:
            return self.symbols[symbol]
        size, sure = self._assumed(slot, axis, symbol or "")
        label = symbol if named and symbol else f"{slot.name}[{axis}]"
        self.assumed[label] = size
        if not sure:
            self.guesses[label] = size
        if named and symbol:
            self.symbols[symbol] = size
        return size

    def _assumed(self, slot: InputSlot, axis: int, symbol: str) -> tuple[int, bool]:
        """A size, and whether another need never be tried."""
        rank = len(slot.shape)
        if "past" in symbol.lower() and "+" not in symbol:
            return 0, False
        if (axis == 0 and not re.search("seq|len|time|frame", symbol, re.IGNORECASE)) or (symbol and _BATCH.search(symbol)):
            return 1, True
        if _STATE.search(slot.name):
            return 1, False
        if rank == 4:
            return (_WIDTH if axis == 3 or (isinstance(slot.shape[3], int) and axis == 2) else _HEIGHT)[self._attempt], False
        if axis == 0:
            return _SEQUENCE[self._attempt], False
        if (rank == 2 and slot.kind == "tensor(float)") or re.search("audio|wav|speech", slot.name, re.IGNORECASE):
            return _AUDIO[self._attempt], False
        return _SEQUENCE[self._attempt], False


def _checked(slot: InputSlot, given: tuple[int, ...]) -> tuple[int, ...]:
    fits = len(given) == len(slot.shape) and all(not isinstance(size, int) or size == own for size, own in zip(slot.shape, given, strict=True))
    if not fits:
        wanted = "x".join("?" if size is None else str(size) for size in slot.shape) or "no axes"
        raise UsageError(f"a shape of {slot.name} that fits {wanted}", found="x".join(map(str, given)), remedy="change only the open sizes")
    return given


def _refuse_unused(spec: TargetSpec, bound: _Bound) -> None:
    _refuse_twice([name for name in spec.shapes if name not in bound.used and name in bound.symbols], spec, bound)
    unused = sorted(set(spec.shapes) - bound.used)
    if unused:
        names = sorted({slot.name for slot in bound._slots} | {str(size) for slot in bound._slots for size in slot.shape if isinstance(size, str)})
        raise UsageError(f"shapes for inputs or symbols of the model: {', '.join(names)}", found=", ".join(unused), remedy="check the names")


def _refuse_twice(symbols: Sequence[str], spec: TargetSpec, bound: _Bound) -> None:
    """A symbol that the shapes of inputs have bound already: superfluous where both agree, a contradiction where not."""
    for symbol in symbols:
        if len(spec.shapes[symbol]) != 1:
            found = "x".join(map(str, spec.shapes[symbol]))
            raise UsageError(f"one size for {symbol}, an axis of the model", found=found, remedy=f"write --shape {symbol}=8")
        own = [slot.name for slot in bound._slots if symbol in slot.shape and slot.name in spec.shapes]
        if spec.shapes[symbol] != (bound.symbols[symbol],):
            found = f"{'x'.join(map(str, spec.shapes[symbol]))}, and {bound.symbols[symbol]} in the shape of {', '.join(own)}"
            raise UsageError(f"one size for {symbol}", found=found, remedy="leave one of the two --shape out")
        bound.used.add(symbol)


def _refuse_empty(slots: Sequence[InputSlot], arrays: dict[str, NDArray[Any]]) -> None:
    """An input without elements measures nothing; a state of length 0, as before the first token, is meant so."""
    for slot in slots:
        axes = [axis for axis, size in enumerate(arrays[slot.name].shape) if size == 0]
        meant = _STATE.search(slot.name) or any(slot.shape[axis] == 0 or "past" in str(slot.shape[axis]).lower() for axis in axes)
        if axes and not meant:
            shape = "x".join(map(str, arrays[slot.name].shape))
            raise UsageError(f"elements in the input {slot.name}", found=f"none: its shape is {shape}", remedy="give sizes of at least 1")


def _not_finite(arrays: dict[str, NDArray[Any]]) -> tuple[Caution, ...]:
    names = [name for name, array in arrays.items() if array.dtype.kind == "f" and not np.isfinite(array).all()]
    if not names:
        return ()
    message = f"NaN or infinity in the data of {', '.join(names)}"
    return (Caution(code="nan-input", message=message, effect="what depends on the values may take another time than on real data"),)


def _refuse_memory(slots: Sequence[InputSlot], shapes: dict[str, tuple[int, ...]]) -> None:
    for slot in slots:
        elements = 1
        for size in shapes[slot.name]:
            elements *= size
        if elements * np.dtype(slot.dtype).itemsize > _MOST_BYTES:
            raise UsageError(
                f"inputs of at most {_MOST_BYTES} bytes", found=f"{slot.name} of shape {shapes[slot.name]}", remedy="give a smaller shape"
            )


def _generated(slot: InputSlot, shape: tuple[int, ...], shapes: dict[str, tuple[int, ...]], rng: np.random.Generator) -> NDArray[Any]:
    """Values that a model can do something with, by element type and name; `shape` () is a scalar."""
    kind = np.dtype(slot.dtype)
    name = slot.name.lower()
    if kind.kind == "f":
        return np.asarray(rng.standard_normal(shape), dtype=kind)
    if kind.kind == "O":
        return np.full(shape, "text", dtype=object)
    if kind.kind == "b":
        return np.full(shape, "cache" not in name, dtype=bool)
    if _RATE.fullmatch(name):
        return np.full(shape, _SAMPLE_RATE, dtype=kind)
    if "mask" in name:
        return np.ones(shape, dtype=kind)
    if "token_type" in name or "segment" in name:
        return np.zeros(shape, dtype=kind)
    if "position" in name and shape:
        return np.broadcast_to(np.arange(shape[-1]), shape).astype(kind)
    if _LENGTHS.search(name):
        return np.full(shape, _longest(slot, shapes), dtype=kind)
    if not shape or shape == (1,):
        return np.ones(shape, dtype=kind)
    highest = 256 if kind == np.uint8 else 128 if kind == np.int8 else _TOKENS
    return rng.integers(0, highest, shape).astype(kind)


def _longest(slot: InputSlot, shapes: dict[str, tuple[int, ...]]) -> int:
    """A sequence length that holds for every other input: the shortest of their second axes."""
    seconds = [shape[1] for name, shape in shapes.items() if name != slot.name and len(shape) >= 2]
    return max(1, min(seconds, default=1))


def _described(name: str, array: NDArray[Any]) -> str:
    return f"{name}: {'string' if array.dtype.kind == 'O' else array.dtype}[{','.join(map(str, array.shape))}]"


def _cautions(arrays: dict[str, NDArray[Any]], bound: _Bound) -> tuple[Caution, ...]:
    if not arrays:
        return ()
    message = "inputs are generated, not data" + "".join(
        f"; {name} is the sample rate {_SAMPLE_RATE}" for name, array in arrays.items() if _RATE.fullmatch(name.lower()) and array.dtype.kind in "iu"
    )
    if bound.assumed:
        sizes = ", ".join(f"{name} = {size}" for name, size in bound.assumed.items())
        message += f"; assumed sizes: {sizes} (bind them with --shape)"
    effect = "work that depends on the data or its size can take another time on real data"
    return (Caution(code="synthetic-input", message=message, effect=effect),)
