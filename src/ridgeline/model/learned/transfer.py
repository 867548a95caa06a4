"""A new device from a handful of measurements: what known devices agree on, or a sum of costs, whichever the samples support.

This module decides the log latency of every candidate on a device on which about ten of them were measured, and which ten to measure: chosen ones did
what random ones did not (mean rank correlation 0.950 against 0.934 on six devices). The known devices' own predictions come in as columns.

Transfer: ln t = baseline + c + g(x), g a Gaussian process with covariance Σ s_k F_k F_kᵀ + 1 over terms: predictions for known devices, their mean,
features. Ten points cannot choose the scales s and the noise, so they are averaged by their marginal likelihood. The mean of such a process is
linear in the columns of the terms, so what is kept is one weight a column. Additive: t = c₀ + Σ counts × cost, costs ≥ 0: an accelerator without
caches and dispatch. Both are mixed by their leave-one-out errors; the additive form counts only where it explains the samples, for on devices that
it does not fit a soft weight ruined rank correlations (0.14 to 0.86). Sources: C. Rasmussen and C. Williams, "Gaussian processes for machine
learning", 2006, chapters 2 and 5; chosen samples: D. Cohn, Z. Ghahramani, M. Jordan, "Active learning with statistical models", JAIR 4, 1996.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, UsageError

from .scaling import damaged

__all__ = ["Additive", "NewDevice", "Prior", "Term", "Transfer", "choose_samples", "fit_additive", "fit_new_device", "fit_transfer"]

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]

#: Fewer samples than this say nothing about their own noise.
LEAST_SAMPLES = 3
#: Leave-one-out error in logs beyond which the additive form is not believed.
_GATE = 0.2
#: A sample is an outlier beyond so many robust deviations, and only while so many others remain.
_OUTLIER, _ENOUGH = 4.0, 6
_DESIGN_NOISE = 0.1
#: Pull of costs towards an equal share of the mean latency.
_COST_PULL, _COST_START = 0.15, 0.6


class Term(NamedTuple):
    """One part of the covariance: `factors` (n, f) of all candidates, the scales that it may have, and the one that samples are chosen with."""

    factors: Floats
    scales: tuple[float, ...]
    design: float = 1.0


class Prior(NamedTuple):
    """What is believed before the first measurement.

    Attributes:
        terms: of the covariance.
        noises: variances of a measurement, in units of the samples' own variance where `standardised`.
        baseline: ln t of every candidate up to a constant, shape (n,); `None` for none.
        standardised: samples are divided by their own spread: the device may be a hundred times slower over a range as wide.
    """

    terms: tuple[Term, ...]
    noises: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    baseline: Floats | None = None
    standardised: bool = True


class Transfer(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.transfer/1"):
    """A device as a linear function of the columns of a prior's terms.

    Args:
        constant: of ln t; weights: of the columns of all terms, one after the other, float64.
        samples: that were measured; outliers: of them left out.
    """

    constant: float
    weights: Column
    samples: int
    outliers: int = 0

    def __post_init__(self) -> None:
        if self.weights.values.dtype.kind != "f" or not np.isfinite(self.constant):
            raise damaged("weights of a transfer that are no finite floats")

    def predict(self, prior: Prior, at: Indexes) -> Floats:
        """ln t of candidates, shape (n,).

        Raises:
            UsageError: a prior of other columns.
        """
        columns = _columns(prior, at)
        if columns.shape[1] != len(self.weights):
            raise UsageError(f"a prior of {len(self.weights)} columns", found=f"{columns.shape[1]}", remedy="give the one that it was fitted with")
        return np.asarray(self.constant + _baseline(prior, at) + columns @ self.weights.values)


class Additive(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.additive/1"):
    """A device as a sum of costs.

    Args:
        cost_s: seconds of one of each counted thing and of none, float64, ≥ 0; least_s: no prediction is less.
    """

    cost_s: Column
    least_s: float

    def __post_init__(self) -> None:
        if self.cost_s.values.dtype.kind != "f" or (self.cost_s.values < 0).any() or not self.least_s > 0:
            raise damaged("costs that are negative or no floats")

    def predict(self, counts: Floats, at: Indexes) -> Floats:
        """ln t of candidates with counts (n, o)."""
        return np.asarray(np.log(np.maximum(_with_one(counts[at]) @ self.cost_s.values, self.least_s)))


class NewDevice(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.new-device/1"):
    """Both forms of a device, and how they are mixed.

    Args:
        transfer, additive: the forms; additive may be missing.
        additive_share: weight of it in logs, in [0, 1].
        error: root mean square of the mixed forms' leave-one-out errors, in logs, each at most 1: the scale of an interval.
    """

    transfer: Transfer
    additive: Additive | None
    additive_share: float
    error: float

    def __post_init__(self) -> None:
        if not (0 <= self.additive_share <= 1 and self.error >= 0):
            raise damaged(f"a share of {self.additive_share} or an error of {self.error}")

    def predict(self, prior: Prior, counts: Floats | None, at: Indexes) -> Floats:
        """ln t of candidates, shape (n,)."""
        found = self.transfer.predict(prior, at)
        if self.additive is None or counts is None or not self.additive_share:
            return found
        return np.asarray(found + self.additive_share * (self.additive.predict(counts, at) - found))


def choose_samples(prior: Prior, pool: Indexes, order: Floats, count: int = 10, *, trim: float = 0.1) -> Indexes:
    """The candidates to measure, greedily those that lower the summed variance of the prior most.

    Args:
        pool: indexes that may be chosen, more than `count`; leave out what a runtime may prune away (a
            graph without a path through it).
        order: expected latency of all candidates up to any rising function; the least and greatest `trim` of the pool are not
            chosen: an extreme is where devices differ most from their kind.

    Raises:
        UsageError: a pool that is too small.
    """
    low, high = np.quantile(order[pool], (trim, 1.0 - trim))
    middle = pool[(order[pool] >= low) & (order[pool] <= high)]
    if len(middle) < count:
        raise UsageError(f"a pool with {count} candidates in its middle", found=f"{len(middle)}", remedy="choose fewer, or offer more")
    covariance = 1.0 + sum(term.design * term.factors[middle] @ term.factors[middle].T for term in prior.terms)
    chosen: list[int] = []
    for _ in range(count):
        gain = (covariance**2).sum(axis=0) / (np.diag(covariance) + _DESIGN_NOISE)
        gain[chosen] = -1.0
        best = int(np.argmax(gain))
        chosen.append(best)
        covariance = covariance - np.outer(covariance[:, best], covariance[best]) / (covariance[best, best] + _DESIGN_NOISE)
    return np.asarray(middle[np.array(chosen)])


def fit_transfer(prior: Prior, measured: Indexes, log_latency: Floats, *, robust: bool = False) -> Transfer:
    """The device from its samples.

    Args:
        measured: indexes of the samples; log_latency: ln of what was measured, s, shape (samples,).
        robust: leave out samples that the others contradict: where measurements mix clock states.

    Raises:
        UsageError: fewer than three samples, or one that is not finite.
    """
    measured, y = _checked(measured, log_latency)
    if not robust:
        return _fitted(prior, measured, y, 0)
    rest = np.array([_one_left_out(prior, measured, y, one) for one in range(len(y))])
    kept = np.abs(rest) < _OUTLIER * (1.48 * float(np.median(np.abs(rest))) + 0.02)
    if kept.sum() < _ENOUGH:
        kept[:] = True
    return _fitted(prior, measured[kept], y[kept], int((~kept).sum()))


def _checked(measured: Indexes, log_latency: Floats) -> tuple[Indexes, Floats]:
    y = np.asarray(log_latency, np.float64)
    if measured.shape != y.shape or len(y) < LEAST_SAMPLES or not np.isfinite(y).all():
        found = f"{len(y)} of shape {y.shape} for {len(measured)} candidates"
        raise UsageError(f"at least {LEAST_SAMPLES} finite log latencies", found=found, remedy="measure more candidates")
    return measured, y


def _one_left_out(prior: Prior, measured: Indexes, y: Floats, one: int) -> float:
    rest = np.delete(np.arange(len(y)), one)
    made = _fitted(prior, measured[rest], y[rest], 0)
    return float(made.predict(prior, measured[[one]])[0] - y[one])


def _fitted(prior: Prior, measured: Indexes, log_latency: Floats, outliers: int) -> Transfer:
    rest = log_latency - _baseline(prior, measured)
    # The median stands beside a baseline that some samples contradict; a spread without one is centred on its mean.
    centre = float(rest.mean() if prior.baseline is None else np.median(rest))
    spread = float(rest.std()) + 1e-9 if prior.standardised else 1.0
    y = (rest - centre) / spread
    parts = [term.factors[measured] for term in prior.terms]
    kernels = [part @ part.T for part in parts]
    evidence, constants, weights = [], [], []
    for *scales, noise in itertools.product(*(term.scales for term in prior.terms), prior.noises):
        covariance = 1.0 + sum(scale * kernel for scale, kernel in zip(scales, kernels, strict=True)) + noise * np.eye(len(y))
        factor = np.linalg.cholesky(covariance)
        solved = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
        evidence.append(-0.5 * float(y @ solved) - float(np.log(np.diag(factor)).sum()))
        constants.append(float(solved.sum()))
        weights.append(np.concatenate([scale * (part.T @ solved) for scale, part in zip(scales, parts, strict=True)]))
    likely = np.exp(np.array(evidence) - max(evidence))
    likely /= likely.sum()
    return Transfer(
        constant=centre + spread * float(likely @ np.array(constants)), weights=Column(spread * (likely @ np.array(weights)), "1"), samples=len(y),
        outliers=outliers,
    )  # fmt: skip


def fit_additive(counts: Floats, measured: Indexes, log_latency: Floats) -> Additive:
    """Costs ≥ 0 by least squares on relative errors, pulled a little to equal shares.

    Args:
        counts: of all candidates (n, o), ≥ 0; measured, log_latency: as `fit_transfer`.
    """
    from scipy.optimize import nnls  # late: only training needs it

    measured, y = _checked(measured, log_latency)
    seconds = np.exp(y)
    design = _with_one(counts[measured])
    width = design.shape[1]
    typical = float(seconds.mean()) / (width + 1)
    stacked = np.concatenate((design / seconds[:, None], _COST_PULL * np.eye(width) / typical))
    cost, _ = nnls(stacked, np.concatenate((np.ones(len(y)), np.full(width, _COST_START * _COST_PULL))))
    return Additive(cost_s=Column(cost, "s"), least_s=1e-3 * float(seconds.mean()))


def fit_new_device(prior: Prior, counts: Floats | None, measured: Indexes, log_latency: Floats) -> NewDevice:
    """Both forms, weighted by 1 ÷ (leave-one-out error)⁴, the additive one faded out beyond an error of about 20 %.

    Args:
        counts: for the additive form, (n, o); `None` for none.
        measured, log_latency: as `fit_transfer`.
    """
    measured, y = _checked(measured, log_latency)
    transfer = fit_transfer(prior, measured, y)
    rest = np.array([_one_left_out(prior, measured, y, one) for one in range(len(y))])
    additive, share, mixed = None, 0.0, rest
    if counts is not None:
        additive = fit_additive(counts, measured, y)
        apart = [np.delete(np.arange(len(y)), one) for one in range(len(y))]
        costs = np.array([fit_additive(counts, measured[k], y[k]).predict(counts, measured[[one]])[0] - y[one] for one, k in enumerate(apart)])
        share = _share(rest, costs)
        mixed = rest + share * (costs - rest)
    return NewDevice(transfer=transfer, additive=additive, additive_share=share, error=float(np.sqrt(np.mean(np.minimum(np.abs(mixed), 1.0) ** 2))))


def _share(transfer: Floats, additive: Floats) -> float:
    """Weight of the additive form from leave-one-out errors of both."""
    first, second = (float((np.minimum(np.abs(rest), 1.0) ** 2).mean()) + 1e-4 for rest in (transfer, additive))
    weight = second**-2 / (1.0 + (np.sqrt(second) / _GATE) ** 6)
    return float(weight / (weight + first**-2))


def _columns(prior: Prior, at: Indexes) -> Floats:
    return np.concatenate([term.factors[at] for term in prior.terms], axis=1)


def _baseline(prior: Prior, at: Indexes) -> Floats:
    return np.zeros(len(at)) if prior.baseline is None else prior.baseline[at]


def _with_one(counts: Floats) -> Floats:
    return np.concatenate((counts, np.ones((len(counts), 1))), axis=1)
