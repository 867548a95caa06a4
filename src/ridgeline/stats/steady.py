"""Where a series of call times becomes steady, by change points: warm-up, then one level, or never.

Decides which samples are warm-up; how long to go on measuring is the harness's business. The log times, with lone spikes taken out by a running
median of five, are cut into the segments that minimise Σ (squared error ÷ σ²) + 6 ln n a segment. σ comes from differences of neighbours, so
that the levels themselves do not widen it. Segments from the end backwards belong to the steady state until one is shown to differ from the last one
by more than the tolerance. What differs for less than a hundred-and-fiftieth of the series and goes away again is a hiccup, as a neighbour or a
collector makes them, as long as hiccups are a twentieth of the calls and less. Sources: E. Barrett et al., "Virtual machine warmup blows hot and
cold", OOPSLA 2017 (segments); L. Traini et al., "Towards effective assessment of steady state performance in Java software", Empirical Software
Engineering 28, 2022 (5 % that an interval must leave out; the steady part begins before the last sixth).
"""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from ._checks import Values, positive_floats, thinned
from .partition import Levels, optimal_cuts
from .robust import theil_sen_slope

__all__ = ["LEAST_STEADY", "Segment", "moves_one_way", "segments", "steady_start"]

#: Fewest calls from which a steady state is read, and fewest calls a steady state is made of.
LEAST_STEADY = 8
#: Longest series that is partitioned call by call; a longer one is first reduced to this many block medians.
_MOST = 750
#: Part of the series that a steady state holds for at the least.
_LEAST_PART = 1 / 6
#: Part of the series that one hiccup takes at the most, and part of the steady state that all of them take.
_HICCUP, _HICCUPS = 1 / 150, 0.05
#: Chance of calling two equal levels different, before the tolerance.
_ALPHA = 0.05
#: A line through the steady part that climbs by this many times the tolerance is no level; it is read from so many calls.
_CLEARLY, _MOST_OF_LINE = 1.5, 120
#: Batches of a piece whose means tell how sure its own mean is, and the fewest calls of a batch.
_BATCHES, _LEAST_OF_BATCH = 10, 4
#: Times ln n: price of one more segment. Twice to three times what independent noise would need, since call times depend on each other.
_PENALTY = 6.0


#: Blocks whose medians are looked at for a trend, few enough that those of a wandering series hardly depend on each other.
_BLOCKS = 12
#: Standard deviations of Mann and Kendall's S beyond which a trend is no chance (two-sided 1 %).
_TREND_Z = 2.58
#: A series of so few levels has stepped; one of more goes up and down.
_STEPS = 3


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """Calls start … stop − 1, which share one level.

    Args:
        start, stop: indices into the series.
        median: median time of the segment, in the unit of the series.
    """

    start: int
    stop: int
    median: float


def steady_start(values: Values, tolerance: float = 0.05) -> int | None:
    """Index of the first call of the steady state, or `None` if there is none.

    Args:
        values: call times in order, shape (n,), > 0. The very first call may be among them.
        tolerance: relative difference up to which two levels are the same; a larger one counts where the 95 % interval of the difference leaves
            out the tolerance, so that noise is not another state.

    Returns:
        0 if the series is steady from the start. `None` below 8 calls, or where the last level holds for less than a sixth of the series, or is
        no level but moves by 1.5 times the tolerance.

    Raises:
        UsageError: a time that is not above zero.

    >>> steady_start([9.0] * 3 + [1.0, 1.01, 0.99] * 10)
    3
    >>> steady_start([1.05**i for i in range(40)]) is None
    True
    """
    array = positive_floats(values)
    if array.size < LEAST_STEADY:
        return None
    hiccup = max(LEAST_STEADY, array.size * _HICCUP)
    *earlier, last = _without_stragglers(segments(array), hiccup)
    logs, band = np.log(array), math.log1p(tolerance)
    start, away, lost = last.start, 0, 0
    settled = logs[last.start : last.stop]
    for piece in reversed(earlier):
        own = logs[piece.start : piece.stop]
        if not _differs(_level(own), _level(settled), band):
            start, away, settled = piece.start, 0, np.concatenate([own, settled])
            continue
        # A hiccup if the level was there before it, and warm-up if not: `start` moves past it only in the first case.
        away, lost = away + piece.stop - piece.start, lost + piece.stop - piece.start
        if away >= hiccup or lost > max(2 * hiccup, _HICCUPS * (array.size - piece.start)):
            break
    if array.size - start < max(LEAST_STEADY, array.size * _LEAST_PART) or _moves(logs[start:], band):
        return None
    return start


def _moves(logs: NDArray[np.float64], band: float) -> bool:
    """Whether what looks level piece by piece moves by clearly more than the tolerance from its first call to its last."""
    kept = thinned(logs, _MOST_OF_LINE)
    slope, low, high = theil_sen_slope(kept)
    sure = min(abs(low), abs(high)) if low * high > 0 else 0.0
    return abs(slope) * kept.size > _CLEARLY * band and sure * kept.size > band


def _level(logs: NDArray[np.float64]) -> tuple[float, float]:
    """(mean of the logarithms, half-width of its 95 % interval), outliers pulled in to the middle nine tenths.

    The spread of the means of batches holds what neighbours have in common; of few calls there is only that of the calls themselves.
    Source: B. Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30, 1982.
    """
    held = np.clip(logs, *np.quantile(logs, [0.05, 0.95])) if logs.size >= 2 * _BATCHES else logs
    count = min(_BATCHES, logs.size // _LEAST_OF_BATCH)
    means = np.add.reduceat(held, edges := np.linspace(0, held.size, count + 1).astype(np.intp)[:-1]) if count >= _LEAST_OF_BATCH else held
    if count >= _LEAST_OF_BATCH:
        means = means / np.diff([*edges, held.size])
    if means.size < 2:
        return float(held.mean()), 0.0
    from scipy.special import stdtrit

    half = float(stdtrit(means.size - 1, 1 - _ALPHA / 2)) * float(means.std(ddof=1)) / math.sqrt(means.size)
    return float(held.mean()), half


def _differs(one: tuple[float, float], other: tuple[float, float], band: float) -> bool:
    return abs(one[0] - other[0]) - math.hypot(one[1], other[1]) > band


def moves_one_way(values: Values) -> bool:
    """Whether a series without a steady state goes somewhere: a trend, or a step or two; noise that only wanders comes back.

    Trend: |S| − 1 ≥ 2.58 √(k (k − 1) (2k + 5) ÷ 18) for the medians of k ≤ 12 blocks, S = Σ sign(later − earlier); else at most three levels.
    Calls that depend on each other over a good part of the series (a neighbour that comes and goes) cannot be told from a drift by any test.

    Args:
        values: call times in order, shape (n,), > 0.

    Raises:
        UsageError: no values, or a time that is not above zero.

    Source: H. B. Mann, "Nonparametric tests against trend", Econometrica 13, 1945; M. Kendall, "Rank Correlation Methods".

    >>> moves_one_way([1.05**i for i in range(40)])
    True
    >>> moves_one_way([1.0, 1.0, 1.3, 1.3] * 20)
    False
    """
    array = positive_floats(values)
    blocks = min(_BLOCKS, array.size // 2)
    medians = np.array([np.median(block) for block in np.array_split(array, max(1, blocks))])
    s = float(np.sum(np.triu(np.sign(medians[None, :] - medians[:, None]), 1)))
    if abs(s) - 1 >= _TREND_Z * math.sqrt(blocks * (blocks - 1) * (2 * blocks + 5) / 18) > 0:
        return True
    return 1 < len(segments(array)) <= _STEPS


def _without_stragglers(pieces: tuple[Segment, ...], hiccup: float) -> tuple[Segment, ...]:
    """The pieces up to the last one long enough to be a level: a hiccup in the very last calls ends no steady state."""
    for count in range(len(pieces), 0, -1):
        if pieces[count - 1].stop - pieces[count - 1].start >= hiccup:
            return pieces[:count]
    return pieces


def segments(values: Values) -> tuple[Segment, ...]:
    """The pieces of constant level that the series falls into, in order, covering it without gaps.

    Args:
        values: call times in order, shape (n,), n ≥ 1, > 0.

    Raises:
        UsageError: no values, or a time that is not above zero.

    >>> [(piece.start, piece.stop) for piece in segments([2.0] * 10 + [1.0] * 20)]
    [(0, 10), (10, 30)]
    """
    array = positive_floats(values)
    stride = math.ceil(array.size / _MOST)
    edges = np.arange(0, array.size, stride)
    logs = np.log(_medians(array, stride))
    smooth = _running_median(logs)
    price = _PENALTY * math.log(max(smooth.size, 2)) * _noise(logs, smooth)
    bounds = [0, *(int(edges[cut]) for cut in optimal_cuts(Levels(smooth), smooth.size, price)), array.size]
    return tuple(Segment(start=a, stop=b, median=float(np.median(array[a:b]))) for a, b in pairwise(bounds))


def _medians(values: NDArray[np.float64], stride: int) -> NDArray[np.float64]:
    """Medians of consecutive blocks of `stride` values, the last of what is left."""
    if stride == 1:
        return values
    whole = values.size // stride * stride
    medians = np.median(values[:whole].reshape(-1, stride), axis=1)
    return np.append(medians, np.median(values[whole:])) if whole < values.size else medians


def _running_median(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median of five around each value, the ends repeated: steps stay where they are, spikes of up to two calls vanish."""
    if values.size < 5:
        return values
    padded = np.concatenate([np.repeat(values[0], 2), values, np.repeat(values[-1], 2)])
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1))


def _noise(raw: NDArray[np.float64], smooth: NDArray[np.float64]) -> float:
    """σ² of the smoothed series over long stretches: π/2 (the price of a median) × the variance seen in first differences.

    A floor of 0.1 % keeps the ticks of a coarse clock from looking like levels.
    """
    if raw.size < 3:
        return 1.0
    near = _difference_spread(np.diff(raw))
    # Calls that come in slow drifts differ little from the next one and much from the fifth; the larger of both is the noise.
    far = _difference_spread(smooth[5:] - smooth[:-5]) if raw.size > 10 else 0.0
    return math.pi / 2 * max(near, far, 1e-3) ** 2


def _difference_spread(differences: NDArray[np.float64]) -> float:
    """σ of the values behind the differences; their median is taken off, so that a steady drift does not pass for noise."""
    return 1.4826 * float(np.median(np.abs(differences - np.median(differences)))) / math.sqrt(2)
