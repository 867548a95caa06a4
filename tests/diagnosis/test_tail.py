"""Planted causes of the tail are found, unrelated ones are not; then three real ones, live."""

from __future__ import annotations

import gc
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, Samples
from ridgeline.core.benchmark import TailReport
from ridgeline.core.samples import FLAG_STOLEN, FLAG_THROTTLED
from ridgeline.diagnosis.tail import explain_tail
from ridgeline.measurement import harness

N = 2000
#: Reason → columns that show it.
MARKS: dict[str, Callable[[np.ndarray, float], dict[str, np.ndarray]]] = {
    "preempted": lambda at, s: {"involuntary_switches": at.astype(int), "run_queue_s": at * s},
    "run queue": lambda at, s: {"run_queue_s": at * s},
    "faults": lambda at, s: {"minor_faults": at * 500},
    "collected": lambda at, s: {"gc_collections": at.astype(int)},
}


def made(rng: np.random.Generator, wall: np.ndarray, inner: int = 1, process: np.ndarray | None = None, **columns: np.ndarray) -> Samples:
    n = len(wall)
    counts = ("involuntary_switches", "minor_faults", "major_faults", "gc_collections")
    values: dict[str, Any] = {name: Column(np.zeros(n, np.int64), "count") for name in counts}
    values["run_queue_s"] = Column(np.abs(rng.normal(0, 1e-7, n)), "s")
    values["flags"] = Column(np.zeros(n, np.int32), "count")
    for name, column in columns.items():
        values[name] = Column(column, "s" if name.endswith("_s") else "count")
    return Samples(
        wall_s=Column(wall, "s"),
        start_s=Column(np.cumsum(wall * inner), "s"),
        process=Column(np.zeros(n, np.int32) if process is None else process, "count"),
        inner=Column(np.full(n, inner, np.int32), "count"),
        **values,
    )


def ordinary(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return 1e-3 * np.exp(rng.normal(0, 0.01, n))


def found(samples: Samples, **options: Any) -> TailReport:
    report = explain_tail(samples, **options)
    assert report is not None
    return report


@pytest.mark.parametrize("reason", MARKS)
@pytest.mark.parametrize("inner", [1, 20])
def test_a_planted_reason_is_found_and_no_other(reason: str, inner: int) -> None:
    rng = np.random.default_rng(1)
    slow = np.zeros(N, bool)
    slow[rng.choice(N, N // 100, replace=False)] = True
    wall = ordinary(rng) + slow * 2e-3
    report = found(made(rng, wall, inner, **MARKS[reason](slow, 1.9e-3 * inner)))
    assert report.explained == {reason: 20}
    assert report.usual == {reason: 0.0}
    assert (report.slowest, report.unexplained) == (20, 0)
    assert report.threshold_s == wall[slow].min()


@pytest.mark.parametrize(("name", "bit"), [("stolen", FLAG_STOLEN), ("throttled", FLAG_THROTTLED)])
def test_slow_calls_in_stretches_that_are_marked(name: str, bit: int) -> None:
    rng = np.random.default_rng(2)
    marked = np.zeros(N, bool)
    for start in (300, 900, 1500):
        marked[start : start + 12] = True
    slow = marked & (rng.random(N) < 0.6)
    report = found(made(rng, ordinary(rng) + slow * 1e-3, flags=(marked * bit).astype(np.int32)))
    assert report.explained == {name: 20}
    other = {"stolen": "throttled", "throttled": "stolen"}[name]
    assert other not in report.explained


def test_one_long_stretch_over_half_the_run_proves_nothing() -> None:
    rng = np.random.default_rng(3)
    flags = np.where(np.arange(N) < N // 2, FLAG_STOLEN, 0).astype(np.int32)
    wall = ordinary(rng)
    wall[400:420] += 1e-3  # a burst, which lies in one half or the other whatever it is from
    report = found(made(rng, wall, flags=flags))
    assert report.explained == {}
    assert report.unexplained == 20


def test_what_is_in_every_call_explains_nothing() -> None:
    rng = np.random.default_rng(4)
    wall = ordinary(rng)
    wall[:20] += 3e-3
    everywhere = np.ones(N, np.int64)
    report = found(
        made(
            rng,
            wall,
            involuntary_switches=everywhere,
            minor_faults=everywhere * 700,
            gc_collections=everywhere,
            run_queue_s=np.full(N, 5e-3),
            flags=(everywhere * (FLAG_STOLEN | FLAG_THROTTLED)).astype(np.int32),
        )
    )
    assert report.explained == {}
    assert report.unexplained == 20


def test_a_switch_that_took_no_time_explains_nothing() -> None:
    rng = np.random.default_rng(5)
    wall = ordinary(rng)
    wall[100:120] += 2e-3
    slow = wall > 2e-3  # a longer call meets more of everything: switches of a microsecond each
    report = found(made(rng, wall, involuntary_switches=slow.astype(int), run_queue_s=slow * 1e-6))
    assert report.explained == {}


def test_seconds_of_collection_decide_where_they_are_known() -> None:
    rng = np.random.default_rng(6)
    wall = ordinary(rng)
    long, short = np.zeros(N, bool), np.zeros(N, bool)
    long[::200], short[50::200] = True, True
    wall += long * 5e-3 + short * 5e-3
    report = found(made(rng, wall, gc_collections=(long | short).astype(int), gc_s=long * 5e-3 + short * 1e-5))
    assert report.explained == {"collected": 10}
    assert report.unexplained == 10


def test_a_wait_that_is_longer_than_the_call_was_not_in_it() -> None:
    rng = np.random.default_rng(13)
    wall = ordinary(rng)
    wall[:20] += 1e-4
    slow = np.arange(N) < 20
    report = found(made(rng, wall, involuntary_switches=slow.astype(int), run_queue_s=slow * 4e-3))
    assert report.explained == {}


def test_counts_of_a_block_stand_at_its_slowest_call_and_prove_nothing_there() -> None:
    """One fault in every third block, wherever in it; told of the slowest call, as the harness does."""
    rng = np.random.default_rng(14)
    wall, block = 1e-3 * (1 + rng.pareto(2.5, N)), np.arange(N) // 10
    faults = np.zeros(N, np.int64)
    for number in range(0, N // 10, 3):
        faults[number * 10 + int(np.argmax(wall[number * 10 : number * 10 + 10]))] = 1
    assert found(made(rng, wall, minor_faults=faults)).explained  # taken at its word
    assert found(made(rng, wall, minor_faults=faults, block=block)).explained == {}


@pytest.mark.parametrize("reason", MARKS)
def test_a_planted_reason_is_found_in_blocks_too(reason: str) -> None:
    rng = np.random.default_rng(15)
    slow = np.zeros(N, bool)
    slow[5::100] = True
    wall = ordinary(rng) + slow * 2e-3
    report = found(made(rng, wall, block=np.arange(N) // 10, **MARKS[reason](slow, 1.9e-3)))
    assert report.explained == {reason: 20}


@pytest.mark.parametrize("inner", [1, 20])
def test_calls_that_slept_are_blocked_and_those_that_worked_are_not(inner: int) -> None:
    rng = np.random.default_rng(8)
    slow = np.zeros(N, bool)
    slow[rng.choice(N, N // 100, replace=False)] = True
    usual = ordinary(rng)
    slept = found(made(rng, usual + slow * 2e-3, inner, thread_cpu_s=0.9 * usual * inner))
    assert (slept.explained, slept.usual, slept.unexplained) == ({"blocked": 20}, {"blocked": 0.0}, 0)
    worked = found(made(rng, usual + slow * 2e-3, inner, thread_cpu_s=(0.9 * usual + slow * 2e-3) * inner))
    assert (worked.explained, worked.unexplained) == ({}, 20)
    waited = found(made(rng, usual + slow * 2e-3, inner, thread_cpu_s=0.9 * usual * inner, run_queue_s=slow * 1.9e-3 * inner))
    assert waited.explained == {"run queue": 20}
    stolen = found(made(rng, usual + slow * 2e-3, inner, thread_cpu_s=0.9 * usual * inner, flags=np.where(slow, FLAG_STOLEN, 0)))
    assert "blocked" not in stolen.explained


def test_several_reasons_and_none() -> None:
    rng = np.random.default_rng(7)
    wall, collected, faulted = ordinary(rng), np.zeros(N, bool), np.zeros(N, bool)
    collected[0:8], faulted[4:16] = True, True
    wall[:20] += 4e-3
    report = found(made(rng, wall, gc_collections=collected.astype(int), major_faults=faulted.astype(int)))
    assert report.explained == {"faults": 12, "collected": 8}  # the most frequent first
    assert report.unexplained == 4


def test_a_slow_process_is_a_reason_of_its_own_and_nothing_else_is_blamed() -> None:
    rng = np.random.default_rng(8)
    process = np.repeat(np.arange(50), 40).astype(np.int32)
    wall = ordinary(rng) + (process == 13) * 1e-3
    faults = np.where(process == 13, 300, 0)  # in each of its calls
    report = found(made(rng, wall, process=process, minor_faults=faults))
    assert report.explained == {"process": 20}


def test_a_large_input_is_a_reason_of_its_own() -> None:
    rng = np.random.default_rng(9)
    inputs = rng.permutation(N) % 100
    wall = ordinary(rng) + (inputs == 7) * 1e-3
    report = found(made(rng, wall, input_id=inputs))
    assert report.explained["input"] == report.slowest
    assert report.unexplained == 0


def test_what_could_not_be_looked_for_is_said() -> None:
    rng = np.random.default_rng(10)
    wall = ordinary(rng)
    bare = Samples(
        wall_s=Column(wall, "s"),
        start_s=Column(np.cumsum(wall), "s"),
        process=Column(np.zeros(N, int), "count"),
        inner=Column(np.ones(N, int), "count"),
    )
    report = found(bare, unseen={"stolen": "the machine does not tell"})
    assert set(report.not_seen) == {"preempted", "run queue", "blocked", "faults", "collected", "stolen", "throttled"}
    assert report.not_seen["stolen"] == "the machine does not tell"
    assert (report.explained, report.unexplained) == ({}, 20)


@pytest.mark.parametrize("n", [0, 1, 99])
def test_there_is_no_slowest_percent_of_few_calls(n: int) -> None:
    assert explain_tail(made(np.random.default_rng(0), np.full(n, 1e-3))) is None


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_calls_that_are_all_alike_have_no_slow_ones(value: float) -> None:
    report = found(made(np.random.default_rng(0), np.full(300, value), minor_faults=np.r_[np.zeros(297), [9, 9, 9]].astype(int)))
    assert (report.slowest, report.explained, report.unexplained, report.threshold_s) == (0, {}, 0, value)


def test_the_warm_up_is_left_out() -> None:
    rng = np.random.default_rng(11)
    wall = ordinary(rng)
    wall[:50] += 1.0
    report = found(made(rng, wall, minor_faults=(np.arange(N) < 50) * 900), steady=np.arange(N) >= 50)
    assert report.slowest == 19
    assert report.threshold_s < 0.01
    assert report.explained == {}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["preempted", "run queue"]), st.floats(0.001, 0.3), st.floats(1.2, 2.5))
def test_waits_that_cannot_carry_the_excess_are_never_named(seed: int, reason: str, share: float, shape: float) -> None:
    """A heavy tail of its own, and a mark thrown in at random."""
    rng = np.random.default_rng(seed)
    wall = 1e-3 * (1 + rng.pareto(shape, N))
    report = found(made(rng, wall, **MARKS[reason](rng.random(N) < share, 1e-6)))
    assert report.explained == {}
    assert report.unexplained == report.slowest


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(list(MARKS)), st.floats(1.0, 1e3), st.booleans())
def test_every_slow_call_is_explained_or_counted_as_unexplained(seed: int, reason: str, scale: float, blocks: bool) -> None:
    rng = np.random.default_rng(seed)
    wall = 1e-3 * scale * (1 + rng.pareto(1.5, 500))
    marks = MARKS[reason](rng.random(500) < rng.random(), float(rng.random() * 5e-3))
    if blocks:
        marks["block"] = np.arange(500) // 7
    report = found(made(rng, wall, **marks))
    assert report.slowest == 5
    assert all(0 < count <= report.slowest for count in report.explained.values())
    assert max(report.explained.values(), default=0) + report.unexplained <= report.slowest
    assert sum(report.explained.values()) + report.unexplained >= report.slowest
    assert all(0 <= share <= 1 for share in report.usual.values())
    assert set(report.usual) == set(report.explained)


def test_chance_names_a_reason_about_once_in_a_hundred() -> None:
    rng = np.random.default_rng(12)
    named = 0
    for _ in range(300):
        wall = 1e-3 * (1 + rng.pareto(2.0, 1000))
        named += bool(found(made(rng, wall, minor_faults=(rng.random(1000) < 0.1) * 9)).explained)
    assert named <= 10  # 99.9 % quantile of Binomial(300, 0.01)


# Live: the harness measures, the tail is explained. Only which reason is named is asserted, never how long anything took.


def measured(call: Callable[[], Any], samples: int = 1200) -> TailReport:
    return found(harness.measure(call, plan=harness.Plan(budget_s=8.0, samples=samples)).samples)


def spin(rounds: int = 400) -> int:
    total = 0
    for number in range(rounds):
        total += number
    return total


def every(period: int, act: Callable[[], Any]) -> Callable[[], None]:
    count = 0

    def call() -> None:
        nonlocal count
        count += 1
        spin()
        if count % period == 0:
            act()

    return call


def test_live_garbage_is_collected_every_two_hundredth_call() -> None:
    held = [[number] for number in range(100_000)]
    gc.collect()
    report = measured(every(200, gc.collect))
    assert held
    assert report.explained.get("collected", 0) >= 5
    assert report.usual["collected"] < 0.01
    assert "faults" not in report.explained


def test_live_fresh_pages_are_touched_every_hundred_and_fiftieth_call() -> None:
    size = 2**25

    def touch() -> None:
        with mmap.mmap(-1, size) as fresh:
            for offset in range(0, size, 4096):
                fresh[offset] = 1

    report = measured(every(150, touch), 1000)
    assert report.explained.get("faults", 0) >= 5
    assert report.usual["faults"] < 0.02
    assert "collected" not in report.explained


_BURN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print('ready', flush=True)\nwhile True: pass"


def test_live_a_busy_neighbour_on_the_same_cpu() -> None:
    before = os.sched_getaffinity(0)
    cpu = min(before)
    neighbour = subprocess.Popen([sys.executable, "-c", _BURN, str(cpu)], stdout=subprocess.PIPE)
    assert neighbour.stdout is not None
    os.sched_setaffinity(0, {cpu})
    try:
        assert neighbour.stdout.readline() == b"ready\n"
        # A quarter of a turn of the scheduler (4 ms where it ticks 250 times a second): most calls are left alone, yet of 250 turns it cannot
        # end nearly all between two calls, where the counters are read and the kernel likes to switch, as it did with a tenth of a turn.
        report = measured(lambda: spin(80_000), 1000)
    finally:
        neighbour.kill()
        neighbour.communicate()
        os.sched_setaffinity(0, before)
    assert report.explained.get("preempted", 0) + report.explained.get("run queue", 0) > report.slowest / 2
    assert report.explained.get("preempted", 0) > 0
    assert report.usual["preempted"] < 0.5
