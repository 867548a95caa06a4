"""`work_of`: FLOPs, engine, compulsory traffic and group of one call of numpy or scipy.

This module decides which formula applies. A kind without one has `flop=None` and a reason: unknown, which is not zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ridgeline.core import BufferUse
from ridgeline.work.work import Work

from . import contractions, elementwise, movement, products, reductions  # each registers its formulas
from .call import Call, formula_for
from .facts import ArrayFacts, merge
from .walk import steps

__all__ = ["work_of"]

_FAMILIES = (contractions, elementwise, movement, products, reductions)


def work_of(kind: str, inputs: Sequence[ArrayFacts], outputs: Sequence[ArrayFacts], options: Mapping[str, Any] | None = None) -> Work:
    """The work of one execution, from its shapes alone.

    Args:
        kind: such as `numpy.add`, `numpy.linalg.solve`, `scipy.special.erf`.
        inputs: arrays it read, in order of the arguments; numbers are no arrays.
        outputs: arrays it returned or was told to write.
        options: small arguments: keywords by name, `args` the positional ones with `None` in place of arrays.

    >>> a = ArrayFacts(shape=(1000, 1000), buffer=1)
    >>> work = work_of("numpy.add", [a, a], [ArrayFacts(shape=(1000, 1000), buffer=2, fresh=True)])
    >>> work.flop, work.engine, work.read_bytes, work.write_bytes
    (1000000.0, 'add', 8000000, 8000000)
    """
    call = Call(kind=kind, inputs=tuple(inputs), outputs=tuple(outputs), options=options or {})
    if kind.startswith(("numpy.random.", "scipy.stats.")):
        return Work(group="random", flop=None, reads=merge(inputs), writes=merge(outputs), reason="the rate of a generator is no ceiling")
    found = formula_for(kind)
    if found is not None:
        return _stepped(found(call), call)
    if kind.startswith("builtins.") and inputs:
        reason = "the interpreter goes through the array one element at a time"
        return Work(group="python", flop=None, reads=merge(inputs), writes=merge(outputs), reason=reason)
    return Work(group="other", flop=None, reads=merge(inputs), writes=merge(outputs), reason=f"no formula for {kind}; bytes from its shapes")


def _stepped(work: Work, call: Call) -> Work:
    """The work with the steps at which it walks through its operands."""
    found = steps(call, work.group)
    if not found:
        return work

    def stepped(uses: tuple[BufferUse, ...] | None) -> tuple[BufferUse, ...] | None:
        return None if uses is None else tuple(msgspec.structs.replace(use, stride_bytes=found.get(use.buffer)) for use in uses)

    return msgspec.structs.replace(work, reads=stepped(work.reads), writes=stepped(work.writes))
