"""The page of a comparison says what its verdict rests on: both ratios, the quarter of the calls that differs, and what was not judged."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, ComparisonSet, CoreToCore, Series
from ridgeline.diagnosis.comparison import compare_series
from ridgeline.reporting import comparison_page, terminal


def _series(calls: NDArray[np.float64], name: str = "f", **keys: str) -> Series:
    count, each = calls.shape
    process = Column(np.arange(count).repeat(each), "count")
    return Series(name=name, values=Column(calls.ravel(), "s"), process=process, keys={key.replace("__", "."): value for key, value in keys.items()})


def _page(a: Series, b: Series) -> str:
    return " ".join(terminal(comparison_page(compare_series(a, b)), width=160).split())


def _wandering(rng: np.random.Generator, ratio: float) -> NDArray[np.float64]:
    """A steady minimum beside a median that is another one in each process."""
    return np.asarray(ratio * np.column_stack([np.ones(12), 1 + 0.3 * rng.random((12, 1)) + 0.01 * rng.random((12, 30))]))


def test_where_another_statistic_decides_the_median_stands_beside_it() -> None:
    rng = np.random.default_rng(1)
    page = _page(_series(_wandering(rng, 1.0)), _series(_wandering(rng, 0.8)))
    assert "B ÷ A of the minimum" in page
    assert "by the median" in page
    # 372 samples a side are enough for a p99: nothing is left open.
    assert "keep B yes it is no slower" in page


def test_a_tail_that_was_not_judged_is_said_beside_keep() -> None:
    page = _page(_series(np.ones((9, 1))), _series(np.full((9, 1), 0.5)))
    assert "keep B yes, by the median the tail of B could not be judged: 290 more samples a side are needed" in page
    found = compare_series(_series(np.ones((9, 1))), _series(np.full((9, 1), 0.5)))
    page = " ".join(terminal(comparison_page(ComparisonSet(a="x", b="y", comparisons=(found,))), width=160).split())
    assert "yes, but tail" in page


def test_a_quarter_that_is_slower_has_a_row_and_is_why_nothing_is_kept() -> None:
    noise = 1 + 0.01 * np.random.default_rng(2).random((9, 100))
    page = _page(_series(noise), _series(noise[::-1] * np.resize([0.8, 0.8, 0.8, 1.8, 1.8], 100)))
    assert "? Not faster as a whole" in page
    assert "upper quartile 1.7" in page
    assert "keep B no the slowest quarter of its calls takes 1.7" in page


def test_keys_of_one_side_are_one_line() -> None:
    page = _page(_series(np.ones((9, 1)), **{f"software__x{at:02}": "1" for at in range(30)}), _series(np.ones((9, 1)), name="g", precision="fp32"))
    assert "Known of A only: 30 keys (software.x00," in page
    assert "Known of B only: 1 key (precision)." in page
    assert "x05" not in page
    assert "if 'f' and 'g' do the same work" in page
    assert "names-differ" in page


def test_how_far_apart_the_cores_were_beside_both_sides() -> None:
    a, b = (
        msgspec.structs.replace(_series(np.ones((9, 1))), core_to_core=found)
        for found in (CoreToCore(looks_s=(4.4e-8,)), CoreToCore(missing="one CPU alone"))
    )
    page = _page(a, b)
    assert "core to core, A 44.0 ns a cache line between two cores" in page
    assert "core to core, B — one CPU alone" in page
    assert "core to core" not in _page(_series(np.ones((9, 1))), _series(np.ones((9, 1))))
