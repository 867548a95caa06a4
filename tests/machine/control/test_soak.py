"""A soak on a fake clock: a body that warms up as Newton says, one that swings, one that never settles, one that nobody can see."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from machine.control.trees import tree
from ridgeline.core import UsageError
from ridgeline.machine.control import Heat, SoakResult, read_heat, soak


class Body:
    """A machine whose temperature, clock and time of a call are functions of the time under load; a call takes a tenth of a second."""

    def __init__(self, kelvin: Callable[[float], float | None], hz: Callable[[float], float | None], call_s: Callable[[float], float]) -> None:
        self.now = 1000.0
        self._begun = self.now
        self._kelvin, self._hz, self._call_s = kelvin, hz, call_s

    def clock(self) -> float:
        return self.now

    def load(self) -> float:
        self.now += 0.1
        return self._call_s(self.now - self._begun)

    def read(self) -> Heat:
        return Heat(temperature_k=self._kelvin(self.now - self._begun), hz=self._hz(self.now - self._begun))

    def soak(self, **options: float) -> SoakResult:
        return soak(self.load, read=self.read, clock=self.clock, **options)


def warming(tau: float, rise: float = 40.0) -> Callable[[float], float]:
    return lambda t: 300 + rise * (1 - math.exp(-t / tau))


@pytest.mark.parametrize("tau", [5.0, 30.0, 90.0, 150.0])
def test_a_body_that_warms_up_is_left_within_a_kelvin_of_its_end(tau: float) -> None:
    result = Body(warming(tau), lambda t: 3e9, lambda t: 0.1).soak()
    assert result.ended == "levelled"
    assert result.temperature_k is not None
    assert 340 - result.temperature_k[1] < 1.0
    assert "temperature" in result.because


def test_the_clock_that_falls_with_the_temperature_is_waited_for() -> None:
    result = Body(lambda t: None, lambda t: 3e9 + 1e9 * math.exp(-t / 60), lambda t: 0.1).soak()
    assert result.ended == "levelled"
    assert result.hz is not None
    assert result.hz[1] < 1.01 * 3e9
    assert "temperature cannot be seen" in result.because


def test_the_time_alone_is_followed_where_nothing_else_is_seen() -> None:
    result = Body(lambda t: None, lambda t: None, lambda t: 0.1 * (1.2 - 0.2 * math.exp(-t / 40))).soak()
    assert result.ended == "levelled"
    assert result.load_s is not None
    assert result.load_s[1] == pytest.approx(0.12, rel=0.01)
    assert "temperature and clock cannot be seen here" in result.because


def test_a_fan_that_swings_is_level_in_its_mean() -> None:
    result = Body(lambda t: 330 + 3 * math.sin(2 * math.pi * t / 7), lambda t: 3e9, lambda t: 0.1).soak()
    assert result.ended == "levelled"
    assert result.seconds < 900


@pytest.mark.parametrize("which", ["temperature", "clock", "time"])
def test_what_never_levels_ends_at_the_limit_and_is_named(which: str) -> None:
    def kelvin(t: float) -> float:
        return 300 + (0.1 * t if which == "temperature" else 0)

    def hz(t: float) -> float:
        return 3e9 - (1e6 * t if which == "clock" else 0)

    def call_s(t: float) -> float:
        return 0.1 * (1 + (0.001 * t if which == "time" else 0))

    result = Body(kelvin, hz, call_s).soak(limit_s=300)
    assert result.ended == "limit"
    assert f"{which} still moved" in result.because
    assert 300 <= result.seconds < 310


def test_nothing_to_see_is_said_after_the_least_time() -> None:
    result = Body(lambda t: None, lambda t: None, lambda t: math.nan).soak(least_s=20)
    assert result.ended == "nothing to see"
    assert 20 <= result.seconds < 25
    assert result.temperature_k is result.hz is result.load_s is None


def test_a_level_from_the_start_takes_the_least_time() -> None:
    assert 60 <= Body(lambda t: 320.0, lambda t: 3e9, lambda t: 0.1).soak().seconds < 65


def test_progress_is_told_and_a_failing_load_passed_on() -> None:
    told: list[tuple[str, float | None]] = []
    body = Body(warming(10.0), lambda t: 3e9, lambda t: 0.1)
    soak(body.load, read=body.read, clock=body.clock, report=lambda label, part: told.append((label, part)))
    assert told[0][0].startswith("soaking, ")
    assert told[0][0].endswith("°C")
    assert [part for _, part in told] == sorted(part for _, part in told if part is not None)

    def fails() -> float:
        raise RuntimeError("as asked")

    with pytest.raises(RuntimeError, match="as asked"):
        soak(fails)


@pytest.mark.parametrize("limit_s", [0.0, -1.0, math.nan, math.inf])
def test_a_limit_that_is_none(limit_s: float) -> None:
    with pytest.raises(UsageError):
        soak(lambda: 1.0, limit_s=limit_s)


def test_sensors(tmp_path: Path) -> None:
    assert read_heat(tmp_path) == Heat()
    tree(
        tmp_path,
        {
            "sys/class/thermal/thermal_zone0/temp": "45000\n",
            "sys/class/hwmon/hwmon2/temp1_input": "71500\n",
            "sys/class/hwmon/hwmon2/temp2_input": "-128000\n",
            "sys/class/hwmon/hwmon3/temp1_input": "junk",
            "proc/cpuinfo": "cpu MHz : 2400.0\n",
        },
    )
    assert read_heat(tmp_path) == Heat(temperature_k=pytest.approx(344.65))
    tree(tmp_path, {"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3000000\n"})
    assert read_heat(tmp_path).hz == 3e9
