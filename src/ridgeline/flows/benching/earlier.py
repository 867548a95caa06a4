"""What an earlier run of the same target is good for: it says beforehand which effect can be found, and an interrupted one goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ridgeline.core import Benchmark, Machine, RidgelineError, Run, TargetInfo, UsageError
from ridgeline.diagnosis.benched import bench_report
from ridgeline.machine import commit_of, software_versions
from ridgeline.measurement.bench import BenchPlan

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook
    from ridgeline.targets import TargetSpec

__all__ = ["Earlier", "detectable_before", "earlier_run"]

#: What a process says of its target that must be what it was, or two things would be in one run.
_ALIKE = ("kind", "digest", "inputs", "threads", "allocator", "precision", "providers", "environment", "use")
#: Runs of the notebook that are looked at for one of the same target.
_LOOKED_AT = 20


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """A run that goes on."""

    run: Run
    bench: Benchmark

    @property
    def processes(self) -> int:
        """Processes that it has."""
        return len(self.bench.processes)

    def left(self, plan: BenchPlan) -> BenchPlan | None:
        """The plan for what is missing, `None` where nothing is.

        Raises:
            UsageError: it would measure something else.
        """
        _refuse(self.run, "cache", self.bench.cache, plan.cache)
        if plan.processes is None:
            return msgspec.structs.replace(plan, least=1)
        left = plan.processes - self.processes
        return msgspec.structs.replace(plan, processes=left) if left > 0 else None

    def refuse_other(self, target: TargetInfo | None) -> None:
        """Refuse a target that is not what it was.

        Args:
            target: as a process of now describes it; null where none has.

        Raises:
            UsageError: its file, its inputs, its threads or what else decides its speed is another.
        """
        before = self.bench.target
        # Where no process of either came to the end, nobody has described it.
        if before is not None and target is not None:
            for name in _ALIKE:
                _refuse(self.run, name, getattr(before, name), getattr(target, name))


def _refuse(run: Run, name: str, before: object, now: object) -> None:
    if before != now:
        expected = f"what run {run.id} measured, since both would be in one run"
        raise UsageError(expected, found=f"{name} was {before or 'not set'} and is {now or 'not set'}", remedy="measure anew, and compare the runs")


def earlier_run(notebook: Notebook | None, identity: str, spec: TargetSpec, machine: Machine) -> Earlier:
    """The run to go on with.

    Raises:
        UsageError: no notebook, no such run, or one that is no benchmark of this target at this commit with this software on this machine.
    """
    if notebook is None:
        raise UsageError("a notebook to resume from", found="none", remedy="leave --no-notebook out")
    run = notebook.get(identity)
    if run.bench is None or run.verb != "bench":
        raise UsageError("a run of `ridgeline bench`", found=f"run {run.id} of {run.verb}", remedy="give the id of a benchmark")
    before = run.facts
    if before.target.spec != spec.text:
        raise UsageError(f"a run of {spec.text}", found=f"run {run.id} of {before.target.spec}", remedy="give the same target, or another run")
    if before.machine.fingerprint != machine.fingerprint:
        raise UsageError("a run of this machine", found=f"run {run.id} of another, or of one that was changed", remedy="measure anew")
    _refuse(run, "commit", run.commit, commit_of(Path(spec.path)) if spec.path else None)
    now = software_versions()
    for name in sorted(run.software.keys() | now.keys()):
        _refuse(run, name, run.software.get(name), now.get(name))
    return Earlier(run=run, bench=run.bench)


def detectable_before(notebook: Notebook, spec: TargetSpec, machine: Machine) -> str:
    """What the latest earlier benchmark of this target on this machine lets expect, one sentence; empty where there is none."""
    try:
        for summary in notebook.runs(_LOOKED_AT, verb="bench", target=spec.text):
            run = notebook.get(summary.id)
            same = run.facts.target.spec == spec.text and run.facts.machine.fingerprint == machine.fingerprint
            if not same or run.bench is None:
                continue
            report = bench_report(run)
            if report.detectable_ratio is not None:
                number = len(report.process_medians_s)
                return (
                    f"by the spread of run {run.id}, two versions with {number} processes each are told apart "
                    f"from a difference of {report.detectable_ratio - 1:.1%} on, nine times of ten"
                )
            return ""
    except RidgelineError:
        pass  # a notebook that cannot be read is told where it is written
    return ""
