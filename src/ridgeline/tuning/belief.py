"""What is believed of the medians of configurations after a few noisy runs each: a probability for each place on a grid of logarithms.

After one or two runs, a run is its median plus noise of one distribution for all configurations. It is learned from their repetitions: each run
against the median of the other runs of its configuration, smoothed, with a part of something wide, since outliers are rarer than the few runs in
which none was seen. Medians have the distribution of what was tried as their prior (empirical Bayes): the lowest of many is believed to have been
lucky.

From three runs on each configuration has a noise of its own (a clock that is in its fast state for half of the runs of one is so for a third of
those of another): its distribution function F is a Dirichlet process around the one above, and as F(x) is then of a beta distribution, so is the
probability that the median, where F is a half, lies below x.

Source of the parts: H. Robbins, "An empirical Bayes approach to statistics", 1956; B. Silverman, "Density Estimation", 1986, §3.4 (the width);
T. Ferguson, "A Bayesian analysis of some nonparametric problems", Ann. Statist. 1, 1973, §5 (distribution function and median).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ridgeline.stats import mad_sigma

__all__ = ["Belief", "Noise", "believed", "noise_of", "residuals"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The grid of medians, in logarithms from the lowest: nothing that could win lies beyond.
_BELOW, _ABOVE = 0.35, 1.1
#: Configurations that are looked at, the lowest of those that were tried.
_MOST = 1000
#: What is believed of the noise before it is seen, worth so many runs: its scale in logarithms, of Student's t with two degrees of freedom.
_UNSEEN_RUNS, _UNSEEN_SCALE = 3.0, 0.03
#: Runs of a configuration from which they tell of the noise.
_TELLS = 3
#: What the noise of all says about that of one, worth so many runs.
_ALIKE_RUNS = 6.0
#: Share of runs that may lie anywhere.
_ANYWHERE = 0.01
#: Least scale of the prior of medians, in logarithms.
_PRIOR_SCALE = 0.02


class Noise(NamedTuple):
    """Noise of one run in logarithms.

    Attributes:
        log_density: at whole steps from −(n − 1) to n − 1, (2 n − 1,), up to a constant; step: of the grid.
        scale: half the distance of the 5th and 95th percentile, as of a normal distribution.
    """

    log_density: Floats
    step: float
    scale: float


class Belief(NamedTuple):
    """Probabilities of the medians of k configurations at g places.

    Attributes:
        numbers: of the configurations, (k,); grid: logarithms, (g,), a step apart; mass: (k, g), each row adds up to 1; noise: that they rest on.
    """

    numbers: Integers
    grid: Floats
    mass: Floats
    noise: Noise

    @property
    def expected(self) -> Floats:
        """The mean of each belief, in logarithms, (k,): of two that may be equally low, lower for the one that is surely so."""
        return np.asarray(self.mass @ self.grid)

    def better(self, place: int, steps: int) -> Floats:
        """Probability of each that its median lies more than so many steps below that of the one at `place`, (k,); of that itself 0."""
        below = np.cumsum(self.mass, axis=1)
        found = below[:, : below.shape[1] - steps - 1] @ self.mass[place, steps + 1 :]
        found[place] = 0.0
        return np.asarray(found)

    def best(self) -> Floats:
        """Probability of each that its median is the lowest, (k,)."""
        above = 1.0 - np.cumsum(self.mass, axis=1) + self.mass / 2
        logs = np.log(np.maximum(above, 1e-300))
        found = (self.mass * np.exp(logs.sum(axis=0) - logs)).sum(axis=1)
        return np.asarray(found / found.sum())


def residuals(runs: Sequence[Floats]) -> Floats:
    """Each run less the median of the others of its configuration, of configurations with three and more; logarithms in and out."""
    return np.concatenate([np.zeros(0), *(_against_others(np.sort(each)) for each in runs if len(each) >= _TELLS)])


def _against_others(runs: Floats) -> Floats:
    left, place = len(runs) - 1, np.arange(len(runs))
    low, high = (left - 1) // 2, left // 2
    return np.asarray(runs - (runs[low + (low >= place)] + runs[high + (high >= place)]) / 2)


def noise_of(seen: Floats, step: float, places: int) -> Noise:
    """The noise by what was seen of it.

    Args:
        seen: residuals in logarithms, (n,), may be none; step, places: of the grid.
    """
    offsets = step * np.arange(1 - places, places)
    density = _UNSEEN_RUNS * _student(offsets, _UNSEEN_SCALE, 2)
    if len(seen):
        width = max(step, 1.06 * mad_sigma(seen) * len(seen) ** -0.2)
        counts: Floats = np.histogram(np.clip(seen, offsets[0], offsets[-1]), bins=np.append(offsets - step / 2, offsets[-1] + step / 2))[0]
        density = density + np.convolve(counts, _student(offsets, width, 3), "same")
    density = (1.0 - _ANYWHERE) * density / density.sum() + _ANYWHERE / len(density)
    low, high = np.searchsorted(np.cumsum(density), (0.05, 0.95))
    return Noise(np.log(density), step, float(offsets[high] - offsets[low]) / 3.29)


def _student(values: NDArray[Any], scale: float, freedom: int) -> Floats:
    found = (1.0 + (values / scale) ** 2 / freedom) ** (-(freedom + 1) / 2)
    return np.asarray(found / found.sum())


def believed(runs: Sequence[Floats], step: float, repeated: Sequence[Floats]) -> Belief | None:
    """What follows from runs.

    Args:
        runs: logarithms of each configuration's, in one state of the device; none for one that is out.
        step: of the grid; repeated: those of the runs that tell of the noise.

    Returns:
        Nothing where no configuration has runs.
    """
    centres = np.array([np.median(each) if len(each) else np.inf for each in runs], np.float64)
    numbers = np.argsort(centres, kind="stable")[:_MOST].astype(np.int64)
    numbers = numbers[centres[numbers] <= centres.min(initial=np.inf) + _ABOVE] if np.isfinite(centres).any() else numbers[:0]
    if not len(numbers):
        return None
    grid = centres[numbers[0]] - _BELOW + step * np.arange(int((_BELOW + _ABOVE) / step) + 1)
    noise = noise_of(residuals(repeated), step, len(grid))
    logs = _log_prior(centres[np.isfinite(centres)], grid, max(_PRIOR_SCALE, noise.scale)) + _log_likelihood(
        [runs[each] for each in numbers], grid, noise
    )
    mass = np.exp(logs - logs.max(axis=1, keepdims=True))
    mass /= mass.sum(axis=1, keepdims=True)
    often = np.array([place for place, number in enumerate(numbers) if len(runs[number]) >= _TELLS], np.int64)
    if len(often):
        mass[often] = _of_their_own(mass[often], [runs[numbers[place]] for place in often], grid, noise)
    return Belief(numbers, grid, mass, noise)


def _of_their_own(mass: Floats, runs: Sequence[Floats], grid: Floats, noise: Noise) -> Floats:
    """Beliefs of configurations with runs enough to tell of their own noise, (k, g), from those by the noise of all."""
    from scipy.special import betainc

    # What the next run would be: each place of the median, and noise around it.
    length = 4 * len(grid)
    spread = np.fft.irfft(np.fft.rfft(mass, length) * np.fft.rfft(np.exp(noise.log_density), length), length)[:, len(grid) - 1 : 2 * len(grid) - 1]
    predicted = np.minimum(np.cumsum(np.maximum(spread, 0.0), axis=1), 1.0)
    below = np.array([np.searchsorted(np.sort(each), grid + noise.step / 2) for each in runs])
    counts = np.array([len(each) for each in runs])[:, None]
    # P(F(x) ≥ ½) with F(x) ~ Beta(a, b) is that of Beta(b, a) below ½.
    low = betainc(_ALIKE_RUNS * (1.0 - predicted) + counts - below + 1e-9, _ALIKE_RUNS * predicted + below + 1e-9, 0.5)
    found = np.maximum(np.diff(np.maximum.accumulate(low, axis=1), axis=1, prepend=0.0), 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _log_prior(centres: Floats, grid: Floats, scale: float) -> Floats:
    """As what was tried lies, each place smoothed."""
    step = grid[1] - grid[0]
    counts = np.bincount(np.clip(np.rint((centres - grid[0]) / step), 0, len(grid) - 1).astype(np.int64), minlength=len(grid))
    offsets = step * np.arange(1 - len(grid), len(grid))
    return np.asarray(np.log(np.convolve(counts, _student(offsets, scale, 2), "valid")))


def _log_likelihood(runs: Sequence[Floats], grid: Floats, noise: Noise) -> Floats:
    """Of each place of each median, (k, g)."""
    places = len(grid)
    windows = sliding_window_view(noise.log_density[::-1], places)
    at = np.clip(np.rint((np.concatenate(list(runs)) - grid[0]) / noise.step), 0, places - 1).astype(np.int64)
    first = np.concatenate([[0], np.cumsum([len(each) for each in runs])[:-1]])
    return np.asarray(np.add.reduceat(windows[places - 1 - at], first, axis=0))
