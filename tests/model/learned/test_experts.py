"""Ridge, network, points and their mixture: what they fit, that they are the same each time, and that damaged files are refused."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Column, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.model.learned.choosing import DeviceRows, choose, left_out
from ridgeline.model.learned.experts import SHRINK, Expert, Experts, Mixture, fit_expert
from ridgeline.model.learned.network import Network, Schedule, Training, train
from ridgeline.model.learned.points import Points, fit_points
from ridgeline.model.learned.ridge import Ridge, fit_ridge
from ridgeline.model.learned.unseen import Reach, bounds, reach

FEATURES = ("waves", "intensity", "aligned")
SHORT = Schedule(hidden=8, epochs=6, rows=400, batch=64)


def data(count: int = 500, seed: int = 1) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, 3))
    return rows, 0.3 + 0.2 * rows[:, 0] - 0.1 * rows[:, 1] * rows[:, 2]


def test_a_ridge_finds_a_quadratic_function_and_is_the_solution_of_its_equations() -> None:
    rows = np.random.default_rng(3).uniform(-1, 1, (300, 3))
    target = 0.3 + 0.2 * rows[:, 0] - 0.1 * rows[:, 1] * rows[:, 2]
    found = fit_ridge(rows, target, FEATURES, penalty=1e-6)
    assert np.allclose(found.predict(rows), target, atol=1e-6)
    held = fit_ridge(rows, target, FEATURES, penalty=1e9)
    assert held.predict(rows) == pytest.approx(np.full(300, target.mean()), abs=1e-3)


def test_beyond_the_edge_an_answer_does_not_move() -> None:
    rows, target = data()
    for model in (fit_ridge(rows, target, FEATURES), train(rows, target, FEATURES, SHORT).network):
        far, farther = np.full((1, 3), 50.0), np.full((1, 3), 5000.0)
        assert model.predict(far) == model.predict(farther)
        assert model.scaling.outside(far).all()
        assert not model.scaling.outside(rows).any()


def test_a_network_goes_on_where_it_stopped_and_is_the_same_each_time() -> None:
    rows, target = data()
    whole = train(rows, target, FEATURES, SHORT)
    assert encode(train(rows, target, FEATURES, SHORT)) == encode(whole)
    part = decode(encode(train(rows, target, FEATURES, SHORT, epochs=2)), Training)
    assert part.epochs == 2
    assert encode(train(rows, target, FEATURES, SHORT, trained=part)) == encode(whole)
    assert encode(train(rows, target, FEATURES, msgspec.structs.replace(SHORT, seed=1))) != encode(whole)
    with pytest.raises(UsageError, match="schedule"):
        train(rows, target, FEATURES, msgspec.structs.replace(SHORT, seed=1), trained=part)


def test_the_gradient_of_the_network_is_the_slope_of_its_loss() -> None:
    from ridgeline.model.learned import network

    rows, target = data(20)
    weights = np.random.default_rng(2).normal(size=network._count(3, 4)) * 0.3

    def loss(at: Any) -> float:
        out = network._forward(rows, network._split(at, 3, 4))[2]
        return float(np.mean(0.05 * np.log(np.cosh((out - target) / 0.05))))

    slope = network._gradient(rows, target, network._split(weights, 3, 4))
    for place in range(0, len(weights), 5):
        step = np.zeros(len(weights))
        step[place] = 1e-6
        assert slope[place] == pytest.approx((loss(weights + step) - loss(weights - step)) / 2e-6, abs=1e-5)


def test_a_network_learns() -> None:
    rows, target = data(2000)
    found = train(rows, target, FEATURES, Schedule(hidden=16, epochs=40, rows=2000)).network
    assert np.abs(found.predict(rows) - target).mean() < 0.25 * np.abs(target - np.median(target)).mean()


def test_points_answer_near_themselves_and_with_their_mean_far_away() -> None:
    rows = np.array([[0.0, 0, 0], [10.0, 0, 0]])
    found = fit_points(rows, np.array([1.0, 3.0]), FEATURES, {"waves": 1.0})
    assert found.predict(np.array([[0.0, 77, 1], [10, 0, 0], [1e4, 0, 0]])) == pytest.approx([1, 3, 2], abs=1e-3)
    with pytest.raises(UsageError, match="nonsense"):
        fit_points(rows, np.zeros(2), FEATURES, {"nonsense": 1.0})


@pytest.mark.parametrize("changed", [{"weights": Column([1.0], "1")}, {"weights": Column(np.ones(10, np.int64), "1")}])
def test_a_damaged_ridge_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ReadError, match="trained model"):
        msgspec.structs.replace(fit_ridge(*data(), FEATURES), **changed)


def decoded(data: bytes, kind: Any) -> Any:
    try:
        return decode(data, kind)
    except ReadError:
        return None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_files_are_refused_or_answer_with_numbers(drawn: Any) -> None:
    rows, target = data(100)
    kind, model = drawn.draw(st.sampled_from([
        (Ridge, fit_ridge(rows, target, FEATURES)), (Network, train(rows, target, FEATURES, SHORT).network),
        (Points, fit_points(rows, target, FEATURES, {"waves": 1.0})),
        (Reach, reach({name: (target, np.full(100, 1e-3)) for name in "ab"})),
    ]))  # fmt: skip
    written = encode(model)
    at = drawn.draw(st.integers(0, len(written) - 1))
    changed = written[:at] + drawn.draw(st.binary(max_size=3)) + written[at + 1 :]
    found = decoded(changed, kind)
    if found is not None and not isinstance(found, Reach):
        assert np.isfinite(found.predict(np.zeros((2, len(found.scaling.features))))).all()


def test_a_newer_version_is_refused() -> None:
    written = encode(fit_ridge(*data(), FEATURES)).replace(b"ridgeline.ridge/1", b"ridgeline.ridge/2")
    with pytest.raises(ReadError, match="update"):
        decode(written, Ridge)


def experts(**targets: float) -> Experts:
    rows, _ = data(100)
    made = tuple(
        Expert(device=name, scaling=model.scaling, models=(model,), rows=100)
        for name, value in targets.items()
        for model in [fit_ridge(rows, np.full(100, value), FEATURES, penalty=1e-6)]
    )
    return Experts(group="g", features=FEATURES, method="ridge", experts=made)


def test_a_mixture_is_the_weighted_mean_of_its_experts_shrunk() -> None:
    rows, _ = data(10)
    found = Mixture(experts(a=0.1, b=0.4), {"a": 1.0, "b": 0.5})
    assert found.shares == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert found.correct(rows).log == pytest.approx(np.full(10, SHRINK * 0.2), abs=1e-4)
    assert found.correct(rows).spread == pytest.approx(np.full(10, SHRINK * 0.3 * np.sqrt(2) / 3), abs=1e-4)


def test_a_device_that_is_like_none_is_not_corrected_and_said_to_be_outside() -> None:
    rows, _ = data(10)
    for weights in ({}, {"a": 1e-6}, {"other": 1.0}):
        found = Mixture(experts(a=0.1), weights).correct(rows)
        assert not found.log.any()
        assert found.outside.all()


def test_a_faint_device_is_not_asked() -> None:
    assert set(Mixture(experts(a=0.1, b=0.4), {"a": 1.0, "b": 0.01}).shares) == {"a"}


def test_features_that_are_not_finite_are_refused() -> None:
    with pytest.raises(UsageError, match="intensity in row 1"):
        Mixture(experts(a=0.1), {"a": 1.0}).correct(np.array([[0.0, 0, 0], [0, np.nan, 0]]))


def device_rows(seed: int, bias: float) -> DeviceRows:
    rows, target = data(300, seed)
    return DeviceRows(rows, target + bias, np.full(300, 1e-3))


def test_the_method_that_errs_least_on_devices_left_out_is_chosen() -> None:
    rows = {name: device_rows(seed, bias) for seed, (name, bias) in enumerate((("a", 0.0), ("b", 0.02), ("c", -0.02)))}
    found = choose("g", FEATURES, rows, lambda *_: 1.0, methods=("ridge", "network"))
    assert set(found.errors) == {"ridge", "network"}
    assert found.method == min(found.errors, key=lambda name: found.errors[name])
    assert decode(encode(found), Experts) == found


def test_no_device_answers_for_itself() -> None:
    rows = {"a": device_rows(0, 0.5), "b": device_rows(1, 0.0)}
    made = choose("g", FEATURES, rows, lambda *_: 1.0, methods=("ridge",))
    rest = left_out(made, rows, lambda *_: 1.0)
    expert = {each.device: each.models[0] for each in made.experts}
    assert rest["a"] == pytest.approx(rows["a"].log_ratio - SHRINK * expert["b"].predict(rows["a"].features))  # type: ignore[union-attr]
    assert left_out(made, rows, lambda *_: 1.0, without=["b"])["a"] == pytest.approx(rows["a"].log_ratio)


def test_trees_fall_where_physics_says_so() -> None:
    pytest.importorskip("lightgbm", reason="lightgbm, which grows trees, is not installed")
    rows, target = data(1000)
    rows[:, 2] = rows[:, 2] > 0
    found = Experts(group="g", features=FEATURES, method="trees", experts=(fit_expert("a", rows, target + 0.3 * rows[:, 2], FEATURES, "trees"),))
    asked = np.concatenate([rows, rows])
    asked[:1000, 2], asked[1000:, 2] = 0, 1
    log = Mixture(found, {"a": 1.0}).correct(asked).log
    assert (log[1000:] <= log[:1000]).all()
    assert decode(encode(found), Experts) == found


def test_an_interval_is_that_of_the_next_device() -> None:
    rows = {name: (np.full(200, value), np.full(200, 1e-3)) for name, value in {"a": -0.1, "b": 0.0, "c": 0.1}.items()}
    found = reach(rows)
    low, high = bounds(found, np.array([1e-3]), np.array([10.0]))
    # t of 2 degrees at 0.95 is 2.92; but no more than 1.2 times the worst device.
    assert (low.item(), high.item()) == pytest.approx((-0.12, 0.12))
    wide, far = bounds(found, np.array([1e-3]), np.array([1.0]))
    assert wide.item() <= -0.3
    assert far.item() >= 0.65
    with pytest.raises(UsageError, match="two devices"):
        reach({"a": rows["a"]})
