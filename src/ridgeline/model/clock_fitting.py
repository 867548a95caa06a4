"""Fitting the forms of `clocks` to kernels of one device.

This module decides how strongly coefficients are pulled to the plain physical form: kernels are few, some thirty, and each clock of one is no
kernel more. Residuals beyond `_NOISE` count as outliers (soft L1). Source: P. Huber, "Robust estimation of a location parameter", Annals of
Mathematical Statistics 35(1), 1964; scipy's `least_squares` (trust region reflective).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, UsageError

from .clocks import ClockModel, Clocks, PowerForm, References, TimeForm
from .learned.scaling import Scaling, scaling_of

__all__ = ["fit_clocks"]

Floats = NDArray[np.float64]

#: In logs: the size at which a residual is taken for an outlier.
_NOISE = 0.03
#: Rows that count as one piece of evidence.
_ROWS = 30.0
_STEPS = 60
_START = TimeForm(weights=Column([], "1", "<f8"), core_curve=Column([], "1", "<f8"), memory_curve=Column([], "1", "<f8"))
#: How strongly each scalar of the time form stays where it starts, in inverse logs.
_PULL = {"offset": 2.0, "slope": 2.0, "saturation": 10.0, "fixed": 0.5, "fixed_core": 2.0, "overlap": 2.0, "droop": 10.0, "coupling": 20.0}
_FEATURE_PULL, _SHARE_PULL, _CONSTANT_PULL = 4.0, 2.0, 0.3
_POWER_PULL = {"voltage": 0.5, "leakage": 2.0, "memory": 1.0}
#: A device whose saturated kernels reach less than this share of the peak has none that is.
_LEAST_SATURATION = 0.05


def fit_clocks(
    device: str,
    references: References,
    at: Clocks,
    time_log_ratio: Floats,
    power_log_ratio: Floats | None = None,
    *,
    time_features: Sequence[str],
    power_features: Sequence[str] = (),
    curve_pull: float = 5.0,
    data_version: str = "",
) -> ClockModel:
    """Both forms, from kernels that were measured at several clocks.

    Args:
        references: the kernels at their reference; at: rows at other clocks.
        time_log_ratio, power_log_ratio: ln(t ÷ t₀) and ln(P ÷ P₀) of the rows, shape (n,).
        time_features, power_features: names of the features that each form uses; `core` must be among those of time.
        curve_pull: how strongly the curves over the core's clock stay at nothing; 1 where clocks that are set are not those that are reached.

    Raises:
        UsageError: no rows, other lengths, numbers that are not finite, or no feature `core`.
    """
    ratio = _checked(time_log_ratio, at)
    if "core" not in time_features:
        raise UsageError("a feature `core` of time", found=", ".join(time_features), remedy="give how busy the core's units are")
    used = np.unique(at.kernel)
    levels = np.unique(np.concatenate((at.core_hz, references.core_hz[used])))
    memories = np.unique(np.concatenate((at.memory_hz, references.memory_hz[used])))
    scaling = _scaling(references, used, time_features)
    base = ClockModel(
        device=device, levels_hz=Column(levels, "Hz"), memory_hz=Column(memories, "Hz"), time_scaling=scaling,
        time=_time_form(np.array([getattr(_START, name) for name in _PULL]), np.zeros(len(time_features)), np.zeros(2 * len(levels))),
        most_launch_per_s=0.0 if references.launch_per_s is None else float(references.launch_per_s[used].max()),
        data_version=data_version,
    )  # fmt: skip
    fitted = _fit_time(base, references, at, ratio, used, curve_pull)
    if power_log_ratio is None:
        return fitted
    return _fit_power(fitted, references, at, ratio, _checked(power_log_ratio, at), _scaling(references, used, power_features))


def _checked(ratio: Floats, at: Clocks) -> Floats:
    ratio = np.asarray(ratio, np.float64)
    if ratio.shape != (len(at.kernel),) or not len(ratio) or not np.isfinite(ratio).all():
        found = f"shape {ratio.shape} for {len(at.kernel)} rows, or one that is not finite"
        raise UsageError("a finite log ratio of each row", found=found, remedy="leave out rows without one")
    return ratio


def _scaling(references: References, used: NDArray[np.int64], features: Sequence[str]) -> Scaling:
    rows = np.stack([np.asarray(references.features[name], np.float64)[used] for name in features], axis=1)
    return scaling_of(rows, tuple(features))


def _time_form(scalars: Floats, weights: Floats, curves: Floats) -> TimeForm:
    core, memory = np.split(curves, 2)
    named = dict(zip(_PULL, scalars.tolist(), strict=True))
    return TimeForm(**named, weights=Column(weights, "1"), core_curve=Column(core, "1"), memory_curve=Column(memory, "1"))


def _fit_time(base: ClockModel, references: References, at: Clocks, ratio: Floats, used: NDArray[np.int64], curve_pull: float) -> ClockModel:
    from msgspec.structs import replace

    features, levels, count = len(base.time_scaling.features), len(base.levels_hz), len(_PULL)
    start = np.concatenate((np.array([getattr(_START, name) for name in _PULL]), np.zeros(features + 2 * levels)))
    # What saturated kernels reach is seen in the kernels themselves: one in five is taken to be saturated.
    start[list(_PULL).index("saturation")] = np.log(max(float(np.quantile(references.utilisation[used], 0.8)), _LEAST_SATURATION))
    pull = np.concatenate((np.array(list(_PULL.values())), np.full(features, _FEATURE_PULL), np.full(2 * levels, curve_pull)))

    def model(theta: Floats) -> ClockModel:
        return replace(base, time=_time_form(theta[:count], theta[count : count + features], theta[count + features :]))

    return model(_robust(lambda theta: model(theta).time_log_ratio(references, at) - ratio, start, pull))


def _fit_power(fitted: ClockModel, references: References, at: Clocks, time: Floats, ratio: Floats, scaling: Scaling) -> ClockModel:
    from msgspec.structs import replace

    rows, levels = len(scaling.features) + 1, len(fitted.levels_hz)
    plain = PowerForm(weights=Column([], "1", "<f8"), curve=Column([], "1", "<f8"))
    start = np.concatenate((np.zeros(3 * rows), np.array([getattr(plain, name) for name in _POWER_PULL]), np.zeros(levels)))
    shares = np.full((rows, 3), _SHARE_PULL)
    shares[-1] = _CONSTANT_PULL
    pull = np.concatenate((shares.ravel(), np.array(list(_POWER_PULL.values())), np.full(levels, 3.0)))

    def model(theta: Floats) -> ClockModel:
        named = dict(zip(_POWER_PULL, theta[3 * rows : 3 * rows + 3].tolist(), strict=True))
        form = PowerForm(**named, weights=Column(theta[: 3 * rows], "1"), curve=Column(theta[3 * rows + 3 :], "1"))
        return replace(fitted, power_scaling=scaling, power=form)

    # The rate is the measured one here: the error of the time form is not to be explained by power.
    return model(_robust(lambda theta: model(theta).power_log_ratio(references, at, time) - ratio, start, pull))


def _robust(residual: Callable[[Floats], Floats], start: Floats, pull: Floats) -> Floats:
    from scipy.optimize import least_squares  # late: only training needs it

    spread = _NOISE * np.sqrt(len(residual(start)) / _ROWS)
    found = least_squares(lambda theta: np.concatenate((residual(theta) / spread, pull * (theta - start))), start, loss="soft_l1", max_nfev=_STEPS)
    return np.asarray(found.x, np.float64)
