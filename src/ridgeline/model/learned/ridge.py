"""Ridge regression on features, their squares and products: plain arrays, and the same ones each time.

This module decides the basis and the penalty. A few hundred weights cannot learn a device by heart, which is why it extrapolates calmly where trees
do not. Formula: weights = (QᵀQ + penalty · I)⁻¹ Qᵀ target, Q = (1, z, z zᵀ) of scaled features z, with no penalty on the constant. Source: A. Hoerl
and R. Kennard, "Ridge regression: biased estimation for nonorthogonal problems", Technometrics 12 (1970).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column

from .scaling import Scaling, checked_rows, damaged, scaling_of

__all__ = ["Ridge", "fit_ridge"]

Floats = NDArray[np.float64]

#: In rows: so many rows that say nothing pull every weight to 0.
_PENALTY = 30.0


class Ridge(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.ridge/1"):
    """A quadratic function of P scaled features.

    Args:
        scaling: of the features.
        weights: constant, P linear ones, P (P + 1) ÷ 2 of the upper triangle of products row by row; float64.

    Raises:
        ReadError: another number of weights, or one that is not finite.
    """

    scaling: Scaling
    weights: Column

    def __post_init__(self) -> None:
        width = len(self.scaling.features)
        if len(self.weights) != 1 + width + width * (width + 1) // 2 or self.weights.values.dtype.kind != "f":
            raise damaged(f"{len(self.weights)} weights in {self.weights.dtype} of a quadratic function of {width} features")
        if not np.isfinite(self.weights.values).all():
            raise damaged("a weight that is not finite")

    def predict(self, rows: Floats) -> Floats:
        """The function at rows of features, (n, P) → (n,)."""
        return self.ready()(checked_rows(rows, self.scaling.features))

    def ready(self) -> Callable[[Floats], Floats]:
        """`predict` for many calls with rows that have been checked."""
        width = len(self.scaling.features)
        weights = self.weights.values
        constant, linear = float(weights[0]), weights[1 : 1 + width]
        square = np.zeros((width, width))
        square[np.triu_indices(width)] = weights[1 + width :]

        def at(rows: Floats) -> Floats:
            z = self.scaling.applied(rows)
            # One quadratic form instead of a basis of n × P (P + 1) ÷ 2.
            return np.asarray(constant + ((z @ square + linear) * z).sum(axis=1))

        return at


def fit_ridge(rows: Floats, target: Floats, features: tuple[str, ...], penalty: float = _PENALTY) -> Ridge:
    """The ridge regression of `target` (n,) on `rows` (n, P)."""
    scaling = scaling_of(rows, features)
    z = scaling.applied(checked_rows(rows, features))
    first, second = np.triu_indices(z.shape[1])
    basis = np.concatenate([np.ones((len(z), 1)), z, z[:, first] * z[:, second]], axis=1)
    # The constant is not pulled to 0: what all rows have in common is no function of the features.
    pull = penalty * np.eye(basis.shape[1])
    pull[0, 0] = 0.0
    weights = np.linalg.solve(basis.T @ basis + pull, basis.T @ target)
    return Ridge(scaling=scaling, weights=Column(weights, "1"))
