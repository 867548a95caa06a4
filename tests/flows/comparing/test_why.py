"""Looking into two versions for real: what each view saw of each, without a word on times."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Comparison, GroundTruth, TailComparison
from ridgeline.flows.comparing.sides import side_of
from ridgeline.flows.comparing.why import Views, attributed, views_of

SOURCE = """
import numpy as np

VALUES = np.arange(200_000.0)[::-1].copy()

def a():
    return np.add(VALUES, 1.0)

def b():
    return np.sort(np.add(VALUES, 1.0))

def fails():
    raise ValueError("broken on purpose")
"""


@pytest.fixture
def slower():
    truth = GroundTruth(
        samples=100, processes=5, warmup=0, first_s=None, median_s=1e-3, median_ci_s=(9e-4, 1.1e-3), p99_s=None, p99_ci_s=None, min_s=9e-4,
        batched_s=None, noise_floor=None, overhead_s=None,
    )  # fmt: skip
    return Comparison(
        verdict="slower", ratio=2.0, ratio_ci=(1.9, 2.1), confidence=0.97, tail=TailComparison(verdict="inconclusive"), keep=False,
        detectable_ratio=1.01, a=truth, b=truth,
    )  # fmt: skip


@pytest.fixture
def sides(tmp_path):
    (tmp_path / "work.py").write_text(SOURCE)
    return lambda *names: tuple(side_of(f"{tmp_path}/work.py:{name}") for name in names)


def test_every_view_of_both_versions(slower, sides):
    views = views_of(slower, sides("a", "b"), 1.0, 0, lambda label, fraction: None)
    assert len(views.a) == len(views.b) >= 1
    kinds = [{row.kind for row in facts.operators.rows} for facts in (views.a[0], views.b[0])]
    assert "numpy.sort" not in kinds[0]
    assert "numpy.sort" in kinds[1]
    assert all(facts.wall_split is not None and facts.samples is not None for facts in (*views.a, *views.b))
    assert attributed(slower, views).warnings or attributed(slower, views).why


def test_a_version_that_fails_costs_only_the_reasons(slower, sides):
    views = views_of(slower, sides("a", "fails"), 0.5, 0, lambda label, fraction: None)
    assert (views.a, views.b) == ((), ())
    found = attributed(slower, views)
    assert (found.verdict, found.why) == ("slower", ())
    assert "broken on purpose" in found.warnings[-1].message


@pytest.mark.parametrize("changes", [{"verdict": "inconclusive"}, {"verdict": "same"}, {"unit": "B"}, {"ratio_ci": (1.2, None)}, {"a": None}])
def test_nothing_is_looked_into_without_a_difference(slower, changes):
    found = msgspec.structs.replace(slower, **changes)
    assert views_of(found, (None, None), 1.0, 0, None) == Views()
    assert attributed(found, Views()).warnings[-1].code == "not-attributed"
