"""What is measured: even, the same for a seed, inside the ranges, and more where errors are large."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from ridgeline.core import Workload
from ridgeline.model.design import FORMS, first, form_of, where_unsure
from ridgeline.model.design.coordinates import Point
from ridgeline.model.families import demand


def test_the_same_seed_gives_the_same_design_and_a_longer_one_begins_with_a_shorter() -> None:
    short, long = list(itertools.islice(first(3), 50)), list(itertools.islice(first(3), 200))
    assert long[:50] == short
    assert list(itertools.islice(first(4), 50)) != short


def test_each_form_has_its_share() -> None:
    counts = Counter(name for name, _ in itertools.islice(first(0), 2000))
    total = sum(form.share for form in FORMS)
    for form in FORMS:
        assert abs(counts[form.name] - 2000 * form.share / total) <= 1.0, form.name


def test_sizes_are_spread_evenly_in_their_logarithm() -> None:
    """Tenths of the logarithm of elements each hold a tenth of the rows, which random draws of 400 would miss by more."""
    rows = [work.sizes["elements"] for _, work in itertools.islice(first(1, [form_of("one operand")]), 400)]
    tenths = np.histogram(np.log(rows), bins=10, range=(0.0, float(np.log(4_000_000))))[0]
    assert tenths.min() >= 34
    assert tenths.max() <= 46


def test_nothing_is_asked_that_takes_too_long() -> None:
    for _, work in itertools.islice(first(2), 3000):
        needs = demand(work.kind, work.sizes)
        assert float(needs.flop) < 2.5e9
        assert float(needs.weights) < 1.1e8, "as many as the largest layer of a usual network, VGG's first product"
        assert float(needs.inputs) < 8e6


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0 - 1e-17])
def test_points_at_the_edges(value: float) -> None:
    point = Point([value] * 10)
    assert 4 <= point.size(4, 4096) <= 4096
    assert point.pick("a", "b", "c") in "abc"
    assert point.width(1, 1024) >= 1
    assert point.blocked(16, 1536) % 16 == 0
    assert 2 <= point.usual(2, 2048) <= 2048


def softmax(rows: int, columns: int) -> Workload:
    return Workload(kind="softmax", variant="Softmax", sizes={"rows": rows, "columns": columns})


def test_more_is_asked_where_the_model_errs() -> None:
    """Wide rows err ten times as much as narrow ones: most of what is asked next is wide; forms without errors get little."""
    generator = np.random.default_rng(0)
    rows = [softmax(int(generator.integers(1, 500)), columns) for columns in [8] * 40 + [8000] * 40]
    known = {form.name: [(work, 0.01) for work in rows[:10]] for form in FORMS}
    known["softmax"] = [(work, 1.0 if work.sizes["columns"] > 100 else 0.1) for work in rows]
    drawn = where_unsure(known, 400, seed=1)
    counts = Counter(name for name, _ in drawn)
    assert len(drawn) == 400
    assert counts["softmax"] > 150
    wide = [work.sizes["columns"] > 300 for name, work in drawn if name == "softmax"]
    evenly = [work.sizes["columns"] > 300 for _, work in itertools.islice(first(5, [form_of("softmax")]), 400)]
    assert np.mean(wide) > np.mean(evenly) + 0.1


def test_a_form_that_nobody_measured_is_asked_for() -> None:
    known = {form.name: [(softmax(place + 1, 8), 0.05) for place in range(12)] for form in FORMS if form.name != "recurrent"}
    assert Counter(name for name, _ in where_unsure(known, 300, seed=0))["recurrent"] > 50
