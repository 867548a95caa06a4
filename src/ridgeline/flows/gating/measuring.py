"""Measuring one benchmark of a gate: this version alone, or beside the baseline's with processes of both interleaved."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ridgeline.core import Benchmark, RidgelineError, Run, Series, TargetFailed
from ridgeline.diagnosis.comparison import series_of
from ridgeline.machine import commit_of, read_machine, software_versions

from ..benching import bench_run
from ..records import concluded

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

    from ..comparing.sides import LiveSide

__all__ = ["Effort", "Measured", "Measurer"]

Report = Callable[[str, float | None], None]


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How much one looking costs: processes of each version, and seconds for all of them; the fewest are measured even if those are spent."""

    processes: int
    budget_s: float


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The latency of each version that was measured, in their order, and the id of the last one's run where it is kept."""

    series: tuple[Series, ...]
    run: str | None = None


class Measurer:
    """Measures the benchmarks of one gate.

    Args:
        notebook: where the runs of this version are kept; a run that it cannot take costs no verdict.
        report: progress.
        command: the command line, for the record.
        samples: calls of a process; the harness's choice if null.
        seed: of the order of processes.
    """

    def __init__(self, notebook: Notebook | None, report: Report, command: str, samples: int | None, seed: int) -> None:
        self._notebook, self._report, self._command, self._samples = notebook, report, command, samples
        self._order = random.Random(seed)
        self._machine = read_machine()
        self._software = software_versions()
        self.failure = ""

    def measured(self, name: str, sides: tuple[LiveSide, ...], effort: Effort) -> Measured:
        """The latency of each side, all under `name`; the last side is this version.

        Raises:
            TargetFailed: a side did not run in any process, or nothing but its warm-up was measured.
            UsageError, ReadError, BackendUnavailable: it cannot be measured.
        """
        from ridgeline.measurement.bench import BenchPlan, Version, run_benchmarks

        versions = [Version(spec=side.spec, name=side.name, directory=side.directory, environment=side.environment) for side in sides]
        plan = BenchPlan(processes=effort.processes, least=min(5, effort.processes), budget_s=effort.budget_s, samples=self._samples)
        found = run_benchmarks(versions, plan, report=self._labelled(name), seed=self._order.getrandbits(32))
        runs = [self._run(side, bench) for side, bench in zip(sides, found, strict=True)]
        series = tuple(_latency(run, name, side.name) for run, side in zip(runs, sides, strict=True))
        return Measured(series=series, run=self._keep(concluded(runs[-1], sides[-1].spec.path)))

    def _labelled(self, name: str) -> Report:
        return lambda label, fraction: self._report(label if label.startswith(("warning", "note")) else f"{name}: {label}", fraction)

    def _run(self, side: LiveSide, bench: Benchmark) -> Run:
        from ridgeline.notebook import new_run_id

        if bench.target is None:
            failed = next((record.failure for record in bench.processes if record.failure), "no process")
            raise TargetFailed(f"{side.name} to run", found=failed, remedy="run it on its own")
        return bench_run(
            bench, self._machine, identity=new_run_id(), at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            software=self._software, commit=side.commit or (commit_of(Path(side.spec.path)) if side.spec.path else None),
            command=self._command, target=bench.target, verb="gate",
        )  # fmt: skip

    def _keep(self, run: Run) -> str | None:
        if self._notebook is None:
            return None
        try:
            self._notebook.save(run)
        except RidgelineError as error:
            self.failure = str(error)
            return None
        return run.id


def _latency(run: Run, name: str, side: str) -> Series:
    """The latency of a call under the benchmark's name: that both versions do the same work is what the gate takes for granted."""
    found = next((series for series in series_of(run).series if series.metric == "latency" and len(series.values)), None)
    if found is None:
        raise TargetFailed(f"calls of {side} that are not warm-up", found="none", remedy="give more time")
    return msgspec.structs.replace(found, name=name, keys={**found.keys, "workload": name})
