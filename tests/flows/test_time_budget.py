"""A call that alone takes longer than the time budget: said beforehand, and made few times. Calls are counted, no time is asserted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ridgeline.core import CoreToCore, Facts, Need
from ridgeline.flows.instruments import satisfy
from ridgeline.flows.instruments.surroundings import Instruments
from ridgeline.measurement.agent import level1
from ridgeline.measurement.agent.level3 import burst
from ridgeline.measurement.agent.target import Session
from ridgeline.targets import Prepared, parse_target
from support.facts_by_hand import facts, row

from .test_bad_input import Place

_SLOW = """
import time
def note():
    with open("calls", "a") as file: file.write("x")
def computes():
    note()
    until = time.process_time() + 0.25
    while time.process_time() < until: sum(range(1000))
def sleeps():
    note()
    time.sleep(0.25)
if __name__ == "__main__": computes()
"""
#: Far under the nineteen that the instruments would make of a call that fits the budget, and with room for one instrument more.
_MOST = {"slow.py:computes": 12, "slow.py:sleeps": 9, "slow.py": 10, "--": 5}


@pytest.mark.parametrize("target", list(_MOST))
def test_a_long_call_is_announced_and_made_few_times(tmp_path: Path, target: str) -> None:
    (tmp_path / "slow.py").write_text(_SLOW)
    place = Place(tmp_path)
    words = [target] if target != "--" else ["--", "sh", "-c", "printf x >> calls; sleep 0.3"]
    status, _, err = place.run("diagnose", "--no-notebook", "--time-budget", "0.1", *words)
    assert status == 0, err
    assert len((tmp_path / "calls").read_text()) <= _MOST[target]
    said = [line for line in err.splitlines() if "note: one call takes" in line]
    assert len(said) == 1
    assert "the time budget is 100 ms: this will take about" in said[0]
    assert place.left() == []


class _Clock:
    """A clock that only a call moves on, by so many seconds."""

    def __init__(self, call_s: float) -> None:
        self.now, self.call_s, self.calls = 0.0, call_s, 0

    def call(self) -> None:
        self.calls += 1
        self.now += self.call_s


@pytest.mark.parametrize(("call_s", "calls"), [(100.0, 1), (4.1, 1), (3.9, 2), (0.9, 2), (0.2, 5), (1e-6, 1000)])
def test_a_burst_of_calls_knows_when_one_is_enough(monkeypatch: pytest.MonkeyPatch, call_s: float, calls: int) -> None:
    clock = _Clock(call_s)
    monkeypatch.setattr(sys.modules[burst.__module__], "perf_counter", lambda: clock.now)
    assert len(burst(clock.call, None, 1.0)) == clock.calls == calls


@pytest.mark.parametrize(("first_s", "at_least"), [(3.0, 2), (1.0, 3)])
def test_a_first_call_beyond_the_budget_lowers_the_least_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first_s: float, at_least: int
) -> None:
    (tmp_path / "t.py").write_text("def f(): pass\n")
    info = facts([]).target
    plans = []

    class Stopped(Exception):
        pass

    def measure(call: object, *, plan: object, **rest: object) -> None:
        plans.append(plan)
        raise Stopped

    monkeypatch.setattr(level1.harness, "measure", measure)
    monkeypatch.setattr(Session, "current", Prepared(call=lambda: None, info=info, first_s=first_s))
    with pytest.raises(Stopped):
        level1.ground_truth(budget_s=2.0, samples=100, at_least=3)
    assert [plan.at_least for plan in plans] == [at_least]


def test_how_far_apart_the_cores_are_stands_beside_the_ground_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, at every sentinel and behind."""
    looks: list[float] = []

    class Watch:
        def look(self) -> None:
            looks.append(1e-8 * (len(looks) + 4))

        def taken(self) -> CoreToCore:
            return CoreToCore(looks_s=tuple(looks))

    class Loop:
        fma_ratio = stream_ratio = None

        def __init__(self, device: object, cpu: int) -> None:
            pass

        def run(self) -> None:
            pass

    monkeypatch.setattr(level1, "CoreToCoreWatch", Watch)
    monkeypatch.setattr(level1, "SentinelLoop", Loop)
    monkeypatch.setattr(Session, "current", Prepared(call=lambda: None, info=facts([]).target, first_s=1e-6))
    found = level1.ground_truth(budget_s=0.2, samples=20, at_least=3)
    assert found.clock.core_to_core == CoreToCore(looks_s=tuple(looks))
    assert len(looks) >= 3


@pytest.mark.parametrize("instrument", ["relayouts", "primitives", "waits", "dispatch"])
def test_refinements_are_left_out_with_their_reason(instrument: str) -> None:
    def never(*rest: object) -> None:
        raise AssertionError

    long = facts([row("gemm", 0.01)], wall_s=0.01)
    instruments = Instruments(spec=parse_target("a.b:c"), worker=None, budget_s=0.005, samples=None, report=never, probe=never)  # type: ignore[arg-type]
    found: Facts = satisfy(Need(level=4, instrument=instrument, because="a test"), instruments, long)
    assert "--time-budget" in found.cannot[instrument]
    assert found.levels[-1].skipped == found.cannot[instrument]
