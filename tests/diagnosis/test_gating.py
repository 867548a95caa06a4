"""The rule of a gate: how often it is red on unchanged code and on a real regression, and what each check is called."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from ridgeline.core import Caution, Column, GateCheck, GateReport, HistoryEntry, Predicted, Series
from ridgeline.core.documents import decode, encode
from ridgeline.diagnosis.gating import at_baseline, at_history, at_prediction, check_of, closed, error_of_each, suspicious
from ridgeline.diagnosis.history import history_report


def _series(medians: object, *, better: str = "lower", unit: str = "s", keys: dict[str, str] | None = None, samples: int = 3) -> Series:
    values = np.repeat(np.asarray(medians, np.float64), samples)
    process = np.repeat(np.arange(len(values) // samples), samples)
    return Series(name="b", values=Column(values, unit), unit=unit, process=Column(process, "count"), better=better, keys=keys or {})  # type: ignore[arg-type]


def _processes(rng: np.random.Generator, count: int, scale: float = 1.0, noise: str = "normal") -> Series:
    draw = {"normal": rng.normal(0, 0.02, count), "heavy": rng.standard_t(2, count) * 0.01, "two levels": rng.integers(0, 2, count) * 0.05}[noise]
    return _series(scale * np.exp(draw + rng.normal(0, 1e-4, count)))


def _red(rng: np.random.Generator, scales: list[float], noise: str) -> bool:
    """One whole gate over benchmarks that became slower by `scales`, drawn instead of measured."""
    firsts = [at_baseline(_processes(rng, 5, 1.0, noise), _processes(rng, 5, scale, noise), margin=0.02) for scale in scales]
    suspects = [index for index, look in enumerate(firsts) if suspicious(look, tail=False)]
    error = error_of_each(max(1, len(suspects)), len(firsts), confidence=0.97, tail=False, independent=True)
    return any(
        at_baseline(_processes(rng, 12, 1.0, noise), _processes(rng, 12, scales[index], noise), margin=0.02, error=error).worse for index in suspects
    )


@pytest.mark.parametrize("noise", ["normal", "heavy", "two levels"])
def test_a_gate_over_25_unchanged_benchmarks_is_seldom_red(noise: str) -> None:
    rng = np.random.default_rng(25)
    red = sum(_red(rng, [1.0] * 25, noise) for _ in range(20))
    # 3 % are meant at the most; of 20 more than 2 come in one of 50 such series, and the seed is fixed.
    assert red <= 2


def test_one_benchmark_in_25_that_became_slower_by_5_percent_is_found() -> None:
    rng = np.random.default_rng(5)
    assert sum(_red(rng, [1.05] + [1.0] * 24, "normal") for _ in range(20)) >= 18


def test_the_first_looking_alone_never_fails() -> None:
    before, now = _series(np.linspace(1, 1.01, 5)), _series(np.linspace(2, 2.01, 5))
    first = at_baseline(before, now, margin=0.02)
    assert suspicious(first, tail=False)
    assert _check(first, None).verdict != "regression"
    assert _check(first, first).verdict == "regression"
    # Stored values cannot be measured again: then the first, at the strict rate, is all there is, and says so.
    stored = check_of("b", "", "old", first, None, margin=0.02, tail=False, series=now, stored=True)
    assert stored.verdict == "regression"
    assert "nothing could be measured" in stored.because


def _check(first: object, second: object) -> GateCheck:
    return check_of("b", "t", "main", first, second, margin=0.02, tail=False, series=_series([1.0]))  # type: ignore[arg-type]


def test_a_suspicion_that_is_not_confirmed_is_cleared_by_the_second_looking() -> None:
    steady = _series(1 + 1e-4 * np.arange(12))
    first = at_baseline(_series(np.linspace(1, 1.01, 5)), _series(np.linspace(1.1, 1.11, 5)), margin=0.02)
    second = at_baseline(steady, steady, margin=0.02, error=0.01)
    check = _check(first, second)
    assert (check.verdict, check.suspected) == ("fine", True)
    assert "not confirmed" in check.because


def test_times_of_work_that_is_not_finished_are_no_reason_to_be_fine() -> None:
    unfinished = Caution(code="unsynchronised", message="the call returns a generator", effect="wait for the work inside the function")
    for scale, verdict in ((1.0, "inconclusive"), (0.5, "inconclusive"), (2.0, "regression")):
        before, now = _series(1 + 1e-5 * np.arange(12)), _series(scale * (1 + 1e-5 * np.arange(12)))
        now = msgspec.structs.replace(now, cautions=(unfinished,))
        look = at_baseline(before, now, margin=0.02, error=0.01)
        check = _check(look, look if look.worse else None)
        assert check.verdict == verdict
        assert unfinished in check.warnings
    assert "wait for the work" in _check(at_baseline(now, now, margin=0.02), None).because


def test_a_certain_slowdown_within_the_margin_passes() -> None:
    before, now = _series(1 + 1e-5 * np.arange(12)), _series(1.005 + 1e-5 * np.arange(12))
    look = at_baseline(before, now, margin=0.02)
    assert (look.worse, look.fine) == (False, True)
    assert at_baseline(before, now, margin=0.001).worse


def test_more_is_better_where_the_series_says_so() -> None:
    before = _series(100 + 0.01 * np.arange(8), better="higher", unit="count/s")
    slower = _series(80 + 0.01 * np.arange(8), better="higher", unit="count/s")
    assert at_baseline(before, slower, margin=0.02).worse
    faster = at_baseline(slower, before, margin=0.02)
    assert (faster.worse, faster.fine, faster.better) == (False, True, True)
    assert faster.ratio == pytest.approx(1.25, rel=0.01)


def test_too_few_processes_are_inconclusive_and_not_fine() -> None:
    look = at_baseline(_series([1.0]), _series([5.0]), margin=0.02)
    assert _check(look, None).verdict == "inconclusive"


def _mixed(rng: np.random.Generator, times: list[float], count: int) -> Series:
    calls = np.exp(rng.normal(0, 0.005, (count, 1))) * np.resize(times, 100) * (1 + 0.02 * rng.exponential(size=(count, 100)))
    return Series(name="b", values=Column(calls.ravel(), "s"), process=Column(np.repeat(np.arange(count), 100), "count"))


@pytest.mark.parametrize("times", [[1.0, 2.0], [1, 1, 2, 2, 2], [0.8, 0.8, 1.8, 1.8, 1.8], [1, 1, 1, 2, 2], [0.8, 0.8, 0.8, 1.8, 1.8]])
def test_calls_of_which_some_doubled_are_a_regression_whatever_the_median_does(times: list[float]) -> None:
    rng = np.random.default_rng(9)
    first = at_baseline(_mixed(rng, [1.0], 5), _mixed(rng, times, 5), margin=0.02)
    second = at_baseline(_mixed(rng, [1.0], 12), _mixed(rng, times, 12), margin=0.02, error=0.0006)
    check = _check(first, second)
    assert check.verdict == "regression"
    assert not second.fine
    assert not second.better
    if times[2:3] == [0.8] or times == [1, 1, 1, 2, 2]:
        assert "slowest quarter of its calls" in check.because


def test_a_check_names_the_statistic_that_its_ratio_is_of() -> None:
    rng = np.random.default_rng(10)

    def wandering(count: int, ratio: float) -> Series:
        calls = np.column_stack([np.ones(count), 1 + 0.3 * rng.random((count, 1)) + 0.01 * rng.random((count, 30))])
        return Series(name="b", values=Column(ratio * calls.ravel(), "s"), process=Column(np.repeat(np.arange(count), 31), "count"))

    look = at_baseline(wandering(12, 1.0), wandering(12, 1.1), margin=0.02, error=0.01)
    check = _check(look, look)
    assert (check.verdict, check.statistic, check.ratio) == ("regression", "minimum", pytest.approx(1.1))
    assert "by the minimum (the median is " in check.because


def test_unlike_results_are_named() -> None:
    look = at_baseline(_series([1.0] * 5, keys={"threads": "1"}), _series([1.0] * 5, keys={"threads": "2"}), margin=0.02)
    check = _check(look, None)
    assert check.verdict == "incomparable"
    assert "threads" in check.because
    assert closed([check], baseline="x", version="y", confidence=0.97, fail_on=["slower"]).state == "unlike"


def test_the_tail_counts_only_where_it_is_asked_for() -> None:
    rng = np.random.default_rng(3)

    def side(tail: float) -> Series:
        calls = np.where(rng.random((20, 500)) < 0.03, tail, 1.0) * np.exp(rng.normal(0, 0.001, (20, 500)))
        return Series(name="b", values=Column(calls.ravel(), "s"), process=Column(np.repeat(np.arange(20), 500), "count"))

    first = at_baseline(side(1.3), side(2.6), margin=0.02)
    second = at_baseline(side(1.3), side(2.6), margin=0.02, error=0.015)
    assert (first.worse, first.tail_worse) == (False, True)
    assert (suspicious(first, tail=False), suspicious(first, tail=True)) == (False, True)
    check = check_of("b", "t", "main", first, second, margin=0.02, tail=True, series=side(1.3))
    assert check.verdict == "tail regression"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.00, 1.02, "fine"), (1.12, 1.15, "regression"), (1.05, 1.15, "inconclusive"), (0.80, 0.82, "faster")],
)
def test_a_prediction_is_missed_only_beyond_its_tolerance(low: float, high: float, verdict: str) -> None:
    look = at_prediction(Predicted(low_s=1.0, high_s=1.0, tolerance=0.1), _series(np.linspace(low, high, 9)))
    assert _check(look, look).verdict == verdict
    assert look.expected == pytest.approx((1 / 1.1, 1.1))


@pytest.mark.parametrize(("seconds", "asked"), [(30.0, True), (30e-6, False), (100e-6, False), (1e-9, True)])
def test_a_prediction_in_another_unit_is_asked_about(seconds: float, asked: bool) -> None:
    now = _series(30e-6 * (1 + 1e-4 * np.arange(12)))
    look = at_prediction(Predicted(low_s=seconds, high_s=seconds), now, error=0.01)
    check = check_of("b", "t", "the prediction", look, None, margin=0.1, tail=False, series=now)
    assert ("is its unit right?" in check.because) == asked


def test_an_interval_of_a_prediction_is_let_pass_whole() -> None:
    wide = Predicted(low_s=1.0, high_s=2.0, tolerance=0.0)
    assert at_prediction(wide, _series([1.9] * 6)).fine
    assert at_prediction(wide, _series([2.1] * 6)).worse
    assert at_prediction(wide, _series([1.0] * 6)).fine


def _history(values: np.ndarray) -> object:
    entries = [HistoryEntry(run=f"r{at:03}", at=f"{at:03}", commit=None, name="b", metric="median", value=float(v)) for at, v in enumerate(values)]
    return history_report("b", entries).lines[0]


def test_a_run_is_held_against_the_runs_since_the_last_change() -> None:
    noise = np.exp(np.random.default_rng(8).normal(0, 0.002, 60))
    line = _history(np.concatenate([np.ones(30), np.full(30, 1.01)]) * noise)
    assert not at_history(line, _series([1.01] * 5), margin=0.001).worse  # type: ignore[arg-type]
    assert at_history(line, _series([1.02] * 5), margin=0.001).worse  # type: ignore[arg-type]
    # The step of long ago is no reason to let 1 % more pass.
    assert at_history(line, _series([1.02] * 5), margin=0.001, error=0.005).worse  # type: ignore[arg-type]


def test_a_short_history_decides_nothing() -> None:
    look = at_history(_history(np.ones(3)), _series([5.0] * 5), margin=0.02)  # type: ignore[arg-type]
    assert (look.worse, look.fine, look.interval) == (False, False, None)


def test_the_error_of_each_second_looking() -> None:
    def error(suspects: int, **options: bool) -> float:
        return error_of_each(suspects, 25, confidence=0.97, **{"tail": False, "independent": True, **options})

    assert error(1) == pytest.approx(0.03)
    assert error(3) == pytest.approx(0.01)
    assert error(1, tail=True) == pytest.approx(0.015)
    # What shares the baseline's luck with the suspicion pays for the whole family.
    assert error(1, independent=False) == pytest.approx(0.03 / 25)


@pytest.mark.parametrize(
    ("verdicts", "state"),
    [
        (["fine", "faster", "new"], "green"),
        (["fine", "missing"], "unsure"),
        (["missing", "regression"], "red"),
        (["missing", "new"], "unlike"),
        (["new"], "unsure"),
        (["fine", "inconclusive"], "unsure"),
        (["inconclusive", "incomparable"], "unlike"),
        (["incomparable", "failed"], "red"),
        (["fine", "regression"], "red"),
        (["tail regression"], "red"),
        ([], "unsure"),
    ],
)
def test_the_worst_check_is_the_state(verdicts: list[str], state: str) -> None:
    checks = [GateCheck(name=str(at), verdict=verdict, against="main") for at, verdict in enumerate(verdicts)]  # type: ignore[arg-type]
    report = closed(checks, baseline="main", version="now", confidence=0.97, fail_on=["slower"])
    assert report.state == state
    assert decode(encode(report), GateReport) == report
    assert all(math.isfinite(check.margin) for check in report.checks)
