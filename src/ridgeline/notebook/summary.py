"""`RunSummary` and `ComparisonSummary`: what the log shows without reading a document, and how each is drawn from what is kept."""

from __future__ import annotations

import datetime

import msgspec
import numpy as np

from ridgeline.core import Benchmark, Comparison, ComparisonSet, Run, Samples

__all__ = ["ComparisonSummary", "RunSummary", "summarise", "summarise_comparison", "utc"]

# A p99 at 95 % confidence, one-sided, needs so many samples: 0.99 ** n ≤ 0.05.
_P99_NEEDS = 299


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the log.

    Args:
        id, verb, commit: as in `core.Run`; `at` as there, in UTC.
        target: as the person wrote it.
        target_digest: SHA-256 of the model or source file, empty for a command.
        machine: fingerprint; `machine_name`: model of its CPU.
        bound, cause: of the diagnosis; null without one, cause null too when healthy.
        median_s: median wall of one call in seconds, of a benchmark the median over processes of their medians; null where nothing was timed.
        p99_s: of all its steady calls; null under 299 of them.
        batched_s: seconds a call where many are issued and waited for once; null where that was not measured.
        threads: that the target was given, 0 if it decides itself.
        processes, samples: how many; null where nothing was timed.
    """

    id: str
    verb: str
    at: str
    target: str
    target_digest: str = ""
    machine: str = ""
    bound: str | None = None
    cause: str | None = None
    median_s: float | None = None
    commit: str | None = None
    machine_name: str = ""
    threads: int = 0
    p99_s: float | None = None
    batched_s: float | None = None
    processes: int | None = None
    samples: int | None = None


class ComparisonSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the log of comparisons.

    Args:
        id: as a run has one.
        at: ISO 8601 time in UTC.
        a_run, b_run: ids of the runs that were compared; null where a side is no run.
        target: what was compared, for a person.
        verdict: of a set the one that all have, else `mixed`.
        ratio: b ÷ a; null for a set, and where there is none.
    """

    id: str
    at: str
    a_run: str | None
    b_run: str | None
    target: str
    verdict: str
    ratio: float | None = None


class _Timed(msgspec.Struct, frozen=True, kw_only=True):
    median_s: float | None = None
    p99_s: float | None = None
    batched_s: float | None = None
    processes: int | None = None
    samples: int | None = None


def utc(at: str) -> str:
    """An ISO 8601 time in UTC to the second, so that times compare as texts; one that cannot be read as it is."""
    try:
        moment = datetime.datetime.fromisoformat(at)
        return moment.astimezone(datetime.UTC).isoformat(timespec="seconds") if moment.tzinfo is not None else at
    except (ValueError, OverflowError):
        return at


def summarise(run: Run) -> RunSummary:
    """The line of the log for `run`."""
    diagnosis = run.diagnosis
    found = diagnosis.bottleneck if diagnosis else None
    return RunSummary(
        id=run.id,
        verb=run.verb,
        at=utc(run.at),
        target=run.facts.target.spec,
        target_digest=run.facts.target.digest,
        machine=run.facts.machine.fingerprint,
        bound=diagnosis.bound if diagnosis else None,
        cause=found.cause if found else None,
        commit=run.commit,
        machine_name=run.facts.machine.cpu_model,
        threads=run.facts.target.threads,
        **msgspec.structs.asdict(_timed(run)),
    )


def _timed(run: Run) -> _Timed:
    """What was concluded in the diagnosis, else what follows from the calls themselves."""
    truth = run.diagnosis.ground_truth if run.diagnosis else run.truth
    if truth is not None:
        return _Timed(median_s=truth.median_s, p99_s=truth.p99_s, batched_s=truth.batched_s, processes=truth.processes, samples=truth.samples)
    if run.bench is not None:
        return _benchmarked(run.bench)
    if run.tuned is not None and run.tuned.best is not None and run.tuned.unit == "s":
        return _Timed(median_s=run.tuned.best.objective, samples=run.tuned.trials)
    # A diagnosis that is still being made, or a probe, has no number to show yet.
    return _Timed()


def _benchmarked(bench: Benchmark) -> _Timed:
    kept = bench.steady()
    walls, process = bench.samples.wall_s.values[kept], bench.samples.process.values[kept]
    if len(walls) == 0:
        return _Timed(processes=len(bench.processes), samples=0)
    medians = [float(np.median(walls[process == index])) for index in np.unique(process)]
    batches = bench.batched_s.values if bench.batched_s is not None else np.empty(0)
    return _Timed(
        median_s=float(np.median(medians)),
        p99_s=float(np.quantile(walls, 0.99)) if len(walls) >= _P99_NEEDS else None,
        batched_s=float(np.median(batches)) if len(batches) else None,
        processes=len(medians),
        samples=len(walls),
    )


def samples_of(run: Run) -> Samples | None:
    """Every timed call: of a benchmark those of its warm-up too, which are flagged."""
    return run.bench.samples if run.bench is not None else run.facts.samples


def summarise_comparison(comparison: Comparison | ComparisonSet, identity: str, at: str) -> ComparisonSummary:
    """The line of the log for a comparison that is kept under `identity`."""
    if isinstance(comparison, Comparison):
        target = comparison.name or " against ".join(name for name in (comparison.name_a, comparison.name_b) if name)
        return ComparisonSummary(
            id=identity, at=utc(at), a_run=comparison.run_a, b_run=comparison.run_b, target=target, verdict=comparison.verdict, ratio=comparison.ratio
        )
    verdicts = {one.verdict for one in comparison.comparisons}
    verdict = verdicts.pop() if len(verdicts) == 1 else "mixed" if verdicts else "inconclusive"
    return ComparisonSummary(id=identity, at=utc(at), a_run=None, b_run=None, target=f"{comparison.a} against {comparison.b}", verdict=verdict)
