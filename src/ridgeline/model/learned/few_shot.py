"""A handful of measured points on a new device: what is left after its constants were adapted, by an average of small Gaussian processes.

This module decides how far a correction that was trained on other devices is to be trusted there (its weight is one of the averaged hypotheses), and
how wide the intervals must be: the constants' uncertainty, that of the interpolation, and the shape's difficulty, rescaled by the leave-one-out
scores of the points themselves. It leaves which points to measure to the caller and what the constants mean to the analytical form. Hypotheses are
scored by their leave-one-out log density with a Student tail of 4 degrees (one bad point must not choose) and averaged with weights e^(−0.7 Δscore).
Source of the leave-one-out density: C. Rasmussen and C. Williams, "Gaussian processes for machine learning", section 5.4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError

from .conformal import rescaled
from .kriging import MOST_SITES, matern

__all__ = ["Adapted", "NewDevice", "adapt"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: 95 % quantile of a normal distribution: half-width at 90 %.
NORMAL_90 = 1.645
#: Trust in the correction of other devices.
_WEIGHTS = (0.0, 0.4, 0.8, 1.0)
#: Log standard deviation of what is the device's own, and its scale in the sites' units.
_SIGNALS = (1e-3, 0.08, 0.16, 0.3)
_SCALES = (0.7, 1.6)
#: Noise as multiples of the difficulty, of which no less than `_LEAST_SIGMA` is believed.
_NOISES = (0.4, 0.8, 1.6)
_LEAST_SIGMA = 0.04
_KEPT, _TEMPER = 8, 0.7
#: Constants and interpolation explain part of the same points: half of the constants' variance is counted.
_CONSTANT_SHARE = 0.5


class NewDevice(NamedTuple):
    """Q queries on it, of which p are measured.

    `sites`: scaled log sizes, (Q, d); `form_log`: log seconds of the form under its adapted constants, (Q,); `correction`: log factor that other
    devices would add, (Q,); `sigma`: difficulty as a log standard deviation, (Q,), > 0; `constant_variance`: of the log time, (Q,), ≥ 0.
    """

    sites: Floats
    form_log: Floats
    correction: Floats
    sigma: Floats
    constant_variance: Floats


class Adapted(NamedTuple):
    """`log_time`: log seconds, (Q,); `half_width`: of its interval at 90 % in the log, (Q,)."""

    log_time: Floats
    half_width: Floats


class _Hypothesis(NamedTuple):
    score: float
    weight: float
    signal: float
    scale: float
    noise: float
    held: Floats


def adapt(device: NewDevice, measured: Ints, log_time: Floats) -> Adapted:
    """Predict all queries from the measured ones.

    Args:
        measured: which of the queries were measured, (p,), p ≥ 3, each once; log_time: their log seconds, (p,), finite.

    Raises:
        UsageError: too few or too many points, or values that cannot be.
    """
    if not 3 <= len(measured) <= MOST_SITES or len(measured) != len(log_time) or len(np.unique(measured)) != len(measured):
        raise UsageError(
            f"3 to {MOST_SITES} measured points, each once", found=f"{len(measured)} with {len(log_time)} times", remedy="measure more shapes"
        )
    if not all(np.isfinite(column).all() for column in (*device, log_time)) or not (device.sigma > 0).all():
        raise UsageError("finite columns and a difficulty over 0", found="one that is not", remedy="leave such queries out")
    ranked = sorted(_hypotheses(device, measured, log_time), key=lambda each: each.score)[:_KEPT]
    trust = np.exp(-_TEMPER * (np.array([each.score for each in ranked]) - ranked[0].score))
    trust /= trust.sum()
    means, variances = (np.array(each) for each in zip(*(_predicted(each, device, measured, log_time) for each in ranked), strict=True))
    mean = trust @ means
    between = trust @ (variances + (means - mean) ** 2)
    spread = np.sqrt(between + _CONSTANT_SHARE * device.constant_variance + device.sigma**2)
    held = trust @ np.abs(np.array([each.held for each in ranked]))
    return Adapted(mean, NORMAL_90 * rescaled(held / spread[measured], NORMAL_90) * spread)


def _noise(noise: float, sigma: Floats) -> Floats:
    return np.diag((noise * np.maximum(sigma, _LEAST_SIGMA)) ** 2)


def _hypotheses(device: NewDevice, measured: Ints, log_time: Floats) -> Iterator[_Hypothesis]:
    """All of them with their scores; smaller is better."""
    sites, form, correction, sigma = (column[measured] for column in device[:4])
    for weight, signal, scale, noise in product(_WEIGHTS, _SIGNALS, _SCALES, _NOISES):
        rest = log_time - form - weight * correction
        inverse = np.linalg.inv(signal**2 * matern(sites, sites, np.full(sites.shape[1], scale)) + _noise(noise, sigma))
        variance = 1.0 / np.diag(inverse)
        held = (inverse @ rest) * variance
        score = float(np.sum(np.log(variance) / 2.0 + 2.5 * np.log1p(held**2 / variance / 4.0)))
        yield _Hypothesis(score, weight, signal, scale, noise, held)


def _predicted(each: _Hypothesis, device: NewDevice, measured: Ints, log_time: Floats) -> tuple[Floats, Floats]:
    base = device.form_log + each.weight * device.correction
    scale = np.full(device.sites.shape[1], each.scale)
    sites = device.sites[measured]
    inverse = np.linalg.inv(each.signal**2 * matern(sites, sites, scale) + _noise(each.noise, device.sigma[measured]))
    cross = each.signal**2 * matern(device.sites, sites, scale)
    variance = np.maximum(each.signal**2 - ((cross @ inverse) * cross).sum(axis=1), 0.0)
    return base + cross @ (inverse @ (log_time - base[measured])), variance
