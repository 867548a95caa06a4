"""`work_of`: FLOPs, engine, compulsory traffic and group of one recorded op.

This module decides which formula applies; the formulas are in `formulas`, one small function a family. An operator without one has `flop=None` and
a reason: unknown, which is not zero.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ridgeline.core import BufferUse, Engine
from ridgeline.work.registry import Registry

from . import traffic
from .recorded import RecordedOp, base_name

__all__ = ["Formula", "Work", "formula", "work_of"]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution must do at the least.

    Args:
        group: as in `ridgeline.core.OperatorRow`.
        flop: multiply-adds × 2 on `fma`, elements on any other engine, 0 for pure movement; `None` if unknown.
        engine: what limits its arithmetic; `None` for pure movement or unknown work.
        reads, writes: compulsory traffic by buffer; `None` if unknown.
        reason: why something is unknown, or how it was counted where that is not plain.
    """

    group: str
    flop: float | None = 0.0
    engine: Engine | None = None
    reads: tuple[BufferUse, ...] | None = ()
    writes: tuple[BufferUse, ...] | None = ()
    reason: str = ""

    @property
    def read_bytes(self) -> int | None:
        """Sum over `reads`."""
        return None if self.reads is None else sum(use.size_bytes for use in self.reads)

    @property
    def write_bytes(self) -> int | None:
        """Sum over `writes`."""
        return None if self.writes is None else sum(use.size_bytes for use in self.writes)


Formula = Callable[[RecordedOp], Work]
#: Names are base names, see `base_name`.
_FORMULAS: Registry[Formula] = Registry()
formula = _FORMULAS.register


def work_of(op: RecordedOp) -> Work:
    """The work of one execution of `op`, from its shapes alone."""
    from . import formulas  # registers; here because every formula imports this module

    formulas.load()
    # What only re-describes memory it was given costs nothing, whatever it is called.
    if op.is_view:
        return Work(group="view", reason="view")
    found = _FORMULAS.get(base_name(op.kind))
    reason = f"no formula for {op.kind}; bytes from its shapes"
    if found is not None:
        try:
            return found(op)
        except (IndexError, TypeError, ValueError):  # an overload with other arguments than the formula knows
            reason = f"the formula for {op.kind} does not fit overload {op.overload}; bytes from its shapes"
    return Work(group="other", flop=None, reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)
