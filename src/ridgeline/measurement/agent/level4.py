"""Level 4 in the child: operators repeated on another layout, and what a library's own log says of the inside of its operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ridgeline.core import BackendUnavailable, PrimitiveTable, Relayout
from ridgeline.targets import ProcessFlavour, PythonFlavour, TargetSpec
from ridgeline.targets import prepare as prepare_target

from .target import held

__all__ = ["RowToRepeat", "primitives", "relayouts", "repeated_relayouts"]


class RowToRepeat(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the operator table by what it can be found again by; with `tile_bytes` it is repeated in tiles of that size, not on another layout."""

    index: int
    name: str
    shapes: str
    calls: float
    tile_bytes: int = 0


def relayouts(rows: Sequence[RowToRepeat], seconds: float) -> tuple[Relayout, ...]:
    """Operators of torch, repeated for so many seconds in the process that holds the target.

    Raises:
        BackendUnavailable: torch is not installed.
    """
    from ..operators.torch.relayout import relayouts as repeat

    return repeat(held().call, _wanted(rows), seconds)


def repeated_relayouts(
    spec: TargetSpec, rows: Sequence[RowToRepeat], seconds: float, report: Callable[[Any], None] | None = None
) -> tuple[Relayout, ...]:
    """Operations of a numpy program, recorded once more in a process of its own and repeated there.

    Raises:
        BackendUnavailable: not a Python target.
        TargetFailed: the program does not run with its calls recorded.
    """
    from ..operators.python import detailed_call
    from ..operators.python import relayouts as repeat

    prepared = prepare_target(spec)
    load = prepared.flavour.load if isinstance(prepared.flavour, PythonFlavour | ProcessFlavour) else None
    if load is None:
        raise BackendUnavailable("a Python program to record", found=f"a {prepared.info.kind} target", remedy="give a Python function or script")
    iteration, places = detailed_call(load, synchronise=prepared.synchronise, user_files=prepared.user_files)
    return repeat(iteration, places, _wanted(rows), seconds)


def _wanted(rows: Sequence[RowToRepeat]) -> dict[tuple[str, str], tuple[int, float, int]]:
    return {(row.name, row.shapes): (row.index, row.calls, row.tile_bytes) for row in rows}


def primitives(spec: TargetSpec, rows: Sequence[RowToRepeat], calls: int = 3, report: Callable[[Any], None] | None = None) -> PrimitiveTable:
    """What oneDNN ran inside the operators of torch, by its own log, in a process of its own.

    Raises:
        BackendUnavailable: the target does not compute with torch, or torch has no oneDNN.
    """
    from ..operators.onednn import primitives as logged

    prepared = prepare_target(spec)
    return logged(prepared.call, {(row.name, row.shapes): row.index for row in rows}, calls=calls, synchronise=prepared.synchronise)
