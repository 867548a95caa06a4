"""Rows of the operator table: one for each node of the main graph, in order; what an IF or WHILE runs is inside its row.

This module decides how times become a row, its work from executed shapes, and its buffers: tensors, where a view has the buffer of what it shows.
That the arena gives the memory of a dead tensor to a later one is not seen. A node that the delegate folded into another has no time of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ridgeline.core import BufferUse, OperatorRow, Placement, Quantity
from ridgeline.work.onnx import Node, Value, Work
from ridgeline.work.tflite import Model, Placed, op_work, placed
from ridgeline.work.tflite.listing import view_sources

from ...medians import median_of
from .cut import Cut

__all__ = ["BUILTIN", "TICK_S", "XNNPACK", "Times", "rows"]

TICK_S = 1e-6
XNNPACK, BUILTIN = "XNNPACK", "builtin"
#: Builtin kernels that share their work between threads; the others run on one.
_THREADED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "BATCH_MATMUL", "CONV_3D", "LSTM"})
_SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8"}
#: Kinds of operators that the row of an IF or WHILE names.
_MOST_NAMED = 8
_ORIGIN = "LiteRT profile, whole microseconds plus at most half a tick"


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds by node in one run, the delegate's operators that stand for it, and how often each subgraph ran inside it."""

    node_s: dict[int, float]
    kernels: dict[int, tuple[str, ...]]
    inner: dict[int, dict[int, int]] = {}


def rows(model: Model, shapes: Mapping[tuple[int, int], tuple[int, ...]], times: Sequence[Times], seen: Cut, threads: int) -> tuple[OperatorRow, ...]:
    """The table's rows.

    Args:
        model: as in the file.
        shapes: (0, tensor) → executed shape.
        times: of each run, at least one.
        seen: the cut.
        threads: of the interpreter.
    """
    nodes = [part for part in placed(model, shapes) if part.subgraph == 0]
    buffers = _Buffers(model, nodes)
    makers = {value.name: part.index for part in nodes for value in part.node.written}
    made = (_row(part, times, part.index not in seen.fallback, threads, buffers, makers) for part in nodes)
    inner = times[0].inner
    return tuple(_with_subgraphs(row, model, inner[part.index]) if part.index in inner else row for row, part in zip(made, nodes, strict=True))


def _with_subgraphs(row: OperatorRow, model: Model, runs: Mapping[int, int]) -> OperatorRow:
    """The row of an IF or WHILE: its time is that of what ran inside, whose work is told apart by nobody and so unknown."""
    counts: dict[str, int] = {}
    for number, times in runs.items():
        for operator in model.subgraphs[number].operators if number < len(model.subgraphs) else ():
            counts[operator.kind] = counts.get(operator.kind, 0) + times
    ran = ", ".join(f"{kind} × {count}" for kind, count in list(counts.items())[:_MOST_NAMED]) + (", …" if len(counts) > _MOST_NAMED else "")
    # The delegate takes its part of a subgraph too: where the time was spent is as unknown as on what.
    placement = Placement(device="cpu", kernel=row.kind)
    reason = f"holds what ran in its subgraphs: {ran}"
    return msgspec.structs.replace(row, flop=None, engine=None, reads=None, writes=None, placement=placement, reason=reason)


class _Buffers:
    def __init__(self, model: Model, nodes: Sequence[Placed]) -> None:
        main = model.subgraphs[0]
        self._sources = view_sources(list(nodes))
        self._kept = frozenset(main.tensors[index].name for index in main.inputs)
        self._numbers: dict[str, int] = {}

    def uses(self, values: Sequence[Value | None], sizes: Sequence[int | None] | None) -> tuple[BufferUse, ...] | None:
        if sizes is None or any(size is None for size in sizes):
            return None
        merged: dict[int, BufferUse] = {}
        for value, size in zip(values, sizes, strict=False):
            if value is None or not size:
                continue
            name = self._sources.get(value.name, value.name)
            number = self._numbers.setdefault(name, len(self._numbers))
            if number not in merged or merged[number].size_bytes < size:
                persistent = value.constant or name in self._kept
                merged[number] = BufferUse(buffer=number, size_bytes=size, constant=value.constant, persistent=persistent)
        return tuple(merged.values())


def _row(part: Placed, times: Sequence[Times], delegated: bool, threads: int, buffers: _Buffers, makers: Mapping[str, int]) -> OperatorRow:
    node, work = part.node, op_work(part.node)
    kernels = times[0].kernels.get(part.index, ())
    folded = delegated and not kernels
    return OperatorRow(
        name=part.name,
        kind=node.kind,
        calls=1.0,
        total_s=_seconds([one.node_s.get(part.index, 0.0) for one in times], max(1, len(kernels)), folded),
        flop=None if folded else work.flop,
        engine=None if folded else work.engine,
        reads=() if folded else buffers.uses(node.inputs, work.reads),
        writes=() if folded else buffers.uses(node.outputs, work.writes),
        group="view" if folded else work.group,
        placement=_placement(node, work, delegated, threads, kernels),
        after=tuple(sorted({makers[value.name] for value in node.inputs if value is not None and value.name in makers})),
        shapes=_shapes(node),
        reason="folded into another operator by the delegate" if folded else work.reason,
    )


def _seconds(seconds: Sequence[float], events: int, folded: bool) -> Quantity:
    if folded:
        return Quantity.exact(0.0, "s", source="measured", origin="folded into another operator")
    found = median_of(seconds, _ORIGIN)
    slack = events * TICK_S / 2
    return msgspec.structs.replace(found, low=max(0.0, found.low - slack), high=found.high + slack)


def _placement(node: Node, work: Work, delegated: bool, threads: int, kernels: Sequence[str]) -> Placement:
    own = threads if delegated or node.kind in _THREADED else 1
    return Placement(
        device="cpu",
        provider=XNNPACK if delegated else BUILTIN,
        precision=work.precision,
        threads=own,
        kernel=" + ".join(kernels)[:200] if delegated else node.kind,
    )


def _shapes(node: Node) -> str:
    def text(values: Sequence[Value | None]) -> str:
        shown = [value for value in values if value is not None]
        return " × ".join(f"{_SHORT.get(value.dtype, value.dtype)}[{','.join(map(str, value.shape or ()))}]" for value in shown)

    return f"{text(node.inputs)} → {text(node.outputs)}"[:300]
