"""The history of a target: which commits bracket a change, what is left out, and that an old step does not widen what is expected next."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import HistoryEntry, HistoryLine
from ridgeline.core.documents import decode, encode
from ridgeline.core.history import HistoryReport
from ridgeline.diagnosis.history import expected_next, history_report


def _entries(values: object, *, name: str = "parse", keys: dict[str, str] | None = None, first: int = 0) -> list[HistoryEntry]:
    return [
        HistoryEntry(run=f"r{at:03}", at=f"2026-01-01T{at // 60:02}:{at % 60:02}:00+00:00", commit=f"c{at:03}", name=name, metric="median",
                     value=value, keys=keys or {})
        for at, value in enumerate(values, start=first)  # type: ignore[arg-type, var-annotated, call-overload]
    ]  # fmt: skip


def _line(values: object, **options: float) -> HistoryLine:
    (line,) = history_report("f.py:parse", _entries(values), **options).lines
    return line


def _noise(seed: int, count: int, sigma: float = 0.003) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(0, sigma, count))


def test_a_step_is_bracketed_by_commits() -> None:
    values = np.concatenate([np.full(20, 0.010), np.full(20, 0.012)]) * _noise(1, 40)
    line = _line(values.tolist())
    (change,) = line.changes
    assert (line.shape, change.index, change.word) == ("steps", 20, "slower")
    assert (change.from_commit, change.to_commit, change.last_before, change.first_after) == ("c019", "c020", "r019", "r020")
    assert change.ratio == pytest.approx(1.2, rel=0.01)
    assert line.level == pytest.approx(0.012, rel=0.01)
    assert line.level_runs == 20


def test_a_missing_run_widens_the_bracket_and_is_said() -> None:
    values: list[float | None] = [*(0.010 * _noise(2, 20)).tolist(), None, math.inf, math.nan, *(0.012 * _noise(3, 20)).tolist()]
    line = _line(values)
    (change,) = line.changes
    assert (change.from_commit, change.to_commit) == ("c019", "c023")
    assert line.left_out == 3
    assert [point.reason for point in line.points if point.value is None] == ["no value", "no finite value", "no finite value"]
    assert len(line.points) == 43


@pytest.mark.parametrize("seed", range(8))
def test_a_real_step_of_one_percent_does_not_widen_the_threshold(seed: int) -> None:
    noise = _noise(seed, 60, 0.002)
    stepped = _line((np.concatenate([np.ones(30), np.full(30, 1.01)]) * noise).tolist())
    flat = _line(noise[30:].tolist())
    assert stepped.shape == "steps"
    assert len(stepped.changes) == 1
    assert stepped.spread is not None
    assert flat.spread is not None
    # Both stand on about the same thirty runs: what the step moved is in neither.
    assert stepped.spread == pytest.approx(flat.spread, rel=0.15)
    assert stepped.expected is not None
    assert stepped.level is not None
    assert stepped.expected[1] / stepped.level < 1.01


@pytest.mark.parametrize("seed", range(8))
def test_a_ramp_is_a_drift_and_no_steps(seed: int) -> None:
    line = _line((1.003 ** np.arange(60) * _noise(seed, 60, 0.004)).tolist())
    assert (line.shape, line.changes) == ("drift", ())
    assert line.drift_per_run == pytest.approx(0.003, abs=0.0005)
    # Where the next run is expected is beyond the last one, not the middle of all.
    assert line.level == pytest.approx(1.003**60, rel=0.01)


def test_an_outlier_is_no_change_and_widens_the_threshold_only_while_it_may_come_again() -> None:
    for runs, widened in ((40, True), (150, False)):
        values = _noise(4, runs)
        spiked = values.copy()
        spiked[25] *= 30
        with_spike, without = _line(spiked.tolist()), _line(values.tolist())
        assert with_spike.shape == without.shape == "flat"
        assert with_spike.spread == pytest.approx(without.spread, rel=0.2)
        assert with_spike.expected is not None
        assert without.expected is not None
        # One run in forty is more than the 1.5 % that may lie beyond it, one in 150 is not.
        assert (with_spike.expected[1] > 10) == widened
        assert widened or with_spike.expected[1] == pytest.approx(without.expected[1], rel=0.01)


def test_more_is_better_turns_the_word_and_not_the_ratio() -> None:
    values = np.concatenate([np.full(20, 100.0), np.full(20, 120.0)]) * _noise(5, 40)
    entries = [
        HistoryEntry(run=e.run, at=e.at, commit=e.commit, name=e.name, metric="throughput", value=e.value, unit="count/s", better="higher")
        for e in _entries(values.tolist())
    ]
    (line,) = history_report("x", entries).lines
    assert (line.changes[0].word, round(line.changes[0].ratio or 0, 1)) == ("faster", 1.2)


def test_unlike_runs_stand_apart_and_the_key_is_named() -> None:
    entries = _entries([1.0] * 9, keys={"machine": "a"}) + _entries([2.0] * 9, keys={"machine": "b"}, first=20)
    report = history_report("x", entries)
    assert [line.shape for line in report.lines] == ["flat", "flat"]
    assert [line.keys for line in report.lines] == [{"machine": "b"}, {"machine": "a"}]
    assert report.split_by == ("machine",)
    assert report.warnings[0].code == "split-history"


def test_the_order_is_that_of_time_and_not_of_the_list() -> None:
    entries = _entries((np.concatenate([np.full(20, 1.0), np.full(20, 1.2)]) * _noise(6, 40)).tolist())
    assert history_report("x", entries[::-1]) == history_report("x", entries)


def test_nothing_and_little_is_answered() -> None:
    assert history_report("x", []).lines == ()
    for values in ([None], [1.0], [0.0] * 12, [1.0] * 4):
        line = _line(values)
        assert (line.shape, line.changes, line.expected) == ("flat", (), None)


def test_a_constant_history_expects_the_same_again() -> None:
    line = _line([0.25] * 12)
    assert line.spread == pytest.approx(0, abs=1e-12)
    assert line.expected == pytest.approx((0.25, 0.25))


@given(st.integers(0, 10_000), st.floats(1e-9, 1e9))
@settings(max_examples=30, deadline=None)
def test_the_unit_of_the_values_does_not_matter(seed: int, scale: float) -> None:
    values = _noise(seed, 24)
    level, spread, expected, _, assured = expected_next(values)
    scaled_level, scaled_spread, scaled_expected, _, scaled_assured = expected_next(values * scale)
    assert scaled_assured == assured
    assert scaled_level == pytest.approx((level or 0) * scale)
    assert scaled_spread == pytest.approx(spread, rel=1e-6)
    assert scaled_expected == pytest.approx(tuple(end * scale for end in expected or ()))


def _skewed(rng: np.random.Generator, runs: int) -> np.ndarray:
    return rng.exponential(0.02, runs)


def _spiky(rng: np.random.Generator, runs: int) -> np.ndarray:
    return rng.normal(0, 0.005, runs) + (rng.random(runs) < 0.05) * rng.exponential(0.1, runs)


def _two_modes(rng: np.random.Generator, runs: int) -> np.ndarray:
    return rng.normal(0, 0.005, runs) + (rng.random(runs) < 0.2) * 0.05


def _normal(rng: np.random.Generator, runs: int) -> np.ndarray:
    return rng.normal(0, 0.02, runs)


def _beyond(make: Callable[[np.random.Generator, int], np.ndarray], runs: int, confidence: float = 0.97, times: int = 3000) -> float:
    """How often the next run lies above its interval."""
    rng, above = np.random.default_rng(20), 0
    for _ in range(times):
        values = np.exp(make(rng, runs + 1))
        found = expected_next(values[:runs], confidence=confidence)
        assert found.interval is not None
        above += bool(values[runs] > found.interval[1])
    return above / times


@pytest.mark.parametrize("make", [_normal, _skewed, _spiky, _two_modes])
def test_with_enough_runs_the_next_lies_outside_as_often_as_said_whatever_the_noise_is(make: Callable[..., np.ndarray]) -> None:
    # 66 runs are the fewest for 1.5 % a side, 9 for 10 %; four standard deviations of the simulation beyond it.
    assert _beyond(make, 66) <= 0.015 + 4 * math.sqrt(0.015 / 3000)
    assert _beyond(make, 130) <= 0.015 + 4 * math.sqrt(0.015 / 3000)
    assert _beyond(make, 9, 0.8) == pytest.approx(0.1, abs=4 * math.sqrt(0.1 / 3000))


@pytest.mark.parametrize("runs", [8, 20, 40])
def test_with_fewer_runs_it_is_as_said_on_normal_noise_and_else_within_what_is_assured(runs: int) -> None:
    assert _beyond(_normal, runs) <= 0.015 + 4 * math.sqrt(0.015 / 3000)
    real = {make.__name__: _beyond(make, runs) for make in (_skewed, _spiky, _two_modes)}
    assured = expected_next(np.exp(_normal(np.random.default_rng(1), runs)), confidence=0.97).assured
    assert assured is not None
    assert assured == pytest.approx(1 - 2 / (runs + 1))
    assert all(rate <= (1 - assured) / 2 + 4 * math.sqrt(0.05 / 3000) for rate in real.values()), real
    # What the module says of them: up to 8 % of 8 and 20 runs, about 2 % of 40.
    assert max(real.values()) <= (0.08 if runs < 40 else 0.03), real
    assert max(real.values()) >= 0.015


def test_what_the_interval_rests_on_is_said() -> None:
    def assured(runs: int, **given: object) -> float | None:
        return expected_next(np.exp(_normal(np.random.default_rng(3), runs)), confidence=0.97, **given).assured  # type: ignore[arg-type]

    assert assured(65) == pytest.approx(1 - 2 / 66)
    assert assured(66) == pytest.approx(1 - 2 / 67)
    assert 0.97 <= (assured(200) or 0) < 0.98
    assert assured(80, drift=True) is None
    assert _line(_noise(1, 20).tolist()).assured == pytest.approx(1 - 2 / 21)
    assert _line([1.0] * 4).assured is None


def test_seen_values_are_never_outside_of_an_assumed_interval() -> None:
    values = np.exp(_spiky(np.random.default_rng(5), 30))
    found = expected_next(values)
    assert found.interval is not None
    assert found.interval[0] <= values.min()
    assert found.interval[1] >= values.max()


def test_how_often_the_next_run_leaves_its_interval() -> None:
    rng = np.random.default_rng(20)
    outside = 0
    for _ in range(2000):
        values = np.exp(rng.normal(0, 0.02, 13))
        expected = expected_next(values[:12], confidence=0.9).interval
        assert expected is not None
        outside += not expected[0] <= values[12] <= expected[1]
    # 10 % are meant; a binomial of 2000 lies within 8 and 12 % but for one in three hundred, and the seed is fixed.
    assert 0.08 <= outside / 2000 <= 0.12


def test_the_document_is_read_back() -> None:
    report = history_report("x", _entries((np.concatenate([np.full(20, 1.0), np.full(20, 1.2)]) * _noise(7, 40)).tolist()))
    assert decode(encode(report), HistoryReport) == report
