"""Work that goes on after a result counts as done, on a fake clock, and live with results that are ready later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ridgeline.measurement.agent.bench import measured
from ridgeline.measurement.bench.pending import left_over
from ridgeline.measurement.bench.plan import ProcessPlan
from ridgeline.targets import parse_target, prepare


class Device:
    """A clock that only waiting and calling move: a wait takes `idle`, and what is left."""

    def __init__(self, work: int, call: int = 100, idle: int = 2) -> None:
        self.now, self.left, self.work, self.call_ns, self.idle = 0, 0, work, call, idle

    def clock(self) -> int:
        return self.now

    def call(self) -> None:
        self.now += self.call_ns
        self.left += self.work

    def wait(self, result: Any = None) -> None:
        self.now += self.idle + self.left
        self.left = 0

    def half(self, result: Any) -> None:
        self.now += self.left // 2
        self.left -= self.left // 2


@pytest.mark.parametrize(
    ("work", "waits", "expected"),
    [(1000, None, True), (1000, "half", True), (1000, "wait", False), (0, None, False), (0, "wait", False), (1, None, False)],
)
def test_what_is_left_is_seen(work: int, waits: str | None, expected: bool) -> None:
    device = Device(work)
    synchronise = None if waits is None else getattr(device, waits)
    assert left_over(device.call, synchronise, device.wait, device.clock) is expected


def test_a_wait_that_is_dear_by_itself_is_no_work() -> None:
    device = Device(work=0, idle=500)
    assert not left_over(device.call, None, device.wait, device.clock)


PROGRAM = """
import time
class Later:
    def __init__(self): self.ready_at = time.perf_counter() + 0.05
    def block_until_ready(self): time.sleep(max(0.0, self.ready_at - time.perf_counter()))
def work(): return Later()
def wait(result): result.block_until_ready()
def pretend(result): pass
"""


def codes(path: Path, how: str) -> list[str]:
    report = measured(prepare(parse_target(f"{path}:work", synchronise=how)), ProcessPlan(seconds=0.1, calls=1, samples=3))
    return [caution.code for caution in report.warnings]


@pytest.mark.parametrize(("how", "expected"), [("auto", 0), ("none", 2), ("wait", 0), ("pretend", 1)])
def test_live_results_that_are_ready_later(tmp_path: Path, how: str, expected: int) -> None:
    path = tmp_path / "pending_program.py"
    path.write_text(PROGRAM)
    found = codes(path, how if how in ("auto", "none") else f"{path}:{how}")
    assert found.count("unsynchronised") == expected
