"""Ugly pairs of files, each read and then compared, with the right answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ridgeline.core import ComparisonSet
from ridgeline.diagnosis.comparison import compare_sets
from ridgeline.readers.results import read_results
from support.result_files import EXAMPLES, google, hyperfine, pyperf

Comparing = Callable[[bytes, bytes], ComparisonSet]


@pytest.fixture
def compare(tmp_path: Path) -> Comparing:
    def comparing(a: bytes, b: bytes) -> ComparisonSet:
        (tmp_path / "a").write_bytes(a)
        (tmp_path / "b").write_bytes(b)
        return compare_sets(read_results(tmp_path / "a"), read_results(tmp_path / "b"))

    return comparing


def _times(unit: str, values: list[float]) -> bytes:
    return google([{"name": "a", "real_time": value, "time_unit": unit} for value in values])


def test_time_units_that_differ_between_two_files(compare: Comparing) -> None:
    values = [10.0, 11.0, 10.5, 10.2, 10.8, 10.4]
    same = compare(_times("us", values), _times("ns", [value * 1000 for value in values])).comparisons[0]
    assert same.ratio == pytest.approx(1.0, rel=1e-12)
    slower = compare(_times("ms", values), _times("us", [value * 2000 for value in values])).comparisons[0]
    assert (slower.verdict, slower.ratio) == ("slower", pytest.approx(2.0, rel=1e-12))


def test_bytes_against_seconds_are_refused(compare: Comparing) -> None:
    found = compare(pyperf([[1.0], [1.0], [1.0]], unit="byte"), pyperf([[1.0], [1.0], [1.0]])).comparisons[0]
    assert found.verdict == "incomparable"
    assert "unit" in {key.key for key in found.changed_keys}


def test_two_cpu_models_are_incomparable(compare: Comparing) -> None:
    runs = [[1.0 + index / 100] for index in range(8)]
    found = compare(pyperf(runs), pyperf(runs, cpu_model_name="Model B")).comparisons[0]
    assert found.verdict == "incomparable"
    assert "machine.cpu" in {key.key for key in found.changed_keys}


def test_a_benchmark_that_one_side_lacks_is_listed(compare: Comparing) -> None:
    one, other = {"name": "a", "real_time": 1.0}, {"name": "b", "real_time": 1.0}
    found = compare(google([one, other]), google([one, {"name": "c", "real_time": 1.0}]))
    assert [comparison.name for comparison in found.comparisons] == ["a"]
    assert any(name.startswith("b") for name in found.missing)
    assert any(name.startswith("c") for name in found.new)


def test_a_run_that_failed_with_time_zero_does_not_become_a_speed_up(compare: Comparing) -> None:
    good = {"name": "a", "real_time": 5.0}
    failed = {"name": "a", "real_time": 0.0, "error_occurred": True, "error_message": "no device"}
    found = compare(google([good] * 6), google([failed, {"name": "b", "real_time": 1.0}]))
    assert not found.comparisons
    assert {entry.reason for entry in found.left_out_b} == {"failed: no device"}


def test_not_a_number_and_unequal_repetitions(compare: Comparing) -> None:
    a = hyperfine({"command": "a", "times": [1.0, 1.01, float("nan"), 1.02, 0.99, 1.0, float("inf"), 1.005]})
    b = hyperfine({"command": "a", "times": [2.0, 2.02, 1.98, 2.01, 2.0, 1.99, 2.03, 2.0, 2.0, 1.97, 2.01]})
    found = compare(a, b).comparisons[0]
    assert found.verdict == "slower"
    assert found.side_a is not None
    assert found.side_b is not None
    assert (found.side_a.samples, found.side_b.samples) == (6, 11)


def test_one_value_against_one_and_aggregates_without_a_spread_cannot_be_told(compare: Comparing) -> None:
    assert compare(_times("ns", [1.0]), _times("ns", [2.0])).comparisons[0].verdict == "inconclusive"
    mean = EXAMPLES["google-benchmark"]["aggregates"]
    assert {found.verdict for found in compare(mean, mean.replace(b"11.0", b"22.0")).comparisons} == {"inconclusive"}


def test_for_rates_more_is_faster(compare: Comparing) -> None:
    def rates(factor: float) -> bytes:
        values = [1.0, 1.01, 0.99, 1.02, 0.98, 1.005, 0.995, 1.0]
        return google([{"name": "a", "real_time": 1.0, "bytes_per_second": factor * 1e9 * value} for value in values])

    found = {comparison.metric: comparison for comparison in compare(rates(1.0), rates(2.0)).comparisons}
    assert (found["bytes_per_second"].verdict, found["bytes_per_second"].ratio) == ("faster", pytest.approx(2.0, rel=1e-9))
