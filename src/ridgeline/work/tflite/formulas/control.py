"""Control flow and resources: the operator itself computes nothing, its subgraphs do, and they are listed as operators of their own.

Source: tensorflow/lite/kernels/if.cc, while.cc, call_once.cc, var_handle.cc.
"""

from __future__ import annotations

from ..formula import Node, Work, formula

__all__: list[str] = []


@formula("IF WHILE CALL CALL_ONCE")
def _bodies(node: Node) -> Work:
    return Work(group="other", reads=(0,) * len(node.inputs), writes=(0,) * len(node.outputs), reason="work is in its subgraphs")


@formula("VAR_HANDLE")
def _handle(node: Node) -> Work:
    return Work(group="view", reads=(), writes=(0,) * len(node.outputs), reason="names a variable, touches no data")
