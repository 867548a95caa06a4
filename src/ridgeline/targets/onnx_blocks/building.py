"""A model of n equal nodes, from a description of one.

Weights are each node's own, so that they come from where the weights of a model come from. Inputs are written by an operator before (`writers`).
What writes them is made apart as well (`bare`), so that it can be taken off. Behind each result stands a `Shape` of it, so that its memory is free
again as in a model, and taken for the next. This module decides names and order; which nodes there are is decided in the modules of the families.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .nodes import BLOCKED, MICROSOFT, Node, element_type, values
from .writers import constants_of_writers, freed, input_shape, write, written, written_name

__all__ = ["feeds", "model"]

_OPSET = 17
_IR_VERSION = 8


def model(node: Node, copies: int, *, fresh: bool = False, bare: bool = False) -> bytes:
    """The ONNX file of so many of the node, each behind what writes its inputs.

    Args:
        fresh: all inputs are written before the first of the nodes runs, so that they are as old as the block is long.
        bare: only what writes the inputs, not the node itself.
    """
    from onnx import ModelProto, helper

    numbers = range(copies)
    done = [freed([written_name(place, number) for place in written(node)]) for number in numbers]
    runs = [[*([] if bare else _run(node, number)), *done[number]] for number in numbers]
    writes = [write(node, number) for number in numbers]
    parts = [*writes, *runs] if fresh else [part for both in zip(writes, runs, strict=True) for part in both]
    nodes = [each for part in parts for each in part]
    named = {name for each in nodes for name in each.input}
    inputs = [
        helper.make_tensor_value_info(f"operand{place}", element_type(each.dtype), input_shape(node, place))
        for place, each in enumerate(node.operands) if each is not None and not each.kept and f"operand{place}" in named
    ]  # fmt: skip
    end = helper.make_tensor_value_info(nodes[-1].output[0], element_type("int64"), None)
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


def _run(node: Node, number: int) -> list[Any]:
    from onnx import helper

    results = [f"result{place}_{number}" for place in range(len(node.results))]
    names = [_name(node, place, number) for place in range(len(node.operands))]
    return [helper.make_node(node.kind, names, results, domain=node.domain, name=f"node{number}", **node.attributes), *freed(results)]


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


def feeds(node: Node) -> dict[str, NDArray[Any]]:
    """A value for each input of the model."""
    given = {place: each for place, each in enumerate(node.operands) if each is not None and not each.kept}
    return {f"operand{place}": np.reshape(values(each), input_shape(node, place)) for place, each in given.items()}
