from __future__ import annotations

import os
from pathlib import Path

import pytest

from ridgeline.core import UsageError
from ridgeline.machine import ClockWatch, read_clock

from .test_host import tree, unified

TICK = os.sysconf("SC_CLK_TCK")


class FakeSeconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def stat(user: int = 0, system: int = 0, idle: int = 0, steal: int = 0) -> dict[str, str]:
    return {"proc/stat": f"cpu  {user} 0 {system} {idle} 0 0 0 {steal} 0 0\ncpu0 1 2 3\n"}


def process(pid: int, parent: int, ticks: tuple[int, int, int, int], name: str = "a (b) c") -> dict[str, str]:
    own, system, children, children_system = ticks
    fields = f"{parent} {pid} {pid} 0 -1 0 0 0 0 0 {own} {system} {children} {children_system} 20 0 1 0"
    return {f"proc/{pid}/stat": f"{pid} ({name}) S {fields}\n"}


def watched(root: Path, before: dict[str, str], after: dict[str, str], seconds: float):
    clock = FakeSeconds()
    watch = ClockWatch(tree(root, before), clock)
    watch.start()
    tree(root, after)
    clock.now += seconds
    return watch.stop()


def test_steal_and_load_of_others_by_hand(tmp_path: Path) -> None:
    own, child, stranger = os.getpid(), 4_000_001, 4_000_002
    before = stat() | process(own, 1, (0, 0, 0, 0)) | process(child, own, (0, 0, 0, 0)) | process(stranger, 1, (0, 0, 0, 0))
    # In two seconds: own tree 1.5 CPU-seconds, everybody together 3 of user and system, a quarter of all ticks stolen.
    after = (
        stat(user=2 * TICK, system=TICK, idle=0, steal=TICK)
        | process(own, 1, (TICK // 2, 0, 0, 0))
        | process(child, own, (TICK // 2, TICK // 2, 0, 0))
        | process(stranger, 1, (9 * TICK, 0, 0, 0))
    )
    seen = watched(tmp_path, before, after, 2.0)
    assert seen.seconds == 2.0
    assert seen.clock.steal == pytest.approx(0.25)
    assert seen.other_load == pytest.approx(0.75)


def test_a_child_that_ended_still_counts_as_our_own(tmp_path: Path) -> None:
    own = os.getpid()
    before = stat() | process(own, 1, (0, 0, 0, 0))
    after = stat(user=3 * TICK) | process(own, 1, (TICK, 0, TICK, TICK))
    assert watched(tmp_path, before, after, 1.0).other_load == 0.0


def test_a_load_below_nothing_is_nothing(tmp_path: Path) -> None:
    own = os.getpid()
    seen = watched(tmp_path, stat() | process(own, 1, (0, 0, 0, 0)), stat(user=1) | process(own, 1, (5, 0, 0, 0)), 0.01)
    assert seen.other_load == 0.0


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    own = os.getpid()
    circle = process(4_000_001, 4_000_002, (1, 1, 1, 1)) | process(4_000_002, 4_000_001, (1, 1, 1, 1))
    files = stat() | process(own, 1, (0, 0, 0, 0)) | circle
    assert watched(tmp_path, files, {}, 1.0).other_load == 0.0


@pytest.mark.parametrize(("first", "last", "expected"), [(3, 3, False), (3, 5, True)])
def test_throttling_by_the_quota(tmp_path: Path, first: int, last: int, expected: bool) -> None:
    def counts(number: int) -> dict[str, str]:
        return unified("/", {"cpu.stat": f"nr_throttled {number}\nthrottled_usec {number}000000\n"})

    seen = watched(tmp_path, counts(first), counts(last), 1.0)
    assert seen.clock.throttled is expected
    assert seen.throttled_s == last - first


def test_throttling_by_heat(tmp_path: Path) -> None:
    file = "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"
    assert watched(tmp_path, {file: "7\n"}, {file: "8\n"}, 1.0).clock.throttled is True


def test_what_cannot_be_seen_is_null(tmp_path: Path) -> None:
    seen = watched(tmp_path, {}, {}, 1.0)
    assert seen.clock.steal is seen.clock.throttled is seen.clock.hz is seen.clock.governor is seen.other_load is seen.throttled_s is None


def test_an_old_kernel_without_steal(tmp_path: Path) -> None:
    seen = watched(tmp_path, {"proc/stat": "cpu 1 2 3 4\n"}, {"proc/stat": "cpu 2 3 4 5\n"}, 1.0)
    assert seen.clock.steal is None
    assert seen.other_load is None


def test_frequency_from_cpufreq_goes_before_cpuinfo(tmp_path: Path) -> None:
    root = tree(tmp_path, {"proc/cpuinfo": "cpu MHz\t\t: 2300.000\ncpu MHz\t\t: 2500.000\n"})
    assert read_clock(root).hz == 2.4e9
    tree(root, {f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq": f"{3_000_000 + cpu * 500_000}\n" for cpu in (0, 1)})
    assert read_clock(root).hz == 3.25e9


def test_stop_before_start_is_refused() -> None:
    with pytest.raises(UsageError):
        ClockWatch().stop()


def test_this_machine_can_be_watched() -> None:
    watch = ClockWatch()
    watch.start()
    seen = watch.stop()
    assert seen.seconds >= 0
    assert seen.other_load is None or seen.other_load >= 0
