"""Useful work from the shapes that a trace records: FLOPs and compulsory bytes of matrix products and convolutions, by the operator's name.

Useful is what the mathematics asks for, whatever the hardware did: one multiply-add is two FLOPs; each input is read and each output written once.
Only operators whose shapes settle it are here; an attention may be causal, and a convolution needs its strides (`concrete` in `Timeline.texts`).
Source of the arguments' order: PyTorch's native functions (aten/src/ATen/native/native_functions.yaml); of 2MKN: the convention of
`torch.utils.flop_counter`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Timeline

from .events import events_of, is_kind
from .intervals import Ticks
from .nesting import outermost

__all__ = ["OperatorWork", "has_formula", "useful_work", "work_of_events"]

Shape = tuple[int, ...]
#: Larger than any dimension of a tensor; keeps a hostile file from making numbers that take long to multiply.
_MOST_LENGTH, _MOST_DIMENSIONS, _MOST_TEXT = 2**48, 16, 20_000
#: Bytes of an element by the names that PyTorch writes for C++ types.
_WIDTHS = {
    "double": 8, "float": 4, "c10::Half": 2, "c10::BFloat16": 2, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1, "c10::Float8_e4m3fnuz": 1,
    "c10::Float8_e5m2fnuz": 1, "long int": 8, "long": 8, "int": 4, "short": 2, "short int": 2, "signed char": 1, "unsigned char": 1, "char": 1,
    "bool": 1, "c10::complex<float>": 8, "c10::complex<double>": 16,
}  # fmt: skip


class OperatorWork(NamedTuple):
    """Of each event, shape (n,), NaN where shapes do not tell: FLOPs, and bytes read and written at the least."""

    flop: NDArray[np.float64]
    moved_bytes: NDArray[np.float64]


class _Product(NamedTuple):
    """What an operator computes: FLOPs, and the elements of its output; its inputs are the first `inputs` arguments."""

    flop: float
    output: int
    inputs: int


def has_formula(t: Timeline) -> NDArray[np.bool_]:
    """Which events are operators whose work follows from shapes, whether the file has them or not; shape (n,)."""
    named = np.array([name in _FORMULAS for name in t.strings], dtype=np.bool_)[t.name.values]
    return np.asarray(named & is_kind(events_of(t), "operator"))


def work_of_events(t: Timeline) -> OperatorWork:
    """FLOPs and compulsory bytes of each event whose shapes tell them, nested ones included: an operator and what it calls both have them."""
    work = OperatorWork(np.full(len(t), np.nan), np.full(len(t), np.nan))
    shapes = t.texts.get("shapes")
    if shapes is None or not len(t):
        return work
    name, shape = t.name.values, shapes.values
    chosen = np.flatnonzero(has_formula(t) & (shape >= 0))
    absent = np.full(len(t), -1)
    types, concrete = (t.texts[key].values if key in t.texts else absent for key in ("types", "concrete"))
    rows = np.stack([column[chosen].astype(np.int64) for column in (name, shape, types, concrete)], axis=1)
    unique, place = np.unique(rows, axis=0, return_inverse=True) if len(rows) else (rows, np.zeros(0, dtype=np.int64))
    values = np.array([_one(*(t.strings[at] if at >= 0 else "" for at in row)) for row in unique.tolist()]).reshape(-1, 2)
    work.flop[chosen], work.moved_bytes[chosen] = values[place.ravel(), 0], values[place.ravel(), 1]
    return work


def useful_work(t: Timeline, up: Ticks, work: OperatorWork) -> NDArray[np.bool_]:
    """Which events' FLOPs add up to those of the program: the outermost ones that have any, shape (n,)."""
    return outermost(up, np.isfinite(work.flop))


def _one(name: str, shapes: str, types: str, concrete: str) -> tuple[float, float]:
    """(FLOP, bytes) of one call, NaN where it does not tell."""
    sizes = _shapes(shapes)
    if sizes is None:
        return math.nan, math.nan
    try:
        product = _FORMULAS[name](sizes, _texts(concrete))
    except (IndexError, ValueError):
        return math.nan, math.nan
    return product.flop, _bytes(product, sizes, _texts(types))


def _bytes(product: _Product, sizes: Sequence[Shape | None], types: Sequence[str]) -> float:
    """Bytes of the inputs and of the output, which is as wide as the widest input."""
    widths = [_WIDTHS.get(each) for each in types[: product.inputs]]
    used = [(size, width) for size, width in zip(sizes, widths, strict=False) if size is not None and width is not None]
    if len(widths) < product.inputs or any(width is None and size for size, width in zip(sizes, widths, strict=False)) or not used:
        return math.nan
    return float(sum(math.prod(size) * width for size, width in used) + product.output * max(width for _, width in used))


def _decoded(text: str) -> list[object]:
    if len(text) > _MOST_TEXT:
        return []
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return []
    return found if isinstance(found, list) else []


def _shapes(text: str) -> list[Shape | None] | None:
    """One shape an argument, `None` for what is no tensor (lists of tensors among them)."""
    found = [_shape(each) for each in _decoded(text)]
    return found or None


def _shape(value: object) -> Shape | None:
    if not isinstance(value, list) or len(value) > _MOST_DIMENSIONS:
        return None
    fits = all(type(each) is int and 0 <= each <= _MOST_LENGTH for each in value)
    return tuple(value) if fits else None


def _texts(text: str) -> list[str]:
    return [each if isinstance(each, str) else "" for each in _decoded(text)]


def _tensor(sizes: Sequence[Shape | None], at: int, dimensions: int | None = None) -> Shape:
    size = sizes[at]
    if not size or (dimensions is not None and len(size) != dimensions):
        raise ValueError("no tensor of that shape")
    return size


def _matrices(a: Shape, b: Shape, inputs: int) -> _Product:
    """2MKN for each pair of matrices (…, M, K) and (…, K, N), batches broadcast against each other."""
    if a[-1] != b[-2]:
        raise ValueError("matrices that do not fit")
    batch = math.prod(_broadcast(a[:-2], b[:-2]))
    output = batch * a[-2] * b[-1]
    return _Product(2.0 * output * a[-1], output, inputs)


def _broadcast(a: Shape, b: Shape) -> Shape:
    length = max(len(a), len(b))
    pairs = zip((1,) * (length - len(a)) + a, (1,) * (length - len(b)) + b, strict=True)
    found = []
    for one, other in pairs:
        if one != other and 1 not in (one, other):
            raise ValueError("batches that do not fit")
        found.append(max(one, other) if 0 not in (one, other) else 0)
    return tuple(found)


def _mm(sizes: Sequence[Shape | None], _: Sequence[str]) -> _Product:
    return _matrices(_tensor(sizes, 0, 2), _tensor(sizes, 1, 2), 2)


def _bmm(sizes: Sequence[Shape | None], _: Sequence[str]) -> _Product:
    return _matrices(_tensor(sizes, 0, 3), _tensor(sizes, 1, 3), 2)


def _added(dimensions: int) -> Callable[[Sequence[Shape | None], Sequence[str]], _Product]:
    """The product of the second and third argument, added to the first: M × N multiply-adds of alpha and beta are not counted."""

    def formula(sizes: Sequence[Shape | None], _: Sequence[str]) -> _Product:
        return _matrices(_tensor(sizes, 1, dimensions), _tensor(sizes, 2, dimensions), 3)

    return formula


def _matmul(sizes: Sequence[Shape | None], _: Sequence[str]) -> _Product:
    a, b = _tensor(sizes, 0), _tensor(sizes, 1)
    return _matrices(a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1), 2)


def _linear(sizes: Sequence[Shape | None], _: Sequence[str]) -> _Product:
    x, weight = _tensor(sizes, 0), _tensor(sizes, 1, 2)
    product = _matrices((math.prod(x[:-1]), x[-1]), (weight[1], weight[0]), 2)
    return product._replace(inputs=3 if len(sizes) > 2 and sizes[2] else 2)


def _convolution(stride: int, padding: int, dilation: int, transposed: int | None) -> Callable[[Sequence[Shape | None], Sequence[str]], _Product]:
    """2 × outputs × (channels in a group) × (taps), at the places of its arguments; a transposed one does not say its output so simply."""

    def formula(sizes: Sequence[Shape | None], concrete: Sequence[str]) -> _Product:
        x, weight = _tensor(sizes, 0), _tensor(sizes, 1)
        taps = weight[2:]
        if transposed is not None and concrete[transposed].lower() != "false":
            raise ValueError("transposed, or not known")
        if len(x) != len(weight):
            raise ValueError("a convolution without a batch, or none")
        steps, edges, spread = (_numbers(concrete[at], len(taps)) for at in (stride, padding, dilation))
        lengths = [
            (size + 2 * edge - apart * (tap - 1) - 1) // step + 1
            for size, tap, step, edge, apart in zip(x[2:], taps, steps, edges, spread, strict=True)
        ]
        if min(lengths, default=0) < 1:
            raise ValueError("no output")
        output = x[0] * weight[0] * math.prod(lengths)
        return _Product(2.0 * output * math.prod(weight[1:]), output, 3 if len(sizes) > 2 and sizes[2] else 2)

    return formula


def _numbers(text: str, count: int) -> list[int]:
    found = [each for each in _decoded(text) if type(each) is int and 0 <= each <= _MOST_LENGTH]
    if len(found) not in (1, count):
        raise ValueError("not one number a dimension")
    return found * count if len(found) == 1 else found


_FORMULAS: dict[str, Callable[[Sequence[Shape | None], Sequence[str]], _Product]] = {
    "aten::mm": _mm,
    "aten::bmm": _bmm,
    "aten::addmm": _added(2),
    "aten::baddbmm": _added(3),
    "aten::matmul": _matmul,
    "aten::linear": _linear,
    "aten::convolution": _convolution(3, 4, 5, 6),
    "aten::_convolution": _convolution(3, 4, 5, 6),
    "aten::conv1d": _convolution(3, 4, 5, None),
    "aten::conv2d": _convolution(3, 4, 5, None),
    "aten::conv3d": _convolution(3, 4, 5, None),
}
