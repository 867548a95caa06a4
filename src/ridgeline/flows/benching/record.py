"""The Run of a benchmark: made from what was measured, written again as processes finish."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import (
    Benchmark,
    BenchReport,
    Caution,
    ClockState,
    Column,
    CoreToCore,
    Facts,
    Machine,
    Quantity,
    RidgelineError,
    Run,
    Samples,
    TargetFailed,
    TargetInfo,
)
from ridgeline.machine import commit_of, read_machine, software_versions
from ridgeline.measurement.bench.joining import joined
from ridgeline.stats import mad_sigma, median_interval

from ..records import concluded
from .earlier import Earlier

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook
    from ridgeline.targets import TargetSpec

__all__ = ["BenchRecord", "bench_run"]

#: Seconds between two saves: a save costs more than a process.
_SAVE_S = 2.0


class BenchRecord:
    """The Run of this benchmark, written again as processes finish.

    Args:
        spec: the target.
        notebook: where it is kept; nowhere if null.
        command: the command line.
        earlier: the run that this one goes on with.
    """

    def __init__(self, spec: TargetSpec, notebook: Notebook | None, command: str, earlier: Earlier | None = None) -> None:
        from ridgeline.notebook import new_run_id

        self.machine: Machine = read_machine()
        self._spec, self._notebook, self._earlier = spec, notebook, earlier
        now = datetime.datetime.now(datetime.UTC)
        self._id = earlier.run.id if earlier else new_run_id()
        self._at = earlier.run.at if earlier else now.isoformat(timespec="seconds")
        self._command = command or (earlier.run.command if earlier else "")
        self._software = software_versions()
        self._commit = commit_of(Path(spec.path)) if spec.path else None
        self._offset_s = max(0.0, (now - datetime.datetime.fromisoformat(self._at)).total_seconds()) if earlier else 0.0
        self._latest: Benchmark | None = None
        self._saved_at = time.monotonic()
        self._failure = ""

    def keep(self, found: Benchmark) -> None:
        """Keep what there is, at most every two seconds."""
        self._latest = found
        if time.monotonic() - self._saved_at >= _SAVE_S:
            self.save_now()

    def save_now(self, *, done: bool = False) -> None:
        """Write what there is, concluded where it is all; a notebook that cannot take it never costs the measurement."""
        if self._notebook is None or self._latest is None or len(self._latest.samples) == 0:
            return
        try:
            run = self._run(self._latest)
            self._notebook.save(concluded(run, self._spec.path) if done else run)
            self._failure = ""
        except RidgelineError as error:
            self._failure = str(error)
        self._saved_at = time.monotonic()

    def finished(self, found: Benchmark) -> Run:
        """The finished Run, kept.

        Raises:
            TargetFailed: no process measured anything.
        """
        if len(found.samples) == 0:
            failed = next((record.failure for record in found.processes if record.failure), "no process")
            raise TargetFailed("a target that runs", found=failed, remedy="run it on its own")
        self._latest = found
        self.save_now(done=True)
        return self._run(found)

    def told(self, report: BenchReport) -> BenchReport:
        """The report with what the record knows: where it is not kept, it says so."""
        if self._notebook is not None and not self._failure:
            return report
        warnings = report.warnings
        if self._failure:
            caution = Caution(code="not-kept", message=self._failure, effect="this benchmark is in no notebook and cannot be compared later")
            warnings = (*warnings, caution)
        return msgspec.structs.replace(report, run=None, warnings=warnings)

    def _run(self, found: Benchmark) -> Run:
        whole = joined(self._earlier.bench, found, self._offset_s) if self._earlier else found
        return bench_run(
            whole,
            self.machine,
            identity=self._id,
            at=self._at,
            software=self._software,
            commit=self._commit,
            command=self._command,
            target=self._target(whole),
        )

    def _target(self, found: Benchmark) -> TargetInfo:
        kind = self._spec.kind if self._spec.kind in ("onnx", "openvino", "tflite", "script", "command") else "python"
        return found.target or msgspec.convert({"spec": self._spec.text, "kind": kind, "name": self._spec.name}, TargetInfo)


def bench_run(
    found: Benchmark,
    machine: Machine,
    *,
    identity: str,
    at: str,
    software: dict[str, str],
    commit: str | None,
    command: str,
    target: TargetInfo,
    verb: str = "bench",
) -> Run:
    """The Run of a benchmark; its facts hold the steady calls, so that whoever reads runs of a diagnosis reads it too."""
    steady = found.steady()
    first = [record.first_s for record in found.processes if record.first_s is not None]
    medians = _medians(found, steady)
    facts = Facts(
        target=target,
        machine=machine,
        samples=_taken(found.samples, steady),
        first_s=float(np.median(first)) if first else None,
        batched_s=_batched(found),
        overhead_s=found.overhead.sample_s if found.overhead else None,
        noise_floor=mad_sigma(np.log(medians)) if len(medians) > 1 else None,
        warmup=int((~steady).sum()),
        clock=_clock(found, machine),
        warnings=found.cautions,
    )
    return Run(
        id=identity,
        verb=verb,
        at=at,
        software=software,
        commit=commit,
        method=found.samples.method,
        facts=facts,
        command=command,
        bench=found,
    )


def _medians(found: Benchmark, steady: NDArray[np.bool_]) -> NDArray[np.float64]:
    wall, process = found.samples.wall_s.values, found.samples.process.values
    used = steady & (wall > 0)
    return np.array([np.median(wall[used & (process == index)]) for index in np.unique(process[used])])


def _taken(samples: Samples, mask: NDArray[np.bool_]) -> Samples:
    columns = {name: getattr(samples, name) for name in samples.__struct_fields__}
    taken = {name: Column(column.values[mask], column.unit) for name, column in columns.items() if isinstance(column, Column)}
    return msgspec.structs.replace(samples, **taken)


def _batched(found: Benchmark) -> Quantity | None:
    """Median over processes of the seconds of a call in a batch."""
    if found.batched_s is None or found.batched_process is None:
        return None
    values, process = found.batched_s.values, found.batched_process.values
    medians = np.array([np.median(values[process == index]) for index in np.unique(process)])
    middle, interval = float(np.median(medians)), median_interval(medians, 0.95) if len(medians) > 1 else None
    low, high = (interval.low, interval.high) if interval else (float(medians.min()), float(medians.max()))
    origin = f"{found.batch_size} calls between two readings of the clock, over {len(medians)} processes"
    return Quantity(value=middle, low=low, high=high, confidence=0.95, unit="s", source="measured", origin=origin)


def _clock(found: Benchmark, machine: Machine) -> ClockState:
    """Over all processes: the last governor and clock, throttling wherever it was seen, the mean of stolen time, all looks at the cores."""
    clocks = [record.clock for record in found.processes if record.clock is not None]
    if not clocks:
        return ClockState(governor=machine.governor)
    throttled = [clock.throttled for clock in clocks if clock.throttled is not None]
    steal = [clock.steal for clock in clocks if clock.steal is not None]
    return ClockState(
        governor=clocks[-1].governor or machine.governor,
        hz=clocks[-1].hz,
        throttled=any(throttled) if throttled else None,
        steal=sum(steal) / len(steal) if steal else None,
        core_to_core=CoreToCore.joined(clock.core_to_core for clock in clocks),
    )
