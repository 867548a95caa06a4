"""Gaussian processes: gradients by differences, smooth functions found from few rows, outliers that do not bend them, damaged files."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ridgeline.core import Column, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.model.learned.gaussian import MOST_ROWS, Gaussian, _unlikely, fit_gaussian
from ridgeline.model.learned.ridge import fit_ridge

NAMES = ("a", "b", "c")


def smooth(rows: np.ndarray) -> np.ndarray:
    """A function that bends along the first two features and does not know the third."""
    return np.sin(1.5 * rows[:, 0]) + 0.3 * rows[:, 1] ** 2


def drawn(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, (count, 3))


def test_the_gradient_is_that_of_the_likelihood() -> None:
    z = drawn(30, 0)
    y = smooth(z) - smooth(z).mean()
    apart = np.square(z[:, None, :] - z[None, :, :]).transpose(2, 0, 1).copy()
    values = np.array([0.4, 0.9, 1.3, 0.1, -1.5, -0.8])
    _, gradient = _unlikely(values, apart, z @ z.T + 1.0, y)
    for place in range(len(values)):
        step = np.zeros(len(values))
        step[place] = 1e-5
        above, below = (_unlikely(values + sign * step, apart, z @ z.T + 1.0, y)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-5)


def test_a_smooth_function_is_found_from_few_rows() -> None:
    rows, queries = drawn(120, 1), drawn(400, 2)
    model = fit_gaussian(rows, smooth(rows), NAMES)
    off = np.abs(model.predict(queries) - smooth(queries))
    flat = np.abs(fit_ridge(rows, smooth(rows), NAMES, penalty=0.01).predict(queries) - smooth(queries))
    assert off.mean() < 0.02
    assert off.mean() < flat.mean() / 5
    # What says nothing has the longest reach.
    assert int(np.argmax(model.reach.values)) == 2


def test_far_off_rows_do_not_bend_it() -> None:
    rows, queries = drawn(150, 3), drawn(300, 4)
    target = smooth(rows)
    target[::10] += 3.0
    off = np.abs(fit_gaussian(rows, target, NAMES).predict(queries) - smooth(queries))
    assert np.median(off) < 0.1


def test_the_same_rows_give_the_same_model_and_many_are_thinned() -> None:
    rows = drawn(MOST_ROWS + 500, 5)
    one, other = (fit_gaussian(rows, smooth(rows), NAMES, seed=2) for _ in range(2))
    assert encode(one) == encode(other)
    assert len(one.weights) == MOST_ROWS


def test_it_is_a_document() -> None:
    rows = drawn(40, 6)
    model = fit_gaussian(rows, smooth(rows), NAMES)
    assert np.array_equal(decode(encode(model), Gaussian).predict(rows), model.predict(rows))


@pytest.mark.parametrize("change", [
    {"reach": Column([1.0, 1.0], "1")}, {"reach": Column([1.0, 0.0, 1.0], "1")}, {"signal": -1.0}, {"mean": float("nan")},
    {"weights": Column([1.0], "1")}, {"rows": Column([1], "1", "<i8")},
])  # fmt: skip
def test_what_cannot_be_is_refused(change: dict[str, object]) -> None:
    rows = drawn(40, 6)
    model = fit_gaussian(rows, smooth(rows), NAMES)
    with pytest.raises(ReadError):
        msgspec.structs.replace(model, **change)


def test_rows_without_a_target() -> None:
    with pytest.raises(UsageError):
        fit_gaussian(drawn(3, 0), np.array([1.0, np.nan, 2.0]), NAMES)
    with pytest.raises(UsageError):
        fit_gaussian(drawn(3, 0), np.ones(2), NAMES)
