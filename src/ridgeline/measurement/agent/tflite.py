"""Level 3 of a TFLite model in the child: the clean calls and the cut in the process of the target, operator times in one that may crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ridgeline.core import BackendUnavailable, OpTable, PartitionTable, Quantity, quotient
from ridgeline.targets import TargetSpec
from ridgeline.targets import prepare as prepare_target

from .target import held

__all__ = ["TfliteReport", "partitions", "tflite_operators"]


class TfliteReport(msgspec.Struct, frozen=True, kw_only=True):
    """Operators and partitions of one call, clean calls of the same minute, and the ratio of the instrumented call to them."""

    table: OpTable
    partitions: PartitionTable
    clean_s: Quantity
    ratio: Quantity


def partitions() -> PartitionTable:
    """How the target's runtime cut its graph; makes no calls.

    Raises:
        BackendUnavailable: the target is of no kind that shows it.
    """
    from ..operators.tflite import partitions as cut

    prepared = held()
    if prepared.info.kind != "tflite":
        raise BackendUnavailable("a runtime that shows its partitions", found=f"a {prepared.info.kind} target", remedy="see its operators")
    return cut(prepared)


def tflite_operators(spec: TargetSpec, seconds: float, iterations: int = 10, report: Callable[[Any], None] | None = None) -> TfliteReport:
    """Level 3, between clean calls, in a process of its own: the profiler's library may crash.

    Raises:
        BackendUnavailable, TargetFailed, UsageError: as `operators.tflite.profile`.
    """
    from ..operators.tflite import profile

    found = profile(prepare_target(spec), iterations, seconds)
    ratio = quotient(found.table.wall_s, found.call_s, "1", origin="instrumented ÷ clean calls of the same rounds")
    return TfliteReport(table=found.table, partitions=found.partitions, clean_s=found.call_s, ratio=ratio)
