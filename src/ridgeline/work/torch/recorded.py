"""`RecordedOp`: one dispatched operator with everything its work depends on, and no tensor.

This module decides what is kept of a dispatch; `recorder` fills it in, `formulas` reads it. Nothing here needs torch, so a formula is tested
from a few numbers.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from ridgeline.core import Precision, Site

__all__ = ["ITEM_BYTES", "RecordedOp", "Stored", "TensorUse", "base_name", "precision_of"]

#: Bytes of one element by torch's dtype name. Packed sub-byte dtypes are stored as bytes.
ITEM_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "uint16": 2, "uint32": 4,
    "uint64": 8, "bool": 1, "complex32": 4, "complex64": 8, "complex128": 16, "qint8": 1, "quint8": 1, "qint32": 4, "float8_e4m3fn": 1,
    "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "quint4x2": 0.5, "quint2x4": 0.25, "float4_e2m1fn_x2": 1,
}  # fmt: skip

_PRECISION: dict[str, Precision] = {
    "float64": "fp64", "complex128": "fp64", "float32": "fp32", "complex64": "fp32", "float16": "fp16", "complex32": "fp16", "bfloat16": "bf16",
    "int8": "int8", "uint8": "int8", "qint8": "int8", "quint8": "int8", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "float8_e4m3fnuz": "fp8",
    "float8_e5m2fnuz": "fp8",
}  # fmt: skip


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What a sparse tensor keeps.

    Args:
        values: elements kept, the zeros inside a block included; `None` if that cannot be seen.
        value_bytes, index_bytes: of those elements, and of the indices that place them.
    """

    values: int | None
    value_bytes: int
    index_bytes: int


class TensorUse(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor as one operator saw it.

    Args:
        buffer: identity of its storage within one call, 0, 1, …; a recycled address gets a new number.
        shape, stride: elements; `stride` is empty where the layout has none (sparse, opaque).
        dtype: torch's name without prefix, such as `float32`.
        offset: elements from the start of the storage.
        storage_bytes: size of the whole storage; 0 if it cannot be seen.
        stored: what it keeps, if it is sparse; `None` for any other, and where it cannot be seen.
        nested: several tensors of their own lengths in one; its shape here is the number of its elements.
        constant: persistent, and a parameter or buffer of a module or a leaf that requires grad.
        persistent: its storage was there before the call, and the call never writes it.
        fresh: this operator allocated its storage.
    """

    buffer: int
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] = ()
    offset: int = 0
    storage_bytes: int = 0
    stored: Stored | None = None
    nested: bool = False
    constant: bool = False
    persistent: bool = False
    fresh: bool = False

    @property
    def numel(self) -> int:
        """Elements, counting a broadcast dimension as often as it is long."""
        return math.prod(self.shape)

    @property
    def item_bytes(self) -> float:
        """Bytes of one element, a fraction where several share a byte; 0 for a dtype without a size."""
        return ITEM_BYTES.get(self.dtype, 0)

    @property
    def touched_bytes(self) -> int:
        """Distinct bytes behind the tensor: a dimension of stride 0 once, overlapping windows no more than their span, or what is kept if sparse."""
        if self.stored is not None:
            return self.stored.value_bytes + self.stored.index_bytes
        if self.numel == 0:
            return 0
        if len(self.stride) != len(self.shape):
            return math.ceil(self.numel * self.item_bytes)
        distinct = math.prod(size for size, stride in zip(self.shape, self.stride, strict=True) if stride != 0)
        span = 1 + sum((size - 1) * abs(stride) for size, stride in zip(self.shape, self.stride, strict=True))
        touched = math.ceil(min(distinct, span) * self.item_bytes)
        return min(touched, self.storage_bytes) if self.storage_bytes else touched

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions longer than 1 from the slowest-varying to the fastest, which is what a layout conversion changes."""
        dims = [dim for dim, size in enumerate(self.shape) if size > 1 and dim < len(self.stride)]
        return tuple(sorted(dims, key=lambda dim: (-abs(self.stride[dim]), dim)))


class RecordedOp(msgspec.Struct, frozen=True, kw_only=True):
    """One dispatched operator.

    Args:
        kind: such as `aten::addmm`.
        overload: such as `default` or `out`.
        arguments: by the schema's names; a tensor is its `TensorUse`, a list of tensors a tuple of them, a dtype or device its name.
        inputs: tensors among the arguments in order, without those that are only written (`out=`).
        outputs: tensors it returned.
        mutated: names of the arguments it writes.
        site: the caller's source line.
        graph: whether autograd recorded it.
        inference: whether inference mode was on.
    """

    kind: str
    overload: str = "default"
    arguments: dict[str, Any] = {}
    inputs: tuple[TensorUse, ...] = ()
    outputs: tuple[TensorUse, ...] = ()
    mutated: tuple[str, ...] = ()
    site: Site | None = None
    graph: bool = False
    inference: bool = False

    @property
    def is_view(self) -> bool:
        """Whether everything it returned lives in storage it was given, and it wrote nothing: it costs no traffic."""
        given = {use.buffer for use in self.inputs}
        return not self.mutated and bool(self.outputs) and all(use.buffer in given for use in self.outputs)

    def tensor(self, name: str) -> TensorUse | None:
        """The argument of that name if it is one tensor."""
        value = self.arguments.get(name)
        return value if isinstance(value, TensorUse) else None

    def number(self, name: str, default: float = 0.0) -> float:
        """The argument of that name if it is a number."""
        value = self.arguments.get(name)
        return float(value) if isinstance(value, int | float) else default

    def flag(self, name: str) -> bool:
        """The argument of that name as a truth value; absent is False."""
        return bool(self.arguments.get(name, False))

    @property
    def written(self) -> tuple[TensorUse, ...]:
        """Tensors it writes: mutated arguments, and results in storage of their own."""
        mutated = tuple(use for name in self.mutated for use in _tensors(self.arguments.get(name)))
        known = {use.buffer for use in (*self.inputs, *mutated)}
        return (*mutated, *(use for use in self.outputs if use.buffer not in known))


def _tensors(value: object) -> tuple[TensorUse, ...]:
    if isinstance(value, TensorUse):
        return (value,)
    return tuple(use for use in value if isinstance(use, TensorUse)) if isinstance(value, tuple) else ()


def base_name(kind: str) -> str:
    """The name that formulas are listed under: no `aten::`, no in-place underscore, no `_foreach_`.

    >>> base_name("aten::add_"), base_name("aten::_foreach_mul_"), base_name("quantized::linear_dynamic"), base_name("aten::__iand__")
    ('add', 'mul', 'quantized::linear_dynamic', '__iand__')
    """
    name = kind.removeprefix("aten::")
    if name.startswith("_foreach_"):
        name = name.removeprefix("_foreach_")
    return name if name.endswith("__") else name.removesuffix("_")


def precision_of(op: RecordedOp) -> Precision:
    """The number format that was executed: the widest floating dtype read, else int8, else `any`.

    Mixed inputs are promoted before the arithmetic, so the widest one decides; an integer result of float inputs (argmax) computes in theirs.
    """
    found = {_PRECISION[use.dtype] for use in (*op.inputs, *op.outputs) if use.dtype in _PRECISION}
    read = {_PRECISION[use.dtype] for use in op.inputs if use.dtype in _PRECISION} or found
    widest: tuple[Precision, ...] = ("fp64", "fp32", "bf16", "fp16", "fp8", "int8")
    return next((precision for precision in widest if precision in read), "any")
