"""Level 3 of a TFLite model in the child: the clean calls and the cut in the process of the target, operator times in one that may crash."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import msgspec

from ridgeline.core import BackendUnavailable, OpTable, PartitionTable, Quantity, UsageError, quotient
from ridgeline.targets import Prepared, TargetSpec
from ridgeline.targets import prepare as prepare_target
from ridgeline.targets.tflite import TfliteFlavour

from ..medians import median_of
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
    """Level 3, between bursts of clean runs of the interpreter, in a process of its own: the profiler's library may crash.

    Raises:
        BackendUnavailable, TargetFailed: as `operators.tflite.profile`.
    """
    from ..operators.tflite import profile

    prepared = prepare_target(spec)
    runs, calls = _bursts(prepared, seconds / 4)
    found = profile(prepared, iterations, seconds / 2, clean_s=median_of(runs, "clean runs").value)
    after = _bursts(prepared, seconds / 4)
    clean_run = median_of([*runs, *after[0]], "clean runs of the interpreter, before and after the profile")
    clean_call = median_of([*calls, *after[1]], "clean calls, before and after the profile")
    around_s = max(0.0, clean_call.value - clean_run.value)
    wall_s = _later(found.table.wall_s, around_s)
    return TfliteReport(
        table=msgspec.structs.replace(found.table, wall_s=wall_s),
        partitions=msgspec.structs.replace(found.partitions, handoff_s=_between(clean_run, found.table.operators_s)),
        clean_s=clean_call,
        ratio=quotient(wall_s, clean_call, "1", origin="instrumented ÷ clean calls of the same minute"),
    )


def _later(invoke_s: Quantity, around_s: float) -> Quantity:
    """The wall of an instrumented call: the profiled Invoke, and what a clean call takes around it to set inputs and read outputs."""
    ends = {end: getattr(invoke_s, end) + around_s for end in ("value", "low", "high")}
    return msgspec.structs.replace(invoke_s, origin=f"{invoke_s.origin}, plus what a clean call takes around its run", **ends)


def _bursts(prepared: Prepared, seconds: float) -> tuple[list[float], list[float]]:
    """Walls of clean runs of the interpreter and of clean calls."""
    flavour = prepared.flavour
    if not isinstance(flavour, TfliteFlavour):
        raise UsageError("a TFLite target", found=f"a target of kind {prepared.info.kind}", remedy="use the profile of its own framework")
    prepared.call()  # sets the inputs
    return _burst(flavour.interpreter.invoke, seconds / 2), _burst(prepared.call, seconds / 2)


def _between(clean: Quantity, operators_s: Quantity) -> Quantity:
    """At most what a clean run takes beside its operators; at the least nothing, since the interpreter's own cost a node is in it."""
    most = max(0.0, clean.high - operators_s.low)
    value = min(most, max(0.0, clean.value - operators_s.value))
    origin = "clean run less its operators; holds the interpreter's own cost too"
    return Quantity(value=value, low=0.0, high=most, confidence=clean.confidence, unit="s", source="measured", origin=origin)


def _burst(call: Callable[[], Any], seconds: float) -> list[float]:
    walls: list[float] = []
    while len(walls) < 1000 and (len(walls) < 2 or sum(walls) < seconds):
        before = perf_counter()
        call()
        walls.append(perf_counter() - before)
    return walls
