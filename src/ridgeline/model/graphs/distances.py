"""How much a call touches between the writing of an operator's inputs and their reading: where they are by then.

Operators run one after the other. What stands between producer and consumer pushes the inputs outwards by the bytes that it reads and writes; weights
of the whole call stand between two uses of a weight. Source: R. Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal
9 (1970) (stack distance; here in bytes touched, which bounds it from above).
"""

from __future__ import annotations

from ridgeline.core import Graph

__all__ = ["ages"]


def ages(graph: Graph) -> list[float]:
    """For each operator, in its order, bytes touched since its inputs were written, those of the operator itself among them.

    Of several inputs the mean, by their bytes; what a caller hands in was written before the call. An operator whose bytes are not known counts as
    none.
    """
    sizes = {tensor.name: float(tensor.size_bytes or 0) for tensor in graph.tensors}
    constant = {tensor.name for tensor in graph.tensors if tensor.constant}
    touched, before = 0.0, dict[str, float]()
    found = []
    for op in graph.ops:
        own = float((op.read_bytes or 0) + (op.write_bytes or 0))
        inputs = [(sizes.get(name, 0.0), touched - before.get(name, 0.0)) for name in op.inputs if name and name not in constant]
        weight = sum(size for size, _ in inputs)
        found.append(own + (sum(size * distance for size, distance in inputs) / weight if weight else 0.0))
        touched += own
        before.update(dict.fromkeys(op.outputs, touched))
    return found
