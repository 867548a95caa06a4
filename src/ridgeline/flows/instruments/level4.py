"""Level 4: by what: operators repeated on another layout, and primitives inside them."""

from __future__ import annotations

import msgspec

from ridgeline.core import BackendUnavailable, Facts, PrimitiveTable, Relayout
from ridgeline.core.units import format_quantity
from ridgeline.diagnosis import blockable_rows, unfavourable_rows
from ridgeline.measurement.agent import RowToRepeat

from .surroundings import Instruments

__all__ = ["primitives", "relayouts"]

#: Rows that are repeated: those with the largest shares.
_MOST_ROWS = 8


def relayouts(instruments: Instruments, facts: Facts) -> Facts:
    """Operators that may pay for their layout or for the distance of their data, repeated on another layout or in tiles."""
    assert facts.operators is not None
    _short_enough(instruments, facts)
    wanted = []
    for index, tile_bytes in (*((row, 0) for row in unfavourable_rows(facts)[:_MOST_ROWS]), *blockable_rows(facts).items()):
        row = facts.operators.rows[index]
        wanted.append(RowToRepeat(index=index, name=row.name, shapes=row.shapes, calls=row.calls, tile_bytes=tile_bytes))
    seconds = instruments.budget_s / 6
    if any(row.kind.startswith("aten::") for row in facts.operators.rows):
        found: tuple[Relayout, ...] = instruments.call("relayouts", tuple[Relayout, ...], rows=wanted, seconds=seconds)
    else:
        found = instruments.call_apart("repeated_relayouts", tuple[Relayout, ...], rows=wanted, seconds=seconds)
    return msgspec.structs.replace(facts, relayouts=found)


def primitives(instruments: Instruments, facts: Facts) -> Facts:
    """What oneDNN did inside the operators, matched to their rows."""
    assert facts.operators is not None
    _short_enough(instruments, facts)
    rows = [RowToRepeat(index=index, name=row.name, shapes=row.shapes, calls=row.calls) for index, row in enumerate(facts.operators.rows)]
    found: PrimitiveTable = instruments.call_apart("primitives", PrimitiveTable, rows=rows)
    return msgspec.structs.replace(facts, primitives=found)


def _short_enough(instruments: Instruments, facts: Facts) -> None:
    """Both run the target a few times more, in a process of their own: nobody waits minutes for that."""
    wall_s = facts.operators.wall_s.value if facts.operators is not None else 0.0
    if wall_s > instruments.budget_s:
        raise BackendUnavailable(
            f"a call under {format_quantity(instruments.budget_s, 's')}, to be repeated",
            found=f"one of {format_quantity(wall_s, 's')}",
            remedy="allow more time with --time-budget",
        )
