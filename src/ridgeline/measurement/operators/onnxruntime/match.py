"""Events matched with the nodes of the optimised model, and the executed type of every tensor.

This module decides which node an event belongs to: by name; where nodes have no name, onnxruntime calls them `Kind_index`, and those are matched by
their order within a kind. An event lists its inputs without the absent ones and without weights that were packed away, so inputs are aligned
with the node's: what is missing is a constant, whose type is known from the model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ridgeline.readers.onnxruntime import NodeEvent, TensorType
from ridgeline.work.onnx import Value
from ridgeline.work.onnx.nodes import Placed

from .runs import Executed

__all__ = ["UNNAMED", "executed_types", "matched"]

#: Prefix that marks a node the file leaves without a name.
UNNAMED = "\1unnamed-"
_DTYPES = {"float": "float32", "double": "float64", "bfloat16": "bfloat16", "float16": "float16", "string": "string", "bool": "bool"}

Key = tuple[tuple[str, ...], str, int]


def key_of(part: Executed) -> Key:
    """What tells one node from another: the nodes around it, its name and its index in its graph."""
    return (part.path, part.event.name, part.event.index)


def matched(executed: Sequence[Executed], nodes: Sequence[Placed]) -> dict[Key, Placed]:
    """Event key → node, for the events of one or more runs."""
    by_name: dict[str, list[Placed]] = defaultdict(list)
    for part in nodes:
        by_name[part.own_name].append(part)
    found: dict[Key, Placed] = {}
    open_events: dict[str, list[Executed]] = defaultdict(list)
    for event in executed:
        key = key_of(event)
        if key in found:
            continue
        candidates = [part for part in by_name.get(event.event.name, ()) if part.node.kind == event.event.kind]
        # Two branches may hold nodes of one name: the nodes around the event decide, else the first that fits.
        candidates = [part for part in candidates if part.path == event.path] or candidates
        if len(candidates) == 1:
            found[key] = candidates[0]
        elif key not in {key_of(other) for other in open_events[event.event.kind]}:
            open_events[event.event.kind].append(event)
    taken = {part.name for part in found.values()}
    for kind, events in open_events.items():
        free = [part for part in nodes if part.node.kind == kind and part.name not in taken]
        if len(free) == len(events):
            found.update({key_of(event): part for event, part in zip(events, free, strict=True) if _fits(event.event, part)})
    return found


def _fits(event: NodeEvent, part: Placed) -> bool:
    """Whether the node could have been executed with these types: enough inputs, and constants of the listed shapes."""
    return align(event, part) is not None


def align(event: NodeEvent, part: Placed) -> list[Value | None] | None:
    """The node's inputs with executed types; `None` if they cannot be aligned."""
    listed = list(event.inputs)
    present = [value for value in part.node.inputs if value is not None]
    missing = len(present) - len(listed)
    if missing < 0:
        return None
    aligned: list[Value | None] = []
    for value in part.node.inputs:
        if value is None:
            aligned.append(None)
        elif missing and value.constant and not (listed and _same(value, listed[0]) and _constants_ahead(part, value) >= missing):
            aligned.append(value)
            missing -= 1
        elif not listed:
            return None
        else:
            aligned.append(typed(value, listed.pop(0)))
    return aligned if not listed else None


def _constants_ahead(part: Placed, value: Value) -> int:
    """Constants among the inputs behind `value`, which could be the missing ones instead."""
    inputs = [one for one in part.node.inputs if one is not None]
    return sum(one.constant for one in inputs[inputs.index(value) + 1 :])


def _same(value: Value, listed: TensorType) -> bool:
    return value.shape == listed.shape and (not value.dtype or value.dtype == dtype_of(listed.dtype))


def dtype_of(name: str) -> str:
    """onnxruntime's element type as a key of `DTYPE_BYTES`."""
    return _DTYPES.get(name, name)


def typed(value: Value, executed: TensorType) -> Value:
    """The value with its executed type; a dimension below zero is not a shape."""
    shape = executed.shape if all(dim >= 0 for dim in executed.shape) else None
    return Value(name=value.name, shape=shape, dtype=dtype_of(executed.dtype), constant=value.constant, content=value.content)


def executed_types(event: NodeEvent, part: Placed) -> tuple[tuple[Value | None, ...], tuple[Value | None, ...]]:
    """Inputs and outputs of a node as executed; what cannot be aligned keeps what the model says."""
    inputs = align(event, part)
    outputs: list[Value | None] = []
    listed = list(event.outputs)
    for value in part.node.outputs:
        outputs.append(typed(value, listed.pop(0)) if value is not None and listed else value)
    return (tuple(inputs) if inputs is not None else part.node.inputs), tuple(outputs)


def known_types(found: Mapping[Key, Placed], executed: Sequence[Executed]) -> dict[str, Value]:
    """Unique tensor name → executed type."""
    types: dict[str, Value] = {}
    for event in executed:
        part = found.get(key_of(event))
        if part is not None:
            inputs, outputs = executed_types(event.event, part)
            types.update({value.name: value for value in (*inputs, *outputs) if value is not None and value.shape is not None})
    return types
