"""The speedup of interleaved blocks and its interval; pure arithmetic on the times of two processes that were called by turns.

The unit is the block: a stretch of calls of one side, right beside a stretch of the other, so that a neighbour or a clock moves both. Pairs of
blocks of one pair of processes share what those processes happen to have (layout of memory), so the interval is never narrower than the medians of
the pairs of processes lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Quantity
from ridgeline.stats import paired_ratio

__all__ = ["BlockPair", "speedup_of", "tail_of"]

_CONFIDENCE = 0.95
_TAIL = 0.95
#: Calls a side under which the 95th percentile is a guess: three of them lie beyond it.
_TAIL_LEAST = 60
_RESAMPLES = 500


@dataclass(frozen=True)
class BlockPair:
    """Two neighbouring blocks: seconds an item of the original and of the changed target, and the pair of processes they are from."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    round: int = 0


def speedup_of(pairs: Sequence[BlockPair]) -> Quantity | None:
    """Median over pairs of blocks of (median before ÷ median after), with its order-statistic interval (95 %; the whole range under six pairs).

    Returns:
        `None` below two pairs.
    """
    if len(pairs) < 2:
        return None
    before = np.array([np.median(pair.before) for pair in pairs])
    after = np.array([np.median(pair.after) for pair in pairs])
    ratios = before / after
    # paired_ratio divides its second argument by its first.
    found = paired_ratio(after, before, _CONFIDENCE)
    value, low, high = found or (float(np.median(ratios)), float(ratios.min()), float(ratios.max()))
    rounds = [float(np.median(ratios[[pair.round == number for pair in pairs]])) for number in sorted({pair.round for pair in pairs})]
    return Quantity(
        value=value,
        low=min(low, value, *rounds),
        high=max(high, value, *rounds),
        confidence=_CONFIDENCE if found else 1.0 - 2.0 ** (1 - len(pairs)),
        unit="1",
        source="measured",
        origin=f"{len(pairs)} pairs of neighbouring blocks, {len(rounds)} pairs of processes",
    )


def tail_of(pairs: Sequence[BlockPair], seed: int = 0) -> Quantity | None:
    """95th percentile before ÷ after over all calls, its interval by resampling pairs of blocks (percentile bootstrap).

    Returns:
        `None` below 60 calls a side.
    """
    if min(sum(pair.before.size for pair in pairs), sum(pair.after.size for pair in pairs)) < _TAIL_LEAST:
        return None
    generator = np.random.default_rng(seed)
    value = _tail_ratio(pairs)
    resampled = [_tail_ratio([pairs[index] for index in generator.integers(0, len(pairs), len(pairs))]) for _ in range(_RESAMPLES)]
    low, high = (float(end) for end in np.quantile(resampled, ((1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2)))
    origin = "95th percentile, resampled by blocks"
    return Quantity(value=value, low=min(low, value), high=max(high, value), confidence=_CONFIDENCE, unit="1", source="measured", origin=origin)


def _tail_ratio(pairs: Sequence[BlockPair]) -> float:
    before = np.quantile(np.concatenate([pair.before for pair in pairs]), _TAIL)
    after = np.quantile(np.concatenate([pair.after for pair in pairs]), _TAIL)
    return float(before / after)
