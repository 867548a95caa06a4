"""What a formula of a TFLite operator takes and gives, and where it registers: nodes and work in the form of `work.onnx`, since both are model files
that show operands and no storages."""

from __future__ import annotations

from ridgeline.work.registry import Registry

from ..onnx.formula import Bytes, Formula, Work, bytes_read, bytes_written
from ..onnx.node import LARGEST, Node, Unknown, Value, precision_of

__all__ = [
    "FORMULAS", "LARGEST", "Bytes", "Formula", "Node", "Unknown", "Value", "Work", "bytes_read", "bytes_written", "formula", "precision_of",
]  # fmt: skip

#: By builtin name.
FORMULAS: Registry[Formula] = Registry()
formula = FORMULAS.register
