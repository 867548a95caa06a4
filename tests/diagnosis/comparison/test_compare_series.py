"""Verdicts on pairs whose answer is known: the ugly ones that real files hold, and laws that hold of any pair."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, Comparison, Series, UsageError
from ridgeline.diagnosis.comparison import compare_series


def series(values, process=None, *, unit="s", **fields):
    """A series; without process numbers nobody knows the processes."""
    known = process is not None
    return Series(
        name=fields.pop("name", "f"),
        unit=unit,
        values=Column(np.asarray(values, float), unit),
        process=Column(np.asarray(process if known else np.zeros(len(values)), int), "count"),
        processes_known=fields.pop("processes_known", known),
        **fields,
    )


def processes(values, **fields):
    """A series of one value a process."""
    return series(values, range(len(values)), **fields)


def noisy(generator, count=15, samples=30, ratio=1.0, **fields):
    levels = ratio * np.exp(0.01 * generator.standard_normal(count))
    values = np.concatenate([level * (1 + 0.02 * generator.exponential(size=samples)) for level in levels])
    return series(values, np.arange(count).repeat(samples), **fields)


def codes(found):
    return {warning.code for warning in found.warnings}


def test_constant_values_are_the_same():
    found = compare_series(series([1.0] * 5), series([1.0] * 5))
    assert (found.verdict, found.ratio, found.ratio_ci, found.keep) == ("same", 1.0, (1.0, 1.0), True)


def test_one_value_against_one_value_says_nothing():
    found = compare_series(series([1.0]), series([1.3]))
    assert (found.verdict, found.ratio_ci, found.keep, found.detectable_ratio) == ("inconclusive", None, False, None)
    assert found.ratio == pytest.approx(1.3)
    assert "fewer than 4 values" in found.reasons[1]


def test_a_third_faster():
    found = compare_series(series([115, 114, 115, 115, 115]), series([78.8] * 5))
    assert found.verdict == "faster"
    assert found.ratio == pytest.approx(1 - 0.31, abs=0.006)
    assert "31.5% faster" in found.headline


def test_twenty_values_and_an_outlier():
    """+5 %, and the outlier is of the tail: it neither hides the difference nor makes it, and b is not kept."""
    found = compare_series(series([1.0] * 20), series([1.05] * 19 + [30.0]))
    assert found.verdict == "slower"
    assert found.ratio == pytest.approx(1.05)
    assert found.tail.verdict == "slower"
    assert "30.0 s" in found.tail.reason
    assert "279 more" in found.tail.reason
    assert "tail-outlier" in codes(found)
    assert not found.keep


def test_an_outlier_on_the_side_that_is_faster_costs_it():
    found = compare_series(series([1.0] * 20), series([0.9] * 19 + [30.0]))
    assert (found.verdict, found.tail.verdict, found.keep) == ("faster", "slower", False)
    assert found.headline.startswith("improved median, worse tail")


def test_an_outlier_before_is_no_praise_for_what_comes_after():
    found = compare_series(series([1.0] * 19 + [30.0]), series([1.0] * 20))
    assert (found.verdict, found.tail.verdict, found.keep) == ("same", "inconclusive", True)
    assert "tail-outlier" in codes(found)


def test_launches_at_two_levels_are_bimodal_between_processes():
    fast = np.linspace(0.72, 0.74, 7)
    found = compare_series(processes([1.28, 1.282, 1.279, *fast]), processes(np.linspace(0.72, 0.74, 10)))
    warning = next(warning for warning in found.warnings if warning.code == "bimodal")
    assert "bimodal between processes: 730 ms (70%), 1.28 s (30%)" in warning.message
    # A robust spread is that of one level: it would promise effects that a mixture hides.
    assert found.detectable_ratio is None
    assert not any("nine times of ten" in reason for reason in found.reasons)


def test_two_models_of_processor_are_not_compared():
    a, b = (series([1.0] * 9, keys={"machine.cpu": cpu}) for cpu in ("EPYC 7", "EPYC 9"))
    found = compare_series(a, b)
    assert (found.verdict, found.ratio, found.keep, found.tail.verdict) == ("incomparable", None, False, "incomparable")
    assert [key.key for key in found.changed_keys] == ["machine.cpu"]
    assert "machine.cpu: EPYC 7 against EPYC 9" in found.headline
    assert compare_series(a, b, changing=["machine.cpu"]).verdict == "same"


def test_seconds_against_bytes_are_refused():
    found = compare_series(series([1.0] * 9), series([1.0] * 9, unit="B"))
    assert found.verdict == "incomparable"
    assert "seconds against bytes" in found.headline
    assert compare_series(series([1.0] * 9), series([1.0] * 9, unit="B"), changing=["unit"]).verdict == "incomparable"


@pytest.mark.parametrize(("field", "value"), [("better", "higher"), ("metric", "batched")])
def test_another_direction_or_metric_is_refused(field, value):
    found = compare_series(series([1.0] * 9), series([1.0] * 9, **{field: value}), changing=[field])
    assert found.verdict == "incomparable"


def test_values_of_zero_are_of_runs_that_failed():
    found = compare_series(series([1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), series([1.0] * 5))
    assert (found.verdict, found.ratio, found.side_a.samples) == ("same", 1.0, 5)
    assert "zero-values" in codes(found)


def test_a_side_without_any_value_is_inconclusive():
    for empty in (series([]), series([0.0, 0.0])):
        found = compare_series(empty, series([1.0] * 5))
        assert (found.verdict, found.ratio, found.keep) == ("inconclusive", None, False)
        assert "nothing was measured on side A" in found.headline


def test_nothing_allocated_on_both_sides_is_the_same():
    """Bytes and counts may well be zero."""
    found = compare_series(series([0.0] * 5, unit="B"), series([0.0] * 5, unit="B"))
    assert (found.verdict, found.ratio, found.keep) == ("same", None, True)


def test_from_nothing_to_something_has_a_verdict_and_no_ratio():
    found = compare_series(series([0.0] * 9, unit="B"), series([64.0] * 9, unit="B"))
    assert (found.verdict, found.ratio, found.keep) == ("slower", None, False)
    assert "no ratio" in found.headline
    assert compare_series(series([0.0] * 2, unit="B"), series([64.0] * 2, unit="B")).verdict == "inconclusive"


def test_unequal_repetitions_are_fine():
    found = compare_series(series([1.0] * 5), series([2.0] * 17))
    assert (found.verdict, found.ratio) == ("slower", 2.0)
    assert "5 and 17 values" in found.headline


def test_more_is_better_turns_the_words_and_not_the_ratio():
    found = compare_series(series([100.0] * 6, better="higher", unit="count/s"), series([110.0] * 6, better="higher", unit="count/s"))
    assert found.verdict == "faster"
    assert found.ratio == pytest.approx(1.1)
    assert "higher (better)" in found.headline


def test_a_certain_difference_within_the_margin_is_the_same_and_said():
    generator = np.random.default_rng(0)
    a, b = (processes(ratio * np.exp(0.0002 * generator.standard_normal(20))) for ratio in (1.0, 1.003))
    found = compare_series(a, b)
    assert found.verdict == "same"
    assert found.ratio_ci[0] > 1
    assert "differs by 0.3" in found.headline
    assert compare_series(a, b, margin=0.0).verdict == "slower"


def test_what_is_not_known_says_how_many_processes_would_tell():
    generator = np.random.default_rng(1)
    found = compare_series(*(processes(np.exp(0.02 * generator.standard_normal(6))) for _ in "ab"))
    assert found.verdict == "inconclusive"
    assert "processes a side" in found.reasons[1]
    assert found.detectable_ratio > 1.005


def test_a_coarse_clock_does_not_make_versions_the_same():
    """Every minimum is one tick, while the medians differ by a tenth."""
    generator = np.random.default_rng(2)
    sides = [
        np.concatenate([np.concatenate([[1.0] * 10, ratio * np.exp(0.02 * generator.standard_normal(41)) + 0.5]) for _ in range(10)])
        for ratio in (1.0, 1.2)
    ]
    found = compare_series(*(series(side, np.arange(10).repeat(51)) for side in sides))
    assert found.verdict == "slower"
    assert found.statistic == "median"


def test_one_process_of_many_values_is_compared_by_values_with_a_warning():
    generator = np.random.default_rng(3)
    a, b = (series(np.exp(0.01 * generator.standard_normal(50)), np.zeros(50)) for _ in "ab")
    found = compare_series(a, b)
    assert "one-process" in codes(found)
    assert "50 values each" in found.headline


def test_values_like_their_neighbours_count_as_blocks():
    generator = np.random.default_rng(4)
    walks = [np.exp(np.convolve(generator.standard_normal(219), np.ones(20) / 20, "valid") * 0.05) for _ in "ab"]
    found = compare_series(*map(series, walks))
    assert "blocks of values" in found.headline


def test_constant_values_do_not_resemble_their_neighbours():
    """The mean of 400 times 1.2 is not 1.2 to the last digit: what is left is rounding, and no autocorrelation."""
    found = compare_series(series([1.0] * 400), series([1.2] * 400))
    assert "400 values each" in found.headline
    assert (found.verdict, found.tail.ratio_ci) == ("slower", None)


def test_one_process_against_several_is_one_draw():
    generator = np.random.default_rng(5)
    many = noisy(generator, 20)
    found = compare_series(many, series(np.full(500, 1.3), np.zeros(500)))
    assert (found.verdict, found.ratio_ci) == ("inconclusive", None)


def test_improved_median_worse_tail_is_not_kept():
    generator = np.random.default_rng(6)
    a, b = (np.exp(0.01 * generator.standard_normal((20, 500))) for _ in "ab")
    slow = generator.random(b.shape) < 0.03
    number = np.arange(20).repeat(500)
    found = compare_series(series(a.ravel(), number), series(np.where(slow, 3 * b, 0.9 * b).ravel(), number))
    assert (found.verdict, found.tail.verdict, found.keep) == ("faster", "slower", False)
    assert found.headline.startswith("improved median, worse tail")
    assert found.tail.ratio > 2


def test_a_slow_end_of_a_rate_is_its_low_one():
    generator = np.random.default_rng(7)
    a, b = (100 * np.exp(0.01 * generator.standard_normal((20, 100))) for _ in "ab")
    b = np.where(generator.random(b.shape) < 0.04, b / 2, b)
    number = np.arange(20).repeat(100)
    found = compare_series(*(series(side.ravel(), number, unit="count/s", better="higher", metric="rate") for side in (a, b)))
    assert found.tail.verdict == "slower"
    assert found.tail.ratio < 0.7
    assert not found.keep


def test_a_p99_on_few_samples_warns():
    generator = np.random.default_rng(8)
    found = compare_series(noisy(generator, 10, 40), noisy(generator, 10, 40))
    assert "few-tail-samples" in codes(found)
    assert "few-tail-samples" not in codes(compare_series(noisy(generator, 10, 120), noisy(generator, 10, 120)))


def test_batches_have_no_tail():
    generator = np.random.default_rng(9)
    found = compare_series(noisy(generator, 10, 40, metric="batched"), noisy(generator, 10, 40, metric="batched"))
    assert found.tail.verdict == "inconclusive"
    assert "compare the latency" in found.tail.reason


def aggregates(**given):
    return series([], aggregates={name: float(value) for name, value in given.items()})


def test_aggregates_without_a_spread_say_nothing_certain():
    found = compare_series(aggregates(mean=1.0), aggregates(mean=2.0))
    assert (found.verdict, found.ratio, found.ratio_ci, found.keep) == ("inconclusive", 2.0, None, False)
    assert "no values are made up" in found.reasons[1]
    assert found.a is None
    assert found.side_a.median is None


def test_aggregates_with_spread_and_count_have_welchs_interval():
    """Equal spreads and counts: t with 18 degrees of freedom at 97 %, standard error σ √(2 ÷ 10)."""
    from scipy.stats import t

    found = compare_series(aggregates(mean=1.0, stddev=0.02, n=10), aggregates(mean=1.1, stddev=0.022, n=10))
    half = float(t.ppf(0.985, 18)) * 0.02 * math.sqrt(0.2)
    assert found.verdict == "slower"
    assert found.ratio_ci == pytest.approx((1.1 * math.exp(-half), 1.1 * math.exp(half)))
    assert "aggregates-only" in codes(found)


def test_aggregates_against_values_use_the_values():
    generator = np.random.default_rng(10)
    found = compare_series(series(1 + 0.01 * generator.standard_normal(10)), aggregates(mean=1.5, stddev=0.01, count=10))
    assert (found.verdict, found.statistic) == ("slower", "mean")


def test_aggregates_of_other_statistics_are_not_held_against_each_other():
    found = compare_series(aggregates(p99=1.0), aggregates(mean=2.0))
    assert (found.verdict, found.ratio) == ("inconclusive", None)


wild = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=80)
@given(st.fixed_dictionaries({}, optional={"mean": wild, "stddev": wild, "n": wild, "median": wild}), st.lists(st.floats(0, 1e300), max_size=4))
def test_any_aggregates_have_an_answer_that_can_be_written(given_by_file, values):
    found = compare_series(aggregates(**given_by_file), series(values, aggregates={"mean": 1.0, "stddev": 0.1, "n": 5.0}))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found
    assert all(number is None or math.isfinite(number) for number in (found.ratio, found.p_value, *(found.ratio_ci or ())))


def mixed(generator, times, count=15, **fields):
    """Processes whose calls go through `times`."""
    calls = np.exp(0.005 * generator.standard_normal((count, 1))) * np.resize(times, 100) * (1 + 0.02 * generator.exponential(size=(count, 100)))
    return series(calls.ravel(), np.arange(count).repeat(100), **fields)


def test_a_quarter_of_the_calls_that_is_slower_takes_faster_back():
    """Three calls of five at 0.8 and two at 1.8: the median is lower, and nobody wants that version for it."""
    generator = np.random.default_rng(20)
    found = compare_series(mixed(generator, [1.0]), mixed(generator, [0.8, 0.8, 0.8, 1.8, 1.8]))
    assert (found.verdict, found.keep, found.statistic) == ("inconclusive", False, "median")
    assert (found.shape.verdict, found.shape.q) == ("slower", 0.75)
    assert found.shape.ratio == pytest.approx(1.75, abs=0.05)
    assert "not faster as a whole" in found.headline
    assert "slowest quarter of its calls" in found.headline
    assert found.ratios["upper quartile"] == found.shape.ratio
    assert found.intervals["upper quartile"] == found.shape.ratio_ci


def test_a_quarter_of_the_calls_that_is_slower_is_not_the_same():
    """What was fast in two calls of five is not any more: neither the median nor the slow calls see it."""
    generator = np.random.default_rng(21)
    found = compare_series(mixed(generator, [0.5, 0.5, 1, 1, 1], 30), mixed(generator, [0.93, 0.93, 1, 1, 1], 30), margin=0.1)
    assert (found.verdict, found.keep, found.shape.q) == ("inconclusive", False, 0.25)
    assert "not the same" in found.headline
    assert "fastest quarter of its calls" in found.headline


def test_a_quarter_of_the_calls_that_is_faster_is_told_and_makes_nothing():
    generator = np.random.default_rng(22)
    fast = compare_series(mixed(generator, [0.93, 0.93, 1, 1, 1], 30), mixed(generator, [0.5, 0.5, 1, 1, 1], 30), margin=0.1)
    assert (fast.verdict, fast.keep, fast.shape.verdict) == ("same", True, "faster")
    slow = compare_series(mixed(generator, [1.0]), mixed(generator, [0.8, 0.8, 1.8, 1.8, 1.8]))
    assert (slow.verdict, slow.keep, slow.shape.verdict) == ("slower", False, "faster")
    assert "but the fastest quarter of its calls" in slow.headline


def test_a_quarter_that_is_slower_by_far_than_the_rest_is_told():
    """Two calls of five doubled: the median moved a little within what the others scatter."""
    generator = np.random.default_rng(27)
    found = compare_series(mixed(generator, [1.0]), mixed(generator, [1, 1, 1, 2, 2]))
    assert (found.verdict, found.shape.verdict, found.shape.q) == ("slower", "slower", 0.75)
    assert found.ratio < 1.1
    assert "and the slowest quarter of its calls takes 1.9" in found.headline


def test_of_a_rate_the_slow_calls_are_the_low_ones():
    generator = np.random.default_rng(23)
    rates = {"unit": "count/s", "better": "higher", "metric": "rate"}
    found = compare_series(mixed(generator, [100.0], **rates), mixed(generator, [120, 120, 120, 60, 60], **rates))
    assert (found.verdict, found.keep, found.shape.q) == ("inconclusive", False, 0.25)
    assert found.shape.ratio < 0.7


def test_calls_that_all_differ_alike_have_no_shape():
    generator = np.random.default_rng(24)
    told = [compare_series(noisy(generator, ratio=1.0), noisy(generator, ratio=ratio)).shape for ratio in (1.0, 0.9, 1.1) * 10]
    assert sum(shape is not None for shape in told) <= 2


def test_a_tail_that_could_not_be_judged_is_said_of_what_is_kept():
    few = compare_series(processes([1.0] * 9), processes([0.5] * 9))
    assert (few.keep, few.tail.verdict) == (True, "inconclusive")
    caution = next(warning for warning in few.warnings if warning.code == "tail-unjudged")
    assert "290 more samples" in caution.message
    generator = np.random.default_rng(25)
    enough = compare_series(noisy(generator, 10, 120), noisy(generator, 10, 120, 0.5))
    assert enough.keep
    assert "tail-unjudged" not in codes(enough)
    assert "tail-unjudged" not in codes(compare_series(processes([1.0] * 9), processes([2.0] * 9)))
    batched = [processes([1.0] * 9, metric="batched") for _ in "ab"]
    assert "tail-unjudged" not in codes(compare_series(*batched))


def test_two_benchmarks_of_other_names_are_compared_under_a_condition():
    a, b = processes([1.0] * 9, name="sort"), processes([1.5] * 9, name="hash")
    found = compare_series(a, b)
    assert found.warnings[0].code == "names-differ"
    assert found.headline.endswith("if 'sort' and 'hash' do the same work")
    workloads = [msgspec.structs.replace(side, keys={"workload": side.name}) for side in (a, b)]
    assert compare_series(*workloads).verdict == "incomparable"
    assert "names-differ" not in codes(compare_series(*workloads, changing=["workload"]))
    assert "names-differ" in codes(compare_series(workloads[0], b))
    assert "names-differ" not in codes(compare_series(a, processes([1.5] * 9, name="sort")))


def test_many_keys_of_one_side_are_named_in_part():
    found = compare_series(processes([1.0] * 9, keys={f"software.x{at:02}": "1" for at in range(30)}), processes([1.0] * 9))
    message = next(warning.message for warning in found.warnings if warning.code == "keys-unknown")
    assert message.endswith("software.x04 and 25 more")


def test_more_processes_than_anybody_measures_are_not_counted():
    generator = np.random.default_rng(26)
    found = compare_series(*(processes(np.exp(0.5 * generator.standard_normal(9))) for _ in "ab"))
    assert found.verdict == "inconclusive"
    assert "than can be measured" in found.reasons[1]
    assert "quieter or longer" in found.reasons[1]


def test_several_changes_are_warned_of():
    a = processes([1.0] * 9, keys={"precision": "fp32", "threads": "1"})
    b = processes([1.0] * 9, keys={"precision": "int8", "threads": "2"})
    assert "several-changes" in codes(compare_series(a, b, changing=["precision", "threads"], versions_differ=False))
    one = processes([1.0] * 9, keys={"precision": "int8", "threads": "1"})
    assert "several-changes" not in codes(compare_series(a, one, changing=["precision"], versions_differ=False))
    assert "several-changes" in codes(compare_series(a, one, changing=["precision"]))
    assert "several-changes" not in codes(compare_series(a, a))


@pytest.mark.parametrize("bad", [{"margin": -0.1}, {"margin": float("nan")}, {"confidence": 0.0}, {"confidence": 1.0}])
def test_numbers_out_of_range_are_refused(bad):
    with pytest.raises(UsageError):
        compare_series(series([1.0] * 5), series([1.0] * 5), **bad)


values = st.lists(st.floats(0.0, 1e300), max_size=40)


@settings(deadline=None, max_examples=80)
@given(values, values, st.booleans(), st.sampled_from(["lower", "higher"]), st.sampled_from(["s", "B"]))
def test_any_pair_has_an_answer_that_can_be_written(a, b, known, better, unit):
    made = processes if known else series
    found = compare_series(made(a, better=better, unit=unit), made(b, better=better, unit=unit))
    again = msgspec.json.decode(msgspec.json.encode(found), type=Comparison)
    assert again == found
    for number in (found.ratio, found.detectable_ratio, found.p_value, *(found.ratio_ci or ())):
        assert number is None or math.isfinite(number)
    if found.verdict in ("faster", "slower") and found.ratio_ci is not None:
        low, high = found.ratio_ci
        assert low > 1 or (high is not None and high < 1)
    if found.verdict == "same" and found.ratio_ci is not None:
        assert found.ratio_ci[0] >= 1 / 1.01 - 1e-12
        assert found.ratio_ci[1] <= 1.01 + 1e-12
    assert found.reasons


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**20), st.floats(0.5, 2.0))
def test_turning_the_sides_round_turns_the_verdict_round(seed, ratio):
    generator = np.random.default_rng(seed)
    a, b = noisy(generator, 8, 5), noisy(generator, 8, 5, ratio)
    there, back = compare_series(a, b), compare_series(b, a)
    turned = {"faster": "slower", "slower": "faster"}
    assert back.verdict == turned.get(there.verdict, there.verdict)
    assert there.ratio * back.ratio == pytest.approx(1)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**20), st.integers(-30, 30))
def test_the_unit_does_not_matter(seed, exponent):
    generator = np.random.default_rng(seed)
    a, b = noisy(generator, 8, 5), noisy(generator, 8, 5, 1.03)
    scaled = [msgspec.structs.replace(side, values=Column(side.values.values * 2.0**exponent, "s")) for side in (a, b)]
    assert compare_series(*scaled).ratio_ci == pytest.approx(compare_series(a, b).ratio_ci)
