"""`graph`: a TFLite model as a `core.Graph`: operators in execution order with their work, and the tensors between them.

This module decides how subgraphs become one flat list, how often each runs, and where shapes come from: the file's, or for other input shapes the
runtime's own shape functions. The trip count of a WHILE is data, so its body is listed once and marked assumed; the subgraph of a CALL_ONCE runs
in the first call only and is listed with no trips.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import msgspec

from ridgeline.core import Graph, Op, ReadError, Tensor, TripCount

from .file import Model, Operator, Subgraph, load
from .formula import Node, Value, Work
from .shapes import Shapes, resized
from .work import op_work

__all__ = ["Placed", "graph", "node_of", "placed", "view_sources"]

_ONCE = TripCount(count=1, known="exact")
#: A chain of subgraphs longer than this calls itself.
_DEEPEST = 24
_MOST_PLACED = 1_000_000


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """An operator in its place.

    Args:
        node: with types.
        name: unique: `CONV_2D:3` in the main graph, with the path of the operators around it in a subgraph.
        subgraph, index: where it is in the file.
        trips: how often it runs for one run of the model.
        note: what was assumed for that.
    """

    node: Node
    name: str
    subgraph: int
    index: int
    trips: TripCount = _ONCE
    note: str = ""


def graph(model: str | os.PathLike[str] | Model, shapes: Mapping[str, tuple[int, ...] | int] | None = None) -> Graph:
    """The work of a model.

    Args:
        model: path, or a model from `load`.
        shapes: input name → shape, where it is not the file's; needs a path, since the runtime then infers the other shapes.

    Returns:
        The graph; `unknown` names the ops without a count.

    Raises:
        ReadError: not a TFLite model, or one that cannot be right.
        UsageError: `shapes` does not fit the model.
        BackendUnavailable: ai-edge-litert is missing.
    """
    loaded = model if isinstance(model, Model) else load(model)
    inferred = resized(loaded, None if isinstance(model, Model) else os.fspath(model), shapes or {})
    nodes = placed(loaded, inferred)
    main = loaded.subgraphs[0]
    ops = tuple(_op(part, op_work(part.node)) for part in nodes)
    return Graph(
        name=loaded.name,
        ops=ops,
        tensors=_tensors(loaded, nodes),
        inputs=tuple(_name(loaded, 0, index) for index in main.inputs),
        outputs=tuple(_name(loaded, 0, index) for index in main.outputs),
        unknown=tuple(op.name for op in ops if op.flop is None),
    )


def placed(model: Model, shapes: Shapes | None = None) -> list[Placed]:
    """All operators of a model in execution order, each subgraph behind the operator that runs it.

    Args:
        shapes: (subgraph, tensor) → executed shape, where it is not the file's.

    Raises:
        ReadError: subgraphs that call themselves.
    """
    found: list[Placed] = []
    for part in _of_subgraph(model, 0, shapes or {}, "", (0,), _ONCE, ""):
        if len(found) >= _MOST_PLACED:
            raise ReadError(f"at most {_MOST_PLACED} operators", found="more, by subgraphs that call others", remedy="simplify the model")
        found.append(part)
    return found


def _of_subgraph(model: Model, number: int, shapes: Shapes, prefix: str, path: tuple[int, ...], trips: TripCount, note: str) -> Iterator[Placed]:
    for index, operator in enumerate(model.subgraphs[number].operators):
        name = f"{prefix}{operator.kind}:{index}"
        yield Placed(node=node_of(model, number, index, shapes), name=name, subgraph=number, index=index, trips=trips, note=note)
        for option, inner in operator.subgraphs.items():
            if inner in path or len(path) > _DEEPEST:
                raise ReadError("subgraphs that do not call themselves", found=f"{name} runs subgraph {inner}", remedy="export the model again")
            count, assumed = _trips(operator, option)
            known = "assumed" if "assumed" in (trips.known, count.known) else "exact"
            own = TripCount(count=trips.count * count.count, known="assumed" if known == "assumed" else "exact")
            yield from _of_subgraph(model, inner, shapes, f"{name}/{option.removesuffix('SubgraphIndex')}/", (*path, inner), own, note or assumed)


def _trips(operator: Operator, option: str) -> tuple[TripCount, str]:
    if operator.kind == "CALL_ONCE":
        return TripCount(count=0, known="exact"), "runs in the first call only"
    if operator.kind == "IF":
        return TripCount(count=0.5, known="assumed"), "a branch of IF, assumed to run half the time"
    if operator.kind == "WHILE":
        count = 2 if option.lower().startswith("cond") else 1
        return TripCount(count=count, known="assumed"), "WHILE, assumed to run its body once"
    return _ONCE, ""


def node_of(model: Model, subgraph: int, index: int, shapes: Shapes | None = None) -> Node:
    """One operator as a node; operands are named `subgraph/name` outside of the main graph, so that a name means one value."""
    part = model.subgraphs[subgraph]
    operator = part.operators[index]

    def value(position: int) -> Value | None:
        return None if position < 0 else _value(model, subgraph, position, shapes or {})

    inputs = tuple(value(position) for position in operator.inputs)
    if any(position in part.sparse for position in operator.inputs):
        # Zeros are left out of storage and of the work; how many there are is in the weights, which nobody looks at here.
        inputs = tuple(_sparse(given, position in part.sparse) for given, position in zip(inputs, operator.inputs, strict=True))
    outputs = tuple(value(position) for position in operator.outputs)
    return Node(kind=operator.kind, name=f"{operator.kind}:{index}", inputs=inputs, outputs=outputs, attributes=operator.attributes)


def _sparse(value: Value | None, sparse: bool) -> Value | None:
    return msgspec.structs.replace(value, shape=("non-zeros",)) if value is not None and sparse else value


def _value(model: Model, subgraph: int, index: int, shapes: Shapes) -> Value:
    own = model.subgraphs[subgraph].tensors[index]
    shape = shapes.get((subgraph, index), own.shape)
    return msgspec.structs.replace(own, name=_name(model, subgraph, index), shape=shape)


def _name(model: Model, subgraph: int, index: int) -> str:
    own = model.subgraphs[subgraph].tensors[index].name
    return own if subgraph == 0 else f"{subgraph}/{own}"


def _op(part: Placed, work: Work) -> Op:
    node = part.node
    reason = work.reason or ("the bytes of an operand are not known" if work.read_bytes is None or work.write_bytes is None else "")
    return Op(
        name=part.name,
        kind=node.kind,
        inputs=tuple(value.name if value is not None else "" for value in node.inputs),
        outputs=tuple(value.name if value is not None else "" for value in node.outputs),
        engine=work.engine if work.flop is not None else None,
        precision=work.precision,
        flop=work.flop,
        read_bytes=work.read_bytes,
        write_bytes=work.write_bytes,
        trips=part.trips,
        reason="; ".join(text for text in (reason, part.note) if text),
        attributes={"group": work.group, **{name: _text(value) for name, value in node.attributes.items()}},
    )


def _text(value: object) -> str:
    return (",".join(map(str, value)) if isinstance(value, tuple) else str(value))[:80]


def view_sources(nodes: list[Placed]) -> dict[str, str]:
    """Value → the value whose numbers it shows, followed to its end."""
    source: dict[str, str] = {}
    for part in nodes:
        first = part.node.optional(0)
        if part.node.kind in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS") and first is not None and part.node.written:
            source[part.node.written[0].name] = source.get(first.name, first.name)
    return source


def _tensors(model: Model, nodes: list[Placed]) -> tuple[Tensor, ...]:
    main: Subgraph = model.subgraphs[0]
    sources = view_sources(nodes)
    found = {_name(model, 0, index): _value(model, 0, index, {}) for index in (*main.inputs, *main.outputs)}
    for part in nodes:
        for value in (*part.node.inputs, *part.node.outputs):
            if value is not None:
                found[value.name] = value
    return tuple(
        Tensor(name=name, shape=value.shape, dtype=value.dtype, storage=sources.get(name, name), constant=value.constant)
        for name, value in found.items()
    )
