"""`graph`: a model as a `core.Graph`: operators in execution order with their work, and the tensors between them.

This module decides what becomes an op and what `Graph.unknown` lists: every op whose operations are not known, with the reason in it. What a
runtime computes before the first run (values that depend on constants alone) is listed with no work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ridgeline.core import Graph, Op, Tensor

from .bind import Bound, bind
from .blocked import channels_of, useful
from .formula import Work
from .model import Model, load
from .node import Value
from .nodes import Placed, contents, folded_away, placed, view_sources
from .work import op_work

__all__ = ["graph"]


def graph(model: Model | str | os.PathLike[str], shapes: Mapping[str, tuple[int, ...] | int] | None = None) -> Graph:
    """The work of a model.

    FLOPs on `fma` are 2 a multiply-add; other engines count elements (see `core.Op`). Bytes are compulsory: each distinct input once, each output
    once, views nothing. An op in a body runs `trips` times for one run of the model; both branches of an If that the shapes do not decide are
    listed with half a trip each, marked assumed.

    Args:
        model: an `onnx.ModelProto` (not changed) or a path; weights are never looked at, so external ones may be missing.
        shapes: input name → shape, or symbol of a dynamic axis → number. What stays unbound leaves `flop=None`.

    Returns:
        The graph; `unknown` names the ops without a count.

    Raises:
        ReadError: not an ONNX model, or one that cannot be right.
        UsageError: `shapes` does not fit the model.
        BackendUnavailable: the onnx package is missing.
    """
    loaded = load(model)
    constants = contents(loaded)
    bound = bind(loaded, shapes or {}, constants)
    nodes = placed(loaded, bound, bound.taken)
    folded = folded_away(nodes)
    channels = channels_of(nodes)
    ops = tuple(_op(part, folded, channels) for part in nodes)
    inputs = tuple(value.name for value in loaded.graph.input if value.name not in constants)
    return Graph(
        name=loaded.graph.name or "model",
        ops=ops,
        tensors=_tensors(nodes, bound, folded, (*inputs, *(value.name for value in loaded.graph.output))),
        inputs=inputs,
        outputs=tuple(value.name for value in loaded.graph.output),
        unknown=tuple(op.name for op in ops if op.flop is None),
    )


def _op(part: Placed, folded: set[str], channels: Mapping[str, int]) -> Op:
    node = part.node
    if node.written and all(value.name in folded for value in node.written):
        work = Work(group="view", reads=(0,), writes=(0,), reason="depends on constants alone: computed before the run")
    else:
        work = useful(node, op_work(node), channels)
    return Op(
        name=part.name,
        kind=node.kind if not node.domain else f"{node.domain}:{node.kind}",
        inputs=tuple(value.name if value is not None else "" for value in node.inputs),
        outputs=tuple(value.name if value is not None else "" for value in node.outputs),
        engine=work.engine if work.flop is not None else None,
        precision=work.precision,
        flop=work.flop,
        read_bytes=work.read_bytes,
        write_bytes=work.write_bytes,
        trips=part.trips,
        reason="; ".join(text for text in (work.reason or _untyped(work), part.note) if text),
        # A convolution has an attribute of that name, which stands beside as `groups`.
        attributes={"group": work.group, **{"groups" if name == "group" else name: _text(value) for name, value in node.attributes.items()}},
    )


def _untyped(work: Work) -> str:
    return "the bytes of an operand are not known" if work.read_bytes is None or work.write_bytes is None else ""


def _text(value: object) -> str:
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text[:80]


def _tensors(nodes: list[Placed], bound: Bound, folded: set[str], ends: tuple[str, ...]) -> tuple[Tensor, ...]:
    sources = view_sources(nodes)
    found: dict[str, Value] = {name: bound(name) for name in ends}
    for part in nodes:
        for value in (*part.node.inputs, *part.node.outputs):
            if value is not None:
                found.setdefault(value.name, value)
    return tuple(
        Tensor(
            name=name,
            shape=value.shape,
            dtype=value.dtype,
            storage=sources.get(name, name),
            constant=value.constant or name in folded or sources.get(name) in folded,
        )
        for name, value in found.items()
    )
