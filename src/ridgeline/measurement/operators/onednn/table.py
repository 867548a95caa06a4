"""`tabulate`: logged executions as a `PrimitiveTable` of one call. Pure.

Executions are one primitive when kind, implementation, shapes and operator agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ridgeline.core import Primitive, PrimitiveTable, Quantity
from ridgeline.measurement.medians import median_of
from ridgeline.readers.onednn import PrimitiveRun, VerboseLog

__all__ = ["tabulate"]


def tabulate(logs: Sequence[VerboseLog], row_of: Mapping[int, int], walls_s: Sequence[float]) -> PrimitiveTable:
    """The primitives of one call.

    Args:
        logs: one a call, at least one.
        row_of: mark (position among the recorded operators) → row of the operator table.
        walls_s: of clean calls.
    """
    found: dict[tuple[object, ...], list[list[PrimitiveRun]]] = {}
    for number, log in enumerate(logs):
        for run in log.runs:
            row = None if run.mark is None else row_of.get(run.mark)
            key = (run.kind, run.implementation, run.shapes, row)
            found.setdefault(key, [[] for _ in logs])[number].append(run)
    version = next((log.version for log in logs if log.version), "")
    return PrimitiveTable(
        primitives=tuple(_primitive(key[3], runs) for key, runs in found.items()),
        library="oneDNN",
        instrument=f"verbose log of oneDNN {version}".rstrip() + f", {len(logs)} calls",
        wall_s=median_of(list(walls_s), "clean calls in the process of the log"),
    )


def _primitive(row: object, runs: Sequence[Sequence[PrimitiveRun]]) -> Primitive:
    first = next(run for calls in runs for run in calls)
    return Primitive(
        kind=first.kind,
        calls=float(np.mean([len(calls) for calls in runs])),
        total_s=_total([sum(run.seconds for run in calls) for calls in runs]),
        implementation=first.implementation,
        shapes=first.shapes,
        operator=row if isinstance(row, int) else None,
        read_bytes=first.read_bytes,
        write_bytes=first.write_bytes,
    )


def _total(seconds: Sequence[float]) -> Quantity:
    return median_of(seconds, "oneDNN's own timer")
