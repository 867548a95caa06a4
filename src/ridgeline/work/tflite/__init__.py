"""TFLite: what a model asks of the machine, operator by operator, from its shapes alone."""

from .file import Model, Operator, Subgraph, load
from .listing import Placed, graph, node_of, placed
from .work import known_kinds, op_work

__all__ = ["Model", "Operator", "Placed", "Subgraph", "graph", "known_kinds", "load", "node_of", "op_work", "placed"]
