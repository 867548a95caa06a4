"""The default search: a process over the valid configurations says where better ones may be.

It begins with configurations that lie far from each other. Then each proposal is that of the largest expected improvement of ln(value) over the
best, and every few of them another view has its say, so that a process that is sure of a wrong thing does not end the search: what differs in one
parameter from the best, by the mean, as long as the best is new; and the ratio of densities of `parzen`. Improvements are expected with deviations
half as large again as the process has them: it takes the reaches that it has learned for sure, and would stay in the valley that it found first.
Values that are far above the others count as less far, and a failure as the worst of these. Spaces with more configurations than can be held are
searched through a part that is drawn anew whenever reaches are learned.

Sources: D. R. Jones et al., "Efficient Global Optimization of Expensive Black-Box Functions", J. Global Optimization 13 (1998), section 4;
D. Ginsbourger et al., "Kriging Is Well-Suited to Parallelize Optimization", 2010, for batches: what waits is believed to be what the mean says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..space import Configurations
from .base import Strategy
from .parzen import parzen_score
from .surrogate import Surrogate, distances
from .transfer import Guess

__all__ = ["Guided"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Array = NDArray[Any]
#: Configurations with which it begins, and of how many drawn ones they are chosen.
_FIRST, _SPREAD_OF = 8, 600
#: Told configurations at which reaches are learned; behind the last, whenever there are a quarter more.
_LEARNED = (8, 12, 16, 24, 32, 48, 64, 96, 128, 176)
#: Configurations that are held, and values: the best half and the latest half of more.
_POOL, _MOST = 20_000, 512
#: Of so many of the best, neighbours are held where not all configurations are.
_BEST = 5
#: Deviation, in ln(value), of what a guess leaves, before there are values enough; and the least that counts.
_GUESS_OFF, _LEAST_SCALE = 0.3, 1e-3
#: Parts of a guess that may be believed.
_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Deviations for improvements over those of the process; turns beside the same best.
_WIDER, _BESIDE = 1.5, 4
#: A guess of which no more than this is believed has misled.
_DROPPED = 0.25
#: Improvements below this part of a deviation of the target are none.
_LEAST_GAIN = 0.01
#: Values above the median by more than the distance between quartiles and this, in ln, count as so far; failures as far or as the worst.
_ABOVE = 0.5


class Guided(Strategy):
    """The search of `ridgeline tune` unless another is named; see the module.

    Args:
        guess: what a model or recordings of another device say of ln(value), up to a constant. It is weighed against what is told.
    """

    name = "guided"
    takes_guess = True
    turns: tuple[str, ...] = ("gain", "gain", "gain", "near", "gain", "gain", "gain", "near", "gain", "gain", "gain", "parzen")

    def __init__(self, space: Configurations, seed: int = 0, guess: Guess | None = None) -> None:
        super().__init__(space, seed)
        self._apart = distances(space)
        self._whole = space.count <= _POOL
        self._numbers: Array = np.arange(space.count if self._whole else 0)
        self._pool: Rows = space.at(self._numbers)
        self._surrogate: Surrogate | None = None
        #: ln(value) above which all is as bad; middle and deviation of what the process is about.
        self._cap, self._centre, self._scale = 0.0, 0.0, _GUESS_OFF
        self._guess, self._weight, self._shift = guess, 0.0 if guess is None else 1.0, 0.0
        self._pool_guess: Floats = np.zeros(0)
        self._next_learning = _FIRST
        #: The number of the best, and how many turns were taken beside it.
        self._beside = (-1, 0)
        #: Places of what the process holds.
        self._held: list[int] = []
        self._start = self._spread()
        #: Whether the guess was found to say little: what it has led to is all in one corner then, and the search begins as without it.
        self._misled = False
        if guess is not None:
            self._renew()

    @property
    def trust(self) -> float | None:
        """How much of its guess it believes, 0 to 1."""
        return None if self._guess is None else self._weight

    def propose(self, count: int) -> Rows:
        """The start; then by turns the largest gain, the likeliest beside the best, the best ratio of densities."""
        if self._surrogate is None:
            return self._start[: len(self._asked) + count]
        if self._misled and len(start := self._not_asked(self._start)):
            return start[:count]
        free = self._free()
        waits = self.space.at([number for number in self._asked if number not in self._place])
        for row in waits:
            self._surrogate.add(row, None)
        picked: list[int] = []
        for turn in range(min(count, int(free.sum()))):
            if turn:
                self._surrogate.add(self._pool[picked[-1]], None)
            picked.append(self._pick(len(self._asked) + turn, free))
            free[picked[-1]] = False
            self._expect(picked[-1])
        self._surrogate.drop(len(waits) + max(0, len(picked) - 1))
        return self._pool[picked]

    def _not_asked(self, rows: Rows) -> Rows:
        numbers = self.space.numbers(rows).tolist()
        return rows[[number not in self._asked for number in numbers]]

    def told(self, places: list[int], fresh: int) -> None:
        """The process takes what is new, or learns anew when it is time."""
        few = len(self.rows) < min(_FIRST, self.space.count)
        if few and self._guess is None:
            return
        if few or len(self.rows) >= self._next_learning or self._surrogate is None:
            self._learn(few)
        elif fresh == len(places):
            for place in places:
                self._surrogate.add(self.rows[place], float(self._target(np.array([place]))[0]))
            self._held += places
        else:
            kept = self._kept()
            self._surrogate.take(self.rows[kept], self._target(kept))
            self._held = kept.tolist()

    def retold(self) -> None:
        """The process keeps its reaches, and takes the values anew."""
        if self._surrogate is not None and self._held:
            self._see_cap()
            self._see_middle(_LEAST_SCALE)
            self._surrogate.retarget(self._target(np.array(self._held)))

    def _learn(self, few: bool) -> None:
        """Everything that is not kept up to date: the pool, what the process is about, and unless there are few values its reaches."""
        if self._surrogate is None or not (self._whole or few):
            self._renew()
        assert self._surrogate is not None
        kept = self._kept()
        self._see_cap()
        if self._guess is not None:
            logs, guessed = self._capped(self.values), self._guess(self.rows)
            self._shift = float(np.median(logs - guessed))
            if not few:
                self._weigh(kept, logs)
        self._see_middle(_GUESS_OFF if few else _LEAST_SCALE)
        self._held = kept.tolist()
        if few:
            self._surrogate.take(self.rows[kept], self._target(kept))
            return
        behind = [each for each in _LEARNED if each > len(self.rows)]
        self._next_learning = behind[0] if behind else len(self.rows) * 5 // 4
        self._surrogate.learn(self.rows[kept], self._target(kept))

    def _see_cap(self) -> None:
        """Above which all is as bad."""
        ran = np.log(self.values[~np.isnan(self.values)])
        if len(ran):
            low, middle, high = np.quantile(ran, (0.25, 0.5, 0.75)).tolist()
            self._cap = min(middle + high - low + _ABOVE, float(ran.max()))

    def _see_middle(self, least: float) -> None:
        """Middle and deviation, which is `least` at the least, of what the process is about."""
        self._centre, self._scale = 0.0, 1.0
        raw = self._target(np.arange(len(self.rows)))
        self._centre, self._scale = float(raw.mean()), max(float(raw.std()), least)

    def _weigh(self, kept: Array, logs: Floats) -> None:
        """How much of the guess to believe: what leaves the least for a process of the reaches so far, and more where it hardly matters."""
        assert self._surrogate is not None
        self._surrogate.take(self.rows[kept], logs[kept])
        found = []
        for weight in _WEIGHTS:
            self._weight = weight
            left = logs[kept] - self._guessed(self._guess_of(kept))
            found.append(0.5 * len(kept) * np.log(self._surrogate.misfit(left - left.mean()) + 1e-12) - weight)
        self._weight = _WEIGHTS[int(np.argmin(found))]
        self._misled |= self._weight <= _DROPPED

    def _renew(self) -> None:
        """Another pool, where not all configurations are in it, and a process over it."""
        if not self._whole:
            self._draw_pool()
        self._surrogate = Surrogate(self._apart, self._pool, self._surrogate)
        if self._guess is not None:
            self._pool_guess = self._guess(self._pool)

    def _guess_of(self, places: Array) -> Floats:
        return np.zeros(len(places)) if self._guess is None else self._guess(self.rows[places])

    def _guessed(self, guess: Floats) -> Floats:
        """What is believed of a guess, in ln(value)."""
        return self._weight * np.minimum(guess + self._shift, self._cap) if self._weight else np.zeros(len(guess))

    def _capped(self, values: Floats) -> Floats:
        return np.minimum(np.where(np.isnan(values), self._cap, np.log(values)), self._cap)

    def _target(self, places: Array) -> Floats:
        """What the process is told of configurations, by their places."""
        return (self._capped(self.values[places]) - self._guessed(self._guess_of(places)) - self._centre) / self._scale

    def _kept(self) -> Array:
        """Places of what the process holds: everything, or of more the best half and the latest."""
        if len(self.rows) <= _MOST:
            return np.arange(len(self.rows))
        best = np.argsort(np.where(np.isnan(self.values), np.inf, self.values), kind="stable")[: _MOST // 2]
        return np.union1d(best, np.arange(len(self.rows) - _MOST // 2, len(self.rows)))

    def _free(self) -> NDArray[np.bool_]:
        """Which of the pool were not asked for."""
        free = np.ones(len(self._pool), bool)
        asked = np.array(sorted(self._asked), self._numbers.dtype)
        places = np.searchsorted(self._numbers, asked)
        places[places == len(free)] = 0
        free[places[self._numbers[places] == asked]] = False
        return free

    def _pick(self, number: int, free: NDArray[np.bool_]) -> int:
        """The place in the pool of the proposal of this number."""
        assert self._surrogate is not None
        mean, deviation = self._surrogate.believed()
        if self._weight:
            mean = mean + (self._guessed(self._pool_guess) / self._scale).astype(np.float32)
        if self.best is None:
            # Nothing is known but the guess.
            return int(np.argmin(np.where(free, self._pool_guess if len(self._pool_guess) else mean, np.inf)))
        turn = self.turns[number % len(self.turns)] if number >= _FIRST else "gain"
        if turn == "near" and self._news():
            near = free & ((self._pool != self.rows[self.best]).sum(axis=1) == 1)
            if near.any():
                return int(np.argmin(np.where(near, mean, np.inf)))
        if turn == "parzen":
            score = parzen_score(self.rows, self.values, self._pool, self.space.sizes)
            return int(np.argmax(np.where(free, score + 1e-6 * self.generator.random(len(score)), -np.inf)))
        best = float((self._capped(self.values).min() - self._centre) / self._scale)
        return int(np.argmax(np.where(free, _gain(np.float32(best - _LEAST_GAIN) - mean, np.float32(_WIDER) * deviation), -np.inf)))

    def _news(self) -> bool:
        """Whether few turns were taken beside the best."""
        best = self.best
        assert best is not None
        taken = self._beside[1] if self._beside[0] == best else 0
        self._beside = (best, taken + 1)
        return taken < _BESIDE

    def _expect(self, place: int) -> None:
        """Remember what is believed of a configuration of the pool, so that it can be held against what is found."""
        assert self._surrogate is not None
        if self.best is not None:
            mean = float(self._surrogate.believed()[0][place]) * self._scale + self._centre
            self.expected[int(self._numbers[place])] = mean + float(self._guessed(self._pool_guess[place : place + 1]).sum())

    def _draw_pool(self) -> None:
        """Configurations drawn evenly, and what differs in one parameter from the best few."""
        best = np.argsort(np.where(np.isnan(self.values), np.inf, self.values), kind="stable")[:_BEST]
        drawn = [self.space.drawn(_POOL, self.generator), *(self.space.neighbours(row) for row in self.rows[best])]
        numbers = self.space.numbers(np.vstack(drawn))
        self._numbers = np.array(sorted(set(numbers.tolist())), numbers.dtype)
        self._pool = self.space.at(self._numbers)

    def _spread(self) -> Rows:
        """Configurations far from each other, each the farthest of drawn ones from those before."""
        drawn = self.space.drawn(_SPREAD_OF, self.generator)
        apart = np.zeros((len(drawn), len(drawn)))
        for place, (_, table) in enumerate(self._apart):
            apart += table[np.ix_(drawn[:, place], drawn[:, place])]
        picked = [0]
        nearest = apart[0].copy()
        while len(picked) < min(_FIRST, len(drawn)):
            picked.append(int(np.argmax(nearest)))
            nearest = np.minimum(nearest, apart[picked[-1]])
        return drawn[picked]


def _gain(better: NDArray[np.float32], deviation: NDArray[np.float32]) -> NDArray[np.float32]:
    """Expected improvement where the mean is better by so much, in deviations of the target."""
    from scipy.special import ndtr

    ratio = better / deviation
    return np.asarray(deviation * (ratio * ndtr(ratio) + np.exp(-0.5 * ratio * ratio) / np.sqrt(2.0 * np.pi)), np.float32)
