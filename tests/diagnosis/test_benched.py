"""What is concluded from made benchmarks, whose answer is known."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import Benchmark, BenchReport, Column, Overhead, ProcessRecord, Run, Samples, UsageError
from ridgeline.core.samples import FLAG_GC, FLAG_PREEMPTED, FLAG_STOLEN, FLAG_THROTTLED, FLAG_WARMUP
from ridgeline.diagnosis.benched import bench_report
from ridgeline.diagnosis.comparison import compare_series, keys_of, series_of
from support import facts_by_hand as by_hand


def benchmark(processes, *, warmup=0, every_s=1.0, flags=None, **fields):
    """Of the calls of each process; the first `warmup` of each are flagged."""
    wall = np.concatenate(processes)
    number = np.concatenate([np.full(len(calls), index) for index, calls in enumerate(processes)])
    flagged = np.concatenate([np.where(np.arange(len(calls)) < warmup, FLAG_WARMUP, 0) for calls in processes])
    samples = Samples(
        wall_s=Column(wall, "s"),
        start_s=Column(np.cumsum(wall), "s"),
        process=Column(number, "count"),
        inner=Column(np.ones(wall.size, int), "count"),
        flags=Column(flagged if flags is None else flags, "count"),
        input_id=fields.pop("input_id", None),
    )
    records = tuple(ProcessRecord(index=index, at_s=every_s * index, first_s=0.5 + 0.01 * index) for index in range(len(processes)))
    return Benchmark(samples=samples, processes=fields.pop("records", records), **fields)


def run(bench):
    return Run(id="r1", verb="bench", at="2026-11-01T00:00:00Z", software={}, commit=None, method="", facts=by_hand.facts([]), bench=bench)


def calls(generator, level=0.01, n=200):
    return level * (1 + 0.02 * generator.exponential(size=n))


def codes(report):
    return {warning.code for warning in report.warnings}


def test_the_median_and_its_interval_are_over_processes():
    """Eight processes at 1 … 8 ms, one of them with a hundred times as many calls: the middle is 4.5 ms, and pooled calls would say 8."""
    processes = [np.full(40 if level < 8 else 4000, 1e-3 * level) for level in range(1, 9)]
    report = bench_report(run(benchmark(processes)))
    assert report.ground_truth.median_s == pytest.approx(4.5e-3)
    assert report.ground_truth.median_ci_s == pytest.approx((1e-3, 8e-3))
    assert report.process_medians_s == pytest.approx([1e-3 * level for level in range(1, 9)])
    assert report.ground_truth.processes == 8


def test_quantiles_are_refused_with_what_they_need():
    generator = np.random.default_rng(0)
    report = bench_report(run(benchmark([calls(generator, n=50) for _ in range(6)])))
    by_q = {found.q: found for found in report.quantiles}
    assert by_q[0.99].interval_s is not None
    assert (by_q[0.999].value_s, by_q[0.999].samples, by_q[0.999].needed) == (None, 300, 2995)
    assert by_q[0.0].value_s == report.ground_truth.min_s
    few = bench_report(run(benchmark([calls(generator, n=49) for _ in range(6)])))
    assert next(found for found in few.quantiles if found.q == 0.99).value_s is None
    assert few.ground_truth.p99_s is None


def test_warm_up_is_left_out_and_counted():
    generator = np.random.default_rng(1)
    processes = [np.concatenate([np.full(20, 0.05), calls(generator)]) for _ in range(6)]
    report = bench_report(run(benchmark(processes, warmup=20)))
    assert report.ground_truth.warmup == 120
    assert report.ground_truth.median_s < 0.011
    assert report.steadiness.state == "steady"
    assert {state.start for state in report.steadiness.processes} == {20}


def test_processes_at_two_levels_are_inconsistent():
    generator = np.random.default_rng(2)
    report = bench_report(run(benchmark([calls(generator, 0.01 if index % 2 else 0.015) for index in range(10)])))
    assert report.steadiness.state == "inconsistent"
    assert report.steadiness.levels_s == pytest.approx((0.01, 0.015), rel=0.03)
    assert [mode.share for mode in report.modes_between] == pytest.approx([0.5, 0.5])
    assert {"inconsistent", "bimodal"} <= codes(report)
    assert report.detectable_ratio is None


def test_some_that_never_settle_make_it_inconsistent_and_all_never_steady():
    generator = np.random.default_rng(3)
    drifting = [calls(generator) * np.geomspace(1, 8, 200) for _ in range(6)]
    assert bench_report(run(benchmark(drifting))).steadiness.state == "never steady"
    mixed = bench_report(run(benchmark([*drifting[:2], *(calls(generator) for _ in range(4))])))
    assert mixed.steadiness.state == "inconsistent"
    assert "2 of 6 processes did not settle" in mixed.steadiness.because


@pytest.mark.parametrize(("never", "of", "state"), [(1, 10, "steady"), (2, 20, "steady"), (2, 10, "inconsistent"), (1, 9, "inconsistent")])
def test_one_process_in_ten_that_did_not_settle_is_said_and_changes_nothing(never, of, state):
    generator = np.random.default_rng(7)
    drifting = [calls(generator) * np.geomspace(1, 8, 200) for _ in range(never)]
    report = bench_report(run(benchmark([*drifting, *(calls(generator) for _ in range(of - never))])))
    assert (report.steadiness.state, report.steadiness.settled) == (state, of - never)
    assert f"{of - never} of {of} processes settled" in report.steadiness.because or f"{never} of {of} processes did not" in report.steadiness.because
    assert len(report.process_medians_s) == of - never


def test_levels_are_looked_for_among_those_that_settled():
    generator = np.random.default_rng(8)
    processes = [calls(generator) * np.geomspace(1, 8, 200), *(calls(generator, 0.01 if index % 2 else 0.015) for index in range(11))]
    report = bench_report(run(benchmark(processes)))
    assert report.steadiness.state == "inconsistent"
    assert report.steadiness.because.startswith("11 of 12 processes settled, at different levels")


@pytest.mark.parametrize(("flag", "state", "left_out"), [(FLAG_PREEMPTED, "steady", 25), (FLAG_STOLEN, "steady", 25), (FLAG_GC, "never steady", 0)])
def test_calls_that_were_disturbed_from_outside_are_not_asked(flag, state, left_out):
    """Twenty-five late calls are twice as slow: because a neighbour took the CPU, which every one of them says, or for the program's own reasons."""
    generator, at = np.random.default_rng(9), np.arange(200)
    slow = (at >= 160) & (at < 185)
    processes = [calls(generator) * np.where(slow, 2.0, 1.0) for _ in range(6)]
    report = bench_report(run(benchmark(processes, flags=np.tile(np.where(slow, flag, 0), 6))))
    assert report.steadiness.state == state
    assert {process.left_out for process in report.steadiness.processes} == {left_out}


def test_where_most_calls_are_disturbed_all_are_asked():
    generator = np.random.default_rng(10)
    flags = np.where(np.arange(200) % 3 > 0, FLAG_PREEMPTED, 0)
    report = bench_report(run(benchmark([np.where(np.arange(200) < 50, 3.0, 1.0) * calls(generator) for _ in range(6)], flags=np.tile(flags, 6))))
    assert {(process.start, process.left_out) for process in report.steadiness.processes} == {(50, 0)}


def test_the_start_is_counted_among_all_calls():
    """Every fourth call of the first sixty was preempted; the warm-up of sixty calls ends at call 60 all the same."""
    generator = np.random.default_rng(11)
    at = np.arange(300)
    flags = np.where((at < 60) & (at % 4 == 1), FLAG_PREEMPTED, 0)
    report = bench_report(run(benchmark([np.where(at < 60, 3.0, 1.0) * calls(generator, n=300) for _ in range(6)], flags=np.tile(flags, 6))))
    assert {(process.start, process.left_out) for process in report.steadiness.processes} == {(60, 15)}


def test_few_calls_are_too_few_to_say():
    assert bench_report(run(benchmark([np.full(4, 0.01)] * 6))).steadiness.state == "too few calls"


@pytest.mark.parametrize("kind", ["command", "script"])
def test_of_calls_that_are_processes_nobody_asks_for_a_steady_state(kind):
    one = run(benchmark([np.full(1, 0.01)] * 6))
    target = msgspec.structs.replace(one.facts.target, kind=kind)
    report = bench_report(msgspec.structs.replace(one, facts=msgspec.structs.replace(one.facts, target=target)))
    assert report.steadiness.state == "does not apply"
    assert not codes(report) & {"never-steady", "inconsistent"}
    assert report.process_medians_s == (0.01,) * 6


def test_calls_at_two_levels_are_modes_within_and_not_between():
    generator = np.random.default_rng(4)
    report = bench_report(run(benchmark([calls(generator) * np.where(generator.random(200) < 0.3, 1.5, 1.0) for _ in range(10)])))
    assert [mode.share for mode in report.modes_within] == pytest.approx([0.7, 0.3], abs=0.04)
    assert report.modes_between == ()


def test_medians_that_rise_over_the_run_are_a_drift():
    generator = np.random.default_rng(5)
    rising = [calls(generator, 0.01 * (1 + 0.01 * index)) for index in range(12)]
    assert bench_report(run(benchmark(rising, every_s=2.0))).drift_per_s == pytest.approx(0.005, rel=0.15)
    assert bench_report(run(benchmark([calls(generator) for _ in range(12)]))).drift_per_s is None


def test_throughput_is_of_batches_and_never_one_over_the_latency():
    generator = np.random.default_rng(6)
    processes = [calls(generator) for _ in range(6)]
    assert bench_report(run(benchmark(processes))).throughput_per_s is None
    batches = {"batched_s": Column(np.full(12, 0.004), "s"), "batched_process": Column(np.arange(12) // 2, "count"), "batch_size": 64}
    report = bench_report(run(benchmark(processes, **batches)))
    assert report.throughput_per_s == pytest.approx((250.0,) * 3)
    assert report.batched_s == pytest.approx((0.004,) * 3)
    assert report.ground_truth.batched_s == 0.004


@pytest.mark.parametrize(("batched_s", "said"), [(0.0101, False), (0.002, False), (0.03, True)])
def test_calls_that_take_longer_in_batches_than_alone_are_said(batched_s, said):
    generator = np.random.default_rng(6)
    batches = {"batched_s": Column(np.full(12, batched_s), "s"), "batched_process": Column(np.arange(12) // 2, "count"), "batch_size": 4}
    report = bench_report(run(benchmark([calls(generator) for _ in range(6)], **batches)))
    assert ("slower-in-batches" in codes(report)) is said


def test_inputs_are_told_apart():
    generator = np.random.default_rng(7)
    which = np.tile(np.arange(200) % 2, 6)
    processes = [calls(generator) * np.where(np.arange(200) % 2, 2.0, 1.0) for _ in range(6)]
    report = bench_report(run(benchmark(processes, input_id=Column(which, "count"), input_names=("small", "large"))))
    assert [(each.name, each.samples) for each in report.inputs] == [("small", 600), ("large", 600)]
    assert report.inputs[1].median_s / report.inputs[0].median_s == pytest.approx(2, rel=0.02)


def test_what_could_change_the_numbers_is_said():
    generator = np.random.default_rng(8)
    one = calls(generator)
    overhead = Overhead(sample_s=3e-7, bare_s=3e-7, batched_iteration_s=5e-9, timer_s=5e-4, timer_share=0.05)
    records = (ProcessRecord(index=0, at_s=0.0), ProcessRecord(index=1, at_s=1.0, failure="it fell over"))
    report = bench_report(run(benchmark([one], overhead=overhead, records=records, flags=np.full(200, FLAG_THROTTLED))))
    assert {"one-process", "timer-cost", "failed-processes", "throttled"} <= codes(report)
    assert report.throttled_samples == 200
    assert report.detectable_ratio is None


def test_a_run_without_timed_calls_is_refused():
    with pytest.raises(UsageError):
        bench_report(msgspec.structs.replace(run(None), facts=by_hand.facts([], samples=None)))


def test_the_report_can_be_written_and_read():
    generator = np.random.default_rng(9)
    report = bench_report(run(benchmark([calls(generator) for _ in range(6)])))
    assert msgspec.json.decode(msgspec.json.encode(report), type=BenchReport) == report


def test_a_run_becomes_series_that_can_be_compared():
    generator = np.random.default_rng(10)
    first, second = (run(benchmark([np.concatenate([[0.3], calls(generator)]) for _ in range(8)], warmup=1)) for _ in "ab")
    series = series_of(first).series[0]
    assert (series.metric, len(series.values), len(series.by_process())) == ("latency", 1600, 8)
    assert keys_of(first)["machine.cpu"] == first.facts.machine.cpu_model
    found = compare_series(series, series_of(second).series[0])
    assert found.verdict in ("same", "inconclusive")
    assert found.changed_keys == ()


def test_a_run_without_samples_is_no_series():
    assert series_of(msgspec.structs.replace(run(None), facts=by_hand.facts([], samples=None))).series == ()


def test_calls_that_something_slowed_are_said_with_what_the_others_took():
    generator = np.random.default_rng(0)
    made = benchmark([calls(generator) for _ in range(12)])
    slowed = np.repeat(generator.random(12) < 0.5, 200)
    wall = made.samples.wall_s.values * np.where(slowed, 1.5, 1.0)
    look = np.where(slowed, 1.6e-5, 1e-5)
    samples = msgspec.structs.replace(made.samples, wall_s=Column(wall, "s"), sentinel_s=Column(look, "s"))
    said = [caution for caution in bench_report(run(msgspec.structs.replace(made, samples=samples))).warnings if caution.code == "contended"]
    assert len(said) == 1
    assert f"{slowed.mean():.0%}" in said[0].message
    assert "the median of the others is 10.1 ms" in said[0].effect
    assert "contended" not in codes(bench_report(run(made)))
