"""`work_of`: FLOPs, engine, precision, compulsory traffic and group of one recorded op.

This module decides which formula applies; the formulas are in `formulas`, one small function a family. An operator without one has `flop=None` and
a reason: unknown, which is not zero.
"""

from __future__ import annotations

import msgspec

from ridgeline.core import BufferUse

from . import formulas, traffic
from .formula import FORMULAS, Work
from .recorded import RecordedOp, base_name, precision_of
from .walk import steps

__all__ = ["work_of"]

formulas.load()


def work_of(op: RecordedOp) -> Work:
    """The work of one execution of `op`, from its shapes alone."""
    # What only re-describes memory it was given costs nothing, whatever it is called.
    if op.is_view:
        return Work(group="view", reason="view")
    work = _stepped(_by_formula(op), op)
    if work.engine == "fma" and any(use.nested for use in (*op.inputs, *op.outputs)):
        work = msgspec.structs.replace(work, flop=None, reason="a nested tensor hides its lengths")
    return msgspec.structs.replace(work, precision=precision_of(op)) if work.precision == "any" and work.group not in ("view", "allocation") else work


def _stepped(work: Work, op: RecordedOp) -> Work:
    """The work with the steps at which it walks through its operands."""
    found = steps(op, work.group)
    if not found:
        return work

    def stepped(uses: tuple[BufferUse, ...] | None) -> tuple[BufferUse, ...] | None:
        return None if uses is None else tuple(msgspec.structs.replace(use, stride_bytes=found.get(use.buffer)) for use in uses)

    return msgspec.structs.replace(work, reads=stepped(work.reads), writes=stepped(work.writes))


def _by_formula(op: RecordedOp) -> Work:
    found = FORMULAS.get(base_name(op.kind))
    reason = f"no formula for {op.kind}; bytes from its shapes"
    if found is not None:
        try:
            return found(op)
        except (IndexError, TypeError, ValueError):  # an overload with other arguments than the formula knows
            reason = f"the formula for {op.kind} does not fit overload {op.overload}; bytes from its shapes"
    return Work(group="other", flop=None, reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)
