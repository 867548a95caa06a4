"""Stretches in which the machine was held back, on trees whose counters are moved by hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from machine.control.trees import tree
from ridgeline.machine.control import HeldBack, ThrottleWatch

CPU = "sys/devices/system/cpu/cpu0"
CORE = f"{CPU}/thermal_throttle/core_throttle_count"
GROUP = {"proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "proc/self/cgroup": "0::/job\n"}
STAT = "sys/fs/cgroup/job/cpu.stat"
STOLEN = "cpu  1 0 0 0 0 0 0 0 0 0\ncpu0 10 0 0 0 0 0 0 {} 0 0\ncpu1 10 0 0 0 0 0 0 {} 0 0\nintr 1\n"


def bare_metal(root: Path) -> Path:
    return tree(
        root,
        {
            CORE: "5\n",
            f"{CPU}/thermal_throttle/package_throttle_count": "7\n",
            f"{CPU}/cpufreq/base_frequency": "2000000\n",
            f"{CPU}/cpufreq/scaling_cur_freq": "3000000\n",
            STAT: "nr_periods 1\nnr_throttled 0\nthrottled_usec 0\n",
            "proc/stat": STOLEN.format(0, 0),
            **GROUP,
        },
    )


def test_a_quiet_machine_marks_nothing(tmp_path: Path) -> None:
    with ThrottleWatch([0], bare_metal(tmp_path)) as watch:
        for at in range(5):
            watch.look(float(at))
    assert watch.intervals == []
    assert watch.not_seen == {}
    assert not watch.marked(np.arange(5.0), np.arange(5.0) + 0.5).any()


@pytest.mark.parametrize(
    ("files", "why", "amount"),
    [
        ({CORE: "8\n"}, "thermal", 3.0),
        ({STAT: "nr_periods 1\nnr_throttled 2\nthrottled_usec 40000\n"}, "quota", 0.04),
        ({f"{CPU}/cpufreq/scaling_cur_freq": "1500000\n"}, "clock", 0.75),
        ({"proc/stat": STOLEN.format(20, 0)}, "stolen", 20 / os.sysconf("SC_CLK_TCK")),
    ],
)
def test_what_happened_lies_between_two_looks(tmp_path: Path, files: dict[str, str], why: str, amount: float) -> None:
    root = bare_metal(tmp_path)
    with ThrottleWatch([0], root) as watch:
        watch.look(10.0)
        watch.look(11.0)
        tree(root, files)
        watch.look(12.0)
        if why == "clock":
            tree(root, {f"{CPU}/cpufreq/scaling_cur_freq": "3000000\n"})
        watch.look(13.0)
    assert watch.intervals == [HeldBack(start_s=11.0, stop_s=12.0, why=why, amount=pytest.approx(amount))]
    starts = np.array([10.2, 11.0, 11.9, 12.0, 12.5])
    marked = watch.marked(starts, starts + np.array([0.5, 0.5, 0.5, 0.5, 0.1]), [why])  # type: ignore[list-item]
    assert marked.tolist() == [False, True, True, False, False]
    assert watch.marked(starts, starts + 0.1).any() == (why != "stolen")


def test_time_stolen_from_cpus_that_are_not_in_use_does_not_count(tmp_path: Path) -> None:
    root = bare_metal(tmp_path)
    with ThrottleWatch([0], root) as watch:
        watch.look(0.0)
        tree(root, {"proc/stat": STOLEN.format(0, 50)})
        watch.look(1.0)
    assert watch.intervals == []


def test_version_1_counts_nanoseconds(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
            "proc/self/cgroup": "1:cpu:/\n",
            "sys/fs/cgroup/cpu/cpu.stat": "nr_periods 1\nnr_throttled 1\nthrottled_time 5000000\n",
        },
    )
    with ThrottleWatch([0], root) as watch:
        watch.look(0.0)
        tree(root, {"sys/fs/cgroup/cpu/cpu.stat": "nr_periods 2\nnr_throttled 2\nthrottled_time 25000000\n"})
        watch.look(1.0)
    assert [(stretch.why, stretch.amount) for stretch in watch.intervals] == [("quota", pytest.approx(0.02))]


def test_what_cannot_be_seen_is_named(tmp_path: Path) -> None:
    with ThrottleWatch([0], tmp_path) as watch:
        watch.look(0.0)
        watch.look(1.0)
    assert set(watch.not_seen) == {"thermal", "clock", "quota", "stolen"}
    assert watch.intervals == []


def test_counters_that_are_nonsense_or_go_back_mark_nothing(tmp_path: Path) -> None:
    root = bare_metal(tmp_path)
    with ThrottleWatch([0], root) as watch:
        watch.look(0.0)
        tree(root, {CORE: "junk", STAT: "\xff nr_throttled", "proc/stat": "cpu0 1 2\n", f"{CPU}/cpufreq/scaling_cur_freq": "0"})
        watch.look(1.0)
        tree(root, {CORE: "1\n"})
        watch.look(2.0)
    assert [stretch for stretch in watch.intervals if stretch.amount <= 0] == []
    assert all(stretch.why == "thermal" or stretch.why == "stolen" for stretch in watch.intervals)


def test_files_are_closed(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with ThrottleWatch([0], bare_metal(tmp_path)) as watch:
        watch.look(0.0)
    assert len(os.listdir("/proc/self/fd")) == before
    assert ThrottleWatch().close() is None
    assert len(os.listdir("/proc/self/fd")) == before


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 10)), max_size=20), st.lists(st.tuples(st.floats(0, 100), st.floats(0, 10)), max_size=5))
def test_marked_is_overlap_and_nothing_else(samples: list[tuple[float, float]], stretches: list[tuple[float, float]]) -> None:
    watch = ThrottleWatch([])
    watch.close()
    watch.intervals = [HeldBack(start_s=start, stop_s=start + length, why="quota", amount=1.0) for start, length in stretches]
    marked = watch.marked([start for start, _ in samples], [start + length for start, length in samples])
    for (start, length), found in zip(samples, marked, strict=True):
        assert found == any(start < other + long and start + length > other for other, long in stretches)


def test_this_machine_can_be_watched() -> None:
    with ThrottleWatch() as watch:
        watch.look(0.0)
        watch.look(1.0)
        assert set(watch.not_seen) <= {"thermal", "quota", "clock", "stolen"}
