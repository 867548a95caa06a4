"""Where the history of a benchmark changed: steps between levels, told from a drift, from spikes and from noise that depends on itself.

Times are compared as logarithms, so that a step is a ratio. Lone spikes are pulled in to what surrounds them; a minority that is more than spikes
is left alone, since it is a second mode. The optimal partition proposes steps; each must then stand a rank test over the values between its
neighbours, whose critical value pays for the search over places and for autocorrelation, and the weakest goes until all stand. Ranks make
the test exact for any noise that is independent: heavy tails, two modes. Where pieces of straight lines explain far more than levels do, the
history drifts, and its changes are those of slope.

Sources: E. Page, Biometrika 41, 1954 (sums of deviations); A. Pettitt, Applied Statistics 28, 1979 (ranks); R. Miller, D. Siegmund, "Maximally
selected chi square statistics", Biometrics 38, 1982 (the price of the search); F. Hampel, JASA 69, 1974 (spikes); G. Schwarz, Annals of Statistics 6,
1978 (the choice between levels and lines).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ._checks import Values
from .partition import Levels, Lines, Tabulated, optimal_cuts

__all__ = ["ChangePoint", "History", "history"]

Floats = NDArray[np.float64]

#: Chance of a false step for each that is looked for; beneath it a step stands.
_ALPHA = 0.01
#: Values a level is made of, and values a line is made of.
_LEAST_OF_LEVEL, _LEAST_OF_LINE = 4, 8
#: Times ln n: the price at which steps are proposed (cheaply: the test decides) and at which lines are cut (dearly: nothing tests them).
_PRICE_OF_LEVEL, _PRICE_OF_LINE = 2.0, 3.0
#: Lines must be better than levels by this much a value, in units of −2 ln likelihood: a drift is claimed only where it is plain.
_PLAIN = 0.5
#: Spikes: this many robust standard deviations of the values around, and at most this part of a history. So many values to each side: a level
#: of four must outlive the first, and two or three spikes in a row must not bend a line.
_SPIKE, _MOST_SPIKES = 3.0, 0.12
_AROUND_OF_LEVEL, _AROUND_OF_LINE = 3, 7
_MOST_CORRELATION = 0.8
#: Under this many values the formula for the search is too careful, and the chance is read from so many random orders instead.
_FEW, _ORDERS = 50, 2000
#: Longest history whose pieces are all tabulated.
_TABLED = 300


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """The first value of another level, or of another slope.

    Args:
        index: into the values that were given, whatever was left out of them.
        before, after: medians of the pieces to both sides, in the unit of the values.
        chance: of so large a step without a change, after the search for its place; null for a change of slope, which is chosen, not tested.
    """

    index: int
    before: float
    after: float
    chance: float | None = None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a series.

    Args:
        shape: `flat`, `steps` between levels, or `drift`: it moves all the time.
        changes: in order.
        left_out: values that are no number, and were passed over.
    """

    shape: Literal["flat", "steps", "drift"]
    changes: tuple[ChangePoint, ...] = ()
    left_out: int = 0


def history(values: Values) -> History:
    """The changes of a series of one result over runs, commits or days.

    Args:
        values: in order of time, shape (n,), any unit; what is NaN or infinite is passed over. Under 8 numbers nothing changed.

    >>> found = history([1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.01, 1.00, 1.30, 1.31, 1.29, 1.30, 1.32, 1.28, 1.31, 1.30])
    >>> found.shape, [change.index for change in found.changes]
    ('steps', [8])
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    kept = np.flatnonzero(np.isfinite(given))
    series = given[kept]
    left_out = given.size - kept.size
    if series.size < 2 * _LEAST_OF_LEVEL or np.ptp(series) == 0:
        return History(shape="flat", left_out=left_out)
    compared = np.log(series) if (series > 0).all() else series
    steps = _steps(_without_spikes(compared, _AROUND_OF_LEVEL))
    clean = _without_spikes(compared, _AROUND_OF_LINE)
    bends = _bends(clean)
    cuts = [cut for cut, _ in steps]
    drifts = _information(_lines(clean, bends), 3 * len(bends) + 2) + _PLAIN * series.size < _information(_levels(clean, cuts), 2 * len(cuts) + 1)
    chosen: list[tuple[int, float | None]] = [(bend, None) for bend in bends] if drifts else list(steps)
    edges = [0, *(cut for cut, _ in chosen), series.size]
    medians = [float(np.median(series[a:b])) for a, b in pairwise(edges)]
    changes = tuple(
        ChangePoint(index=int(kept[cut]), before=before, after=after, chance=chance)
        for (cut, chance), (before, after) in zip(chosen, pairwise(medians), strict=True)
    )
    return History(shape="drift" if drifts else "steps" if changes else "flat", changes=changes, left_out=left_out)


def _without_spikes(values: Floats, around: int) -> Floats:
    """Values further from the median of themselves and `around` to each side than `_SPIKE` of their spreads are pulled in, unless they are many."""
    edge = (np.median(values[:around]), np.median(values[-around:]))
    padded = np.concatenate([np.full(around, edge[0]), values, np.full(around, edge[1])])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * around + 1)
    middle = np.median(windows, axis=1)
    spread = 1.4826 * np.median(np.abs(windows - middle[:, None]), axis=1)
    # Values around that happen to agree make no spike of their neighbour.
    spread = np.maximum(spread, np.median(spread))
    clipped = np.clip(values, middle - _SPIKE * spread, middle + _SPIKE * spread)
    return values if np.mean(clipped != values) > _MOST_SPIKES else clipped


def _steps(values: Floats) -> list[tuple[int, float]]:
    """(place, chance) of the steps that stand."""
    size = values.size
    variance = max(float(np.var(np.diff(values))) / 2, 1e-12 * float(np.var(values)))
    price = _PRICE_OF_LEVEL * math.log(size) * variance
    cuts = optimal_cuts(Levels(values), size, price, _LEAST_OF_LEVEL)
    if len(cuts) > size // 6:
        # Neighbours hardly differ: it wanders. Dearer, or the tests that follow would see nothing but pieces of the wandering.
        cuts = optimal_cuts(Levels(values), size, 4 * price, _LEAST_OF_LEVEL)
    moved = False
    while cuts:
        dependence = _dependence(_levels(values, cuts), len(cuts))
        edges = [0, *cuts, size]
        tests = [_test(values[edges[at] : edges[at + 2]], dependence) for at in range(len(cuts))]
        weakest = max(range(len(cuts)), key=lambda at: tests[at][1])
        if tests[weakest][1] > _ALPHA:
            del cuts[weakest]
            continue
        places = [edges[at] + place for at, (place, _) in enumerate(tests)]
        if moved or places == cuts or len(set(places)) < len(places):
            return [(cut, chance) for cut, (_, chance) in zip(cuts, tests, strict=True)]
        cuts, moved = places, True
    return []


def _test(values: Floats, dependence: float) -> tuple[int, float]:
    """(the likeliest place of a step within the values, its chance if there is none).

    Args:
        dependence: by which the variance of a sum is larger than for independent values.
    """
    size = values.size
    ranks = _ranks(values)
    variance = float(np.var(ranks, ddof=1))
    if variance == 0:
        return size // 2, 1.0
    place = np.arange(_LEAST_OF_LEVEL, size - _LEAST_OF_LEVEL + 1)
    sums = np.cumsum(ranks - ranks.mean())[place - 1]
    scores = np.abs(sums) / np.sqrt(variance * dependence * place * (size - place) / size)
    best = int(np.argmax(scores))
    score = float(scores[best])
    if size < _FEW:
        largest = _largest_scores(size)
        # Counting the history itself, as a permutation test does: the chance is never zero.
        return int(place[best]), float(largest.size - np.searchsorted(largest, score * (1 - 1e-9)) + 1) / (largest.size + 1)
    return int(place[best]), _chance_of_the_largest(score, _LEAST_OF_LEVEL / size)


@lru_cache(maxsize=_FEW)
def _largest_scores(size: int) -> Floats:
    """The largest scores of random orders of that many ranks, in rising order: the same in every process, since the seed is fixed."""
    place = np.arange(_LEAST_OF_LEVEL, size - _LEAST_OF_LEVEL + 1)
    ranks = np.arange(1, size + 1) - (size + 1) / 2
    orders = np.random.default_rng(size).permuted(np.tile(ranks, (_ORDERS, 1)), axis=1)
    scale = np.sqrt(np.var(ranks, ddof=1) * place * (size - place) / size)
    return np.sort(np.max(np.abs(np.cumsum(orders, axis=1)[:, place - 1]) / scale, axis=1))


def _chance_of_the_largest(score: float, margin: float) -> float:
    """P(max |Z| ≥ score) over places from `margin` to 1 − margin of the length, Z a Brownian bridge over its standard deviation.

    Miller and Siegmund, 1982: φ(b)(b − 1/b) ln((1 − ε)² ÷ ε²) + 4 φ(b) ÷ b.
    """
    if score <= 1:
        return 1.0
    density = math.exp(-score * score / 2) / math.sqrt(2 * math.pi)
    search = 2 * math.log((1 - margin) / margin) if margin < 0.5 else 0.0
    return min(1.0, density * (score - 1 / score) * search + 4 * density / score)


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse])


def _dependence(residuals: Floats, cuts: int) -> float:
    """(1 + ρ) ÷ (1 − ρ) of the autocorrelation ρ from one value to the next, for what a fit of `cuts` levels leaves; 1 where it may be chance.

    Fitting levels takes some of the correlation away, about (1 + 3ρ + cuts) ÷ n of it, which is given back.
    Source: F. Marriott, J. Pope, Biometrika 41, 1954.
    """
    scale = 3 * 1.4826 * float(np.median(np.abs(residuals)))
    held = np.clip(residuals, -scale, scale)
    total = float(np.sum(held * held))
    if total == 0:
        return 1.0
    seen = float(np.sum(held[1:] * held[:-1])) / total
    correlation = seen + (1 + 3 * max(seen, 0.0) + cuts) / held.size
    if correlation <= 1 / math.sqrt(held.size):
        return 1.0
    correlation = min(correlation, _MOST_CORRELATION)
    return (1 + correlation) / (1 - correlation)


def _bends(values: Floats) -> list[int]:
    """Where straight pieces begin. The noise that prices a cut is what the pieces before leave, until they stay."""
    size = values.size
    variance, correlation = max(float(np.var(np.diff(values))) / 2, 1e-18), 0.3
    cuts: list[int] = []
    errors = Tabulated(Lines(values), size) if size <= _TABLED else Lines(values)
    for _ in range(5):
        price = _PRICE_OF_LINE * math.log(size) * variance * (1 + correlation) / (1 - correlation)
        found = optimal_cuts(errors, size, price, _LEAST_OF_LINE)
        if found == cuts:
            break
        cuts = found
        left, fitted = _lines(values, cuts), 2 * len(cuts) + 2
        total = float(np.sum(left * left))
        variance = max(total / max(1, size - fitted), 1e-18)
        seen = float(np.clip(np.sum(left[1:] * left[:-1]) / total, 0, 0.95)) if total > 0 else 0.0
        correlation = min(0.95, seen + (1 + 3 * seen + fitted) / size)
    return cuts


def _levels(values: Floats, cuts: list[int]) -> Floats:
    """What levels leave: each piece less its mean."""
    return np.concatenate([piece - piece.mean() for piece in np.split(values, cuts)])


def _lines(values: Floats, cuts: list[int]) -> Floats:
    """What straight lines leave: each piece less its least-squares line."""

    def left(piece: Floats) -> Floats:
        at = np.arange(piece.size) - (piece.size - 1) / 2
        return np.asarray(piece - piece.mean() - at * (at @ piece) / max(float(at @ at), 1.0))

    return np.concatenate([left(piece) for piece in np.split(values, cuts)])


def _information(residuals: Floats, parameters: int) -> float:
    """Schwarz: n ln(Σ r² ÷ n) + parameters × ln n."""
    size = residuals.size
    return size * math.log(max(float(np.sum(residuals**2)) / size, 1e-300)) + parameters * math.log(size)
