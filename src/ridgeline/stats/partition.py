"""The cheapest way to cut a series into pieces: optimal partitions into constant levels or into straight lines.

Exact dynamic programming over the last cut, O(n²) and vectorised over its places. Decides nothing about what a cut means: `steady` and
`change_points` do. Source: B. Jackson et al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal Proc. Letters 12, 2005.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Levels", "Lines", "Tabulated", "optimal_cuts"]

Floats = NDArray[np.float64]


class Fit(Protocol):
    """What a piece of a series is fitted with."""

    def error(self, starts: NDArray[np.intp], stop: int) -> Floats:
        """Σ squared residuals of the pieces start … stop − 1, one for each start, shape of `starts`."""
        ...


class Levels:
    """Pieces of constant level: Σ y² − (Σ y)² ÷ length, from running sums."""

    def __init__(self, values: Floats) -> None:
        # Centred, so that the difference of two large sums does not eat a small variance.
        centred = values - values.mean()
        self._sums, self._squares = _running(centred), _running(centred**2)

    def error(self, starts: NDArray[np.intp], stop: int | NDArray[np.intp]) -> Floats:
        """See `Fit`."""
        length = stop - starts
        total = self._sums[stop] - self._sums[starts]
        return np.asarray((self._squares[stop] - self._squares[starts]) - total**2 / length)


class Lines:
    """Pieces that are straight lines, each with its own level and slope (ordinary least squares), from running sums."""

    def __init__(self, values: Floats) -> None:
        centred = values - values.mean()
        at = np.arange(values.size, dtype=np.float64) - values.size / 2
        self._y, self._yy, self._t, self._tt, self._ty = (_running(each) for each in (centred, centred**2, at, at**2, at * centred))

    def error(self, starts: NDArray[np.intp], stop: int | NDArray[np.intp]) -> Floats:
        """See `Fit`."""
        length = stop - starts
        y, t = (sums[stop] - sums[starts] for sums in (self._y, self._t))
        syy = self._yy[stop] - self._yy[starts] - y**2 / length
        stt = self._tt[stop] - self._tt[starts] - t**2 / length
        sty = self._ty[stop] - self._ty[starts] - t * y / length
        explained = np.divide(sty**2, stt, out=np.zeros_like(sty), where=stt > 0)
        return np.asarray(np.maximum(syy - explained, 0.0))


class Tabulated:
    """The errors of another fit, all computed at once: n² numbers, worth it for a short series that is cut at several prices."""

    def __init__(self, fit: Levels | Lines, size: int) -> None:
        starts, stops = np.meshgrid(np.arange(size, dtype=np.intp), np.arange(size + 1, dtype=np.intp))
        valid = starts < stops
        self._errors = np.full(starts.shape, np.inf)
        self._errors[valid] = fit.error(starts[valid], stops[valid])

    def error(self, starts: NDArray[np.intp], stop: int) -> Floats:
        """See `Fit`; the starts are 0, 1, 2, …, as `optimal_cuts` asks."""
        return self._errors[stop, : starts.size]


def optimal_cuts(fit: Fit, size: int, penalty: float, least: int = 1) -> list[int]:
    """Where pieces start, without the first: the cuts that minimise Σ (error + penalty) over the pieces.

    Args:
        fit: the error of a piece.
        size: length n of the series, ≥ 1.
        penalty: price of a piece, in the unit of the error, > 0.
        least: fewest values of a piece; a series shorter than twice that is one piece.
    """
    if size < 2 * least:
        return []
    # From 0 to a place shorter than `least` there is no way, hence the infinity.
    best, previous = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=np.intp)
    best[0] = -penalty
    for stop in range(least, size + 1):
        starts = np.arange(stop - least + 1)
        totals = best[starts] + fit.error(starts, stop) + penalty
        previous[stop] = np.argmin(totals)
        best[stop] = totals[previous[stop]]
    cuts: list[int] = []
    stop = size
    while (stop := int(previous[stop])) > 0:
        cuts.append(stop)
    return cuts[::-1]


def _running(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])
