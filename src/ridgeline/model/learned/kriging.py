"""Interpolation between measured sites by a Gaussian process, exact and small, with what it would say of each site without it in closed form.

This module decides the smooth part of a table of measurements (what was measured less an analytical form). It leaves the rest to trees, which are
trained on the held-out values, so that in training they see what they will see in prediction. With K the Matérn 3/2 correlation of the sites plus a
nugget:

    value = mean + c K⁻¹ (y − mean),   without a group G:  y_G − [K⁻¹_GG]⁻¹ [K⁻¹ (y − mean)]_G,   variance diag [K⁻¹_GG]⁻¹

Source: C. Rasmussen and C. Williams, "Gaussian processes for machine learning", equations 2.23, 2.24 and 5.12 (single sites; the block form is the
same Schur complement).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError

__all__ = ["MOST_SITES", "Kriged", "krige", "matern"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: An exact solution of more takes minutes and gigabytes.
MOST_SITES = 5000
_SQRT3 = 3.0**0.5


class Kriged(NamedTuple):
    """Of p sites, c columns and q queries.

    `held`: what would be said of each site without its group, (p, c); `held_variance`: (p,); `value`: at the queries, (q, c), and its `variance`,
    (q,). Variances are relative to the variance of the signal.
    """

    held: Floats
    held_variance: Floats
    value: Floats
    variance: Floats


def matern(left: Floats, right: Floats, scale: Floats) -> Floats:
    """Matérn 3/2 correlation of sites (p, d) and (q, d), shape (p, q): (1 + √3 r) e^(−√3 r), r the distance in scales (d,)."""
    difference = (left[:, None, :] - right[None, :, :]) / scale
    r = _SQRT3 * np.sqrt((difference * difference).sum(axis=2))
    return np.asarray((1.0 + r) * np.exp(-r))


def krige(sites: Floats, values: Floats, queries: Floats, *, scale: Floats, noise: float, groups: Ints | None = None) -> Kriged:
    """Interpolate columns of values from sites to queries; the mean of each column is taken out first.

    Args:
        sites: (p, d), 1 ≤ p ≤ `MOST_SITES`; values: (p, c); queries: (q, d), q may be 0.
        scale: (d,), in the units of the sites; noise: the nugget relative to the variance of the signal, > 0.
        groups: sites that are left out together, (p,); each alone if not given. A group of all sites is answered with the mean.

    Raises:
        UsageError: no or too many sites, a value that is not finite, or no noise.
    """
    if not 0 < len(sites) <= MOST_SITES or len(values) != len(sites) or not noise > 0:
        found = f"{len(sites)} sites, {len(values)} values, noise {noise}"
        raise UsageError(f"1 to {MOST_SITES} sites with a value each, and noise over 0", found=found, remedy="thin the sites out")
    if not (np.isfinite(sites).all() and np.isfinite(values).all() and np.isfinite(queries).all()):
        raise UsageError("sites and values to be finite", found="one that is not", remedy="leave such rows out")
    mean = values.mean(axis=0)
    inverse = np.asarray(np.linalg.inv(matern(sites, sites, scale) + noise * np.eye(len(sites))), np.float64)
    weights = inverse @ (values - mean)
    held, held_variance = _without(values, inverse, weights, groups)
    cross = matern(queries, sites, scale)
    variance = np.maximum(1.0 + noise - ((cross @ inverse) * cross).sum(axis=1), 0.0)
    return Kriged(held, held_variance, mean + cross @ weights, variance)


def _without(values: Floats, inverse: Floats, weights: Floats, groups: Ints | None) -> tuple[Floats, Floats]:
    if groups is None:
        variance = 1.0 / np.diag(inverse)
        return values - weights * variance[:, None], variance
    held, variance = np.empty_like(values), np.empty(len(values))
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        block = np.linalg.inv(inverse[np.ix_(at, at)])
        held[at], variance[at] = values[at] - block @ weights[at], np.diag(block)
    return held, variance
