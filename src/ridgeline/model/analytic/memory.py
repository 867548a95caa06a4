"""Peak memory of a graph: constants all the time, activations while somebody still needs them, in the order given.

Decides how many bytes are live while each op runs from the tensors' storages (views share one) and their last uses. It is what an allocator without
fragmentation needs; padding, workspaces and caches of a runtime come on top. The search for a better order belongs to planning. Source: liveness as
in A. Appel, "Modern compiler implementation", chapter 10, applied to tensors: Y. Pisarchyk and J. Lee, "Efficient memory management for deep neural
net inference", arXiv:2001.03288.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.errors import OutOfRange, UsageError
from ...core.graph import Graph, Op, Tensor
from ._arrays import Indices

__all__ = ["PeakMemory", "elementwise_in_place", "peak_memory"]

#: Operator types whose output may overwrite an input of the same size: each element depends on the same element only.
_ELEMENTWISE = frozenset({
    "Abs", "Add", "And", "Cast", "Ceil", "Clip", "Cos", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log",
    "Mul", "Neg", "Not", "Or", "Pow", "Reciprocal", "Relu", "Round", "Sigmoid", "Sin", "Sqrt", "Sub", "Tanh",
})  # fmt: skip


@dataclass(frozen=True, eq=False)
class PeakMemory:
    """Live bytes of a graph in its order.

    Args:
        peak_bytes: constants, and live activations where they are most.
        constant_bytes: weights and other constants, each storage once.
        activation_bytes: the most live activations, inputs and outputs of the graph among them.
        at: index of the op that runs at the peak; -1 for a graph without ops.
        live_bytes: activations by op while it runs, int64 of shape (ops,).
    """

    peak_bytes: int
    constant_bytes: int
    activation_bytes: int
    at: int
    live_bytes: Indices


def elementwise_in_place(op: Op) -> bool:
    """Whether an op of this type may write over an input of the same size: elementwise types by their ONNX or ATen name.

    >>> [elementwise_in_place(Op(name="an op", kind=kind)) for kind in ("Relu", "aten::relu_", "Conv")]
    [True, True, False]
    """
    name = op.kind.rsplit("::", 1)[-1].rstrip("_")
    return name in _ELEMENTWISE or name.capitalize() in _ELEMENTWISE


def peak_memory(
    graph: Graph, *, order: Sequence[int] | None = None, in_place: Callable[[Op], bool] | None = None, inputs_stay: bool = True
) -> PeakMemory:
    """max over ops of Σ storages live while the op runs, plus the constants, in B.

    A storage is live from the op that first writes it (from the start for inputs of the graph) to the last op that touches it (to the end for
    outputs of the graph).

    Args:
        graph: with all shapes bound.
        order: indices of the ops in the order they run; the graph's own if not given.
        in_place: says whether an op may write its first output over an input of the same size that nobody needs afterwards; nothing is overwritten
            if not given. `elementwise_in_place` is one.
        inputs_stay: whether the caller keeps the graph's inputs to the end.

    Raises:
        UsageError: an order that is not a permutation of the ops, or one that reads a tensor before it is made.
        OutOfRange: a tensor without known size.

    >>> tensors = tuple(Tensor(name=name, shape=(256,), dtype="float32") for name in "abcd")
    >>> chain = Graph(name="chain", tensors=tensors, inputs=("a",), outputs=("d",), ops=tuple(
    ...     Op(name=f"to {after}", kind="Relu", inputs=(before,), outputs=(after,)) for before, after in ("ab", "bc", "cd")))
    >>> peak_memory(chain).peak_bytes, peak_memory(chain, inputs_stay=False).peak_bytes, peak_memory(chain, in_place=elementwise_in_place).peak_bytes
    (3072, 2048, 2048)
    """
    ops = [graph.ops[place] for place in _checked(order, len(graph.ops))]
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    storage = {name: tensor.storage or name for name, tensor in tensors.items()}
    constants, size = _sizes(graph.tensors, _used(graph), storage)
    first, last = _lifetimes(graph, ops, tensors, storage, set(constants), inputs_stay)
    if in_place is not None:
        _overwrite(ops, tensors, storage, size, first, last, in_place)
    change = np.zeros(len(ops) + 1, np.int64)
    for name, begin in first.items():
        change[begin] += size[name]
        change[last[name] + 1] -= size[name]
    live = np.cumsum(change)[: len(ops)]
    constant = sum(constants.values())
    at = int(np.argmax(live)) if len(ops) else -1
    most = int(live[at]) if len(ops) else 0
    return PeakMemory(peak_bytes=constant + most, constant_bytes=constant, activation_bytes=most, at=at, live_bytes=live)


def _checked(order: Sequence[int] | None, count: int) -> Sequence[int]:
    if order is None:
        return range(count)
    if sorted(order) != list(range(count)):
        raise UsageError(f"an order that names each of {count} ops once", found=f"{len(order)} numbers", remedy="give a permutation")
    return order


def _used(graph: Graph) -> set[str]:
    named = {name for op in graph.ops for name in (*op.inputs, *op.outputs) if name}
    return named.union(graph.inputs, graph.outputs)


def _sizes(tensors: Sequence[Tensor], used: set[str], storage: dict[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes of constant storages and of the others; a storage is as large as the largest tensor in it."""
    constants: dict[str, int] = {}
    size: dict[str, int] = {}
    for tensor in tensors:
        if tensor.name not in used and not tensor.constant:
            continue
        found = tensor.size_bytes
        if found is None:
            remedy = "bind the shapes of the graph first"
            raise OutOfRange(f"tensor {tensor.name!r} of known size", found=f"shape {tensor.shape} of {tensor.dtype}", remedy=remedy)
        where = constants if tensor.constant else size
        place = storage[tensor.name]
        where[place] = max(where.get(place, 0), found)
    for place in constants:
        # A view of a constant is no activation.
        size.pop(place, None)
    return constants, size


def _lifetimes(
    graph: Graph, ops: Sequence[Op], tensors: dict[str, Tensor], storage: dict[str, str], constants: set[str], inputs_stay: bool
) -> tuple[dict[str, int], dict[str, int]]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    end = max(len(ops) - 1, 0)

    def touch(name: str, at: int) -> None:
        if name not in tensors:
            raise UsageError("an op between tensors of the graph", found=repr(name), remedy="add the tensor to Graph.tensors")
        place = storage[name]
        if place in constants:
            return
        first.setdefault(place, at)
        last[place] = max(last.get(place, at), at)

    made = set(graph.inputs)
    for name in graph.inputs:
        touch(name, 0)
        if inputs_stay:
            touch(name, end)
    producers = {name for op in ops for name in op.outputs}
    for at, op in enumerate(ops):
        early = [name for name in op.inputs if name in producers and name not in made]
        if early:
            raise UsageError("an order in which every tensor is made before it is read", found=f"{op.name} reads {early[0]}", remedy="sort the ops")
        made.update(op.outputs)
        for name in filter(None, (*op.inputs, *op.outputs)):
            touch(name, at)
    for name in graph.outputs:
        touch(name, end)
    return first, last


def _overwrite(
    ops: Sequence[Op],
    tensors: dict[str, Tensor],
    storage: dict[str, str],
    size: dict[str, int],
    first: dict[str, int],
    last: dict[str, int],
    in_place: Callable[[Op], bool],
) -> None:
    """Let outputs take the place of inputs that die: the input's life then ends one op earlier, where the output's begins."""
    for at, op in enumerate(ops):
        if not op.outputs or op.outputs[0] not in storage or not in_place(op):
            continue
        target = storage[op.outputs[0]]
        if first.get(target) != at:
            continue
        dying = (storage[name] for name in op.inputs if name in tensors and storage[name] != target)
        for source in dying:
            if source in first and last[source] == at and size[source] == size[target]:
                last[source] = at - 1
                break
