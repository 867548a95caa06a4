"""`profile`: the operators of a TFLite model as LiteRT ran them, as an `OpTable`, and how it cut the graph.

This module joins the profiled runs, the cut that the interpreter of the clean calls shows, and the work of every node from executed shapes. The
profiled runtime must cut the graph like the interpreter does, else its times are those of another program. `check_wall_s` is a timer around the whole
profiled call, which also holds what LiteRT does around its Invoke. Operators run one after the other: `operators_s` is their sum.
"""

from __future__ import annotations

import msgspec

from ridgeline.core import BackendUnavailable, OpTable, PartitionTable, Quantity, UsageError
from ridgeline.targets import Prepared
from ridgeline.targets.tflite import TfliteFlavour
from ridgeline.work.tflite import load

from ...medians import median_of
from .cut import Cut, cut
from .litert import ProfiledModel
from .partitions import partition_table
from .rounds import rounds
from .rows import TICK_S, rows
from .times import NodeTimes, invoke_us

__all__ = ["Profiled", "partitions", "profile"]

_MOST_AXES = 8


class Profiled(msgspec.Struct, frozen=True, kw_only=True):
    """The operators of one call, the partitions with their times, and the clean calls and runs of the same rounds.

    `table.wall_s` is the profiled Invoke and what a clean call takes around its run, to set inputs and read outputs.
    """

    table: OpTable
    partitions: PartitionTable
    call_s: Quantity
    run_s: Quantity


def partitions(prepared: Prepared) -> PartitionTable:
    """How the interpreter of the clean calls cut the graph; no times.

    Raises:
        UsageError: another kind of target.
    """
    flavour = _flavour(prepared)
    return partition_table(load(flavour.model_path), _seen(flavour), {})


def profile(prepared: Prepared, iterations: int = 10, seconds: float = 1.0) -> Profiled:
    """The operators of one call of a prepared TFLite target. Call it in a process of its own (see `litert`).

    Args:
        iterations: counted rounds at the least.
        seconds: about how long further rounds may take; at most 300 are made.

    Raises:
        BackendUnavailable: the profiler is not to be had here, or what it shows is not what the clean calls run.
        TargetFailed: the model does not run under it.
        UsageError: another kind of target.
    """
    flavour = _flavour(prepared)
    model = load(flavour.model_path)
    seen = _seen(flavour)
    kinds = [operator.kind for operator in model.subgraphs[0].operators]
    _refuse(flavour)
    names = {int(entry["index"]): str(entry["name"]) for entry in flavour.interpreter.get_input_details()}
    feeds = {names[index]: array for index, array in flavour.feeds.items()}
    profiled = ProfiledModel(flavour.model_path, feeds, flavour.threads, flavour.delegate, resized=bool(flavour.shapes))
    taken = rounds(prepared.call, flavour.interpreter.invoke, profiled, iterations, seconds)
    run_s = median_of([one.run_s for one in taken], "clean runs of the interpreter, between the profiled ones")
    call_s = median_of([one.call_s for one in taken], "clean calls, between the profiled ones")
    node_times = NodeTimes(seen, kinds, run_s.value)
    times = [node_times.of(one.profiled) for one in taken]
    shapes = {(0, int(entry["index"])): tuple(int(size) for size in entry["shape"]) for entry in flavour.interpreter.get_tensor_details()}
    made = rows(model, shapes, times, seen, flavour.threads)
    around_s = max(0.0, call_s.value - run_s.value)
    table = OpTable(
        rows=made,
        instrument="LiteRT profile (libLiteRt.so by ctypes)",
        wall_s=median_of([(invoke_us(one.profiled) + 0.5) * TICK_S + around_s for one in taken], "Invoke of the profile and a clean call around it"),
        operators_s=median_of([sum(one.node_s.values()) for one in times], "sum of operators, which run one after the other"),
        iterations=len(taken),
        check_wall_s=median_of([one.profiled.wall_s for one in taken], "timer around LiteRtRunCompiledModel").value,
    )
    cut_times = partition_table(model, seen, {row.name: row.total_s for row in made})
    handoff_s = _between(run_s, table.operators_s)
    return Profiled(table=table, partitions=msgspec.structs.replace(cut_times, handoff_s=handoff_s), call_s=call_s, run_s=run_s)


def _between(clean: Quantity, operators_s: Quantity) -> Quantity:
    """At most what a clean run takes beside its operators; at the least nothing, since the interpreter's own cost a node is in it."""
    most = max(0.0, clean.high - operators_s.low)
    # A tick and less is the rounding of the clock that was dealt out to the operators.
    left = clean.value - operators_s.value
    value = min(most, left) if left > TICK_S else 0.0
    origin = "clean run less its operators; holds the interpreter's own cost too"
    return Quantity(value=value, low=0.0, high=most, confidence=clean.confidence, unit="s", source="measured", origin=origin)


def _seen(flavour: TfliteFlavour) -> Cut:
    interpreter = flavour.interpreter
    return cut(interpreter._get_ops_details(), {int(entry["index"]) for entry in interpreter.get_output_details()})


def _flavour(prepared: Prepared) -> TfliteFlavour:
    if not isinstance(prepared.flavour, TfliteFlavour):
        raise UsageError("a TFLite target", found=f"a target of kind {prepared.info.kind}", remedy="use the profile of its own framework")
    return prepared.flavour


def _refuse(flavour: TfliteFlavour) -> None:
    what, remedy = "per-operator times of LiteRT", "diagnose without this level"
    if any(array.ndim > _MOST_AXES for array in flavour.feeds.values()):
        raise BackendUnavailable(what, found=f"an input of more than {_MOST_AXES} axes", remedy=remedy)
