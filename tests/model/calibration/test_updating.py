"""Calibration: what pairs do to levels, shifts that are found, noise that is let pass, and versions that never change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Quantity, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.model.calibration import Calibration, Context, Pair, checked, corrected, correction, start, update, updated


def pairs(logs: Iterable[float], group: str = "gemm", **further: object) -> list[Pair]:
    return [Pair(predicted_s=1e-3, actual_s=1e-3 * math.exp(log), group=group, **further) for log in logs]  # type: ignore[arg-type]


def noise(count: int, seed: int = 0, deviation: float = 0.05, outliers: float = 0.01) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return deviation * draw.normal(size=count) + np.where(draw.random(count) < outliers, np.log(draw.uniform(2, 10, count)), 0.0)


def test_times_whose_ratio_no_float_holds_are_taken() -> None:
    assert update(Calibration(model="m"), Pair(predicted_s=1e300, actual_s=1e-300, group="a")).pairs == 1


def test_no_pairs_correct_nothing() -> None:
    found = correction(start("m"), "gemm")
    assert (found.factor.value, found.version, found.known) == (1.0, 0, False)


def test_a_bias_is_learned_once_there_are_enough_pairs() -> None:
    state = updated(start("m"), pairs(np.full(19, math.log(1.5)) + noise(19)))
    assert correction(state, "gemm").factor.value == 1.0
    state = updated(state, pairs(np.full(981, math.log(1.5)) + noise(981, 1)))
    found = correction(state, "gemm")
    assert found.known
    assert found.factor.value == pytest.approx(1.5, rel=0.02)
    assert found.factor.low < 1.5 < found.factor.high * 1.01
    assert state.changes == ()
    # A group that was never seen gets a part of it, less than half.
    other = correction(state, "softmax")
    assert not other.known
    assert 1.0 < other.factor.value < math.sqrt(1.5)


def test_few_pairs_do_little() -> None:
    """(20 × level + 10 × whole) ÷ 30, with whole = ⅔ level ÷ (⅔ + 1)."""
    state = updated(start("m"), pairs([math.log(2)] * 20))
    assert math.log(correction(state, "gemm").factor.value) == pytest.approx((20 + 10 * 0.4) / 30 * math.log(2))


def test_outliers_move_a_level_little() -> None:
    logs = noise(2000, 3, 0.05, 0.0)
    logs[::50] += math.log(10)
    state = updated(start("m"), pairs(logs))
    assert state.changes == ()
    assert abs(state.groups["gemm"].level) < 0.01
    assert math.sqrt(state.groups["gemm"].variance) == pytest.approx(0.05, rel=0.2)


@pytest.mark.parametrize("deviation", [0.03, 0.05, 0.1])
@pytest.mark.parametrize("factor", [1.1, 1 / 1.1, 1.5])
def test_a_shift_is_found_within_200_pairs_and_its_size_is_said(deviation: float, factor: float) -> None:
    logs = noise(2200, 7, deviation)
    logs[2000:] += math.log(factor)
    state = updated(start("m"), pairs(logs))
    (found,) = state.changes
    assert 2000 < found.number <= 2200
    assert abs(found.since - 2000) <= 25
    assert (found.kind, found.group, found.cause) == ("shift", "gemm", "unknown")
    assert found.before.low <= 1.005
    assert found.before.high >= 0.995
    assert found.after.value / found.before.value == pytest.approx(factor, rel=0.06)
    assert found.after.low < found.after.value < found.after.high
    assert state.versions[-1].number >= found.version
    assert correction(state, "gemm").factor.value == pytest.approx(factor, rel=0.07)


def test_a_shift_soon_after_the_beginning_is_not_learned_as_the_level() -> None:
    logs = noise(300, 9, 0.05)
    logs[100:] += math.log(1.1)
    (found,) = updated(start("m"), pairs(logs)).changes
    assert 100 < found.number <= 200


@pytest.mark.parametrize("deviation", [0.03, 0.1])
def test_noise_alone_is_let_pass(deviation: float) -> None:
    draw = np.random.default_rng(5)
    names = [f"group {number}" for number in range(5)]
    logs = noise(10_000, 11, deviation)
    state = start("m")
    for log, number in zip(logs.tolist(), draw.integers(0, 5, 10_000).tolist(), strict=True):
        state = update(state, pairs([log + 0.2 * number], names[number])[0])
    assert state.changes == ()
    assert [state.groups[name].level for name in names] == pytest.approx([0.2 * number for number in range(5)], abs=0.02)


def _mixed(count: int, seed: int, shift: Sequence[float]) -> list[Pair]:
    draw = np.random.default_rng(seed)
    logs, groups = noise(count, seed), draw.integers(0, len(shift), count)
    return [pairs([log + 0.3 * group + shift[group]], f"g{group}")[0] for log, group in zip(logs.tolist(), groups.tolist(), strict=True)]


def test_when_all_groups_move_it_is_said_once() -> None:
    state = updated(updated(start("m"), _mixed(4000, 1, [0.0] * 10)), _mixed(1000, 2, [math.log(1.1)] * 10))
    (found,) = state.changes
    assert found.group == ""
    assert found.number <= 4200
    assert found.after.value == pytest.approx(1.1, rel=0.04)
    assert all(
        correction(state, f"g{group}").factor.value == pytest.approx(1.1 * math.exp(0.3 * group), rel=0.06) for group in range(10)
    )  # fmt: skip


def test_when_one_group_moves_the_others_are_left_alone() -> None:
    moved = [math.log(1.5) if group == 3 else 0.0 for group in range(6)]
    state = updated(updated(start("m"), _mixed(4000, 1, [0.0] * 6)), _mixed(1000, 2, moved))
    assert [found.group for found in state.changes] == ["g3"]
    assert correction(state, "g3").factor.value == pytest.approx(1.5 * math.exp(0.9), rel=0.05)
    assert correction(state, "g2").factor.value == pytest.approx(math.exp(0.6), rel=0.05)


def test_a_slow_drift_is_followed_and_called_ageing() -> None:
    logs = noise(12_000, 2, 0.03) + np.maximum(0.0, np.linspace(-0.05, 0.2, 12_000))
    state = updated(start("m"), pairs(logs))
    assert state.changes
    assert {found.cause for found in state.changes} <= {"ageing", "unknown"}
    assert "ageing" in {found.cause for found in state.changes}
    assert all(found.after.value > found.before.value for found in state.changes)
    assert correction(state, "gemm").factor.value == pytest.approx(math.exp(0.2), rel=0.05)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_older_versions_answer_as_they_did(logs: list[float], seed: int) -> None:
    draw = np.random.default_rng(seed)
    state, answers = start("m"), {0: correction(start("m"), "gemm")}
    for log in [*logs, *draw.choice([-0.5, 0.0, 0.7]) + 0.05 * draw.normal(size=40)]:
        before = encode(state)
        following = update(state, pairs([log])[0])
        assert encode(state) == before
        state = following
        answers.setdefault(len(state.versions) - 1, correction(state, "gemm"))
        for version, answer in answers.items():
            assert correction(state, "gemm", version) == answer
    assert checked(state) is state
    again = decode(encode(state), Calibration)
    assert again == state
    assert update(again, pairs([0.1])[0]) == update(state, pairs([0.1])[0])


def test_a_version_that_was_changed_is_refused() -> None:
    state = updated(start("m"), pairs([0.3] * 30))
    assert len(state.versions) == 2
    forged = msgspec.structs.replace(state.versions[1], logs={"gemm": 0.0})
    for versions in ((state.versions[0], forged), state.versions[1:], (), (state.versions[0], state.versions[0])):
        with pytest.raises(ReadError):
            checked(msgspec.structs.replace(state, versions=versions))
    with pytest.raises(ReadError):
        checked(msgspec.structs.replace(state, model="another"))
    for change in ({"variance": 0.0}, {"pairs": 0}, {"usual": 5}, {"usual": -1}):
        group = msgspec.structs.replace(state.groups["gemm"], **change)
        with pytest.raises(ReadError):
            checked(msgspec.structs.replace(state, groups={"gemm": group}))
    for version in (2, -1):
        with pytest.raises(UsageError):
            correction(state, "gemm", version)


def test_a_correction_moves_value_and_interval_alike() -> None:
    state = updated(start("m"), pairs([math.log(2)] * 500))
    prediction = Quantity(value=0.010, low=0.009, high=0.012, confidence=0.9, unit="s", source="learned", origin="the model")
    found = corrected(prediction, correction(state, "gemm"))
    factor = correction(state, "gemm").factor.value
    assert (found.value, found.low, found.high) == pytest.approx((0.010 * factor, 0.009 * factor, 0.012 * factor))
    assert "version" in found.origin


def test_the_state_stays_small() -> None:
    draw = np.random.default_rng(0)
    state = start("m")
    for number in range(3000):
        context = Context(driver="1", core_clock_hz=float(draw.uniform(1e9, 2e9)))
        state = update(state, pairs([float(0.05 * draw.normal())], f"g{number % 4}", context=context)[0])
    assert len(encode(state)) < 40_000
    assert len(state.contexts) <= 256
    assert all(seen.context < len(state.contexts) for group in state.groups.values() for seen in group.recent)


@pytest.mark.parametrize("change", [{"predicted_s": 0.0}, {"actual_s": -1.0}, {"actual_s": math.nan}, {"predicted_s": math.inf}, {"size": math.nan}])
def test_pairs_that_are_none(change: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Pair(**{"predicted_s": 1.0, "actual_s": 1.0, **change})  # type: ignore[arg-type]
