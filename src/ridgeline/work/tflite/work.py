"""`op_work`: operations, engine, compulsory bytes and group of one TFLite operator, from its shapes alone.

An operator without a formula (every custom one), or whose shapes are not known, has `flop=None` and a reason: unknown, which is not zero.
"""

from __future__ import annotations

import msgspec

from . import formulas
from .formula import FORMULAS, LARGEST, Formula, Node, Unknown, Work, bytes_read, bytes_written, precision_of

__all__ = ["known_kinds", "op_work"]

formulas.load()


def known_kinds() -> frozenset[str]:
    """Builtin names of everything that has a formula."""
    return frozenset(FORMULAS)


def op_work(node: Node) -> Work:
    """The work of one execution of `node`; never raises for what a file may contain."""
    found = FORMULAS.get(node.kind)
    if found is None:
        return _complete(Work(group="other", flop=None, reason=f"no formula for {node.kind}"), node)
    try:
        return _complete(found(node), node)
    except Unknown as unknown:
        reason = str(unknown)
    except (IndexError, ZeroDivisionError, TypeError, ValueError, OverflowError) as error:
        # A formula trusts the definition of its operator; a node that does not keep to it is not an error of ours.
        reason = f"shapes or options that do not fit {node.kind}: {error}"
    return _complete(Work(group=_group(found), flop=None, reason=reason), node)


def _complete(work: Work, node: Node) -> Work:
    """Fill in the traffic and precision that the formula left open; refuse counts that no machine could do."""
    if work.flop is not None and not 0 <= work.flop < float(LARGEST) ** 2:
        work = msgspec.structs.replace(work, flop=None, engine=None, reason="more operations than any machine can do")
    return msgspec.structs.replace(
        work,
        reads=bytes_read(node) if work.reads is None else work.reads,
        writes=bytes_written(node) if work.writes is None else work.writes,
        precision=precision_of(node) if work.precision == "any" else work.precision,
    )


def _group(function: Formula) -> str:
    """The group that the module of a formula stands for, for a node whose shapes are not known."""
    module = function.__module__.rpartition(".")[2]
    return {"recurrent": "matmul", "control": "other"}.get(module, module)
