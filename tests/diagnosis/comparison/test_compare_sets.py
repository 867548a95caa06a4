"""Families of benchmarks: matched by name and metric, the error rate that of one."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import Caution, Column, ComparisonSet, LeftOut, Series, SeriesSet
from ridgeline.diagnosis.comparison import compare_sets


def made(name, values, metric="latency", **fields):
    process = Column(np.arange(len(values)), "count")
    return Series(name=name, metric=metric, values=Column(np.asarray(values, float), "s"), process=process, **fields)


def gathered(*series, **fields):
    return SeriesSet(source=fields.pop("source", "file"), tool="test", series=series, **fields)


def test_missing_and_new_benchmarks_are_listed():
    a = gathered(made("kept", [1.0] * 5), made("gone", [1.0] * 5), left_out=(LeftOut(reason="failed", count=2),))
    b = gathered(made("kept", [1.0] * 5), made("fresh", [1.0] * 5), cautions=(Caution(code="x", message="y"),))
    found = compare_sets(a, b)
    assert [each.name for each in found.comparisons] == ["kept"]
    assert (found.missing, found.new) == (("gone",), ("fresh",))
    assert found.left_out_a[0].count == 2
    assert found.warnings[0].code == "x"
    assert msgspec.json.decode(msgspec.json.encode(found), type=ComparisonSet) == found


def test_metrics_of_one_benchmark_are_matched_apart():
    a = gathered(made("f", [1.0] * 5), made("f", [3.0] * 5, "batched"))
    b = gathered(made("f", [3.0] * 5, "batched"))
    found = compare_sets(a, b)
    assert [(each.metric, each.verdict) for each in found.comparisons] == [("batched", "same")]
    assert found.missing == ("f (latency)",)


def test_the_first_of_two_alike_counts_and_that_is_said():
    found = compare_sets(gathered(made("f", [1.0] * 5), made("f", [9.0] * 5)), gathered(made("f", [1.0] * 5)))
    assert found.comparisons[0].ratio == 1.0
    assert found.warnings[0].code == "duplicates"


def test_one_benchmark_is_judged_as_it_is_alone():
    generator = np.random.default_rng(0)
    a, b = (made("f", np.exp(0.01 * generator.standard_normal(12))) for _ in "ab")
    assert compare_sets(gathered(a), gathered(b)).comparisons[0].confidence == pytest.approx(0.97)


def family(generator, count, processes=20, spread=0.015, ratio=1.0, changed=0):
    return gathered(*(made(f"b{i}", (ratio if i < changed else 1.0) * np.exp(spread * generator.standard_normal(processes))) for i in range(count)))


def test_a_family_of_equal_benchmarks_is_rarely_called_different():
    """25 unchanged benchmarks, 80 times: at 3 %, 8 red families and more happen less than once in a hundred times."""
    generator = np.random.default_rng(1)
    red = 0
    for _ in range(80):
        found = compare_sets(family(generator, 25), family(generator, 25))
        red += any(each.verdict in ("faster", "slower") for each in found.comparisons)
    assert red <= 7


def test_without_the_correction_it_would_be_many_more():
    generator = np.random.default_rng(1)
    red = 0
    for _ in range(12):
        a, b = family(generator, 25), family(generator, 25)
        alone = [compare_sets(gathered(x), gathered(y)).comparisons[0] for x, y in zip(a.series, b.series, strict=True)]
        red += any(each.verdict in ("faster", "slower") for each in alone)
    assert red > 4


def test_a_real_difference_is_still_found_among_others():
    generator = np.random.default_rng(2)
    found = 0
    for _ in range(15):
        result = compare_sets(family(generator, 25), family(generator, 25, ratio=1.04, changed=3))
        found += sum(each.verdict == "slower" for each in result.comparisons[:3])
    assert found >= 40


def test_interval_and_verdict_agree():
    generator = np.random.default_rng(3)
    for _ in range(10):
        result = compare_sets(family(generator, 12), family(generator, 12, ratio=1.03, changed=6))
        for each in result.comparisons:
            low, high = each.ratio_ci
            within = low >= 1 / 1.01 and high <= 1.01
            assert (each.verdict in ("faster", "slower")) == ((low > 1 or high < 1) and not within)


def test_few_processes_in_a_large_family_cannot_tell_and_say_how_many_could():
    """2 ÷ C(2n, n) ≤ 0.03 ÷ 50 from 7 processes on."""
    generator = np.random.default_rng(4)
    result = compare_sets(family(generator, 50, processes=4), family(generator, 50, processes=4, ratio=2.0, changed=50))
    assert {each.verdict for each in result.comparisons} == {"inconclusive"}
    assert "fewer than 7 processes" in result.comparisons[0].reasons[1]


def test_benchmarks_of_which_none_is_in_both_are_said_to_be_compared_in_nothing():
    found = compare_sets(gathered(made("x", [1.0] * 5)), gathered(made("y", [1.0] * 5)))
    assert (found.comparisons, found.missing, found.new) == ((), ("x",), ("y",))
    caution = next(caution for caution in found.warnings if caution.code == "nothing-compared")
    assert "A has x; B has y" in caution.message
    assert "nothing-compared" not in {
        caution.code for caution in compare_sets(gathered(made("x", [1.0] * 5)), gathered(made("x", [1.0] * 5))).warnings
    }


def test_empty_sets_have_nothing_to_compare():
    assert compare_sets(gathered(), gathered()).comparisons == ()
