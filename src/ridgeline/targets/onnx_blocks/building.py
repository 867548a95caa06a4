"""A model of n equal nodes, from a description of one.

Weights are each node's own, so that they come from where the weights of a model come from. Inputs are written by an operator before (`writers`).
What writes them is made apart as well (`bare`), so that it can be taken off. Behind each operand and result stands its last reader, so that its
memory is free again as in a model, and taken for what comes next. A session must run the nodes in the order of the file
(`ExecutionOrder.PRIORITY_BASED`): by default onnxruntime runs a node and its readers before anything that was written earlier. This module decides
names and order; which nodes there are is decided in the modules of the families.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .nodes import BLOCKED, MICROSOFT, Node, element_type, values
from .writers import constants_of_writers, freed, input_shape, kept, write, written, written_name

__all__ = ["Order", "feeds", "model"]

#: Each input just before its operator, its memory and that of the results free behind it; all inputs before the first operator; or each just before
#: its operator, and nothing free before the end, so that no memory is taken again within a call.
Order = Literal["turn", "first", "kept"]

_OPSET = 17
_SWEPT = "swept"
#: Numbers in a row of what is read between two calls.
_SWEPT_ROW = 65_536
_HELD: list[NDArray[np.float32]] = []
_IR_VERSION = 8


def model(node: Node, copies: int, *, order: Order = "turn", bare: bool = False, swept: bool = False) -> bytes:
    """The ONNX file of so many of the node, each behind what writes its inputs.

    Args:
        order: in which they are written and freed.
        bare: only what writes the inputs, not the node itself.
        swept: with an input of its own, which is read first, so that caches hold no weights of the call before.
    """
    from onnx import ModelProto, helper

    nodes = [*([_sweep()] if swept else []), *_in_order(node, copies, order, bare)]
    named = {name for each in nodes for name in each.input}
    inputs = [
        helper.make_tensor_value_info(f"operand{place}", element_type(each.dtype), input_shape(node, place))
        for place, each in enumerate(node.operands) if each is not None and not each.kept and f"operand{place}" in named
    ]  # fmt: skip
    if swept:
        inputs.append(helper.make_tensor_value_info(_SWEPT, element_type("float32"), None))
    end = helper.make_tensor_value_info(nodes[-1].output[0], element_type("float32" if nodes[-1].name == _SWEPT else "int64"), None)
    domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1), helper.make_opsetid(BLOCKED, 1)]
    # Put where it belongs at once: what makes graphs and models of parts copies them, a hundred megabytes twice.
    made = ModelProto(ir_version=_IR_VERSION, opset_import=domains)
    made.graph.name = "block"
    made.graph.node.extend(nodes)
    made.graph.input.extend(inputs)
    made.graph.output.append(end)
    for name, content in [*constants_of_writers(node), *([] if bare else _kept(node, copies))]:
        made.graph.initializer.add(name=name, dims=content.shape, data_type=element_type(content.dtype.name), raw_data=content.tobytes())
    return bytes(made.SerializeToString())


def _in_order(node: Node, copies: int, order: Order, bare: bool) -> list[Any]:
    """All nodes in the order in which they are to run."""
    written_places, results = written(node), () if bare else range(len(node.results))
    names = [
        [*(f"result{place}_{number}" for place in results), *(written_name(place, number) for place in written_places)] for number in range(copies)
    ]
    writes = [write(node, number) for number in range(copies)]
    runs = [[] if bare else [_run(node, number)] for number in range(copies)]
    if order == "kept":
        first = [each for both in zip(writes, runs, strict=True) for part in both for each in part]
        return [*first, *kept(names)]
    ends = [freed(each) for each in names]
    if order == "first":
        return [*(each for part in writes for each in part), *(each for both in zip(runs, ends, strict=True) for part in both for each in part)]
    return [each for three in zip(writes, runs, ends, strict=True) for part in three for each in part]


def _sweep() -> Any:
    """Reads all of its input, by all threads."""
    from onnx import helper

    return helper.make_node("ReduceMax", [_SWEPT], [f"{_SWEPT}_most"], name=_SWEPT, axes=[1], keepdims=0)


def _run(node: Node, number: int) -> Any:
    from onnx import helper

    results = [f"result{place}_{number}" for place in range(len(node.results))]
    names = [_name(node, place, number) for place in range(len(node.operands))]
    return helper.make_node(node.kind, names, results, domain=node.domain, name=f"node{number}", **node.attributes)


def _name(node: Node, place: int, number: int) -> str:
    each = node.operands[place]
    if each is None:
        return ""
    if place in written(node):
        return written_name(place, number)
    return f"operand{place}_{number}" if each.own else f"operand{place}"


def _kept(node: Node, copies: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """What is in the file: weights of each copy, and what all copies are told."""
    for place, each in enumerate(node.operands):
        if each is not None and each.kept:
            for number in range(copies) if each.own else (0,):
                yield _name(node, place, number), values(each, number)


def feeds(node: Node, swept_bytes: int = 0) -> dict[str, NDArray[Any]]:
    """A value for each input of the model, with one of about so many bytes to be read first, if any."""
    return {**_feeds(node), **({_SWEPT: _ones(swept_bytes)} if swept_bytes else {})}


def _ones(size_bytes: int) -> NDArray[np.float32]:
    """Of one array for all blocks, since making one takes longer than measuring a block; larger if it was too small."""
    rows = max(1, size_bytes // (4 * _SWEPT_ROW))
    if not _HELD or len(_HELD[0]) < rows:
        _HELD[:] = [np.ones((rows, _SWEPT_ROW), np.float32)]
    return _HELD[0][:rows]


def _feeds(node: Node) -> dict[str, NDArray[Any]]:
    given = {place: each for place, each in enumerate(node.operands) if each is not None and not each.kept}
    return {f"operand{place}": np.reshape(values(each), input_shape(node, place)) for place, each in given.items()}
