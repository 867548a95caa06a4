"""What is concluded from a benchmark: latency with its interval over processes, quantiles or why there are none, one steady state or not.

Pure: from a stored run. The median and its interval are over the processes that settled (of all where none did); quantiles are of all steady calls,
their intervals widened by what processes differ. Throughput is what batches showed, never one over the latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import (
    Benchmark,
    BenchReport,
    Caution,
    GroundTruth,
    InputLatency,
    Mode,
    QuantileReport,
    Run,
    Samples,
    Steadiness,
    TailReport,
    UsageError,
)
from ridgeline.core.samples import FLAG_THROTTLED
from ridgeline.core.units import format_quantity
from ridgeline.stats import (
    clustered_quantile_interval,
    detectable_of,
    levels,
    mad_sigma,
    median_interval,
    minimum_samples,
    quantile_interval,
    theil_sen_slope,
)

from .comparison.contention import clear_of, process_medians
from .comparison.stored import series_of
from .cores import moved_within
from .steadiness import steadiness_of
from .tail import explain_tail

__all__ = ["bench_report"]

Floats = NDArray[Any]
_CONFIDENCE, _COMPARED = 0.95, 0.97
_QUANTILES = (0.5, 0.9, 0.99, 0.999)
#: Fewest calls of which a tail is explained, fewest processes of which a trend is read.
_LEAST_OF_TAIL, _LEAST_OF_TREND = 100, 6
#: A timer that takes more of a sample than this is said.
_TIMER_SHARE = 0.01
#: A share of disturbed calls that is told.
_TOLD = 0.05
#: A synchronisation with nothing to wait for that takes more of a call than this is said.
_WAIT_SHARE = 0.01
#: A call that takes so many times as long in a batch as alone is said.
_SLOWER_IN_BATCHES = 1.25


def bench_report(run: Run) -> BenchReport:
    """The page of a benchmark.

    Args:
        run: with `bench`, or with samples of level 1.

    Raises:
        UsageError: a run in which no call was timed.
    """
    bench = _bench(run)
    processes = _by_process(bench)
    calls = np.concatenate([process for _, process in processes])
    steadiness = _steadiness(run, bench)
    settled = {state.process for state in steadiness.processes if state.state == "steady"}
    medians = np.array([float(np.median(process)) for index, process in processes if index in settled or not settled])
    target, facts = run.facts.target, run.facts
    batched = _batched(bench)
    return BenchReport(
        target=target.spec,
        machine=facts.machine.cpu_model,
        software=run.software,
        method=run.method,
        commit=run.commit,
        threads=target.threads,
        clock=facts.clock,
        ground_truth=_ground_truth(run, bench, calls, medians),
        throughput_per_s=None if batched is None else (1 / batched[2], 1 / batched[1], 1 / batched[0]),
        batched_s=batched,
        device_s=_by_device(bench),
        first_s=_middle([record.first_s for record in bench.processes if record.first_s is not None]),
        steadiness=steadiness,
        quantiles=tuple(_quantiles([process for _, process in processes], medians)),
        process_medians_s=tuple(medians.tolist()),
        modes_between=_modes(medians),
        modes_within=_modes_within(processes),
        drift_per_s=_drift(bench, processes),
        tail=_tail(bench),
        inputs=tuple(_inputs(bench)),
        stages={name: middle for name, medians in bench.stages.items() if (middle := _middle(medians))},
        overhead=bench.overhead,
        settings=bench.settings,
        cache=bench.cache,
        soaked_s=bench.soaked_s,
        throttled_samples=_throttled(bench.samples),
        detectable_ratio=_detectable(medians),
        noise_floor=mad_sigma(np.log(medians)) if len(medians) > 1 else None,
        warnings=tuple(
            dict.fromkeys(
                (
                    *facts.warnings,
                    *_warnings(bench, steadiness, processes, medians),
                    *_contended(run),
                    *moved_within(facts.clock, facts.samples, "the target"),
                )
            )
        ),
        run=run.id,
        command=run.command,
    )


def _bench(run: Run) -> Benchmark:
    """The benchmark of the run, or its samples of level 1 as one; calls on which the clock stood still are not timed."""
    bench = run.bench
    if bench is None and run.facts.samples is not None:
        bench = Benchmark(samples=run.facts.samples, processes=())
    if bench is None or not (bench.samples.wall_s.values > 0).any():
        raise UsageError("a run with timed calls", found=f"run {run.id} without any", remedy="measure it with ridgeline bench")
    return bench


def _steadiness(run: Run, bench: Benchmark) -> Steadiness:
    """Whether there is one steady state; of calls that each are a process of their own nobody asks: none comes after another in its process."""
    if run.facts.target.kind in ("command", "script"):
        return Steadiness(state="does not apply", because="every call is a process of its own")
    return steadiness_of(bench)


def _by_process(bench: Benchmark) -> list[tuple[int, Floats]]:
    """(process, seconds of its steady calls); of a process without a steady call all its calls."""
    wall, process, steady = bench.samples.wall_s.values, bench.samples.process.values, bench.steady()
    found = []
    for index in np.unique(process):
        own = (process == index) & (wall > 0)
        kept = own & steady if (own & steady).any() else own
        if kept.any():
            found.append((int(index), wall[kept].astype(np.float64)))
    return found


def _middle(values: Sequence[float] | Floats) -> tuple[float, float, float] | None:
    """(low, median, high) with the interval of the median, or the range where there are too few."""
    if not len(values):
        return None
    array = np.asarray(values, dtype=np.float64)
    found = median_interval(array, _CONFIDENCE)
    middle = float(np.median(array))
    return (found.low, middle, found.high) if found else (float(array.min()), middle, float(array.max()))


def _ground_truth(run: Run, bench: Benchmark, calls: Floats, medians: Floats) -> GroundTruth:
    # Of one process the calls are all there is; of several the processes are what is drawn.
    low, middle, high = _middle(medians if len(medians) > 1 else calls) or (0.0, 0.0, 0.0)
    tail = clustered_quantile_interval([process for _, process in _by_process(bench)], 0.99, _CONFIDENCE)
    first = _middle([record.first_s for record in bench.processes if record.first_s is not None])
    batched = _batched(bench)
    return GroundTruth(
        samples=calls.size,
        processes=len(np.unique(bench.samples.process.values)),
        warmup=int((~bench.steady()).sum()),
        first_s=first[1] if first else run.facts.first_s,
        median_s=middle,
        median_ci_s=(low, high),
        p99_s=tail.value if tail else None,
        p99_ci_s=(tail.low, tail.high) if tail else None,
        min_s=float(calls.min()),
        batched_s=batched[1] if batched else None,
        noise_floor=mad_sigma(np.log(medians)) if len(medians) > 1 else run.facts.noise_floor,
        overhead_s=bench.overhead.sample_s if bench.overhead else run.facts.overhead_s,
    )


def _batched(bench: Benchmark) -> tuple[float, float, float] | None:
    if bench.batched_s is None or bench.batched_process is None or len(bench.batched_s) == 0:
        return None
    values, process = bench.batched_s.values, bench.batched_process.values
    medians = [float(np.median(values[process == index])) for index in np.unique(process)]
    found = _middle(medians if len(medians) > 1 else values.tolist())
    return found if found and found[0] > 0 else None


def _by_device(bench: Benchmark) -> tuple[float, float, float] | None:
    """Seconds of a steady call by the device's clock: the interval is over the medians of processes, over calls where there is one process."""
    if bench.device_s is None or len(bench.device_s) != len(bench.samples):
        return None
    steady = bench.steady()
    seconds = (bench.device_s.values / bench.samples.inner.values)[steady]
    process = bench.samples.process.values[steady]
    medians = [float(np.median(seconds[process == index])) for index in np.unique(process)]
    return _middle(medians if len(medians) > 1 else seconds.tolist())


def _quantiles(processes: list[Floats], medians: Floats) -> Iterator[QuantileReport]:
    count = sum(process.size for process in processes)
    yield QuantileReport(q=0.0, value_s=min(float(process.min()) for process in processes), interval_s=None, confidence=_CONFIDENCE, samples=count,
                         needed=1)  # fmt: skip
    for q in _QUANTILES:
        if q == 0.5 and len(medians) > 1:
            low, value, high = _middle(medians) or (0.0, 0.0, 0.0)
            yield QuantileReport(q=q, value_s=value, interval_s=(low, high), confidence=_CONFIDENCE, samples=count, needed=6)
            continue
        found = clustered_quantile_interval(processes, q, _CONFIDENCE)
        yield QuantileReport(
            q=q,
            value_s=found.value if found else None,
            interval_s=(found.low, found.high) if found else None,
            confidence=_CONFIDENCE,
            samples=count,
            needed=minimum_samples(q, _CONFIDENCE, one_sided=False),
        )


def _modes(values: Floats) -> tuple[Mode, ...]:
    return tuple(Mode(value=level.value, share=level.share) for level in levels(values)) if len(values) else ()


def _modes_within(processes: list[tuple[int, Floats]]) -> tuple[Mode, ...]:
    """Levels of calls, each process brought to its own median first, so that levels between processes are not found again."""
    if sum(process.size for _, process in processes) < _LEAST_OF_TAIL:
        return ()
    middle = float(np.median([np.median(process) for _, process in processes]))
    return _modes(np.concatenate([process / np.median(process) * middle for _, process in processes]))


def _drift(bench: Benchmark, processes: list[tuple[int, Floats]]) -> float | None:
    """Relative change a second of the medians over the start times of the processes, where the interval of the trend leaves out 0."""
    started = {record.index: record.at_s for record in bench.processes}
    points = sorted((started[index], float(np.median(process))) for index, process in processes if index in started)
    times = [at for at, _ in points]
    if len(points) < _LEAST_OF_TREND or len(set(times)) < len(times):
        return None
    slope, low, high = theil_sen_slope(np.log([median for _, median in points]), times, 0.99)
    return slope if low > 0 or high < 0 else None


def _tail(bench: Benchmark) -> TailReport | None:
    clocks = [record.clock for record in bench.processes if record.clock is not None]
    unseen = {}
    if all(clock.steal is None for clock in clocks):
        unseen["stolen"] = "the machine does not tell"
    if all(clock.throttled is None for clock in clocks):
        unseen["throttled"] = "the machine does not tell"
    return explain_tail(bench.samples, bench.steady(), unseen=unseen)


def _inputs(bench: Benchmark) -> Iterator[InputLatency]:
    """Latency with each input, where there are several."""
    ids = bench.samples.input_id
    if ids is None or len(bench.input_names) < 2:
        return
    wall, steady = bench.samples.wall_s.values, bench.steady()
    for index, name in enumerate(bench.input_names):
        own = wall[steady & (ids.values == index)]
        if own.size:
            p90 = quantile_interval(own, 0.9, _CONFIDENCE)
            yield InputLatency(name=name, samples=own.size, median_s=float(np.median(own)), p90_s=p90.value if p90 else None)


def _waiting(bench: Benchmark) -> Caution | None:
    """Where synchronising costs a good part of a call though nothing is left to wait for; fewer waits would measure something else."""
    wall = bench.samples.wall_s.values[bench.steady()]
    cost_s = bench.overhead.synchronise_s if bench.overhead is not None else None
    if cost_s is None or wall.size == 0 or cost_s <= _WAIT_SHARE * float(np.median(wall)):
        return None
    share = cost_s / float(np.median(wall)) if np.median(wall) > 0 else 1.0
    message = f"a synchronisation with nothing to wait for takes {format_quantity(cost_s, 's')}, {share:.1%} of a call, and every call has one"
    return Caution(code="synchronise-cost", message=message, effect="the latency is too long by up to that; the throughput has one for many calls")


def _slower_in_batches(bench: Benchmark, medians: Floats) -> Caution | None:
    """Where calls that nobody waits for one by one take longer than those somebody does: no property of the code says that."""
    batched = _batched(bench)
    times = batched[1] / float(np.median(medians)) if batched is not None and len(bench.input_names) < 2 else 1.0
    if times <= _SLOWER_IN_BATCHES:
        return None
    message = f"a call takes {times:.3g} times as long in a batch as on its own"
    effect = "batches are long, so most of them met other programs on this machine, or calls slow each other down: the throughput may be too low"
    return Caution(code="slower-in-batches", message=message, effect=effect)


def _throttled(samples: Samples) -> int:
    return int(((samples.flags.values & FLAG_THROTTLED) != 0).sum()) if samples.flags is not None else 0


def _detectable(medians: Floats) -> float | None:
    """For a comparison with as many processes of another version."""
    # Of processes at several levels no spread says what would be seen.
    if len(medians) < 2 or _modes(medians):
        return None
    ratio = detectable_of(medians, _COMPARED)
    return ratio if np.isfinite(ratio) else None


def _contended(run: Run) -> Iterator[Caution]:
    """Calls beside which something slowed the core, and what the others took."""
    latency = next((found for found in series_of(run).series if found.metric == "latency"), None)
    clear = clear_of(latency, latency) if latency is not None else None
    if latency is None or clear is None or clear.shares[0] < _TOLD:
        return
    alone = format_quantity(float(np.median(process_medians(latency))), "s")
    message = f"something slowed the core during {clear.shares[0]:.0%} of the calls: another program on it, or the clock"
    yield Caution(code="contended", message=message, effect=f"the median of the others is {alone}; comparisons and histories go by those")


def _warnings(bench: Benchmark, steadiness: Steadiness, processes: list[tuple[int, Floats]], medians: Floats) -> Iterator[Caution]:
    if len(processes) == 1:
        effect = "what differs from process to process is in no interval here"
        yield Caution(code="one-process", message="all calls are from one process", effect=effect)
    if steadiness.state in ("never steady", "inconsistent"):
        yield Caution(code=steadiness.state.replace(" ", "-"), message=steadiness.because, effect="one number does not describe it")
    failed = [record for record in bench.processes if record.failure]
    if failed:
        message = f"{len(failed)} of {len(bench.processes)} processes failed; the first: {failed[0].failure}"
        yield Caution(code="failed-processes", message=message, effect="those that went well may be those that were lucky")
    modes = _modes(medians)
    if modes:
        gathered = ", ".join(f"{format_quantity(mode.value, 's')} ({mode.share:.0%})" for mode in modes)
        yield Caution(code="bimodal", message=f"processes gather at {gathered}", effect="the median is that of a mixture")
    if bench.overhead is not None and bench.overhead.timer_share > _TIMER_SHARE:
        message = f"the timer itself is {bench.overhead.timer_share:.1%} of a sample"
        yield Caution(code="timer-cost", message=message, effect="the latency is too long by about that")
    yield from (caution for caution in (_waiting(bench), _slower_in_batches(bench, medians)) if caution is not None)
    throttled = _throttled(bench.samples)
    if throttled:
        yield Caution(code="throttled", message=f"the machine was throttled during {throttled} calls", effect="they are slower than the code is")
