"""Operators as onnxruntime would run them in a model, alone: a workload to a graph of so many equal operators.

`block` is what the rest uses. `building` puts nodes into a model; the other modules each know a few families: which nodes, attributes and operands
have the sizes of a workload. It is the inverse of `ridgeline.model.graphs.workloads`, which tests hold it to.
"""

from .block import Block, Order, Size, block, size_of

__all__ = ["Block", "Order", "Size", "block", "size_of"]
