"""Level 3: operators and the cost of issuing one."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ridgeline.core import BackendUnavailable, Caution, DispatchFit, Facts, LevelRecord, OpTable, PartitionTable, RidgelineError
from ridgeline.measurement.agent import OperatorsReport, TfliteReport
from ridgeline.measurement.operators.providers import partitions_by_provider

from .surroundings import Instruments, perturbed

__all__ = ["dispatch", "operators"]

#: A framework's profile that explains this part of the wall, together with the interpreter, needs no second instrument.
_ENOUGH_SEEN = 0.7
#: Kinds that are a model file in a framework of their own: there is no program to record.
_MODELS = ("onnx", "openvino")
#: Operators of TFLite that run others, and the part of the operators' time from which on that is said.
_HOLDING = ("IF", "WHILE")
_HELD = 0.05


def operators(instruments: Instruments, facts: Facts) -> Facts:
    """The operators of one call, and how the runtime cut the graph where it shows it."""
    if facts.target.kind == "tflite":
        return _tflite(instruments, facts)
    found = _profile(instruments, facts)
    level = LevelRecord(
        level=3,
        instrument=found.table.instrument,
        total_s=found.table.wall_s,
        ratio_to_ground_truth=found.ratio,
        perturbed=perturbed(found.ratio),
    )
    partitions = partitions_by_provider(found.table.rows) if facts.target.kind == "onnx" else None
    return msgspec.structs.replace(facts, operators=found.table, partitions=partitions, levels=(*facts.levels, level))


def _tflite(instruments: Instruments, facts: Facts) -> Facts:
    """LiteRT's profile from a process that may crash; without it the cut of the graph alone, which needs no profile."""
    try:
        found: TfliteReport = instruments.call_apart("tflite_operators", TfliteReport, seconds=instruments.budget_s / 4)
    except RidgelineError as error:
        cut: PartitionTable = instruments.call("partitions", PartitionTable)
        skipped = LevelRecord(level=3, instrument="operators", skipped=str(error))
        cannot = {**facts.cannot, "operators": str(error)}
        return msgspec.structs.replace(facts, partitions=cut, cannot=cannot, levels=(*facts.levels, skipped))
    level = LevelRecord(
        level=3,
        instrument=found.table.instrument,
        total_s=found.table.wall_s,
        ratio_to_ground_truth=found.ratio,
        perturbed=perturbed(found.ratio),
    )
    warnings = (*facts.warnings, *_held(found.table, shares=level.perturbed is False))
    return msgspec.structs.replace(facts, operators=found.table, partitions=found.partitions, levels=(*facts.levels, level), warnings=warnings)


def _held(table: OpTable, *, shares: bool) -> Iterable[Caution]:
    """Rows that hold what other operators did: which of these took the time is not seen."""
    whole_s = table.operators_s.value
    held = [row for row in table.rows if row.kind in _HOLDING and row.total_s.value > _HELD * whole_s]
    if held:
        names = ", ".join(row.name + (f" ({row.total_s.value / whole_s:.0%} of the operators' time)" if shares else "") for row in held)
        effect = "which operators inside took the time, and how near its ceilings they come, is not known"
        yield Caution(code="inside-subgraphs", message=f"one row holds all that ran in its subgraphs: {names}", effect=effect)


def _profile(instruments: Instruments, facts: Facts) -> OperatorsReport:
    """The framework's profile, or the recorder's where there is none or it sees too little of the call."""
    seconds = instruments.budget_s / 4
    framework: OperatorsReport | None = None
    try:
        framework = instruments.call("operators", OperatorsReport, seconds=seconds)
    except BackendUnavailable:
        if facts.target.kind in _MODELS:
            raise
    if framework is not None and (facts.target.kind in _MODELS or _seen(framework) + _interpreted(facts) >= _ENOUGH_SEEN):
        return framework
    try:
        # A process of its own: the rewritten source must leave no trace in the one that the other instruments look at.
        recorded: OperatorsReport = instruments.call_apart("recorded_operators", OperatorsReport, seconds=seconds)
    except RidgelineError:
        if framework is None:
            raise
        return framework
    return recorded if framework is None or _explained(recorded) > _seen(framework) else framework


def dispatch(instruments: Instruments, facts: Facts) -> Facts:
    """The cost of issuing one operator."""
    found: DispatchFit = instruments.call("dispatch", DispatchFit, table=facts.operators, device=facts.device)
    return msgspec.structs.replace(facts, dispatch=found)


def _seen(found: OperatorsReport) -> float:
    """Share of the instrumented wall inside operators."""
    return found.table.operators_s.value / found.table.wall_s.value if found.table.wall_s.value else 0.0


def _explained(found: OperatorsReport) -> float:
    """Share of the recorder's wall in operators whose work it can know: not a framework's own, seen only from outside, nor the interpreter's."""
    rows = found.table.rows
    whole = sum(row.total_s.value for row in rows)
    known = sum(row.total_s.value for row in rows if not row.kind.startswith("torch.") and row.group != "python")
    return _seen(found) * known / whole if whole else 0.0


def _interpreted(facts: Facts) -> float:
    return facts.wall_split.interpreter.value if facts.wall_split else 0.0
