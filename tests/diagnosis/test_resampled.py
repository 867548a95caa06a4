"""Sampled lines in place of a perturbed profile: shares come from the samples, counts and work from the profile."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Diagnosis, HotSpot, HotSpots, Site
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.resampled import resampled_rows
from support.facts_by_hand import MB, buffer, device, facts, perturbed, row, samples, split


def spots(**by_line: int) -> HotSpots:
    found = tuple(
        HotSpot(site=Site(file="net.py", line=int(name.removeprefix("line")), function="f"), samples=count, state="interpreter")
        for name, count in by_line.items()
    )
    return HotSpots(spots=found, samples=sum(by_line.values()), interval_s=0.002, instrument="by hand")


def at(line: int, name: str, seconds: float, **fields):
    return row(name, seconds, site=Site(file="net.py", line=line, function="f"), **fields)


def given(**fields):
    tanh = at(7, "tanh", 0.02, calls=400.0, group="elementwise", engine="tanh", flop=0.9 * 1e9 * 0.009, threads=1, kind="aten::tanh",
              reads=(buffer(1, MB // 10),), writes=(buffer(2, MB // 10),))  # fmt: skip
    add = at(8, "add", 0.02, calls=400.0, group="elementwise", engine="add", reads=(buffer(3, 80),), writes=(buffer(4, 80),), threads=1)
    base = {"wall_s": 0.05, "samples": samples(0.01), "levels": perturbed(), "wall_split": split(), "hot_spots": spots(line7=900, line8=100)}
    return facts([tanh, add], **{**base, **fields})


def test_time_follows_the_samples_and_not_the_perturbed_profile():
    rows = resampled_rows(given(), 0.01, [None, None])
    assert rows is not None
    assert [r.total_s.value for r in rows] == pytest.approx([0.009, 0.001])
    assert all(r.total_s.low <= r.total_s.value <= r.total_s.high for r in rows)


def test_the_interpreters_part_is_not_given_to_operators():
    rows = resampled_rows(given(wall_split=split(interpreter=0.5)), 0.01, [None, None])
    assert rows is not None
    assert sum(r.total_s.value for r in rows) == pytest.approx(0.005)


def test_two_operators_on_one_line_divide_it_as_their_own_times_stand():
    both = given()
    moved = [msgspec.structs.replace(r, site=Site(file="net.py", line=7, function="f")) for r in both.operators.rows]
    both = msgspec.structs.replace(both, operators=msgspec.structs.replace(both.operators, rows=tuple(moved)))
    rows = resampled_rows(both, 0.01, [None, 0.001])
    assert rows is not None
    assert [r.total_s.value for r in rows] == pytest.approx([0.0045, 0.0045])
    # Where the profile says nothing of either, they divide it as their ideal times do: each then shows the fraction of its line.
    rows = resampled_rows(both, 0.01, [0.002, 0.001])
    assert rows is not None
    assert [r.total_s.value for r in rows] == pytest.approx([0.006, 0.003])


def test_the_dear_one_of_two_short_calls_is_the_dear_one():
    """1,000 multiplications of 0.3 µs and 1,000 sums of 2.3 µs on one line, each recorded at 1 µs more; the work of either is next to nothing."""
    rows = [at(7, "multiply", 0.0013, calls=1000.0, group="elementwise"), at(7, "sum", 0.0033, calls=1000.0, group="reduction")]
    both = facts(rows, wall_s=0.0046, samples=samples(0.0026), levels=perturbed(), wall_split=split(), hot_spots=spots(line7=1000))
    found = resampled_rows(both, 0.0026, [1e-5, 1e-6])
    assert found is not None
    assert [r.total_s.value for r in found] == pytest.approx([0.0003, 0.0023])


def test_too_few_samples_say_nothing():
    assert resampled_rows(given(hot_spots=spots(line7=40)), 0.01, [None, None]) is None


def test_the_verdict_stands_on_them_and_says_so():
    found = next_step(given(device=device()))
    assert isinstance(found, Diagnosis)
    assert found.bottleneck is not None
    assert (found.bottleneck.bound, found.bottleneck.cause, found.bottleneck.where.line) == ("compute", "special-functions", 7)
    assert found.bottleneck.share == pytest.approx(0.9, abs=0.01)
    assert any(w.code == "perturbed" and "stand in" in w.effect for w in found.warnings)
