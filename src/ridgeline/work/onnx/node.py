"""`Node` and `Value`: one ONNX operator with everything that its work depends on, and no weights.

This module decides what is kept of a node; `model` fills it in from a file, a profile from executed shapes, `formulas` reads it. Nothing here needs
the onnx package, so a formula is tested from a few numbers.
Source of names and attributes: the ONNX operator specification (Operators.md of onnx 1.23) and, for `com.microsoft`, ContribOperators.md of
onnxruntime.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from ridgeline.core import DTYPE_BYTES, Precision
from ridgeline.core.graph import Dim

__all__ = ["LARGEST", "Node", "Unknown", "Value", "precision_of"]

#: More elements than any memory holds: a dimension product beyond it is an error of the file. Bytes of all operands together stay below 2**63.
LARGEST = 2**52

_PRECISION: dict[str, Precision] = {
    "float64": "fp64", "complex128": "fp64", "float32": "fp32", "complex64": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8": "fp8",
    "int8": "int8", "uint8": "int8", "int4": "int4", "uint4": "int4",
}  # fmt: skip


class Unknown(Exception):
    """A formula needs something that is not known; the text says what. A signal inside this package, never seen outside."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """An input or output of a node.

    Args:
        name: of the tensor; empty for an absent optional one.
        shape: dimensions, numbers or symbols; `None` if the rank is not known.
        dtype: a key of `DTYPE_BYTES`, or empty.
        constant: an initialiser or a result that depends on initialisers alone.
        content: the numbers of a small constant, flattened; `None` if they are not known.
    """

    name: str
    shape: tuple[Dim, ...] | None = None
    dtype: str = ""
    constant: bool = False
    content: tuple[float, ...] | None = None

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape as plain numbers; raises `Unknown` while there is a symbol in it."""
        if self.shape is None:
            raise Unknown(f"the shape of {self.name or 'an absent input'} is not known")
        symbols = [dim for dim in self.shape if not isinstance(dim, int)]
        if symbols:
            raise Unknown(f"dimension {symbols[0]} of {self.name} is not bound")
        return tuple(dim for dim in self.shape if isinstance(dim, int))

    @property
    def numel(self) -> int:
        """Elements."""
        return math.prod(self.dims)

    @property
    def item_bytes(self) -> float:
        """Bytes of one element, 0.5 for int4."""
        if self.dtype not in DTYPE_BYTES or self.dtype == "string":
            raise Unknown(f"the element size of {self.name} ({self.dtype or 'no dtype'}) is not known")
        return DTYPE_BYTES[self.dtype]

    @property
    def size_bytes(self) -> int:
        """Elements × bytes, whole bytes."""
        return math.ceil(self.numel * self.item_bytes)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One operator.

    Args:
        kind: operator type, such as `Conv`.
        domain: empty for the standard one (`ai.onnx`).
        name: for messages.
        inputs, outputs: in the order of the operator's definition; an absent optional one is `None`.
        attributes: numbers, texts, and tuples of them; graphs and tensors are left out.
    """

    kind: str
    domain: str = ""
    name: str = ""
    inputs: tuple[Value | None, ...] = ()
    outputs: tuple[Value | None, ...] = ()
    attributes: dict[str, Any] = {}

    def input(self, index: int) -> Value:
        """The input at `index`; raises `Unknown` if it is absent."""
        found = self.optional(index)
        if found is None:
            raise Unknown(f"input {index} of {self.kind} is absent")
        return found

    def optional(self, index: int) -> Value | None:
        """The input at `index`, or `None`."""
        return self.inputs[index] if index < len(self.inputs) else None

    def output(self, index: int = 0) -> Value:
        """The output at `index`; raises `Unknown` if it is absent."""
        found = self.outputs[index] if index < len(self.outputs) else None
        if found is None:
            raise Unknown(f"output {index} of {self.kind} is absent")
        return found

    @property
    def written(self) -> tuple[Value, ...]:
        """The outputs that exist."""
        return tuple(value for value in self.outputs if value is not None)

    def integer(self, name: str, default: int) -> int:
        """An attribute that is a whole number."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise Unknown(f"attribute {name} of {self.kind} is not a whole number")
        return value

    def required(self, name: str) -> int:
        """An attribute that is a whole number above zero and must be there."""
        value = self.integer(name, 0)
        if value <= 0:
            raise Unknown(f"attribute {name} of {self.kind} is missing")
        return value

    def integers(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list of whole numbers; empty if absent."""
        value = self.attributes.get(name, ())
        if not isinstance(value, tuple) or not all(isinstance(part, int) for part in value):
            raise Unknown(f"attribute {name} of {self.kind} is not a list of whole numbers")
        return value

    def text(self, name: str, default: str = "") -> str:
        """An attribute that is a text."""
        value = self.attributes.get(name, default)
        return value if isinstance(value, str) else default


def precision_of(node: Node) -> Precision:
    """The number format of the arithmetic: the widest floating dtype read, else int8, else `any`."""
    read = [value.dtype for value in node.inputs if value is not None] or [value.dtype for value in node.written]
    found = {_PRECISION[dtype] for dtype in read if dtype in _PRECISION}
    if not found:
        found = {_PRECISION[value.dtype] for value in node.written if value.dtype in _PRECISION}
    widest: tuple[Precision, ...] = ("fp64", "fp32", "bf16", "fp16", "fp8", "int8", "int4")
    return next((precision for precision in widest if precision in found), "any")
