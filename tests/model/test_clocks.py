"""Clocks: limits of the form, coefficients that come back, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from ridgeline.core import Column, OutOfRange, ReadError, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.model.clock_fitting import fit_clocks
from ridgeline.model.clocks import ClockModel, Clocks, References, TimeForm, general_clocks
from ridgeline.model.learned.scaling import Scaling

Floats = NDArray[np.float64]
LEVELS = np.array([5e8, 7e8, 1e9])


def plain(**time: Any) -> ClockModel:
    """Core and memory alone, hardly any fixed part, and a sharp maximum."""
    zero = Column([0.0], "1", "<f8")
    scaling = Scaling(features=("core",), centre=zero, scale=Column([1.0], "1"), low=Column([-1.0], "1"), high=Column([1.0], "1"))
    none = Column(np.zeros(3), "1")
    form = TimeForm(
        **(
            {"fixed": -30.0, "droop": 0.0, "overlap": np.log(60.0), "saturation": 0.0, "weights": zero, "core_curve": none, "memory_curve": none}
            | time
        )
    )
    return ClockModel(device="a", levels_hz=Column(LEVELS, "Hz"), memory_hz=Column(LEVELS, "Hz"), time_scaling=scaling, time=form)


def references(utilisation: Floats, **changed: Any) -> References:
    count = len(utilisation)
    fields = {"core_hz": np.full(count, 1e9), "memory_hz": np.full(count, 1e9), "features": {"core": np.zeros(count)}} | changed
    return References(utilisation=utilisation, **fields)


def test_the_reference_is_answered_with_itself() -> None:
    known = references(np.array([0.1, 0.9]))
    at = Clocks(np.array([0, 1]), np.full(2, 1e9), np.full(2, 1e9))
    assert np.allclose(plain().time_log_ratio(known, at), 0.0, atol=1e-12)


def test_limits() -> None:
    """Without traffic time follows the core's clock, saturated memory the memory's."""
    known = references(np.array([0.0, 1.3]))
    half_core = Clocks(np.array([0, 1]), np.full(2, 5e8), np.full(2, 1e9))
    half_memory = Clocks(np.array([0, 1]), np.full(2, 1e9), np.full(2, 5e8))
    core, memory = (np.exp(plain().time_log_ratio(known, at)) for at in (half_core, half_memory))
    assert core[0] == pytest.approx(2.0, rel=1e-6)
    assert memory[0] == pytest.approx(1.0, abs=1e-6)
    assert memory[1] == pytest.approx(2.0, rel=0.02)
    assert core[1] > 1.0
    both = Clocks(np.array([0, 1]), np.full(2, 5e8), np.full(2, 5e8))
    assert np.allclose(np.exp(plain().time_log_ratio(known, both)), 2.0, rtol=1e-6), "both clocks halved is twice the time"


def test_more_of_a_clock_is_never_slower() -> None:
    known = references(np.linspace(0, 1, 11))
    for name in ("core_hz", "memory_hz"):
        slow, fast = (
            Clocks(np.arange(11), **{"core_hz": np.full(11, 7e8), "memory_hz": np.full(11, 7e8), name: np.full(11, clock)}) for clock in (5e8, 1e9)
        )
        assert (plain().time_log_ratio(known, fast) <= plain().time_log_ratio(known, slow) + 1e-12).all()


def grid(seed: int = 0, kernels: int = 14) -> tuple[References, Clocks, Floats, Floats]:
    """Kernels of a machine with the same form, sharper and with a fixed part, and power of static, clock and instructions."""
    draw = np.random.default_rng(seed)
    known = references(draw.uniform(0, 0.8, kernels), features={"core": draw.normal(size=kernels), "power": np.zeros(kernels)})
    pairs = [(core, memory) for core in LEVELS for memory in LEVELS if (core, memory) != (1e9, 1e9)]
    at = Clocks(np.repeat(np.arange(kernels), len(pairs)), np.tile([c for c, _ in pairs], kernels), np.tile([m for _, m in pairs], kernels))
    time = plain(saturation=np.log(0.8), fixed=-2.5).time_log_ratio(known, at)
    clock = at.core_hz / 1e9
    return known, at, time, np.log(0.4 + 0.6 * clock**2.2)


def test_coefficients_come_back() -> None:
    known, at, time, power = grid()
    train = at.kernel < 13
    rows = Clocks(*(each[train] for each in at))
    model = fit_clocks("a", known, rows, time[train], power[train], time_features=("core",), power_features=("power", "core"))
    rest = Clocks(*(each[~train] for each in at))
    predicted = model.time_log_ratio(known, rest)
    assert np.abs(predicted - time[~train]).max() < 0.03
    assert np.abs(model.power_log_ratio(known, rest, predicted) - power[~train]).max() < 0.03
    again = fit_clocks("a", known, rows, time[train], power[train], time_features=("core",), power_features=("power", "core"))
    assert encode(model) == encode(again)
    assert decode(encode(model), ClockModel) == model


def test_clocks_beyond_the_recorded_ones_are_refused() -> None:
    known = references(np.array([0.5]))
    for core, memory in ((2e9, 1e9), (1e8, 1e9), (1e9, 3e9), (np.nan, 1e9)):
        with pytest.raises(OutOfRange, match="MHz"):
            plain().time_log_ratio(known, Clocks(np.array([0]), np.array([core]), np.array([memory])))


def test_one_memory_clock_says_nothing_of_another() -> None:
    known, at, time, _ = grid()
    one = at.memory_hz == 1e9
    model = fit_clocks("a", known, Clocks(*(each[one] for each in at)), time[one], time_features=("core",))
    with pytest.raises(OutOfRange, match="memory clocks"):
        model.time_log_ratio(known, Clocks(np.array([0]), np.array([1e9]), np.array([5e8])))
    with pytest.raises(UsageError, match="power"):
        model.power_log_ratio(known, Clocks(np.array([0]), np.array([7e8]), np.array([1e9])), np.zeros(1))


def test_a_launch_faster_than_any_is_flagged() -> None:
    known, at, time, _ = grid()
    rates = np.full(14, 1e6)
    known = known._replace(launch_per_s=rates)
    model = fit_clocks("a", known, at, time, time_features=("core",))
    assert not model.outside(known).any()
    assert model.outside(known._replace(launch_per_s=np.where(np.arange(14) == 3, 3e6, 1e6)))[3]


@pytest.mark.parametrize("features", [{}, {"core": np.array([np.nan])}])
def test_counters_that_are_missing_are_refused(features: dict[str, Floats]) -> None:
    with pytest.raises(UsageError):
        plain().time_log_ratio(references(np.array([0.5]), features=features), Clocks(np.array([0]), np.array([7e8]), np.array([1e9])))


def test_damaged_models_are_refused() -> None:
    model = plain()
    short = Column(np.zeros(2), "1")
    for changed in (
        {"time": msgspec.structs.replace(model.time, core_curve=short)}, {"time": msgspec.structs.replace(model.time, weights=short)},
        {"levels_hz": Column([1e9, 5e8, 7e8], "Hz")}, {"memory_hz": Column([], "Hz", "<f8")},
        {"time_scaling": msgspec.structs.replace(model.time_scaling, features=("other",))},
    ):  # fmt: skip
        with pytest.raises(ReadError):
            msgspec.structs.replace(model, **changed)


def test_a_device_of_which_nothing_was_recorded() -> None:
    model = general_clocks("new", (5e8, 1e9), (5e8, 1e9))
    known = references(np.array([0.0, 0.3, 0.9]))
    half = Clocks(np.arange(3), np.full(3, 5e8), np.full(3, 1e9))
    slower = np.exp(model.time_log_ratio(known, half))
    assert (np.diff(slower) < 0).all(), "the more memory, the less the core's clock matters"
    assert 1.0 < slower[2] < slower[0] < 2.0
    assert decode(encode(model), ClockModel) == model
    single = general_clocks("new", (1e9, 1e9), (877e6, 877e6))
    at = Clocks(np.array([0]), np.array([1e9]), np.array([877e6]))
    assert single.time_log_ratio(references(np.array([0.5]), memory_hz=np.array([877e6])), at)[0] == pytest.approx(0.0)
    for core in ((2e9, 1e9), (0.0, 1e9), (np.nan, 1e9)):
        with pytest.raises((ReadError, UsageError)):
            general_clocks("new", core, (1e9, 1e9))
