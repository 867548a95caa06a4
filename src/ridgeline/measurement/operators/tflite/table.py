"""`profile`: the operators of a TFLite model as LiteRT ran them, as an `OpTable`, and how it cut the graph.

This module joins the profiled runs, the cut that the interpreter of the clean calls shows, and the work of every node from executed shapes. The
profiled runtime must cut the graph like the interpreter does, else its times are those of another program. `wall_s` is the runtime's own `Invoke`,
`check_wall_s` a timer around the whole call, which also holds what LiteRT does around it. Operators run one after the other: `operators_s` is
their sum.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from ridgeline.core import BackendUnavailable, OpTable, PartitionTable, UsageError
from ridgeline.targets import Prepared
from ridgeline.targets.tflite import TfliteFlavour
from ridgeline.work.tflite import load

from ...medians import median_of
from .align import align
from .cut import Cut, cut
from .litert import DELEGATE_EVENT, NODE_EVENT, ProfiledModel, ProfiledRun
from .partitions import partition_table
from .rows import TICK_S, Times, rows

__all__ = ["Profiled", "partitions", "profile"]

_WARM_UP = 3
_MOST_RUNS = 300
_INVOKE = "Invoke"
_CONTROL = frozenset({"IF", "WHILE", "CALL"})


class Profiled(msgspec.Struct, frozen=True, kw_only=True):
    """The operators of one call, and the partitions with their times."""

    table: OpTable
    partitions: PartitionTable


def partitions(prepared: Prepared) -> PartitionTable:
    """How the interpreter of the clean calls cut the graph; no times.

    Raises:
        UsageError: another kind of target.
    """
    flavour = _flavour(prepared)
    return partition_table(load(flavour.model_path), _seen(flavour), {})


def profile(prepared: Prepared, iterations: int = 10, seconds: float = 1.0, clean_s: float | None = None) -> Profiled:
    """The operators of one call of a prepared TFLite target. Call it in a process of its own (see `litert`).

    Args:
        iterations: counted calls at the least.
        seconds: about how long further calls may take; at most 300 are made.
        clean_s: wall of a clean run, where it is known: what the clock cuts off can be no more than that leaves.

    Raises:
        BackendUnavailable: the profiler is not to be had here, or what it shows is not what the clean calls run.
        TargetFailed: the model does not run under it.
        UsageError: another kind of target.
    """
    flavour = _flavour(prepared)
    model = load(flavour.model_path)
    seen = _seen(flavour)
    kinds = [operator.kind for operator in model.subgraphs[0].operators]
    _refuse(flavour, kinds)
    names = {int(entry["index"]): str(entry["name"]) for entry in flavour.interpreter.get_input_details()}
    profiled = ProfiledModel(flavour.model_path, {names[index]: array for index, array in flavour.feeds.items()}, flavour.threads, flavour.delegate)
    runs = _runs(profiled, iterations, seconds)
    times = [_times(run, seen, kinds, clean_s) for run in runs]
    shapes = {(0, int(entry["index"])): tuple(int(size) for size in entry["shape"]) for entry in flavour.interpreter.get_tensor_details()}
    made = rows(model, shapes, times, seen, flavour.threads)
    table = OpTable(
        rows=made,
        instrument="LiteRT profile (libLiteRt.so by ctypes)",
        wall_s=median_of([_invoke_us(run) * TICK_S + TICK_S / 2 for run in runs], "Invoke of the profile"),
        operators_s=median_of([sum(one.node_s.values()) for one in times], "sum of operators, which run one after the other"),
        iterations=len(runs),
        check_wall_s=median_of([run.wall_s for run in runs], "timer around LiteRtRunCompiledModel").value,
    )
    return Profiled(table=table, partitions=partition_table(model, seen, {row.name: row.total_s for row in made}))


def _seen(flavour: TfliteFlavour) -> Cut:
    interpreter = flavour.interpreter
    return cut(interpreter._get_ops_details(), {int(entry["index"]) for entry in interpreter.get_output_details()})


def _flavour(prepared: Prepared) -> TfliteFlavour:
    if not isinstance(prepared.flavour, TfliteFlavour):
        raise UsageError("a TFLite target", found=f"a target of kind {prepared.info.kind}", remedy="use the profile of its own framework")
    return prepared.flavour


def _refuse(flavour: TfliteFlavour, kinds: Sequence[str]) -> None:
    what, remedy = "per-operator times of LiteRT", "diagnose without this level"
    inner = sorted(_CONTROL.intersection(kinds))
    if inner:
        raise BackendUnavailable(what, found=f"{inner[0]}, whose subgraphs the profile does not tell apart", remedy=remedy)
    if flavour.shapes:
        raise BackendUnavailable(what, found="input shapes that are not the file's, which the profiled runtime does not take", remedy=remedy)


def _runs(profiled: ProfiledModel, iterations: int, seconds: float) -> list[ProfiledRun]:
    for _ in range(_WARM_UP):
        profiled.run()
    runs: list[ProfiledRun] = []
    started = time.perf_counter()
    while len(runs) < max(1, iterations) or (len(runs) < _MOST_RUNS and time.perf_counter() - started < seconds):
        runs.append(profiled.run())
    return runs


def _invoke_us(run: ProfiledRun) -> int:
    found = [event.elapsed_us for event in run.events if event.tag == _INVOKE]
    if len(found) != 1:
        raise BackendUnavailable("one Invoke a call in LiteRT's profile", found=str(len(found)), remedy="diagnose without this level")
    return found[0]


def _times(run: ProfiledRun, seen: Cut, kinds: Sequence[str], clean_s: float | None = None) -> Times:
    """Seconds of every node in one run.

    The clock counts whole microseconds and cuts the rest off: half of one is added to each event, or where that is less an even part of what the
    Invoke, or a clean run, holds beside the events.
    """
    events = [event for event in run.events if event.kind in (NODE_EVENT, DELEGATE_EVENT) and event.subgraph == 0]
    whole_us = min(_invoke_us(run), clean_s / TICK_S) if clean_s is not None else _invoke_us(run)
    rest = max(0.0, whole_us - sum(event.elapsed_us for event in events))
    slack_s = min(0.5, rest / max(1, len(events))) * TICK_S
    node_s = {event.index: event.elapsed_us * TICK_S + slack_s for event in events if event.kind == NODE_EVENT}
    if set(node_s) - seen.fallback:
        raise _another(f"node {min(set(node_s) - seen.fallback)} on its own")
    missing = {node for node in seen.fallback - set(node_s) if kinds[node] != "VAR_HANDLE"}
    if missing:
        raise _another(f"node {min(missing)} inside the delegate")
    groups = _delegated(run)
    pieces = [piece for piece in seen.pieces if piece.delegated]
    if len(groups) != len(pieces):
        raise _another(f"{len(groups)} delegated partitions for {len(pieces)}")
    kernels: dict[int, tuple[str, ...]] = {}
    for piece, group in zip(pieces, groups, strict=True):
        taken = align([kinds[node] for node in piece.nodes], [name for name, _ in group])
        for node, positions in zip(piece.nodes, taken, strict=True):
            node_s[node] = sum(group[position][1] * TICK_S + slack_s for position in positions)
            kernels[node] = tuple(group[position][0] for position in positions)
    return Times(node_s=node_s, kernels=kernels)


def _delegated(run: ProfiledRun) -> list[list[tuple[str, int]]]:
    """(name, microseconds) of the delegate's operators, one list a partition: its own numbers start again at 0."""
    groups: list[list[tuple[str, int]]] = []
    open_group = False
    for event in run.events:
        if event.kind == NODE_EVENT:
            open_group = False
        elif event.kind == DELEGATE_EVENT:
            if not open_group or event.index == 0:
                groups.append([])
            open_group = True
            groups[-1].append((event.tag, event.elapsed_us))
    return groups


def _another(found: str) -> BackendUnavailable:
    remedy = "diagnose without this level"
    return BackendUnavailable("a profiled runtime that cuts the graph as the interpreter does", found=found, remedy=remedy)
