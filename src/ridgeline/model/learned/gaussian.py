"""A smooth function of features through measured rows, each feature with a reach of its own: regression by a Gaussian process, as plain arrays.

This module decides the covariance and how its parameters are found: a linear function plus a Matérn 5/2 process, over scaled features z,

    cov(z, z') = s² (1 + √5 r + 5 r² ÷ 3) e^(−√5 r) + l² (1 + z·z'),   r² = Σ ((z_i − z'_i) ÷ reach_i)²

with the reaches, s, l and the noise that make the rows most likely, each held near a usual value so that few rows do not decide alone. Rows that stay
far off are given more noise and asked again: one measurement beside a busy neighbour must not bend the function. A few hundred rows of smooth
kernels are where it errs less than trees. `kriging` interpolates with reaches that are given.
Source: C. Rasmussen and C. Williams, "Gaussian processes for machine learning", equations 2.25, 4.17 and 5.9; P. Huber, "Robust estimation of a
location parameter", Annals of Mathematical Statistics 35 (1964).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, UsageError

from .scaling import Scaling, checked_rows, damaged, scaling_of

__all__ = ["MOST_ROWS", "Gaussian", "fit_gaussian"]

Floats = NDArray[np.float64]

#: Rows that are kept; of more, as many are drawn. A solution takes their third power.
MOST_ROWS = 2000
#: Rows that the parameters are found with.
_ROWS_OF_SEARCH = 320
_STEPS = 60
_SQRT5 = 5.0**0.5
_JITTER = 1e-6
#: Usual logarithms of reach and noise, and how far from them the rows may lead without saying much.
_USUAL_REACH, _REACH_SPREAD, _USUAL_NOISE, _NOISE_SPREAD = 1.0, 1.4, -2.5, 1.0
_BOUNDS = {"reach": (-2.0, 5.0), "signal": (-4.0, 3.0), "noise": (-5.0, 0.0), "line": (-6.0, 3.0)}
#: Residuals beyond so many of their usual size count as far off; and how often the rows are asked again.
_FAR, _AGAIN = 2.5, 2
_BLOCK = 2**22


class Gaussian(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.gaussian/1"):
    """The mean of the process, given N rows of P features.

    Args:
        scaling: of the features.
        reach: of each, in scaled units, (P,); signal, line: s² and l².
        mean: of the target.
        rows: scaled features of the rows, (N, P) row by row; weights: of each row, (N,). All float64.

    Raises:
        ReadError: lengths that do not fit, a number that is not finite, or a reach or variance that is not positive.
    """

    scaling: Scaling
    reach: Column
    signal: float
    line: float
    mean: float
    rows: Column
    weights: Column

    def __post_init__(self) -> None:
        width, count = len(self.scaling.features), len(self.weights)
        if not 0 < count <= MOST_ROWS or len(self.reach) != width or len(self.rows) != width * count:
            raise damaged(f"{len(self.rows)} numbers of {count} rows with {width} features")
        for column in (self.reach, self.rows, self.weights):
            if column.values.dtype.kind != "f" or not np.isfinite(column.values).all():
                raise damaged("a number that is not finite")
        if (self.reach.values <= 0).any() or not all(np.isfinite(part) and part >= 0 for part in (self.signal, self.line)):
            raise damaged("a reach or a variance that is not positive")
        if not np.isfinite(self.mean):
            raise damaged("a mean that is not finite")

    def predict(self, rows: Floats) -> Floats:
        """The function at rows of features, (n, P) → (n,)."""
        return self.ready()(checked_rows(rows, self.scaling.features))

    def ready(self) -> Callable[[Floats], Floats]:
        """`predict` for many calls with rows that have been checked."""
        width = len(self.scaling.features)
        sites, reach, weights = self.rows.values.reshape(-1, width), self.reach.values, self.weights.values
        near = sites / reach
        squares = (near * near).sum(axis=1)
        # The linear part of all sites together is one linear function.
        slope, level = self.line * (sites.T @ weights), self.mean + self.line * float(weights.sum())
        step = max(1, _BLOCK // len(weights))

        def at(rows: Floats) -> Floats:
            z = self.scaling.applied(rows)
            out = np.empty(len(z))
            for start in range(0, len(z), step):
                part = z[start : start + step]
                scaled = part / reach
                r2 = np.maximum((scaled * scaled).sum(axis=1)[:, None] + squares - 2.0 * (scaled @ near.T), 0.0)
                out[start : start + step] = level + part @ slope + self.signal * (_matern(np.sqrt(r2)) @ weights)
            return out

        return at


def _matern(r: Floats) -> Floats:
    scaled = _SQRT5 * r
    return np.asarray((1.0 + scaled + scaled * scaled / 3.0) * np.exp(-scaled))


class _Parameters(NamedTuple):
    """Logarithms of the reaches (P,), and of standard deviations of signal, noise and line."""

    reach: Floats
    signal: float
    noise: float
    line: float

    @classmethod
    def of(cls, values: Floats) -> _Parameters:
        return cls(values[:-3], float(values[-3]), float(values[-2]), float(values[-1]))


def fit_gaussian(rows: Floats, target: Floats, features: tuple[str, ...], *, seed: int = 0) -> Gaussian:
    """The process that rows (n, P) with a target (n,) make most likely.

    Args:
        seed: of the rows that are drawn where there are more than are kept or searched with.

    Raises:
        UsageError: no rows, or a number that is not finite.
    """
    rows, target = checked_rows(rows, features), np.asarray(target, np.float64)
    if target.shape != (len(rows),) or not len(rows) or not np.isfinite(target).all():
        raise UsageError("a finite target of each row", found=f"{target.shape} for {len(rows)} rows", remedy="leave out rows without one")
    generator = np.random.default_rng(seed)
    if len(rows) > MOST_ROWS:
        kept = np.sort(generator.choice(len(rows), MOST_ROWS, replace=False))
        rows, target = rows[kept], target[kept]
    scaling = scaling_of(rows, features)
    z, mean, spread = scaling.applied(rows), float(target.mean()), float(target.std()) + 1e-9
    y = (target - mean) / spread
    some = generator.permutation(len(z))[:_ROWS_OF_SEARCH]
    found = _searched(z[some], y[some])
    weights = _weights(z, y, found)
    return Gaussian(
        scaling=scaling, reach=Column(np.exp(found.reach), "1"), signal=float(np.exp(2 * found.signal)), line=float(np.exp(2 * found.line)),
        mean=mean, rows=Column(z.ravel(), "1"), weights=Column(weights * spread, "1"),
    )  # fmt: skip


def _searched(z: Floats, y: Floats) -> _Parameters:
    from scipy.optimize import minimize

    width = z.shape[1]
    apart = np.square(z[:, None, :] - z[None, :, :]).transpose(2, 0, 1).copy()
    start = np.concatenate((np.full(width, _USUAL_REACH), (0.0, -2.0, -1.0)))
    bounds = [_BOUNDS["reach"]] * width + [_BOUNDS[name] for name in ("signal", "noise", "line")]
    best = minimize(_unlikely, start, args=(apart, z @ z.T + 1.0, y), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS})
    return _Parameters.of(np.asarray(best.x, np.float64))


def _unlikely(values: Floats, apart: Floats, products: Floats, y: Floats) -> tuple[float, Floats]:
    """(Negative logarithm of the likelihood and of how usual the parameters are, its gradient).

    Args:
        values: parameters, (P + 3,); apart: squared distances by feature, (P, n, n); products: 1 + z·z', (n, n).
    """
    from scipy.linalg import cho_factor, cho_solve

    p = _Parameters.of(values)
    inverse = np.exp(-2 * p.reach)
    r = np.sqrt(np.tensordot(inverse, apart, 1) + 1e-12)
    decay = np.exp(-_SQRT5 * r)
    smooth = (1.0 + _SQRT5 * r + 5.0 / 3.0 * r * r) * decay
    signal, noise, line = (float(np.exp(2 * part)) for part in (p.signal, p.noise, p.line))
    covariance = signal * smooth + line * products
    covariance[np.diag_indices_from(covariance)] += noise + _JITTER
    try:
        factor = cho_factor(covariance, lower=True)
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(values)
    weights = cho_solve(factor, y)
    slack = np.outer(weights, weights) - cho_solve(factor, np.eye(len(y)))
    pull = slack * (signal * 5.0 / 3.0 * (1.0 + _SQRT5 * r) * decay)
    gradient = np.empty_like(values)
    gradient[:-3] = -0.5 * inverse * np.tensordot(apart, pull, 2)
    gradient[-3:] = (-(slack * smooth).sum() * signal, -np.trace(slack) * noise, -(slack * products).sum() * line)
    usual_reach, usual_noise = (p.reach - _USUAL_REACH) / _REACH_SPREAD, (p.noise - _USUAL_NOISE) / _NOISE_SPREAD
    gradient[:-3] += usual_reach / _REACH_SPREAD
    gradient[-2] += usual_noise / _NOISE_SPREAD
    value = 0.5 * float(y @ weights) + float(np.log(np.diag(factor[0])).sum())
    return value + 0.5 * float(usual_reach @ usual_reach) + 0.5 * usual_noise**2, gradient


def _weights(z: Floats, y: Floats, p: _Parameters) -> Floats:
    from scipy.linalg import cho_factor, cho_solve

    near = z / np.exp(p.reach)
    squares = (near * near).sum(axis=1)
    r = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * (near @ near.T), 0.0))
    smooth = np.exp(2 * p.signal) * _matern(r) + np.exp(2 * p.line) * (z @ z.T + 1.0)
    noise = np.full(len(y), np.exp(2 * p.noise) + _JITTER)
    weights = np.asarray(cho_solve(cho_factor(smooth + np.diag(noise), lower=True), y))
    for _ in range(_AGAIN):
        off = np.abs(y - smooth @ weights)
        usual = max(float(np.median(off)) * 1.4826, 1e-3)
        # Four times the noise as often as the residual is beyond what is usual: its pull falls like Huber's.
        more = noise * (1.0 + 4.0 * (np.square(np.maximum(off / (_FAR * usual), 1.0)) - 1.0))
        weights = np.asarray(cho_solve(cho_factor(smooth + np.diag(more), lower=True), y))
    return weights
