"""Mixture of experts: all parameters take memory, the chosen ones take time, and the distinct ones take bandwidth.

Decides counts for one layer of routed and shared experts. Choices are taken to be uniform and independent between tokens, k different experts for
each; a trained router is not quite so, and then touches fewer experts and loads the fullest more. Sources: N. Shazeer et al., "Outrageously large
neural networks", ICLR 2017; A. Jiang et al., "Mixtral of experts", arXiv:2401.04088; D. Dai et al., "DeepSeekMoE", arXiv:2401.06066 (shared
experts); M. Raab and A. Steger, "Balls into bins", RANDOM 1998 (fullest bin).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import COUNT, COUNT_OR_NONE, POSITIVE, Reals, choose, larger, numbers, outside, smaller

__all__ = ["Experts", "distinct_experts", "experts", "fullest_load"]


@dataclass(frozen=True, eq=False)
class Experts:
    """One layer of experts under a batch of tokens; made by `experts`.

    Args:
        expert_parameters: of one expert.
        total_parameters: of the layer, router included: for memory.
        active_parameters: that one token uses, router included: for time.
        flop: of all tokens.
        touched: expected distinct routed experts of this batch.
        weight_bytes: read for this batch: touched and shared experts and the router, B.
        memory_bytes: of all weights, B.
        fullest: expected bound of the tokens at the fullest expert ÷ the mean, ≥ 1.
    """

    expert_parameters: Reals
    total_parameters: Reals
    active_parameters: Reals
    flop: Reals
    touched: Reals
    weight_bytes: Reals
    memory_bytes: Reals
    fullest: Reals


def distinct_experts(tokens: ArrayLike, *, experts: ArrayLike, chosen: ArrayLike) -> Reals:
    """E (1 − (1 − k/E)^t): expected distinct experts that t tokens touch.

    Args:
        tokens: t, whole, ≥ 0.
        experts: E, whole, ≥ 1.
        chosen: k of each token, whole, 1 … E.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: more chosen than there are.

    >>> round(float(distinct_experts(1, experts=8, chosen=2)), 12), round(float(distinct_experts(16, experts=8, chosen=2)), 3)
    (2.0, 7.92)
    """
    t, e, k = numbers(tokens=(tokens, COUNT_OR_NONE), experts=(experts, COUNT), chosen=(chosen, COUNT))
    outside(k > e, "chosen", k, "at most as many chosen as there are experts", "give the top-k of the router")
    # Exact for large E through logarithms; all are touched where every one is chosen.
    left = t * np.log1p(-smaller(k / e, 1.0 - 2.0**-53))
    return choose(k < e, -e * np.expm1(left), choose(t > 0, e, 0.0))


def fullest_load(tokens: ArrayLike, *, experts: ArrayLike, chosen: ArrayLike) -> Reals:
    """min(1 + √(2 ln E ÷ μ), E/k) with μ = t k/E: load of the fullest expert over the mean, ≥ 1.

    Args: as `distinct_experts`, with at least one token.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: more chosen than there are.

    The leading terms of Raab and Steger for μ well above ln E; below that the second term closes it: no expert gets more than every token.

    >>> float(fullest_load(1, experts=8, chosen=2)), round(float(fullest_load(10_000, experts=8, chosen=2)), 3)
    (4.0, 1.041)
    """
    t, e, k = numbers(tokens=(tokens, COUNT), experts=(experts, COUNT), chosen=(chosen, COUNT))
    outside(k > e, "chosen", k, "at most as many chosen as there are experts", "give the top-k of the router")
    spread: Reals = np.sqrt(2.0 * np.log(e) * e / (t * k))
    return smaller(1.0 + spread, e / k)


def experts(
    *,
    tokens: ArrayLike,
    hidden: ArrayLike,
    inner: ArrayLike,
    experts: ArrayLike,
    chosen: ArrayLike,
    shared: ArrayLike = 0,
    shared_inner: ArrayLike | None = None,
    matrices: ArrayLike = 3,
    weight_bytes: ArrayLike = 2.0,
) -> Experts:
    """Total (E + S) m h f + h E parameters, active (k + S) m h f + h E, FLOP 2 t active.

    Args:
        tokens: t of the batch that goes through at once, whole, ≥ 1.
        hidden: h; inner: f of a routed expert; shared_inner: of a shared one, f if not given.
        experts: E routed; chosen: k of each token; shared: S that every token uses.
        matrices: m of an expert: 3 with a gate (SwiGLU), 2 without.
        weight_bytes: of one parameter, > 0.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: more chosen than there are.

    >>> layer = experts(tokens=1, hidden=4096, inner=14336, experts=8, chosen=2)
    >>> float(layer.total_parameters) == 8 * 3 * 4096 * 14336 + 8 * 4096, float(layer.flop) == 2 * (2 * 3 * 4096 * 14336 + 8 * 4096)
    (True, True)
    """
    t, h, f, e, k, s, fs, m, w = numbers(
        tokens=(tokens, COUNT),
        hidden=(hidden, COUNT),
        inner=(inner, COUNT),
        experts=(experts, COUNT),
        chosen=(chosen, COUNT),
        shared=(shared, COUNT_OR_NONE),
        shared_inner=(inner if shared_inner is None else shared_inner, COUNT),
        matrices=(matrices, COUNT),
        weight_bytes=(weight_bytes, POSITIVE),
    )
    one = m * h * f
    always = s * m * h * fs + h * e
    touched = distinct_experts(t, experts=e, chosen=k)
    active = k * one + always
    total = e * one + always
    return Experts(
        expert_parameters=one,
        total_parameters=total,
        active_parameters=active,
        flop=2.0 * t * active,
        touched=touched,
        weight_bytes=(touched * one + always) * w,
        memory_bytes=total * w,
        fullest=larger(fullest_load(t, experts=e, chosen=k), 1.0),
    )
