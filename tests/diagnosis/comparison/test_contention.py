"""Values beside which another program used the core: left out by the sentinel alone, alike on both sides, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import Column, Series
from ridgeline.diagnosis.comparison import compare_series
from ridgeline.diagnosis.comparison.contention import clear_of, process_medians


def series(generator, level, *, disturbed=0.4, processes=16, values=40, sentinels=True, factor=1.4, quiet=0.2):
    """Processes that differ by half a per cent; bursts of somebody else make stretches of them `factor` times as long."""
    size = processes * values
    company = np.repeat(generator.random(processes) < disturbed, values)
    company &= np.arange(size) % values >= quiet * values
    process = np.repeat(np.arange(processes), values)
    base = level * np.exp(0.005 * generator.standard_normal(processes))[process] * np.exp(0.01 * generator.standard_normal(size))
    look = np.where(company, 1.45, 1.0) * 1e-5 * np.exp(0.01 * np.abs(generator.standard_normal(size)))
    return Series(
        name="x", values=Column(base * np.where(company, factor, 1.0), "s"), process=Column(process, "count"),
        sentinel_s=Column(look, "s") if sentinels else None,
    )  # fmt: skip


def test_the_interval_is_that_of_the_calls_that_were_alone():
    widths = {True: [], False: []}
    for seed in range(20):
        for sentinels, found in widths.items():
            generator = np.random.default_rng(seed)
            pair = (series(generator, level, disturbed=0.3, sentinels=sentinels) for level in (1.0, 1.02))
            low, high = compare_series(*pair).ratio_ci
            found.append(high / low - 1)
    assert np.median(widths[True]) < 0.8 * np.median(widths[False])


def test_equal_versions_are_called_different_no_more_often():
    generator = np.random.default_rng(2)
    verdicts = [compare_series(series(generator, 1.0), series(generator, 1.0)).verdict for _ in range(200)]
    assert sum(verdict in ("faster", "slower") for verdict in verdicts) <= 12


def test_what_is_left_is_said_and_the_tail_has_all():
    generator = np.random.default_rng(3)
    compared = compare_series(series(generator, 1.0), series(generator, 1.5))
    codes = [caution.code for caution in compared.warnings]
    assert codes.count("contended") == 2
    assert compared.side_a.samples == 16 * 40
    assert compared.ratio == pytest.approx(1.5, rel=0.02)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"disturbed": 0.0}, {"disturbed": 1.0}),  # one version keeps the core busy itself
        ({"sentinels": False}, {}),
        ({"processes": 4}, {"processes": 4}),  # too few
        ({"values": 4}, {}),  # no process has enough
    ],
)
def test_all_values_count_where_it_would_not_be_fair(a, b):
    generator = np.random.default_rng(4)
    assert clear_of(series(generator, 1.0, **a), series(generator, 1.0, **b)) is None


def test_the_rule_never_looks_at_the_values():
    first, other = (series(np.random.default_rng(5), level) for level in (1.0, 3.0))
    kept = clear_of(first, first), clear_of(other, other)
    assert [unit.size for unit in kept[0].a] == [unit.size for unit in kept[1].a]


def test_versions_that_run_at_another_clock_are_compared_at_one():
    """Processes whose clock differs by per cents; the ratio is that of the work."""
    generator = np.random.default_rng(6)
    widths, ratios = {True: [], False: []}, []
    for _ in range(20):
        for sentinels, found in widths.items():
            pair = [at_clocks(generator, level, sentinels=sentinels) for level in (1.0, 1.02)]
            compared = compare_series(*pair)
            found.append(compared.ratio_ci[1] / compared.ratio_ci[0] - 1)
            if sentinels:
                ratios.append(compared.ratio)
    assert np.median(widths[True]) < 0.5 * np.median(widths[False])
    assert np.median(ratios) == pytest.approx(1.02, abs=0.004)


def at_clocks(generator, level, *, sentinels=True, lowered=1.0, processes=16, values=40):
    """Each process at a clock of its own, all of them slower by `lowered`; calls and loops follow it."""
    process = np.repeat(np.arange(processes), values)
    clock = lowered * np.exp(0.02 * np.abs(generator.standard_normal(processes))[process] + 0.01 * np.abs(generator.standard_normal(len(process))))
    base = level * clock * np.exp(0.003 * generator.standard_normal(len(process)))
    return Series(name="x", values=Column(base, "s"), process=Column(process, "count"), sentinel_s=Column(1e-5 * clock, "s") if sentinels else None)


def test_a_version_that_lowers_the_clock_itself_is_charged_for_it():
    generator = np.random.default_rng(7)
    compared = compare_series(at_clocks(generator, 1.0), at_clocks(generator, 1.0, lowered=1.05))
    assert compared.ratio == pytest.approx(1.05, abs=0.01)
    assert compared.verdict == "slower"


def test_the_medians_of_a_history_are_of_undisturbed_calls():
    generator = np.random.default_rng(8)
    disturbed = series(generator, 1.0, disturbed=0.7)
    assert np.median(process_medians(disturbed)) == pytest.approx(1.0, abs=0.01)
    plain = [np.median(values) for values in disturbed.by_process()]
    assert np.median(plain) > 1.2
    without = series(np.random.default_rng(8), 1.0, disturbed=0.7, sentinels=False)
    assert process_medians(without).tolist() == [np.median(values) for values in without.by_process()]
