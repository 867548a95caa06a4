"""Level 4: by what: operators repeated on another layout, and primitives inside them."""

from __future__ import annotations

import msgspec

from ridgeline.core import Facts, PrimitiveTable, Relayout
from ridgeline.diagnosis import unfavourable_rows
from ridgeline.measurement.agent import RowToRepeat

from .bench import Bench

__all__ = ["primitives", "relayouts"]

#: Rows that are repeated: those with the largest shares.
_MOST_ROWS = 8


def relayouts(bench: Bench, facts: Facts) -> Facts:
    """Operators that may pay for their layout, repeated on another one."""
    assert facts.operators is not None
    rows = [(index, facts.operators.rows[index]) for index in unfavourable_rows(facts)[:_MOST_ROWS]]
    wanted = [RowToRepeat(index=index, name=row.name, shapes=row.shapes, calls=row.calls) for index, row in rows]
    seconds = bench.budget_s / 6
    if any(row.kind.startswith("aten::") for _, row in rows):
        found: tuple[Relayout, ...] = bench.call("relayouts", tuple[Relayout, ...], rows=wanted, seconds=seconds)
    else:
        found = bench.call_apart("repeated_relayouts", tuple[Relayout, ...], rows=wanted, seconds=seconds)
    return msgspec.structs.replace(facts, relayouts=found)


def primitives(bench: Bench, facts: Facts) -> Facts:
    """What oneDNN did inside the operators, matched to their rows."""
    assert facts.operators is not None
    rows = [RowToRepeat(index=index, name=row.name, shapes=row.shapes, calls=row.calls) for index, row in enumerate(facts.operators.rows)]
    found: PrimitiveTable = bench.call_apart("primitives", PrimitiveTable, rows=rows)
    return msgspec.structs.replace(facts, primitives=found)
