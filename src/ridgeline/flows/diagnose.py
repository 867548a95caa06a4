"""`diagnose`: from a target to a named bottleneck. Joins measuring with deciding and writes the Run.

The loop is the design's: ask `diagnosis.next` what it needs, let an instrument in the child satisfy it, ask again. An instrument that fails is
written down with its reason and not asked for again, so that one broken profiler never costs the verdict.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ridgeline import diagnosis as rules
from ridgeline.core import Caution, Device, Diagnosis, Facts, Need, RidgelineError, Run
from ridgeline.machine import Limits, Worker, commit_of, read_machine, software_versions
from ridgeline.measurement.agent import PreparedReport
from ridgeline.targets import TargetSpec, worker_environment

from .instruments import Instruments
from .probe import probe

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

__all__ = ["diagnose", "filled"]

Report = Callable[[str, float | None], None]
#: Seconds given to all instruments together when the person names no budget; the probe is apart and cached.
DEFAULT_BUDGET_S = 16.0
#: One request to the child may take this long: a target whose call hangs ends with a clear line and not never.
_LONGEST_S = 3600.0


def diagnose(
    spec: TargetSpec,
    *,
    time_budget_s: float | None = None,
    samples: int | None = None,
    notebook: Notebook | None = None,
    report: Report | None = None,
    device: Device | None = None,
    command: str = "",
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

    Returns:
        The diagnosis; its `run` is the id in the notebook, null where it was not kept.

    Raises:
        TargetFailed: the target raised, exited, crashed or ran out of time.
        ReadError, UsageError, BackendUnavailable: see the message.
    """
    report = report or (lambda label, fraction: None)
    machine = read_machine()
    with Worker(limits=Limits(wall_s=_LONGEST_S), environment=worker_environment(spec)) as worker:
        report("preparing the target", None)
        prepared = worker.call("ridgeline.measurement.agent:prepare", {"spec": spec}, PreparedReport)
        facts = Facts(target=prepared.info, machine=machine, device=device, first_s=prepared.first_s, warnings=prepared.warnings)
        record = _Record(spec, notebook, command)
        budget = time_budget_s or DEFAULT_BUDGET_S
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
            facts = instruments.satisfy(step, facts)
            record.keep(facts, None)
    found = filled(step, record.run(facts, None))
    return record.closed(facts, found)


def filled(found: Diagnosis, run: Run) -> Diagnosis:
    """The diagnosis with the fields that belong to the record rather than to the facts."""
    return msgspec.structs.replace(found, software=run.software, method=run.method, commit=run.commit, run=run.id, command=run.command)


class _Record:
    """The Run of this diagnosis, written again after every step."""

    def __init__(self, spec: TargetSpec, notebook: Notebook | None, command: str) -> None:
        from ridgeline.notebook import new_run_id

        self._notebook = notebook
        self._command = command
        self._failure = ""
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
            command=self._command,
        )

    def keep(self, facts: Facts, found: Diagnosis | None) -> None:
        """Write the Run; a notebook that cannot take it (a full disk, a lock) never costs the verdict."""
        if self._notebook is None:
            return
        try:
            self._notebook.save(self.run(facts, found))
            self._failure = ""
        except RidgelineError as error:
            self._failure = str(error)

    def closed(self, facts: Facts, found: Diagnosis) -> Diagnosis:
        """Keep the finished Run; where that failed, the diagnosis says so."""
        self.keep(facts, found)
        if self._notebook is not None and not self._failure:
            return found
        warnings = found.warnings
        if self._failure:
            warnings = (*warnings, Caution(code="not-kept", message=self._failure, effect="this diagnosis is in no notebook and cannot be replayed"))
        return msgspec.structs.replace(found, run=None, warnings=warnings)


def _method(facts: Facts) -> str:
    taken = facts.samples
    parts = [f"{facts.warmup} warm-up calls, {len(taken)} samples: {taken.method}"] if taken is not None else []
    parts += [f"level {record.level}: {record.instrument}" for record in facts.levels if record.instrument]
    return "; ".join(parts)
