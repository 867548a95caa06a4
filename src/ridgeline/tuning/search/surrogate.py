"""What a search believes: a Gaussian process over configurations that takes parameters as what they are.

The kernel is a product of one for each parameter. Numbers in an order are as near as their ranks are (Matérn 5/2), since steps of tunable
parameters are seldom even in their values, and a part of each value is its own, since a tile that does not divide is bad whatever its neighbours are;
names and flags are equal or not. A parameter that is not active is a value of its own. Reaches come from
the likelihood with priors that keep a parameter of which nothing is known yet from counting for nothing or everything.

Means and deviations of all candidates are kept up to date: one more value costs O(n N) for n values and N candidates, a proposal O(N).
Source: C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006, algorithm 2.1 and section 5.4.1; K. Swersky et
al., "Raiders of the Lost Architecture: Kernels for Bayesian Optimization in Conditional Parameter Spaces", 2014, for conditional parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ..space import INACTIVE, Configurations

__all__ = ["Surrogate", "distances"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]
#: Logarithms of reaches and of the deviation of noise (in deviations of the target): least, most, and the middle and width of their priors.
_REACH, _NOISE = (-2.0, 4.0, 0.7, 1.0), (-4.0, 0.0, -2.0, 1.0)
#: ln of how alike two different numbers are at the most.
_OWN = 0.15
_JITTER = 1e-6
#: Steps of learning with few values, and with more, where it goes on from what was learned before.
_ITERATIONS, _FEW = (25, 10), 32
#: Variances below this are rounding.
_LEAST_VARIANCE = 1e-6
#: Configurations of which means are worked out at once.
_AT_ONCE = 2048
#: Values from which reaches are learned at the most: the time of it grows with their cube.
_LEARNED_FROM = 128
#: Candidates that are looked at together, so that what is made for them stays in a cache.
_TOGETHER = 1024
#: Values that parameters have together whose parts of the kernel are looked up as one.
_JOINED = 256
#: Values for which room is made at once.
_STEP = 128


def distances(space: Configurations) -> list[tuple[bool, Floats]]:
    """Of each parameter: whether it is an order of three values or more, and how far its values are apart, (size, size), from 0 to 1."""
    found = []
    for values, order in zip(space.values, space.ordered, strict=True):
        active = len(values) - (values[-1] is INACTIVE)
        apart = 1.0 - np.eye(len(values))
        if order and active > 2:
            rank = np.arange(active) / (active - 1)
            apart[:active, :active] = np.abs(rank[:, None] - rank[None, :])
        found.append((bool(order and active > 2), apart))
    return found


class Surrogate:
    """A process over candidates.

    Args:
        apart: of `distances`.
        candidates: (N, parameters), of which means and deviations are kept.
        like: another one, from whose reaches learning goes on.
    """

    def __init__(self, apart: Sequence[tuple[bool, Floats]], candidates: Rows, like: Surrogate | None = None) -> None:
        self._apart, self._count = apart, len(candidates)
        self._groups = _groups([len(table) for _, table in apart])
        self._columns = self._codes(candidates)
        self._reaches: Floats = np.full(len(apart), _REACH[2]) if like is None else like._reaches
        self._noise: float = float(np.exp(_NOISE[2])) if like is None else like._noise
        self._tables, self._singles = self._made_tables()
        self._rows: Rows = np.zeros((0, len(apart)), np.int64)
        self._factor: Floats = np.zeros((_STEP, _STEP))
        self._whitened: Singles = np.zeros((_STEP, len(candidates)), np.float32)
        self._left: Floats = np.zeros(0)
        self._mean: Singles = np.zeros(len(candidates), np.float32)
        self._variance: Singles = np.ones(len(candidates), np.float32)

    @property
    def held(self) -> int:
        """Values that it holds."""
        return len(self._rows)

    @property
    def noise(self) -> float:
        """Deviation of the noise, in deviations of the target."""
        return self._noise

    def learn(self, rows: Rows, target: Floats) -> None:
        """Reaches and noise anew from all values, (n, parameters) and (n,), of mean 0 and deviation 1 or so."""
        from scipy.optimize import minimize

        some = _some(target)
        pairs = [(order, table, rows[some, place][:, None] * len(table) + rows[some, place]) for place, (order, table) in enumerate(self._apart)]
        start = np.append(np.clip(self._reaches, -1.5, 3.0), np.log(self._noise))
        bounds = [_REACH[:2]] * len(pairs) + [_NOISE[:2]]
        options = {"maxiter": _ITERATIONS[len(some) > _FEW]}
        found = minimize(_unlikely, start, (pairs, target[some]), "L-BFGS-B", jac=True, bounds=bounds, options=options)
        self._reaches, self._noise = found.x[:-1], float(np.exp(found.x[-1]))
        self.take(rows, target)

    def take(self, rows: Rows, target: Floats) -> None:
        """These values in place of those that it holds, with the reaches as they are."""
        self._tables, self._singles = self._made_tables()
        self._rows, self._left = rows[:0], np.zeros(0)
        self._mean[:], self._variance[:] = 0.0, 1.0
        if not len(rows):
            return
        self._room(len(rows))
        alike = np.ones((len(rows), len(rows)))
        for table, held in zip(self._tables, rows.T, strict=True):
            alike *= table[np.ix_(held, held)]
        factor = np.linalg.cholesky(alike + (self._noise**2 + _JITTER) * np.eye(len(rows)))
        self._factor[: len(rows), : len(rows)], self._rows = factor, rows
        self._whiten(factor.astype(np.float32))
        self.retarget(target)

    def _whiten(self, factor: Singles) -> None:
        """All candidates against all that is held at once: a few at a time, one product of matrices for each."""
        from scipy.linalg import solve_triangular

        number = self.held
        chosen = [single[held] for single, held in zip(self._singles, self._codes(self._rows), strict=True)]
        for first in range(0, self._count, _TOGETHER):
            part = slice(first, first + _TOGETHER)
            alike = np.ones((number, len(self._columns[0][part])), np.float32)
            for table, values in zip(chosen, self._columns, strict=True):
                alike *= table.take(values[part], axis=1)
            whitened = solve_triangular(factor, alike, lower=True, check_finite=False, overwrite_b=True)
            self._whitened[:number, part] = whitened
            self._variance[part] -= np.einsum("ij,ij->j", whitened, whitened)

    def _room(self, number: int) -> None:
        """For so many values."""
        if number > len(self._factor):
            more = -(-(number - len(self._factor)) // _STEP) * _STEP
            self._factor = np.pad(self._factor, ((0, more), (0, more)))
            self._whitened = np.vstack((self._whitened, np.zeros((more, self._count), np.float32)))

    def retarget(self, target: Floats) -> None:
        """Other values of what it holds, (held,): O(n N), since what it knows of rows and candidates stays."""
        from scipy.linalg import solve_triangular

        number = self.held
        self._left = solve_triangular(self._factor[:number, :number], target, lower=True, check_finite=False)
        self._mean = self._left.astype(np.float32) @ self._whitened[:number]

    def _made_tables(self) -> tuple[list[Floats], list[Singles]]:
        tables = [_alike(order, table / np.exp(reach)) for (order, table), reach in zip(self._apart, self._reaches, strict=True)]
        return tables, [reduce(_joined, [tables[place] for place in group]).astype(np.float32) for group in self._groups]

    def _codes(self, rows: Rows) -> list[Rows]:
        """Of each group of parameters one number for their values, (n,): the place in what is worked out for the group."""
        sizes = [len(table) for _, table in self._apart]
        return [np.ravel_multi_index([rows[:, place] for place in group], [sizes[place] for place in group]) for group in self._groups]

    def add(self, row: Rows, value: float | None) -> None:
        """One value more, (parameters,); null for what is believed of it now."""
        from scipy.linalg import solve_triangular

        number = self.held
        self._room(number + 1)
        column = np.ones(self._count, np.float32)
        for single, code, values in zip(self._singles, self._codes(row[None]), self._columns, strict=True):
            column *= single[code[0]].take(values)
        known = np.ones(number)
        for place, (table, held) in enumerate(zip(self._tables, self._rows.T, strict=True)):
            known *= table[row[place], held]
        line = solve_triangular(self._factor[:number, :number], known, lower=True, check_finite=False) if number else known
        scale = float(np.sqrt(max(1.0 + self._noise**2 + _JITTER - line @ line, 1e-8)))
        self._factor[number, :number], self._factor[number, number] = line, scale
        if number:
            column -= line.astype(np.float32) @ self._whitened[:number]
        column /= np.float32(scale)
        self._whitened[number] = column
        left = 0.0 if value is None else (value - float(line @ self._left)) / scale
        self._left = np.append(self._left, left)
        self._mean += np.float32(left) * column
        self._variance -= column * column
        self._rows = np.vstack((self._rows, row[None]))

    def misfit(self, target: Floats) -> float:
        """How little these values of what it holds, (n,), go together by the kernel: the square of their whitened length."""
        from scipy.linalg import solve_triangular

        number = self.held
        left = solve_triangular(self._factor[:number, :number], target, lower=True, check_finite=False)
        return float(left @ left)

    def at(self, rows: Rows) -> Floats:
        """Means of any configurations, (n, parameters) → (n,)."""
        from scipy.linalg import solve_triangular

        number = self.held
        weights = solve_triangular(self._factor[:number, :number], self._left, lower=True, trans="T", check_finite=False)
        found = np.zeros(len(rows))
        for first in range(0, len(rows), _AT_ONCE):
            part = rows[first : first + _AT_ONCE]
            alike = np.ones((len(part), number))
            for table, asked, held in zip(self._tables, part.T, self._rows.T, strict=True):
                alike *= table[asked[:, None], held]
            found[first : first + _AT_ONCE] = alike @ weights
        return found

    def drop(self, count: int) -> None:
        """Without the last so many values."""
        for number in range(self.held - 1, self.held - 1 - count, -1):
            column = self._whitened[number]
            self._mean -= np.float32(self._left[number]) * column
            self._variance += column * column
        self._rows, self._left = self._rows[: self.held - count], self._left[: self.held - count]

    def believed(self) -> tuple[Singles, Singles]:
        """(mean, deviation) of all candidates, (N,), without noise."""
        return self._mean, np.sqrt(np.maximum(self._variance, np.float32(_LEAST_VARIANCE)))


def _groups(sizes: Sequence[int]) -> list[list[int]]:
    """Places of parameters, in as few groups as they come of no more than so many values together."""
    found: list[list[int]] = []
    together = _JOINED
    for place, size in enumerate(sizes):
        if not found or together * size > _JOINED:
            found.append([])
            together = 1
        found[-1].append(place)
        together *= size
    return found


def _joined(first: Floats, second: Floats) -> Floats:
    """The parts of two parameters, (a, a) and (b, b), multiplied for all pairs of their values, (a b, a b)."""
    return np.asarray(np.kron(first, second), np.float64)


def _some(target: Floats) -> NDArray[np.int64]:
    """Of many values those by which reaches are learned: the best half, and of the others every so many, as they come."""
    if len(target) <= _LEARNED_FROM:
        return np.arange(len(target))
    order = np.argsort(target, kind="stable")
    best, others = order[: _LEARNED_FROM // 2], np.sort(order[_LEARNED_FROM // 2 :])
    return np.concatenate((best, others[np.linspace(0, len(others) - 1, _LEARNED_FROM // 2).astype(np.int64)]))


def _alike(order: bool, apart: Floats) -> Floats:
    if order:
        root = np.sqrt(5.0) * apart
        return np.asarray((1.0 + root + root * root / 3.0) * np.exp(-root - _OWN * (apart > 0)), np.float64)
    return np.exp(-apart)


def _unlikely(point: Floats, pairs: Sequence[tuple[bool, Floats, Rows]], target: Floats) -> tuple[float, Floats]:
    """Negative logarithm of likelihood times priors, and its slopes.

    Args:
        pairs: of each parameter as `distances` has it, and which place of the table, taken flat, each pair of values is, (n, n).
    """
    from scipy.linalg.lapack import dpotri

    count, noise = len(target), float(np.exp(2.0 * point[-1]))
    alike, slopes = np.ones((count, count)), []
    # What is worked out once for two values is looked up for all pairs that have these.
    for (order, table, places), reach in zip(pairs, point, strict=False):
        scaled = table / np.exp(reach)
        if order:
            root = np.sqrt(5.0) * scaled
            slopes.append(root * root / 3.0 * (1.0 + root) / (1.0 + root + root * root / 3.0))
        else:
            slopes.append(scaled)
        alike *= _alike(order, scaled).take(places)
    try:
        factor = np.linalg.cholesky(alike + (noise + _JITTER) * np.eye(count))
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(point)
    inverse = dpotri(factor, lower=1)[0]
    inverse += np.tril(inverse, -1).T
    solved = inverse @ target
    pull = np.outer(solved, solved) - inverse
    weighted = (pull * alike).ravel()
    value = 0.5 * float(target @ solved) + float(np.log(np.diag(factor)).sum())
    sums = [np.bincount(places.ravel(), weighted, minlength=each.size) for (_, _, places), each in zip(pairs, slopes, strict=True)]
    slope = np.array([-0.5 * float(total @ each.ravel()) for total, each in zip(sums, slopes, strict=True)] + [-noise * float(np.trace(pull))])
    off = np.append((point[:-1] - _REACH[2]) / _REACH[3], (point[-1] - _NOISE[2]) / _NOISE[3])
    return value + 0.5 * float(off @ off), slope + np.append(off[:-1] / _REACH[3], off[-1] / _NOISE[3])
