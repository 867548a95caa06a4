"""Control flow: the operator itself computes nothing, its bodies do, and they are listed as operators of their own.

The bytes that If, Loop and Scan pass on are moved by the runtime at most once; they are not counted here, since most are handed over.
Source: ONNX Operators.md, If, Loop, Scan, SequenceMap.
"""

from __future__ import annotations

from ..formula import Work, formula
from ..node import Node

__all__: list[str] = []


@formula("If Loop Scan SequenceMap ms:BeamSearch ms:WhisperBeamSearch ms:GreedySearch ms:Sampling")
def _bodies(node: Node) -> Work:
    return Work(group="other", reads=(0,) * len(node.inputs), writes=(0,) * len(node.outputs), reason="work is in its bodies")
