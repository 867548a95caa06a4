"""The analytical time of fused attention on tiled matrix units: prefill and decode, grouped heads, window, a cache of its own width.

This module decides how pairs of queries and keys become blocks over execution units. It leaves counts of work and bytes to `analytic.attention`,
kernel quality to the constants of the data file and to a learned correction. With c seconds of arithmetic at the sustained peak and b of traffic:

    smooth = 4 µs + √(c² + b²) + 0.3 longest                                  longest: one block of 128 queries over all keys it sees, on one unit
    blocked = θ₁ 1 µs + ((θ₂ blocks)³ + (θ₃ b)³)^(1/3) + θ₄ waves 1 µs
    blocks = Σ over waves j of min(⌈keys ÷ 128⌉ − j units ÷ (batch heads), ⌈window ÷ 128⌉ + 1) blocks of 128 × 128 on one unit

Rows of blocks are taken from the last one, which sees all keys, upwards; a wave takes as long as its first. None of this falls with more work.
`smooth` is for interpolating what is measured (kinks spoil that), `blocked` for predicting.
Sources: T. Dao, "FlashAttention-2", arXiv:2307.08691, section 3.2 (work over batch, heads and blocks of queries); T. Dao et al., "Flash-Decoding",
2023 (keys are split in decode, so that there is no longest block and no whole wave).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..analytic.attention import Attention, flash_bytes
from .constants import AttentionConstants, constants
from .sheet import KernelSheet

__all__ = ["AttentionCost", "attention_cost", "attention_seconds", "fit_attention"]

Floats = NDArray[np.float64]

_BLOCK = 128.0
_SMOOTH_S, _LONGEST_SHARE, _WAVE_S = 4e-6, 0.3, 1e-6
_NAMES = ("launch", "arithmetic", "memory", "waves")


class AttentionCost(NamedTuple):
    """N calls, (N,) each.

    `smooth`: s; `compute`, `memory`: at the sustained rates, s; `blocks`: arithmetic of whole waves of blocks, s; `longest`: of one block of
    queries, s;
    `waves`: blocks ÷ units, whole in prefill; `flop`, `bytes`: at the least.
    """

    smooth: Floats
    compute: Floats
    memory: Floats
    blocks: Floats
    longest: Floats
    waves: Floats
    flop: Floats
    bytes: Floats


def attention_cost(
    work: Attention, sheet: KernelSheet, *, element_bytes: float = 2.0, kv_element_bytes: float = 2.0, split: bool = True
) -> AttentionCost:
    """Cost of each call.

    Args:
        work: from `analytic.attention.attention`, causal; arrays of it broadcast. Decode is one query.
        sheet: of the precision of the arithmetic.
        element_bytes, kv_element_bytes: of queries and results, and of the cache, B.
        split: whether decode runs the kernel that splits the keys, not that of prefill.
    """
    menu = constants().menu
    peak = sheet.flop_per_s * menu.peak_share
    moved = np.asarray(flash_bytes(work, element_bytes=element_bytes, kv_element_bytes=kv_element_bytes))
    compute, memory = work.flop / peak, moved / (sheet.byte_per_s * menu.stream_share)
    decode = (work.queries <= 1) & split
    rows, most = np.ceil(work.queries / _BLOCK), np.ceil(work.keys / _BLOCK)
    wide = np.where(work.window < work.keys, np.minimum(most, np.ceil(work.window / _BLOCK) + 1.0), most)
    cell = 4.0 * _BLOCK * _BLOCK * work.key_dim / (peak / sheet.units)
    longest = np.where(decode, 0.0, wide * cell)
    groups = np.where(decode, work.kv_heads, work.heads * rows) * work.batch / sheet.units
    waves = np.where(decode, groups, np.ceil(groups))
    blocks = np.where(decode, compute, _cells(most, wide, sheet.units / (work.heads * work.batch), np.ceil(groups)) * cell)
    smooth = _SMOOTH_S + np.hypot(compute, memory) + _LONGEST_SHARE * longest
    return AttentionCost(*np.broadcast_arrays(smooth, compute, memory, blocks, longest, waves, work.flop, moved))


def _cells(most: Floats, wide: Floats, step: Floats, waves: Floats) -> Floats:
    """Σ over waves j of min(most − j step, wide)."""
    ended = np.clip(np.floor((most - wide) / step) + 1.0, 0.0, waves)
    rest = waves - ended
    return np.asarray(ended * wide + rest * (most - step * (ended + waves - 1.0) / 2.0))


def attention_seconds(cost: AttentionCost, known: AttentionConstants) -> Floats:
    """`blocked` of the formula above, s, (N,)."""
    return _blocked(cost, np.array([getattr(known, name) for name in _NAMES]))


def _blocked(cost: AttentionCost, theta: Floats) -> Floats:
    both = np.cbrt((theta[1] * cost.blocks) ** 3 + (theta[2] * cost.memory) ** 3)
    return np.asarray(_WAVE_S * (theta[0] + theta[3] * cost.waves) + both)


def fit_attention(cost: AttentionCost, seconds: Floats, *, phase: str, source: str) -> AttentionConstants:
    """The multipliers θ by robust least squares on log seconds, (N,); `spread` is the log standard deviation that is left, from its 68 % quantile."""
    from scipy.optimize import least_squares

    measured = np.log(seconds)
    found = least_squares(
        lambda log: np.log(_blocked(cost, np.exp(log))) - measured, np.log([6.0, 0.8, 1.0, 0.1]), loss="soft_l1", f_scale=0.1,
        bounds=(np.log(1e-4), np.log(100.0)), max_nfev=60,
    )  # fmt: skip
    theta = np.exp(found.x)
    spread = float(np.quantile(np.abs(np.log(_blocked(cost, theta)) - measured), 0.68))
    return AttentionConstants(phase=phase, **dict(zip(_NAMES, theta.tolist(), strict=True)), spread=spread, source=source)
