"""`Work`: what one execution of an operator must do at the least, where its storages are seen (torch, numpy).

A model file shows operands and no storages: `work.onnx` has a form of its own, by position of the operand.
"""

from __future__ import annotations

import msgspec

from ridgeline.core import BufferUse, Engine, Precision

__all__ = ["Work"]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution must do at the least.

    Args:
        group: as in `ridgeline.core.OperatorRow`.
        flop: multiply-adds × 2 on `fma`, elements on any other engine, 0 for pure movement; `None` if unknown.
        engine: what limits its arithmetic; `None` for pure movement or unknown work.
        precision: number format of the arithmetic; `any` where it is that of the operands.
        reads, writes: compulsory traffic by buffer; `None` if unknown.
        reason: why something is unknown, or how it was counted where that is not plain.
        threaded: whether the library may share one execution between threads, where only the formula knows.
    """

    group: str
    flop: float | None = 0.0
    engine: Engine | None = None
    precision: Precision = "any"
    reads: tuple[BufferUse, ...] | None = ()
    writes: tuple[BufferUse, ...] | None = ()
    reason: str = ""
    threaded: bool = False

    @property
    def read_bytes(self) -> int | None:
        """Sum over `reads`."""
        return None if self.reads is None else sum(use.size_bytes for use in self.reads)

    @property
    def write_bytes(self) -> int | None:
        """Sum over `writes`."""
        return None if self.writes is None else sum(use.size_bytes for use in self.writes)
