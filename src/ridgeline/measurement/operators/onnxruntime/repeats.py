"""`repeated`: nodes that compute what an earlier node has computed: the same operator with the same attributes on the same tensors. Pure.

Only nodes of the main graph that run once a call: inside a body the same node means something else in every round. onnxruntime removes common
subexpressions itself from its basic level of optimisation on, so what is left here is what it does not see through.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ridgeline.work.numbering import Numbering, View
from ridgeline.work.onnx import Node
from ridgeline.work.onnx.nodes import Placed

from .match import Key

__all__ = ["repeated"]

_NO_FUNCTIONS = ("Random", "Multinomial", "Bernoulli", "Dropout")
#: Nodes with bodies, and those whose tensor attributes, which the record leaves out, are what they are.
_NOT_BY_INPUTS = frozenset({"If", "Loop", "Scan", "SequenceMap", "Constant", "ConstantOfShape"})
_DOMAINS = ("", "ai.onnx", "com.microsoft", "com.microsoft.nchwc")


def repeated(keys: Sequence[Key], calls: Mapping[Key, float], nodes: Mapping[Key, Placed]) -> list[float | None]:
    """Executions that differ for each node, 1 or 0; `None` where it cannot be told.

    Args:
        keys: in order of first execution.
        calls: executions in one call.
        nodes: key → node, where it was found.
    """
    numbering, numbers = Numbering(), dict[str, int]()

    def view(name: str) -> View:
        return View(numbers.setdefault(name, len(numbers)))

    found: list[float | None] = []
    for key in keys:
        node = nodes[key].node if key in nodes else None
        if node is None or key[0] or calls[key] != 1 or not _is_function(node):
            found.append(None)
            continue
        reads = [view(value.name) if value is not None else View(-1) for value in node.inputs]
        again = numbering.repeats(_operation(node), reads, [view(value.name) for value in node.outputs if value is not None])
        found.append(0.0 if again else 1.0)
    return found


def _is_function(node: Node) -> bool:
    return node.domain in _DOMAINS and node.kind not in _NOT_BY_INPUTS and not node.kind.startswith(_NO_FUNCTIONS) and bool(node.outputs)


def _operation(node: Node) -> Hashable:
    return (node.domain, node.kind, tuple(sorted((name, _plain(value)) for name, value in node.attributes.items())))


def _plain(value: Any) -> str:
    return repr(value)
