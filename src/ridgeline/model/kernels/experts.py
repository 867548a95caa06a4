"""The analytical time of the products of routed experts: all parameters take memory, the active ones time, those of experts that are reached traffic.

This module decides the form; it leaves the expectation of experts that are reached to `analytic.moe`. With T tokens of k experts each out of E, R of
them reached, and rows of an expert padded to blocks of 64:

    compute = 6 h f · R ⌈T k ÷ R ÷ 64⌉ 64 ÷ (peak · share),  memory = (3 h f · R · in + T k (2 h + 3 f) · out) ÷ (bandwidth · share)
    time = launch + √((c₁ compute)² + (c₂ memory)²)

Limits: a first form, whose constants differ between recordings by up to two (log standard deviation 0.5); tokens spread evenly over experts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..analytic.moe import distinct_experts
from .constants import constants
from .sheet import KernelSheet

__all__ = ["ExpertCost", "expert_cost"]

Floats = NDArray[np.float64]

_BLOCK = 64.0
#: Matrices of a gated expert.
_MATRICES = 3.0


class ExpertCost(NamedTuple):
    """N layers, (N,) each: `compute`, `memory`: s; `flop`: asked for; `bytes`: moved at the least; `reached`: experts."""

    compute: Floats
    memory: Floats
    flop: Floats
    bytes: Floats
    reached: Floats


def expert_cost(
    tokens: Floats, hidden: Floats, inner: Floats, experts: Floats, active: Floats, sheet: KernelSheet, *, in_bytes: float, out_bytes: float = 2.0
) -> ExpertCost:
    """Cost of each layer's routed experts.

    Args:
        tokens, hidden, inner, experts, active: ≥ 1, shape (N,); active ≤ experts.
        in_bytes, out_bytes: of a weight and of an activation, B.

    Raises:
        OutOfRange: more active experts than there are.
    """
    menu = constants().menu
    reached = np.asarray(distinct_experts(tokens, experts=experts, chosen=active), np.float64)
    rows = tokens * active
    matrix = _MATRICES * hidden * inner
    padded = reached * np.ceil(rows / reached / _BLOCK) * _BLOCK
    moved = matrix * reached * in_bytes + rows * (2.0 * hidden + _MATRICES * inner) * out_bytes
    compute = 2.0 * matrix * padded / (sheet.flop_per_s * menu.peak_share)
    return ExpertCost(compute, moved / (sheet.byte_per_s * menu.stream_share), 2.0 * matrix * rows, moved, reached)
