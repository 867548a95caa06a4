"""Two versions measured now: processes of both in random order, looked at as they come, and stopped as soon as the verdict is certain.

What a process does is the harness's, what the numbers mean `diagnosis.comparison`'s; here is decided how the runs of both versions are made.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from ridgeline.core import Benchmark, Caution, Comparison, Machine, RidgelineError, Run, Series, TargetInfo, UsageError
from ridgeline.diagnosis.comparison import named_alike, series_of
from ridgeline.diagnosis.comparison.judge import judged as at_confidences
from ridgeline.machine import commit_of, read_machine, software_versions

from ..benching import bench_run
from ..records import concluded
from .sides import LiveSide
from .watching import Enough

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

__all__ = ["Amount", "Live", "compared_live", "latency_of", "metric_of"]

Report = Callable[[str, float | None], None]
#: Chance that equal tails are called different.
_TAIL_ERROR = 0.05
#: Seconds of calls in a process where the end waits for the tail: a p99 wants samples more than processes.
_TAIL_PROCESS_S = 0.3
#: Seconds between two saves of what has been measured.
_SAVE_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Amount:
    """How much to measure, and how it is judged.

    Attributes:
        time_budget_s: seconds for all processes of both versions.
        processes: of each version, exactly; as many as the budget allows if null.
        samples: calls of a process; as many as the harness chooses if null.
        seed: of the order of the processes.
        margin, confidence, changing: see `compare_series`.
        tail: whether to go on until the tail is judged as well.
        cache, soak, tune, lock_gpu_hz: see `BenchPlan`.
    """

    time_budget_s: float = 20.0
    processes: int | None = None
    samples: int | None = None
    seed: int = 0
    margin: float = 0.01
    confidence: float = 0.97
    changing: Collection[str] = ()
    tail: bool = False
    cache: Literal["warm", "cold"] = "warm"
    soak: bool = False
    tune: bool = False
    lock_gpu_hz: float | None = None

    def tail_confidence(self, confidence: float) -> float:
        """Confidence of the tail at a look with this one. Where the end waits for the tail, its error rate is spent over the looks as well."""
        part = (1 - confidence) / (1 - self.confidence) if self.tail else 1.0
        return 1 - _TAIL_ERROR * min(1.0, part)


@dataclass(kw_only=True)
class Live:
    """Both versions as they are measured: makes their runs, and keeps them in the notebook where there is one.

    Attributes:
        sides, infos: the versions, and what preparing found.
        notebook: where the runs are kept; nowhere if null.
        command: the command line, for the record.
        one_code: whether both versions are the same code, so that how they are run is the change.
    """

    sides: tuple[LiveSide, LiveSide]
    infos: tuple[TargetInfo, TargetInfo]
    notebook: Notebook | None = None
    command: str = ""
    one_code: bool = False
    machine: Machine = field(default_factory=read_machine)
    failure: str = ""

    def __post_init__(self) -> None:
        from ridgeline.notebook import new_run_id

        self._ids = (new_run_id(), new_run_id())
        self._at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._software = software_versions()
        self._commits = tuple(side.commit or (commit_of(side.spec.path) if side.spec.path else None) for side in self.sides)
        self._saved = time.monotonic()

    def run(self, index: int, bench: Benchmark) -> Run:
        """The run of one version."""
        return bench_run(
            bench, self.machine, identity=self._ids[index], at=self._at, software=self._software, commit=self._commits[index],
            command=self.command, target=self.infos[index], verb="compare",
        )  # fmt: skip

    def keep(self, index: int, bench: Benchmark, *, now: bool = False) -> None:
        """Save a version's processes so far, at most every two seconds; a notebook that cannot take it never costs the verdict."""
        if self.notebook is None or not (now or time.monotonic() - self._saved > _SAVE_S) or not len(bench.samples):
            return
        try:
            run = self.run(index, bench)
            self.notebook.save(concluded(run, self.sides[index].spec.path) if now else run)
            self._saved, self.failure = time.monotonic(), ""
        except RidgelineError as error:
            self.failure = str(error)


def compared_live(live: Live, amount: Amount, report: Report) -> tuple[Comparison, tuple[Run, Run]]:
    """Measure both versions interleaved and compare them.

    Raises:
        TargetFailed: a version did not run in any process.
        Unstable, UsageError, …: from the harness.
    """
    from ridgeline.measurement.bench import BenchPlan, Version, run_benchmarks

    enough = Enough(
        confidence=amount.confidence, budget_s=amount.time_budget_s, processes=amount.processes, tail=amount.tail,
        announce=lambda text: report(text, None),
    )  # fmt: skip
    versions = [Version(spec=side.spec, name=side.name, directory=side.directory, environment=side.environment) for side in live.sides]
    latest: list[Benchmark | None] = [None, None]

    def judged(benches: tuple[Benchmark, ...], confidence: float) -> Comparison | None:
        series = [latency_of(live.run(index, bench)) for index, bench in enumerate(benches)]
        if series[0] is None or series[1] is None:
            return None
        return at_confidences(
            *named_alike(series[0], series[1]), amount.margin, (confidence, confidence), amount.tail_confidence(confidence), amount.changing,
            not live.one_code,
        )  # fmt: skip

    def looked(benches: tuple[Benchmark, ...]) -> bool:
        measured = min(_processes(bench) for bench in benches)
        return bool(measured) and enough(measured, lambda confidence: judged(benches, confidence))

    def keep(index: int, bench: Benchmark) -> None:
        latest[index] = bench
        live.keep(index, bench)

    once = any(side.spec.use == "once" for side in live.sides)
    plan = BenchPlan(
        processes=amount.processes, budget_s=amount.time_budget_s, samples=1 if once else amount.samples, cache=amount.cache, soak=amount.soak,
        tune=amount.tune, lock_gpu_hz=amount.lock_gpu_hz, process_s=_TAIL_PROCESS_S if amount.tail else None,
    )  # fmt: skip
    try:
        benches = run_benchmarks(versions, plan, report=report, keep=keep, looked=looked, seed=amount.seed)
    except KeyboardInterrupt:
        for index, bench in enumerate(latest):
            if bench is not None:
                live.keep(index, bench, now=True)
        raise
    found = enough.certain or judged(benches, enough.final_confidence)
    if found is None:
        raise UsageError("calls of both versions to compare", found="a version without one that is not warm-up", remedy="give a longer --time-budget")
    for index, bench in enumerate(benches):
        live.keep(index, bench, now=True)
    runs = (live.run(0, benches[0]), live.run(1, benches[1]))
    return _closed(found, live, runs, amount, enough.told), runs


def latency_of(run: Run) -> Series | None:
    """The latency of a call in a run, of the first ones where each start is used for one; `None` where nothing was kept of it."""
    return next((series for series in series_of(run).series if series.metric == metric_of(run) and len(series.values)), None)


def metric_of(run: Run) -> str:
    """What a run is compared by: its steady calls, or the first ones where each start of a benchmark's target is used for one."""
    return "first_call" if run.bench is not None and run.facts.target.use == "once" else "latency"


def _processes(bench: Benchmark) -> int:
    """Processes with calls that are not warm-up."""
    return len(set(bench.samples.process.values[bench.steady()].tolist()))


def _closed(found: Comparison, live: Live, runs: tuple[Run, Run], amount: Amount, looked: str) -> Comparison:
    kept = live.notebook is not None and not live.failure
    warnings = found.warnings
    reasons = (*found.reasons, looked) if found.verdict != "incomparable" else found.reasons
    if live.failure:
        effect = "these runs are in no notebook and cannot be compared again"
        warnings = (*warnings, Caution(code="not-kept", message=live.failure, effect=effect))
    return msgspec.structs.replace(
        found,
        name=runs[0].facts.target.name,
        name_a=live.sides[0].name,
        name_b=live.sides[1].name,
        confidence=amount.confidence,
        run_a=runs[0].id if kept else None,
        run_b=runs[1].id if kept else None,
        warnings=warnings,
        reasons=reasons,
        command=live.command,
    )
