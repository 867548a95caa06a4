"""Cores that the host moved: said where threads work side by side, and nowhere else."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from ridgeline import diagnosis
from ridgeline.core import Caution, ClockState, Column, Comparison, CoreToCore, Diagnosis, Facts, Run, Samples, Series
from ridgeline.core.documents import decode, encode
from ridgeline.diagnosis.benched import bench_report
from ridgeline.diagnosis.comparison import compare_series, series_of
from ridgeline.diagnosis.cores import moved, side_by_side
from support import facts_by_hand as by_hand

NEAR, FAR = (4.1e-8, 4.4e-8, 6.7e-8), (1.75e-7, 1.9e-7, 2.1e-7)
ALONE = {"thread_cpu_s": 0.01, "process_cpu_s": 0.0115}
TOGETHER = {"thread_cpu_s": 0.01, "process_cpu_s": 0.019}
CODE = "cores-moved"


def facts(looks_s: tuple[float, ...] | None, threads: dict[str, float]) -> Facts:
    found = by_hand.facts([by_hand.row("MatMul", 0.009)], samples=by_hand.samples(**threads))
    apart = None if looks_s is None else CoreToCore(looks_s=looks_s)
    return msgspec.structs.replace(found, clock=ClockState(core_to_core=apart))


def run(looks_s: tuple[float, ...] | None, threads: dict[str, float]) -> Run:
    return Run(id="r", verb="bench", at="2026-11-01T00:00:00Z", software={}, commit=None, method="", facts=facts(looks_s, threads))


def told(cautions: tuple[Caution, ...]) -> list[str]:
    return [caution.message for caution in cautions if caution.code == CODE]


@pytest.mark.parametrize(
    ("looks_s", "far"), [(NEAR, False), (FAR, False), ((2.97e-8, 6.7e-8), False), ((*NEAR, *FAR), True), ((6.4e-8, 1.61e-7), True), ((), False)]
)
def test_what_one_placement_explains_is_no_move(looks_s: tuple[float, ...], far: bool) -> None:
    assert moved(looks_s) is far


@pytest.mark.parametrize(
    ("threads", "several"),
    [
        (ALONE, False), (TOGETHER, True), ({"thread_cpu_s": 0.0, "process_cpu_s": 0.0}, False),
        ({"thread_cpu_s": None, "process_cpu_s": 0.01}, False), ({"thread_cpu_s": None, "process_cpu_s": 0.018}, True),
        ({"thread_cpu_s": 0.01, "process_cpu_s": None}, False), ({"thread_cpu_s": 0.012, "process_cpu_s": 0.012}, False),
    ],
)  # fmt: skip
def test_several_threads_are_told_by_their_cpu_time(threads: dict[str, Any], several: bool) -> None:
    """Of a command there is no calling thread: more than one CPU is several. What the counters cost is no thread."""
    assert side_by_side(by_hand.samples(**threads)) is several
    assert side_by_side(None) is False


@pytest.mark.parametrize(
    ("looks_s", "threads", "said"),
    [((*NEAR, *FAR), TOGETHER, True), ((*NEAR, *FAR), ALONE, False), (NEAR, TOGETHER, False), ((), TOGETHER, False), (None, TOGETHER, False)],
)
def test_a_run_says_that_the_cores_were_moved(looks_s: tuple[float, ...] | None, threads: dict[str, float], said: bool) -> None:
    report, found = bench_report(run(looks_s, threads)), diagnosis.next(facts(looks_s, threads))
    assert isinstance(found, Diagnosis)
    for cautions, of in ((report.warnings, "the target"), (found.warnings, "the ground truth")):
        between = f"measuring {of}: a cache line took 41 ns to 210 ns from one to the other"
        assert told(cautions) == ([f"how far apart the cores are changed while {between}"] if said else [])
    apart = None if looks_s is None else CoreToCore(looks_s=looks_s)
    assert report.clock.core_to_core == found.clock.core_to_core == apart


def series(looks_s: tuple[float, ...] | None, *, several: bool = True) -> Series:
    generator = np.random.default_rng(3)
    apart = None if looks_s is None else CoreToCore(looks_s=looks_s)
    values = 0.01 * np.exp(0.01 * generator.standard_normal(200))
    return Series(
        name="x", values=Column(values, "s"), process=Column(np.repeat(np.arange(10), 20), "count"), core_to_core=apart, side_by_side=several
    )


def compared(a: Series, b: Series) -> Comparison:
    return compare_series(a, b)


def test_sides_beside_which_the_cores_were_not_equally_far_apart() -> None:
    found = compared(series(NEAR), series(FAR))
    assert told(found.warnings) == [
        "the cores were not equally far apart: a cache line took 44 ns beside A and 190 ns beside B from one to the other"
    ]
    assert found.side_a is not None
    assert found.side_b is not None
    assert found.side_a.core_to_core == CoreToCore(looks_s=NEAR)
    assert found.side_b.core_to_core == CoreToCore(looks_s=FAR)
    assert decode(encode(found), Comparison) == found
    assert told(compared(series(NEAR, several=False), series(FAR, several=False)).warnings) == []
    assert len(told(compared(series(NEAR, several=False), series(FAR)).warnings)) == 1, "it matters to one of them"


def test_a_move_that_met_both_sides_is_said_once() -> None:
    both = (*NEAR, *FAR)
    assert told(compared(series(both), series(both)).warnings) == [
        "how far apart the cores are changed while measuring A and B: a cache line took 41 ns to 210 ns from one to the other"
    ]
    assert told(compared(series(both), series(both, several=False)).warnings)[0].split(":")[0].endswith("measuring A")


@pytest.mark.parametrize("other", [NEAR, FAR, (), None])
def test_a_side_of_which_nobody_looked_says_nothing(other: tuple[float, ...] | None) -> None:
    """Runs of before, files of other tools, and machines with one CPU compare as they did."""
    found = compared(series(None), series(other))
    assert told(found.warnings) == []
    assert found.verdict == compared(series(None), series(None)).verdict


def test_stored_runs_bring_what_was_seen() -> None:
    (latency,) = series_of(run(FAR, TOGETHER)).series
    assert latency.core_to_core == CoreToCore(looks_s=FAR)
    assert latency.side_by_side
    (old,) = series_of(run(None, ALONE)).series
    assert old.core_to_core is None
    assert not old.side_by_side


def test_a_clock_state_of_before_is_read() -> None:
    """Notebooks and results that were written when nobody looked."""
    assert decode(b'{"governor":null,"hz":2e9,"throttled":false,"steal":0.01}', ClockState).core_to_core is None
    assert isinstance(by_hand.samples(), Samples)
