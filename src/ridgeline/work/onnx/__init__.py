"""ONNX: what a model asks of the machine, operator by operator, from its shapes alone."""

from .bind import bind_inputs
from .formula import Work
from .listing import graph
from .node import Node, Value, precision_of
from .work import known_kinds, op_work

__all__ = ["Node", "Value", "Work", "bind_inputs", "graph", "known_kinds", "op_work", "precision_of"]
