from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact, hypergeom

from ridgeline.stats.association import more_often, more_often_in_time


def masks(n: int, m: int, k: int, both: int) -> tuple[np.ndarray, np.ndarray]:
    """m marked and k chosen of n, `both` of them both."""
    marked, chosen = np.zeros(n, bool), np.zeros(n, bool)
    marked[:m] = True
    chosen[m - both : m - both + k] = True
    return marked, chosen


def test_the_lady_tasting_tea() -> None:
    assert more_often(*masks(8, 4, 4, 4)) == pytest.approx(1 / comb(8, 4))
    assert more_often(*masks(8, 4, 4, 3)) == pytest.approx(17 / 70)


@settings(deadline=None)
@given(st.data())
def test_one_stratum_is_fishers_exact_test(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 60))
    m, k = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
    both = data.draw(st.integers(max(0, m + k - n), min(m, k)))
    table = [[both, m - both], [k - both, n - m - k + both]]
    assert more_often(*masks(n, m, k, both)) == pytest.approx(fisher_exact(table, alternative="greater")[1], rel=1e-9, abs=1e-12)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2)), min_size=1, max_size=80))
def test_strata_add_up(items: list[tuple[bool, bool, int]]) -> None:
    marked, chosen, strata = (np.array(column) for column in zip(*items, strict=True))
    law = {0: 1.0}
    for group in np.unique(strata):
        here = strata == group
        n, m, k = int(here.sum()), int((here & marked).sum()), int((here & chosen).sum())
        law = {
            have + x: sum(p * hypergeom.pmf(x2, n, m, k) for h, p in law.items() for x2 in range(k + 1) if h + x2 == have + x)
            for have in law
            for x in range(k + 1)
        }
    found = int((marked & chosen).sum())
    assert more_often(marked, chosen, strata) == pytest.approx(sum(p for x, p in law.items() if x >= found), rel=1e-9, abs=1e-12)


def test_what_differs_between_strata_is_no_evidence() -> None:
    strata = np.repeat([0, 1], 500)
    marked, chosen = strata == 1, np.zeros(1000, bool)
    chosen[500:510] = True  # all marked, as everything in that stratum is
    assert more_often(marked, chosen) < 0.002
    assert more_often(marked, chosen, strata) == 1.0


def test_a_rotation_that_agrees_as_well_counts() -> None:
    marked, chosen = np.zeros(200, bool), np.zeros(200, bool)
    marked[50:70], chosen[55:65] = True, True
    # Ten chosen within twenty marked: eleven places of one against the other have all ten.
    assert more_often_in_time(marked, chosen) == pytest.approx(11 / 200)
    assert more_often_in_time(marked, ~marked) == 1.0


@pytest.mark.parametrize("which", ["independent", "bunched"])
def test_false_alarms_are_as_rare_as_promised(which: str) -> None:
    rng = np.random.default_rng(5)
    alarms = {"exact": 0, "rotated": 0}
    for _ in range(400):
        if which == "independent":
            marked, chosen = rng.random(500) < 0.1, rng.random(500) < 0.05
        else:  # ten runs of marks, one run of chosen ones
            marked, chosen = np.zeros(500, bool), np.zeros(500, bool)
            for start in rng.integers(0, 490, 5):
                marked[start : start + 10] = True
            start = rng.integers(0, 490)
            chosen[start : start + 8] = True
        alarms["exact"] += more_often(marked, chosen) <= 0.05
        alarms["rotated"] += more_often_in_time(marked, chosen) <= 0.05
    assert alarms["rotated"] <= 34  # 99.9 % quantile of Binomial(400, 0.05)
    # The exact test holds for items that are independent, and is why bunched ones are rotated.
    assert (alarms["exact"] <= 34) is (which == "independent")
