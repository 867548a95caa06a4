"""`diagnose`: from a target to a named bottleneck. Joins measuring with deciding and writes the Run.

The loop is the design's: ask `diagnosis.next` what it needs, let an instrument in the child satisfy it, ask again. An instrument that fails is
written down with its reason and not asked for again, so that one broken profiler never costs the verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ridgeline import diagnosis as rules
from ridgeline.core import Device, Diagnosis, Facts, Need, Run
from ridgeline.machine import Limits, Worker, commit_of, read_machine, software_versions
from ridgeline.measurement.agent import PreparedReport

from .instruments import Instruments
from .probe import probe

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook
    from ridgeline.targets import TargetSpec

__all__ = ["diagnose", "filled"]

Report = Callable[[str, float | None], None]
#: Seconds given to all instruments together when the person names no budget; the probe is apart and cached.
DEFAULT_BUDGET_S = 16.0


def diagnose(
    spec: TargetSpec,
    *,
    time_budget_s: float | None = None,
    samples: int | None = None,
    notebook: Notebook | None = None,
    report: Report | None = None,
    device: Device | None = None,
) -> Diagnosis:
    """Find the bottleneck of a target, name the fix, and say what it is worth.

    Args:
        spec: from `targets.parse_target`.
        time_budget_s: seconds for measuring (the probe of a machine not seen before is apart).
        samples: stop the ground truth at this many.
        notebook: where the Run is kept; it is written after every step, so that an interrupted diagnosis loses only the step in flight.
        report: told a label and, where known, a fraction, for progress.
        device: ceilings to judge against; this machine's probe if `None`.

    Returns:
        The diagnosis; its `run` is the id in the notebook.

    Raises:
        TargetFailed: the target raised, exited, crashed or ran out of time.
        ReadError, UsageError, BackendUnavailable: see the message.
    """
    report = report or (lambda label, fraction: None)
    machine = read_machine()
    with Worker(limits=Limits(), environment=spec.environment) as worker:
        report("preparing the target", None)
        prepared = worker.call("ridgeline.measurement.agent:prepare", {"spec": spec}, PreparedReport)
        facts = Facts(target=prepared.info, machine=machine, device=device, first_s=prepared.first_s, warnings=prepared.warnings)
        record = _Record(spec, notebook)
        budget = time_budget_s or DEFAULT_BUDGET_S
        instruments = Instruments(spec=spec, worker=worker, budget_s=budget, samples=samples, report=report, probe=lambda: probe(report=report))
        while isinstance(step := rules.next(facts), Need):
            facts = instruments.satisfy(step, facts)
            record.keep(facts, None)
    found = filled(step, record.run(facts, None))
    record.keep(facts, found)
    return found


def filled(found: Diagnosis, run: Run) -> Diagnosis:
    """The diagnosis with the fields that belong to the record rather than to the facts."""
    return msgspec.structs.replace(found, software=run.software, method=run.method, commit=run.commit, run=run.id)


class _Record:
    """The Run of this diagnosis, written again after every step."""

    def __init__(self, spec: TargetSpec, notebook: Notebook | None) -> None:
        import datetime

        from ridgeline.notebook import new_run_id

        self._notebook = notebook
        self._id = new_run_id()
        self._at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._software = software_versions()
        self._commit = commit_of(Path(spec.path)) if spec.path else None

    def run(self, facts: Facts, found: Diagnosis | None) -> Run:
        return Run(
            id=self._id,
            verb="diagnose",
            at=self._at,
            software=self._software,
            commit=self._commit,
            method=_method(facts),
            facts=facts,
            diagnosis=found,
        )

    def keep(self, facts: Facts, found: Diagnosis | None) -> None:
        if self._notebook is not None:
            self._notebook.save(self.run(facts, found))


def _method(facts: Facts) -> str:
    taken = facts.samples
    parts = [f"{facts.warmup} warm-up calls, {len(taken)} samples: {taken.method}"] if taken is not None else []
    parts += [f"level {record.level}: {record.instrument}" for record in facts.levels if record.instrument]
    return "; ".join(parts)
