"""Rows of the operator table: one for each node that ran, in order of execution. Pure.

This module decides the work of a node and its buffers. Work is that of the node's own kind on the executed shapes, with the attributes of the model's
operator of that kind where it is named; of a fused node without a kind of its own, that of its members. Bytes are those of the executed tensors in
the precision that they had there. Weights are packed for their kernel when the model is compiled, so they are read no wider than it computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import DTYPE_BYTES, BufferUse, Engine, OperatorRow, Placement, Quantity
from ridgeline.core.device import Precision
from ridgeline.work.onnx import Value, Work
from ridgeline.work.openvino import OpenvinoOp, dtype_of, operator_work

from ...medians import median_of
from .graph import ExecutedNode, ModelOp
from .origin import Origin
from .rounds import TICK_S, Round

__all__ = ["PROVIDER", "rows"]

PROVIDER = "OpenVINO CPU"
_PRECISIONS: dict[str, Precision] = {
    "f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16", "f8e4m3": "fp8", "f8e5m2": "fp8", "i8": "int8", "u8": "int8", "i4": "int4",
    "u4": "int4",
}  # fmt: skip
_SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8"}
#: Groups whose products are the work of a fused node, whatever else is in it.
_WORKING = ("convolution", "matmul", "attention")
#: Which engine limits a fused chain: the dearest operation in it.
_DEAREST: tuple[Engine, ...] = ("erf", "tanh", "exp", "divide", "sort", "gather", "reduce", "fma", "add")
_PASSING = ("view", "movement", "allocation", "copy")
_PARTIAL = ("gather", "movement", "copy")
_CHAIN = "Subgraph"
_BODIES = ("If", "Loop", "TensorIterator")
_CONVERSION = Work(group="movement")
_NAMELESS = "OpenVINO names no operator of the model for it"
_ORIGIN = "OpenVINO's profile, whole microseconds plus what was cut off"


def rows(
    nodes: Sequence[ExecutedNode], found: Sequence[Origin], model: Sequence[ModelOp], taken: Sequence[Round], threads: int
) -> tuple[OperatorRow, ...]:
    """The table's rows.

    Args:
        nodes: the executed graph.
        found: what each node stands for.
        model: as it was read.
        taken: rounds, at least one.
        threads: of the stream.
    """
    graph = _Executed(nodes)
    return tuple(_row(index, graph, found[index], model, taken, threads) for index in graph.ran)


class _Executed:
    """The executed graph with what follows from it: constants, buffers, and which rows lead to which."""

    def __init__(self, nodes: Sequence[ExecutedNode]) -> None:
        self.nodes = nodes
        self.ran = [index for index, node in enumerate(nodes) if node.ran and node.kind not in ("Const", "Input", "Output")]
        self._row_of = {index: row for row, index in enumerate(self.ran)}
        self._constant: list[bool] = []
        self._storage: list[int] = []
        self._before: list[frozenset[int]] = []
        for index, node in enumerate(nodes):
            sources = [source for source, _ in node.inputs]
            constant = node.kind == "Const" or (bool(sources) and all(self._constant[source] for source in sources))
            self._constant.append(constant)
            moving = [source for source in sources if not self._constant[source]]
            # A node without a time hands its only input on under another name or shape.
            renamed = index not in self._row_of and len(set(moving)) == 1 and node.kind not in ("Const", "Input")
            self._storage.append(self._storage[moving[0]] if renamed else index)
            own = frozenset({self._row_of[index]}) if index in self._row_of else frozenset[int]().union(*(self._before[one] for one in sources))
            self._before.append(own)

    def after(self, index: int) -> tuple[int, ...]:
        """Rows whose results a node reads."""
        return tuple(sorted(frozenset[int]().union(*(self._before[source] for source, _ in self.nodes[index].inputs))))

    def inputs(self, index: int) -> tuple[Value, ...]:
        """The tensors that a node reads; constants are marked."""
        return tuple(
            msgspec.structs.replace(self.nodes[source].outputs[number], constant=self._constant[source])
            for source, number in self.nodes[index].inputs
            if number < len(self.nodes[source].outputs)
        )

    def reads(self, index: int, most: int | None) -> tuple[BufferUse, ...] | None:
        """Buffers that a node reads, of each at most so many bytes."""
        merged: dict[int, BufferUse] = {}
        for (source, number), value in zip(self.nodes[index].inputs, self.inputs(index), strict=False):
            size = _size(value, self.nodes[index].precision)
            if size is None:
                return None
            storage, constant = self._storage[source], self._constant[source]
            size = size if most is None else min(size, most)
            key = storage * _RESULTS + number
            if size and (key not in merged or merged[key].size_bytes < size):
                persistent = constant or self.nodes[storage].kind == "Input"
                merged[key] = BufferUse(buffer=key, size_bytes=size, constant=constant, persistent=persistent)
        return tuple(merged.values())

    def writes(self, index: int) -> tuple[BufferUse, ...] | None:
        """Buffers that a node writes."""
        sizes = [_size(value, "") for value in self.nodes[index].outputs]
        if any(size is None for size in sizes):
            return None
        return tuple(BufferUse(buffer=self._storage[index] * _RESULTS + number, size_bytes=size) for number, size in enumerate(sizes) if size)


#: Numbers for the results of one node.
_RESULTS = 1024


def _row(index: int, graph: _Executed, origin: Origin, model: Sequence[ModelOp], taken: Sequence[Round], threads: int) -> OperatorRow:
    node = graph.nodes[index]
    inputs = graph.inputs(index)
    conversion = not origin.members and _converts(node, inputs)
    work = _CONVERSION if conversion else _work(node, inputs, origin, model)
    writes = graph.writes(index)
    written = sum(use.size_bytes for use in writes) if writes is not None else None
    moved = work.group != "view"
    return OperatorRow(
        name=origin.label,
        kind=node.kind,
        calls=1.0,
        total_s=_seconds([one.node_s.get(node.name, 0.0) for one in taken], min(one.calls for one in taken)),
        flop=work.flop,
        engine=work.engine,
        reads=graph.reads(index, written if work.group in _PARTIAL else None) if moved else (),
        writes=writes if moved else (),
        group=work.group,
        placement=Placement(device="cpu", provider=PROVIDER, precision=_precision(node), threads=threads, kernel=node.kernel),
        after=graph.after(index),
        shapes=_shapes(node, inputs),
        inserted=origin.inserted or conversion,
        reason=work.reason,
    )


def _converts(node: ExecutedNode, inputs: Sequence[Value]) -> bool:
    """Whether a chain of the compiler's own making only changes the element type of its one operand."""
    varying = [value for value in inputs if not value.constant]
    if node.kind != _CHAIN or len(inputs) != 1 or len(varying) != 1 or len(node.outputs) != 1:
        return False
    return varying[0].shape == node.outputs[0].shape and varying[0].dtype != node.outputs[0].dtype


def _precision(node: ExecutedNode) -> Precision:
    """That of the node; one with bodies is named after the type of its condition."""
    return "any" if node.kind in _BODIES else _PRECISIONS.get(node.precision, "any")


def _work(node: ExecutedNode, inputs: Sequence[Value], origin: Origin, model: Sequence[ModelOp]) -> Work:
    alike = [model[position].op for position in origin.named if model[position].op.kind == node.kind]
    # A kind of its own; the model's operator knows attributes, and its operands in their order.
    own = operator_work(alike[0] if len(alike) == 1 else OpenvinoOp(name=node.name, kind=node.kind, inputs=tuple(inputs), outputs=node.outputs))
    if own.flop is not None:
        return own
    if node.kind in _BODIES:
        return msgspec.structs.replace(own, reason=f"the operators inside {node.kind} are not told apart")
    if not origin.members:
        # Fused chains of the compiler's own making, such as what is left of a constant that it moved.
        return msgspec.structs.replace(own, group="elementwise" if node.kind == _CHAIN else own.group, reason=_NAMELESS)
    works = [operator_work(model[position].op) for position in origin.members]
    return _joined([work for work in works if work.group not in _PASSING], works)


def _joined(working: Sequence[Work], every: Sequence[Work]) -> Work:
    """Work of a fused node from that of its members: the products where there are any, else the dearest engine of a chain."""
    if not working:
        return every[-1]
    unknown = [work.reason for work in working if work.flop is None]
    if unknown:
        return Work(group="other", flop=None, reason=unknown[0])
    products = [work for work in working if work.group in _WORKING]
    if products:
        softmax = any(work.group == "normalisation" for work in working) and len(products) > 1
        return Work(group="attention" if softmax else products[0].group, flop=sum(work.flop or 0.0 for work in products), engine="fma")
    engine = next((one for one in _DEAREST if any(work.engine == one for work in working)), None)
    groups = {work.group for work in working}
    group = next((name for name in ("normalisation", "reduction", "gather", "sort", "elementwise") if name in groups), working[0].group)
    return Work(group=group, flop=sum(work.flop or 0.0 for work in working if work.engine == engine), engine=engine)


def _size(value: Value, precision: str) -> int | None:
    """Bytes of a tensor; a constant of floating numbers is no wider than the kernel that reads it."""
    if value.shape is None or value.dtype not in DTYPE_BYTES:
        # A placeholder for an absent operand has no type.
        return 0 if value.constant else None
    width = DTYPE_BYTES[value.dtype]
    if value.constant and value.dtype.startswith(("float", "bfloat")) and dtype_of(precision) in DTYPE_BYTES:
        width = min(width, DTYPE_BYTES[dtype_of(precision)])
    elements = 1
    for size in value.dims:
        elements *= size
    return int(elements * width + 0.5)


def _seconds(seconds: Sequence[float], calls: int) -> Quantity:
    """Median over the rounds; its ends go out by what the two cuts to whole microseconds leave open."""
    found = median_of(seconds, _ORIGIN)
    slack = (1.0 + 1.0 / calls) * TICK_S
    return msgspec.structs.replace(found, low=max(0.0, found.low - slack), high=found.high + slack)


def _shapes(node: ExecutedNode, inputs: Sequence[Value]) -> str:
    def text(values: Sequence[Value]) -> str:
        shown = [value for value in values if not (value.constant and not value.shape)]
        return " × ".join(f"{_SHORT.get(value.dtype, value.dtype)}[{','.join(map(str, value.shape or ()))}]" for value in shown)

    layout = f" {node.layouts[0]}" if node.layouts and node.layouts[0] not in ("", "undef") else ""
    return f"{text(inputs)} → {text(node.outputs)}{layout}"[:300]
