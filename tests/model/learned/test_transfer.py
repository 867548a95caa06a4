"""A new device from few samples, and ratios between runs: exact cases come back, extremes and damage are refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import Column, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.model.learned.growing import Growth
from ridgeline.model.learned.ratio import RatioModel, RatioPairs, fit_ratio
from ridgeline.model.learned.transfer import Additive, NewDevice, Prior, Term, Transfer, choose_samples, fit_additive, fit_new_device, fit_transfer

Floats = NDArray[np.float64]
CANDIDATES = 200


def space(seed: int = 0) -> tuple[Prior, Floats, Floats]:
    """Prior, counts, and ln t of a device that is like the known ones."""
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, 6, size=(CANDIDATES, 4)).astype(np.float64)
    hidden = np.log(counts @ np.array([1.0, 2.0, 5.0, 0.5]) + 3.0)
    known = hidden[:, None] * np.array([1.0, 0.8, 1.3]) + 0.05 * draw.standard_normal((CANDIDATES, 3))
    known = (known - known.mean(0)) / known.std(0)
    prior = Prior((Term(known.mean(1)[:, None], (0.5,), 0.5), Term(known / np.sqrt(3), (0.3, 1.0), 1.0)))
    return prior, counts, np.asarray(hidden * 1.1 - 4.0)


def test_a_device_like_the_known_ones() -> None:
    prior, _, truth = space()
    chosen = choose_samples(prior, np.arange(100), prior.terms[0].factors[:, 0])
    assert len(set(chosen.tolist())) == 10
    made = fit_transfer(prior, chosen, truth[chosen])
    assert np.abs(made.predict(prior, np.arange(100, 200)) - truth[100:]).mean() < 0.05
    assert decode(encode(made), Transfer) == made
    assert encode(made) == encode(fit_transfer(prior, chosen, truth[chosen]))


def test_it_is_the_mean_of_a_gaussian_process() -> None:
    """With one scale and one noise: K (K + noise)⁻¹ y, as textbooks write it."""
    _, _, truth = space()
    factors = np.random.default_rng(5).normal(size=(CANDIDATES, 3))
    prior = Prior((Term(factors, (0.7,)),), (0.05,), standardised=False, baseline=np.zeros(CANDIDATES))
    at, asked = np.arange(9), np.arange(50, 60)
    y = truth[at] - np.median(truth[at])

    def kernel(left: NDArray[np.int64], right: NDArray[np.int64]) -> Floats:
        return np.asarray(0.7 * factors[left] @ factors[right].T + 1.0)

    expected = np.median(truth[at]) + kernel(asked, at) @ np.linalg.solve(kernel(at, at) + 0.05 * np.eye(9), y)
    assert np.allclose(fit_transfer(prior, at, truth[at]).predict(prior, asked), expected, atol=1e-10)


def test_latency_times_a_factor_is_predicted_times_that_factor() -> None:
    prior, _, truth = space()
    at = np.arange(0, 100, 10)
    one, two = (fit_transfer(prior, at, truth[at] + shift).predict(prior, np.arange(CANDIDATES)) for shift in (0.0, np.log(1000.0)))
    assert np.allclose(two - one, np.log(1000.0))


def test_a_sample_in_another_state_is_left_out() -> None:
    prior, _, truth = space()
    prior = prior._replace(baseline=truth.copy(), standardised=False)
    at = np.arange(0, 100, 10)
    spoiled = truth[at].copy()
    spoiled[3] += np.log(4.0)
    made = fit_transfer(prior, at, spoiled, robust=True)
    assert made.outliers == 1
    assert np.abs(made.predict(prior, np.arange(CANDIDATES)) - truth).max() < 0.02


def test_an_accelerator_without_surprises_is_a_sum_of_costs() -> None:
    prior, counts, _ = space()
    truth = np.log(counts @ np.array([1e-3, 0.0, 4e-3, 2e-4]) + 5e-4)
    at = np.arange(0, 120, 10)
    made = fit_additive(counts, at, truth[at])
    assert np.abs(made.predict(counts, np.arange(CANDIDATES)) - truth).mean() < 0.1
    assert (made.cost_s.values >= 0).all()
    whole = fit_new_device(prior, counts, at, truth[at])
    assert whole.additive_share > 0.5
    assert decode(encode(whole), NewDevice) == whole


def test_the_additive_form_counts_for_nothing_where_it_explains_nothing() -> None:
    prior, _, truth = space()
    at = np.arange(0, 100, 10)
    made = fit_new_device(prior, np.random.default_rng(1).random((CANDIDATES, 4)), at, 3.0 * truth[at])
    assert made.additive_share < 0.02
    alone = fit_new_device(prior, None, at, truth[at])
    assert alone.additive is None
    assert np.allclose(alone.predict(prior, None, at), alone.transfer.predict(prior, at))
    assert made.error > 0


def test_few_or_bad_samples_are_refused() -> None:
    prior, counts, truth = space()
    for measured, values in ((np.arange(2), truth[:2]), (np.arange(5), np.full(5, np.nan)), (np.arange(5), truth[:4])):
        with pytest.raises(UsageError):
            fit_new_device(prior, counts, measured, values)
    with pytest.raises(UsageError, match="pool"):
        choose_samples(prior, np.arange(8), prior.terms[0].factors[:, 0])
    made = fit_transfer(prior, np.arange(10), truth[:10])
    with pytest.raises(UsageError, match="columns"):
        made.predict(Prior(prior.terms[:1]), np.arange(3))


def test_damaged_models_are_refused() -> None:
    with pytest.raises(ReadError):
        Additive(cost_s=Column([-1.0], "s"), least_s=1e-3)
    with pytest.raises(ReadError):
        Transfer(constant=float("nan"), weights=Column([1.0], "1"), samples=3)
    made = fit_new_device(space()[0], None, np.arange(10), space()[2][:10])
    with pytest.raises(ReadError):
        msgspec.structs.replace(made, additive_share=2.0)


def pairs(count: int = 3000) -> tuple[RatioPairs, Floats, Floats]:
    draw = np.random.default_rng(2)
    reference, target = draw.integers(5, size=count), draw.integers(5, size=count)
    columns = draw.normal(size=(count, 2))
    effects = np.array([0.0, 0.5, 1.0, -0.7, 2.0])
    bend = np.where((columns[:, 0] > 0) & (target == 3), 0.6, 0.0)
    return RatioPairs(reference, target, columns), effects[target] - effects[reference] + bend, effects


def test_main_effects_and_what_bends_them() -> None:
    pytest.importorskip("lightgbm", reason="lightgbm, which grows trees, is not installed")
    rows, ratio, effects = pairs()
    made = fit_ratio(rows, ratio, [f"c{n}" for n in range(6)], ("size", "share"), growth=Growth(rounds=60, rate=0.2, least=10))
    assert np.abs(made.log_ratio(rows) - ratio).mean() < 0.05 < np.abs(made.main_effects(rows) - ratio).mean()
    found = made.effects.values[:5] - made.effects.values[0]
    assert np.allclose(np.delete(found, 3), np.delete(effects, 3), atol=0.1)
    swapped = RatioPairs(rows.target, rows.reference, rows.columns)
    assert np.allclose(made.main_effects(rows), -made.main_effects(swapped))
    assert decode(encode(made), RatioModel) == made
    never = RatioPairs(np.array([0, 5]), np.array([1, 1]), np.zeros((2, 2)))
    assert made.unseen(never).tolist() == [False, True]
    with pytest.raises(UsageError, match="cells"):
        made.log_ratio(RatioPairs(np.array([0]), np.array([6]), np.zeros((1, 2))))
    with pytest.raises(UsageError):
        made.log_ratio(RatioPairs(np.array([0]), np.array([1]), np.array([[np.nan, 0.0]])))
    with pytest.raises(ReadError):
        msgspec.structs.replace(made, effects=Column([1.0], "1"))


def test_ratios_without_pairs_are_refused() -> None:
    rows, ratio, _ = pairs(10)
    for bad in (np.full(10, np.inf), ratio[:5]):
        with pytest.raises(UsageError):
            fit_ratio(rows, bad, ["a"] * 5, ("size", "share"))
