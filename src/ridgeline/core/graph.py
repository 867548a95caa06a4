"""`Tensor`, `Op`, `Graph`: what must be done, before anyone says how or how fast.

A graph is symbolic until `bind(shapes)`. The work of an op is three things: how many operations on which engine, and which buffers it must read and
write at the least (compulsory bytes). An op without a formula carries `flop=None`: unknown, which is not zero.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .device import Engine, Precision
from .errors import UsageError

__all__ = ["DTYPE_BYTES", "Dim", "Graph", "Op", "Placement", "Tensor", "TripCount"]

#: A dimension: a number, or the name of a symbolic one.
Dim = int | str

#: Bytes of one element by ONNX/numpy/torch dtype name in lower case without prefix.
DTYPE_BYTES = {
    "float64": 8, "double": 8, "float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2, "float8": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint64": 8, "uint32": 4, "uint16": 2, "uint8": 1, "int4": 0.5, "uint4": 0.5,
    "bool": 1, "complex64": 8, "complex128": 16, "string": 0,
}  # fmt: skip


class Tensor(msgspec.Struct, frozen=True, kw_only=True):
    """A value that flows between ops.

    Args:
        name: unique in its graph.
        shape: dimensions, numbers or symbols; `None` if not even the rank is known.
        dtype: a key of `DTYPE_BYTES`.
        storage: name of the storage it lives in; views share one. Its own name if empty.
        constant: whether it is a weight or another constant.
        layout: such as `NCHW`, or empty.
    """

    name: str
    shape: tuple[Dim, ...] | None
    dtype: str
    storage: str = ""
    constant: bool = False
    layout: str = ""

    @property
    def size_bytes(self) -> int | None:
        """Elements × bytes, `None` while a dimension or the dtype is not known."""
        if self.shape is None or self.dtype not in DTYPE_BYTES:
            return None
        elements = 1
        for dim in self.shape:
            if not isinstance(dim, int):
                return None
            elements *= dim
        return int(elements * DTYPE_BYTES[self.dtype] + 0.5)


class TripCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often a body runs for one run of the graph, and how that is known."""

    count: float
    known: Literal["exact", "observed", "assumed"]


class Op(msgspec.Struct, frozen=True, kw_only=True):
    """One operation.

    Args:
        name: unique in its graph.
        kind: its operator type as the framework calls it, such as `Conv`, `aten::addmm`, `numpy.add`.
        inputs, outputs: names of tensors; an empty name is an absent optional input.
        engine: what limits its arithmetic; `fma` for multiply-adds; `None` for pure data movement.
        flop: useful operations (multiply-add = 2) or, on a special-function engine, elements; `None` if there is no formula.
        read_bytes, write_bytes: compulsory traffic, each distinct input once and each output once; `None` if unknown.
        trips: how often it runs for one run of the graph.
        reason: why flop or bytes are `None`.
        attributes: small attributes as text, for display and rules.
    """

    name: str
    kind: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    engine: Engine | None = None
    precision: Precision = "any"
    flop: float | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    trips: TripCount = TripCount(count=1, known="exact")
    reason: str = ""
    attributes: dict[str, str] = {}


class Graph(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.graph/1"):
    """Ops in execution order and the tensors between them."""

    name: str
    ops: tuple[Op, ...]
    tensors: tuple[Tensor, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name.

        Raises:
            UsageError: there is none.
        """
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise UsageError("a tensor of the graph", found=repr(name), remedy="see Graph.tensors")

    @property
    def flop(self) -> float:
        """Sum of the known FLOPs × trips of ops on the `fma` engine."""
        return sum(op.flop * op.trips.count for op in self.ops if op.flop is not None and op.engine == "fma")


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Which op ran where.

    Args:
        device: such as `cpu`.
        provider: execution provider or delegate, such as `CPUExecutionProvider`; empty if there is none.
        precision: the precision that was executed, not the one that was asked for.
        threads: threads that did the work; `None` if not known.
        kernel: name of the kernel, where the framework tells.
    """

    device: str = "cpu"
    provider: str = ""
    precision: Precision = "any"
    threads: int | None = None
    kernel: str = ""
