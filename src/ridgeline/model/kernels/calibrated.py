"""The seven constants that turn the cost of a matrix product into seconds, how they are fitted, and how sure they are.

This module decides the constants of one precision and one software from measured rows; it leaves all that depends on the shape beyond the form to a
learned correction. All are positive and fitted in the log. What scales with a device is dimensionless or per unit, so that it holds on others too:

    time = (host⁴ + body⁴)^(1/4)
    body = launch + √((compute · c)² + (memory · b)²) + row · m ÷ units + pass · m k ÷ bandwidth + wave · waves

with c and b of `gemm`. `row_s` is unit-seconds a quantised row, `pass_bytes` bytes a quantised element, both 0 where nothing is quantised. `host_s`
is the time under which the host cannot issue the call: it belongs to host and software, never to the accelerator.
Source of the posterior: Laplace approximation, D. MacKay, "Information theory, inference, and learning algorithms", chapter 27.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError

from .constants import ProductConstants
from .gemm import GemmCost

__all__ = [
    "BETWEEN",
    "NAMES",
    "Fitted",
    "GemmRows",
    "adapt_constants",
    "constant_variance",
    "fit_constants",
    "log_constants",
    "log_time",
    "sensitivity",
]

Floats = NDArray[np.float64]

NAMES = ("launch_s", "compute", "memory", "row_s", "pass_bytes", "host_s", "wave_s")
#: Log standard deviations of the constants between devices: a modelling choice beside what was seen on five of them (see the data file).
BETWEEN: Floats = np.array([0.25, 0.25, 0.25, 0.8, 0.8, 1.5, 0.8])
#: Log standard deviation of the form around the truth when its constants are known.
MODEL_ERROR = 0.2
_HIGH = np.log([1e-4, 20.0, 20.0, 1e-5, 100.0, 3e-3, 2e-5])
_PLAIN = np.log([2e-6, 1.0, 1.0, 1e-15, 1e-15, 1e-7, 5e-7])
_QUANTISED = np.log([2e-6, 1.0, 1.0, 3e-7, 4.0, 3e-5, 5e-7])
_LEAST = np.log([2e-7, 0.2, 0.2, 1e-12, 1e-4, 1e-8, 1e-8])
_QUANTISING = (3, 4)
_HOST = 5
_TINY = 1e-300


class GemmRows(NamedTuple):
    """Columns (N,): rows and depth of each product, its cost, and units and bandwidth (B/s) of its device; rows of several devices may mix."""

    m: Floats
    k: Floats
    cost: GemmCost
    units: Floats
    byte_per_s: Floats

    def rows(self, chosen: NDArray[np.int64]) -> GemmRows:
        """The rows that indexes choose."""
        return GemmRows(self.m[chosen], self.k[chosen], self.cost.rows(chosen), self.units[chosen], self.byte_per_s[chosen])

    @classmethod
    def joined(cls, several: list[GemmRows]) -> GemmRows:
        """The rows of all, one after the other."""
        cost = GemmCost(*(np.concatenate(columns) for columns in zip(*(each.cost for each in several), strict=True)))
        m, k, units, rate = (np.concatenate([getattr(each, name) for each in several]) for name in ("m", "k", "units", "byte_per_s"))
        return cls(m, k, cost, units, rate)


class Fitted(NamedTuple):
    """Log constants (7,) in the order of `NAMES`, and their covariance (7, 7)."""

    log: Floats
    covariance: Floats


def log_constants(known: ProductConstants, host_s: float | None = None) -> Floats:
    """Those of the data file as log constants, (7,); a host floor that is not given is none."""
    values = (known.launch_s, known.compute, known.memory, known.row_s, known.pass_bytes, host_s or 1e-8, known.wave_s)
    return np.log(np.maximum(values, 1e-15))


def _parts(rows: GemmRows, log: Floats) -> Floats:
    """Seconds (5, N): launch, both overlapping, by quantised row, by quantised byte, by wave."""
    launch, compute, memory, row, passes, _, wave = np.exp(log)
    overlap = np.hypot(compute * rows.cost.compute, memory * rows.cost.memory)
    return np.stack([
        np.full_like(overlap, launch), overlap, row * rows.m / rows.units, passes * rows.m * rows.k / rows.byte_per_s, wave * rows.cost.waves
    ])  # fmt: skip


def log_time(rows: GemmRows, log: Floats) -> Floats:
    """Log seconds, (N,), of the formula above."""
    return _with_host(_parts(rows, log).sum(axis=0), log)


def _with_host(body: Floats, log: Floats) -> Floats:
    host = np.exp(log[_HOST])
    large, small = np.maximum(body, host), np.minimum(body, host)
    return np.asarray(np.log(large) + 0.25 * np.log1p((small / large) ** 4))


def sensitivity(rows: GemmRows, log: Floats) -> Floats:
    """∂ log time ÷ ∂ log constant, (N, 7), in closed form; each row sums to 1, for time is homogeneous of degree one in what is in seconds."""
    parts = _parts(rows, log)
    body = parts.sum(axis=0)
    arithmetic, traffic = np.exp(log[1]) * rows.cost.compute, np.exp(log[2]) * rows.cost.memory
    blend = arithmetic**2 / np.maximum(arithmetic**2 + traffic**2, _TINY)
    host = 1.0 / (1.0 + (body / np.exp(log[_HOST])) ** 4)
    launch, overlap, row, passes, wave = parts / body * (1.0 - host)
    return np.stack([launch, overlap * blend, overlap * (1.0 - blend), row, passes, host, wave], axis=1)


def fit_constants(rows: GemmRows, measured_log: Floats, *, quantised: bool) -> Floats:
    """Log constants (7,) by robust least squares.

    Args:
        rows: at least as many as constants; measured_log: log seconds, (N,), finite.
        quantised: whether the call quantises its operands.

    Raises:
        UsageError: too few rows.
    """
    from scipy.optimize import least_squares

    _enough(rows, measured_log, len(NAMES))
    free, full = _free(quantised), (_QUANTISED if quantised else _PLAIN).copy()

    def placed(values: Floats) -> Floats:
        full[free] = values
        return full

    found = least_squares(
        lambda values: log_time(rows, placed(values)) - measured_log, full[free], jac=lambda values: sensitivity(rows, placed(values))[:, free],
        bounds=(_LEAST[free], _HIGH[free]), loss="soft_l1", f_scale=0.15, max_nfev=80,
    )  # fmt: skip
    return placed(found.x).copy()


def adapt_constants(rows: GemmRows, measured_log: Floats, prior: Floats, *, quantised: bool, spread: Floats = BETWEEN) -> Fitted:
    """The most probable constants of a device after a few measured rows, under a normal prior on their logs.

    Args:
        rows, measured_log: as `fit_constants`; one row is enough.
        prior: log constants of devices that are known, (7,); spread: log standard deviations about it, (7,).
    """
    from scipy.optimize import least_squares

    _enough(rows, measured_log, 1)
    width = np.where(_free(quantised), spread, 1e-3)
    found = least_squares(
        lambda z: np.concatenate([(log_time(rows, prior + width * z) - measured_log) / MODEL_ERROR, z]), np.zeros(len(NAMES)),
        jac=lambda z: np.vstack([sensitivity(rows, prior + width * z) * width / MODEL_ERROR, np.eye(len(NAMES))]),
        loss="soft_l1", f_scale=2.0, max_nfev=80,
    )  # fmt: skip
    value = prior + width * found.x
    slope = sensitivity(rows, value) / MODEL_ERROR
    return Fitted(value, np.asarray(np.linalg.inv(slope.T @ slope + np.diag(width**-2.0)), np.float64))


def constant_variance(rows: GemmRows, fitted: Fitted) -> Floats:
    """Variance of the log time that comes from the constants, (N,): diag(J S Jᵀ)."""
    slope = sensitivity(rows, fitted.log)
    return np.asarray(((slope @ fitted.covariance) * slope).sum(axis=1))


def _enough(rows: GemmRows, measured_log: Floats, least: int) -> None:
    if len(rows.m) != len(measured_log) or len(measured_log) < least or not np.isfinite(measured_log).all():
        found = f"{len(rows.m)} rows and {int(np.isfinite(measured_log).sum())} usable times"
        raise UsageError(f"at least {least} rows with a finite log time each", found=found, remedy="measure more shapes, or leave bad rows out")


def _free(quantised: bool) -> NDArray[np.bool_]:
    free = np.ones(len(NAMES), dtype=bool)
    if not quantised:
        free[list(_QUANTISING)] = False
    return free
