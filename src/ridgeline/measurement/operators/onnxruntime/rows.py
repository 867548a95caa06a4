"""Rows of the operator table: one for each node that ran, in order of first execution.

This module decides how executions become a row: calls and exclusive seconds per run, work from executed shapes, buffers by storage, and which rows
a row waits for. Buffers are tensors: that onnxruntime's arena gives the memory of a dead tensor to a later one is not seen.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ridgeline.core import BufferUse, OperatorRow, Placement, Quantity
from ridgeline.readers.onnxruntime import TICK_S, TensorType
from ridgeline.work.onnx import Node, Value, Work, op_work
from ridgeline.work.onnx.nodes import Placed

from ...medians import median_of
from .match import Key, dtype_of, executed_types, key_of
from .origin import Origin
from .repeats import repeated
from .runs import HALF_TICK_S, Executed, RunEvents

__all__ = ["Buffers", "rows"]

_SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8"}
_ORIGIN = "onnxruntime profile, whole microseconds plus half a tick"


class Buffers:
    """Numbers for the buffers of one call: a view has the number of what it looks at."""

    def __init__(self, sources: Mapping[str, str], constants: frozenset[str], inputs: frozenset[str]) -> None:
        self._sources, self._constants, self._inputs = sources, constants, inputs
        self._numbers: dict[str, int] = {}

    def use(self, name: str, size_bytes: int) -> BufferUse:
        """The use of a tensor's buffer."""
        storage = self._sources.get(name, name)
        number = self._numbers.setdefault(storage, len(self._numbers))
        constant = storage in self._constants
        return BufferUse(buffer=number, size_bytes=size_bytes, constant=constant, persistent=constant or storage in self._inputs)


def rows(
    runs: Sequence[RunEvents], nodes: Mapping[Key, Placed], origins: Mapping[str, Origin], buffers: Buffers, body_results: Mapping[str, Sequence[str]]
) -> tuple[OperatorRow, ...]:
    """The table's rows.

    Args:
        runs: counted runs, at least one.
        nodes: event key → node of the optimised model, where it was found.
        origins: unique name of an optimised node → what it stands for.
        buffers: numbers of buffers.
        body_results: result of an If, Loop or Scan → the tensors inside its bodies that become it.
    """
    executions: dict[Key, list[list[Executed]]] = {}
    for number, run in enumerate(runs):
        for part in run.executed:
            executions.setdefault(key_of(part), [[] for _ in runs])[number].append(part)
    makers = _makers(executions, nodes, body_results)
    names = Counter(nodes[key].own_name for key in executions if key in nodes)
    table = [_row(key, of_runs, nodes.get(key), origins, buffers, makers, names) for key, of_runs in executions.items()]
    distinct = repeated(list(executions), {key: row.calls for key, row in zip(executions, table, strict=True)}, nodes)
    return tuple(msgspec.structs.replace(row, distinct=count) for row, count in zip(table, distinct, strict=True))


def _makers(executions: Mapping[Key, Any], nodes: Mapping[Key, Placed], body_results: Mapping[str, Sequence[str]]) -> dict[str, set[int]]:
    """Tensor → rows that make it; the result of an If is made by the If and by the node in its branch."""
    makers: dict[str, set[int]] = defaultdict(set)
    for index, key in enumerate(executions):
        if key in nodes:
            for value in nodes[key].node.written:
                makers[value.name].add(index)
    for result, inside in body_results.items():
        for name in inside:
            makers[result] |= makers.get(name, set())
    return makers


def _row(
    key: Key,
    of_runs: list[list[Executed]],
    part: Placed | None,
    origins: Mapping[str, Origin],
    buffers: Buffers,
    makers: Mapping[str, set[int]],
    names: Mapping[str, int],
) -> OperatorRow:
    every = [one for run in of_runs for one in run]
    calls = len(every) / len(of_runs)
    origin = origins.get(part.name, Origin()) if part is not None else Origin()
    work, node = _work(every, part, origin.weight)
    label = origin.label(part.own_name if part is not None and names[part.own_name] == 1 else (part.name if part is not None else key[1]))
    own = next(iter(makers[node.written[0].name])) if node.written and makers.get(node.written[0].name) else None
    return OperatorRow(
        name=label,
        kind=every[0].event.kind,
        calls=calls,
        total_s=_seconds(of_runs, calls),
        flop=None if work.flop is None else work.flop * calls,
        engine=work.engine,
        reads=_uses(node.inputs, work.reads, buffers),
        writes=_uses(node.outputs, work.writes, buffers),
        group=work.group,
        placement=_placement(every, work, node),
        after=tuple(sorted({row for value in node.inputs if value is not None for row in makers.get(value.name, ()) if row != own})),
        shapes=_shapes(every[0]),
        inserted=origin.inserted,
        reason=work.reason,
    )


def _work(every: Sequence[Executed], part: Placed | None, weight: Value | None) -> tuple[Work, Node]:
    """Work of one execution: the mean over the executed shapes, which differ where a body runs with growing tensors."""
    counted: Counter[tuple[tuple[TensorType, ...], tuple[TensorType, ...]]] = Counter((one.event.inputs, one.event.outputs) for one in every)
    events = {(one.event.inputs, one.event.outputs): one for one in every}
    works = [(_useful(_executed_node(events[types], part), weight), count) for types, count in counted.items()]
    main = max(works, key=lambda pair: pair[1])[0]
    typical = _executed_node(events[counted.most_common(1)[0][0]], part)
    if len(works) == 1 or any(work.flop is None for work, _ in works):
        return (main if all(work.flop is not None for work, _ in works) else msgspec.structs.replace(main, flop=None)), typical
    mean = sum((work.flop or 0.0) * count for work, count in works) / len(every)
    return msgspec.structs.replace(main, flop=mean, reason="; ".join(filter(None, (main.reason, "mean over the executed shapes")))), typical


def _useful(node: Node, weight: Value | None) -> Work:
    """Work of an execution; operations of a convolution in the blocked layout without the channels that only pad it to the vector width.

    Those channels are really moved, so the bytes stay as executed.
    """
    work = op_work(node)
    result = node.outputs[0] if node.outputs else None
    if node.domain != "com.microsoft.nchwc" or node.kind != "Conv" or weight is None or not weight.shape or result is None or not result.shape:
        return work
    unpadded = msgspec.structs.replace(result, shape=(result.shape[0], weight.shape[0], *result.shape[2:]))
    useful = op_work(msgspec.structs.replace(node, inputs=(node.inputs[0], weight, *node.inputs[2:]), outputs=(unpadded,)))
    return msgspec.structs.replace(work, flop=useful.flop) if useful.flop is not None else work


def _executed_node(one: Executed, part: Placed | None) -> Node:
    if part is None:
        # Without its node: the profile's own types, which lack packed weights and attributes.
        inputs = tuple(_loose(types, f"{one.event.name}:in{index}") for index, types in enumerate(one.event.inputs))
        outputs = tuple(_loose(types, f"{one.event.name}:out{index}") for index, types in enumerate(one.event.outputs))
        return Node(kind=one.event.kind, domain="", name=one.event.name, inputs=inputs, outputs=outputs)
    inputs_, outputs_ = executed_types(one.event, part)
    return msgspec.structs.replace(part.node, inputs=inputs_, outputs=outputs_)


def _loose(types: TensorType, name: str) -> Value:
    return Value(name=name, shape=types.shape, dtype=dtype_of(types.dtype))


def _seconds(of_runs: list[list[Executed]], calls: float) -> Quantity:
    """Median over the runs of the exclusive seconds in one run; the ends go out by half a tick a call for the cut to whole microseconds."""
    found = median_of([sum(one.own_s for one in run) for run in of_runs], _ORIGIN)
    slack = calls * HALF_TICK_S
    return msgspec.structs.replace(found, low=max(0.0, found.low - slack), high=found.high + slack)


def _uses(values: Sequence[Value | None], sizes: Sequence[int | None] | None, buffers: Buffers) -> tuple[BufferUse, ...] | None:
    if sizes is None or any(size is None for size in sizes):
        return None
    merged: dict[int, BufferUse] = {}
    for value, size in zip(values, sizes, strict=False):
        if value is None or not size:
            continue
        use = buffers.use(value.name, size)
        # Two views of one buffer are read together at most once in full.
        if use.buffer not in merged or merged[use.buffer].size_bytes < size:
            merged[use.buffer] = use
    return tuple(merged.values())


def _placement(every: Sequence[Executed], work: Work, node: Node) -> Placement:
    provider = every[0].event.provider
    workers = [one.event.workers for one in every if one.event.workers is not None]
    device = "cpu" if provider in ("", "CPUExecutionProvider") else provider.removesuffix("ExecutionProvider").lower()
    return Placement(
        device=device,
        provider=provider,
        precision=work.precision,
        threads=1 + int(statistics.median_low(workers)) if workers else None,
        kernel=f"{node.domain}:{node.kind}" if node.domain else node.kind,
    )


def _shapes(one: Executed) -> str:
    def text(types: Sequence[TensorType]) -> str:
        return " × ".join(f"{_SHORT.get(dtype_of(t.dtype), t.dtype)}[{','.join(map(str, t.shape))}]" for t in types)

    return f"{text(one.event.inputs)} → {text(one.event.outputs)}"[:300]


assert TICK_S == 2 * HALF_TICK_S
