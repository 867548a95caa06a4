"""`diagnose`: from a target to a named bottleneck. Joins measuring with deciding and writes the Run.

The loop is the design's: ask `diagnosis.next` what it needs, let an instrument in the child satisfy it, ask again. An instrument that fails is
written down with its reason and not asked for again, so that one broken profiler never costs the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ridgeline import diagnosis as rules
from ridgeline.core import BackendUnavailable, Device, Diagnosis, Facts, LevelRecord, Need, RidgelineError, UsageError
from ridgeline.core.units import format_quantity
from ridgeline.machine import Limits, Worker, read_machine
from ridgeline.measurement.agent import EVERY_LEVEL, PreparedReport
from ridgeline.targets import TargetSpec, worker_environment

from .expecting import with_expected
from .instruments import Instruments, satisfy
from .left_over import put_back_settings
from .probe import probe
from .records import Record
from .trace import UNASKED, Tracing
from .trace import record as record_trace
from .trying import Trying, experiment_of, try_changes

if TYPE_CHECKING:
    from ridgeline.model.graphs.predicting import Knowledge
    from ridgeline.notebook import Notebook

__all__ = ["diagnose"]

Report = Callable[[str, float | None], None]
#: Seconds given to all instruments together when the person names no budget; the probe is apart and cached.
DEFAULT_BUDGET_S = 16.0
#: One request to the child may take this long: a target whose call hangs ends with a clear line and not never.
_LONGEST_S = 3600.0
#: Part of the budget for the clean calls around those that a trace records.
_ASKED_PART, _UNASKED_PART = 4, 8
#: Calls that all instruments make together, after the first, of a target that takes longer than the budget.
_CALLS_OF_LONG, _CALLS_OF_LONG_COMMAND = 9, 3


def diagnose(
    spec: TargetSpec,
    *,
    time_budget_s: float | None = None,
    samples: int | None = None,
    notebook: Notebook | None = None,
    report: Report | None = None,
    device: Device | None = None,
    command: str = "",
    facts_to: Callable[[Facts], None] | None = None,
    trying: Trying | None = None,
    tracing: Tracing | None = UNASKED,
    trained: Sequence[str] = (),
) -> Diagnosis:
    """Find the bottleneck of a target, name the fix, and say what it is worth.

    Args:
        spec: from `targets.parse_target`.
        time_budget_s: seconds for measuring (the probe of a machine not seen before is apart).
        samples: stop the ground truth at this many.
        notebook: where the Run is kept; it is written after every step, so that an interrupted diagnosis loses only the step in flight.
        report: told a label and, where known, a fraction, for progress.
        device: ceilings to judge against; this machine's probe if `None`.
        command: the command line, for the record.
        facts_to: told the facts that the verdict stands on, for a report with charts.
        trying: apply the changes that can be applied beside the original, within this budget; nothing is tried if `None`.
        tracing: how a few calls are recorded as well and put to the questions that a trace is for, where a profiler can record them; `UNASKED`, the
            default, leaves it out where ten calls would take more than a quarter of the time; nothing is recorded if `None`.
        trained: files of trained models, for what the operators of an ONNX model should take; without them formulas say it, with wide intervals.

    Returns:
        The diagnosis; its `run` is the id in the notebook, null where it was not kept.

    Raises:
        TargetFailed: the target raised, exited, crashed or ran out of time.
        ReadError, UsageError, BackendUnavailable: see the message.
    """
    report = report or (lambda label, fraction: None)
    known = _knowledge(trained, spec)
    put_back_settings(report)
    machine = read_machine()
    with Worker(limits=Limits(wall_s=_LONGEST_S), environment=worker_environment(spec), preload=EVERY_LEVEL) as worker:
        report("preparing the target", None)
        prepared = worker.call("ridgeline.measurement.agent:prepare", {"spec": spec}, PreparedReport)
        facts = Facts(target=prepared.info, machine=machine, device=device, first_s=prepared.first_s, warnings=prepared.warnings)
        record = Record(spec, notebook, command)
        budget = time_budget_s or DEFAULT_BUDGET_S
        _announce(prepared.first_s, budget, prepared.info.kind, report)
        _announce_trying(prepared.first_s, trying, spec, report)
        instruments = Instruments(
            spec=spec,
            worker=worker,
            budget_s=budget,
            samples=samples,
            report=report,
            probe=lambda: probe(report=report),
            keep=lambda partial: record.keep(partial, None),
        )
        while isinstance(step := rules.next(facts), Need):
            facts = satisfy(step, instruments, facts)
            record.keep(facts, None)
        # Of what is used for one call a start ten calls in a row show nothing.
        if tracing is not None and not (tracing.unasked and spec.use == "once"):
            call_s = step.ground_truth.median_s if step.ground_truth else prepared.first_s
            facts = _with_trace(facts, worker, tracing, budget, call_s, record, report)
        facts = with_expected(facts, spec, known, report, worker=worker)
    step = rules.next(facts)
    assert isinstance(step, Diagnosis)  # a trace and a model take nothing away that a verdict stands on
    found = record.filled(step, facts)
    if trying is not None:
        facts, found = _with_trials(found, facts, spec, trying, record, report)
    if facts_to is not None:
        facts_to(facts)
    return record.closed(facts, found)


def _knowledge(trained: Sequence[str], spec: TargetSpec) -> Knowledge | None:
    """Trained models, before anything is measured: a file that cannot be read is the person's business."""
    if not trained:
        return None
    if spec.kind != "onnx":
        raise UsageError("an ONNX model beside a trained model", found=f"{spec.text}, a target of kind {spec.kind}", remedy="leave out --model")
    from .predicting.trained import knowledge_of

    return knowledge_of(trained)


def _announce(first_s: float | None, budget_s: float, kind: str, report: Report) -> None:
    """Say beforehand that a budget cannot be kept, where one call alone is longer than it."""
    if first_s is None or first_s <= budget_s:
        return
    more = first_s * (_CALLS_OF_LONG_COMMAND if kind == "command" else _CALLS_OF_LONG)
    took, budget, about = (format_quantity(seconds, "s") for seconds in (first_s, budget_s, more))
    report(f"note: one call takes {took}, the time budget is {budget}: this will take about {about} more", None)


def _announce_trying(first_s: float | None, trying: Trying | None, spec: TargetSpec, report: Report) -> None:
    """Say beforehand what trying does to the target, and whether its calls are too slow for anything to be tried."""
    if trying is None:
        return
    report(
        "note: --try calls the target over and over, in several processes at the same time: whatever a call changes outside happens as often", None
    )
    if first_s is not None and spec.use == "repeated" and not trying.allows(first_s):
        report(f"note: if later calls take as long as the first, nothing can be tried: {trying.too_little(first_s)}", None)


def _with_trace(facts: Facts, worker: Worker, tracing: Tracing, budget_s: float, call_s: float | None, record: Record, report: Report) -> Facts:
    """The trace goes to the record; where none is to be had, the facts say why, if it was asked for."""
    skipped = _too_long(call_s, tracing.iterations, budget_s) if tracing.unasked else ""
    if not skipped:
        try:
            record.trace = record_trace(worker, tracing, budget_s / (_UNASKED_PART if tracing.unasked else _ASKED_PART), report)
        except BackendUnavailable as error:
            skipped = "" if tracing.unasked else str(error)
        except RidgelineError as error:
            skipped = str(error)
    return msgspec.structs.replace(facts, levels=(*facts.levels, LevelRecord(level=3, instrument="trace", skipped=skipped))) if skipped else facts


def _too_long(call_s: float | None, calls: int, budget_s: float) -> str:
    """Why a trace that nobody asked for is left out; empty if it is not."""
    if call_s is None or calls * call_s <= budget_s / _ASKED_PART:
        return ""
    whole, budget = format_quantity(calls * call_s, "s"), format_quantity(budget_s, "s")
    return f"{calls} calls take {whole}, more than a quarter of the time budget of {budget}; --trace records them all the same"


def _with_trials(found: Diagnosis, facts: Facts, spec: TargetSpec, trying: Trying, record: Record, report: Report) -> tuple[Facts, Diagnosis]:
    """Facts and diagnosis with what was tried; every finished trial is in the notebook before the next begins."""

    def judged(tried: Facts) -> Diagnosis:
        again = rules.next(tried)
        return record.filled(again, tried) if isinstance(again, Diagnosis) else found

    def keep(tried: Facts) -> None:
        so_far = judged(tried)
        record.keep(tried, so_far)
        record.experiment(experiment_of(so_far, so_far.tried[-1], so_far.run or ""))

    record.keep(facts, found)
    facts = try_changes(found, facts, spec, trying, report=report, keep=keep)
    return facts, judged(facts)
