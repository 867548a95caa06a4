"""The finals: which of the configurations that a search has tried are run again, until one has won or nothing worth knowing is left between several.

A search runs each configuration once or a few times, and the lowest of many noisy times is a lucky one. So the likely best are run again in rounds,
one run each, in random order, until the probability that another one is better by more than an indifference is small. What wins is the configuration
whose *median* run is lowest: a mean is moved by one run that waited, a minimum is the luckiest state of a clock.

The logarithm of a run is the median of its configuration, plus the state of the device in its round, plus noise. All of a round are slowed alike by a
device that throttles, so what the round has in common is taken off before anything is compared. What is believed of the medians is decided in
`belief`; here is decided who runs, and when it is enough. Whoever owns clocks and processes runs what `ask` names and tells what came of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import UsageError
from ridgeline.stats import median_interval

from .belief import Belief, believed

__all__ = ["Finals", "Standing"]

Floats = NDArray[np.float64]
Verdict = Literal["won", "tie", "open", "none"]

#: Steps of the grid in the indifference.
_FINE = 8
#: Fewest runs of a winner in the finals: fewer agree by luck.
_LEAST_RUNS = 5
#: Configurations of one round beside the leader, fewest and most.
_FEWEST, _MOST = 2, 8
#: Runs of one configuration after which more tell nothing that the device does not change meanwhile.
_MOST_EACH = 120
#: Drawn at random in the first round, at most a tenth of all: whether the device is as it was in the search. The others were chosen for being low.
_ANCHORS = 5
#: A round is shifted where what its members have in common is so many times its standard error; the error of a median to that of a mean.
_SHIFTED, _MEDIAN_ERROR = 2.0, 1.2533


class Standing(NamedTuple):
    """Where the race stands.

    Attributes:
        verdict: `won`: with the confidence asked for none that was tried is better; `tie`: one might be, by less than the indifference; `open`: one
            might be by more, and no more runs are allowed or of use; `none`: nothing ran.
        best: number of the configuration, −1 for none.
        median: of its runs, in their unit; low, high: of its interval at the confidence asked for, smallest and largest where the runs are too few.
        probability_best: of each configuration that its median is the lowest, (n,).
        probability_better: that one of the others is better by more than the indifference.
        ties: numbers of the others that are not told from the best, the likeliest to be better first.
        runs: of the finals, all together.
    """

    verdict: Verdict
    best: int
    median: float
    low: float
    high: float
    probability_best: Floats
    probability_better: float
    ties: tuple[int, ...]
    runs: int


class Finals:
    """A race between n configurations that have been tried.

    Args:
        tried: of each configuration the objective of its runs so far, in any unit, positive; none, or NaN, for one that failed, which never wins.
        confidence: with which none is better by more than the indifference, in (0, 1).
        indifference: a ratio less one that is worth nothing.
        most_runs: that may be asked for; null for 1.8 a configuration: with one each from the search these are 40 % of seven each.
        seed: of the orders.

    Raises:
        UsageError: a confidence or an indifference out of its range.
    """

    def __init__(
        self, tried: Sequence[Sequence[float]], *, confidence: float = 0.98, indifference: float = 0.01, most_runs: int | None = None, seed: int = 0
    ) -> None:
        if not 0 < confidence < 1 or not 1e-6 <= indifference < 1:
            raise UsageError("a confidence in (0, 1) and an indifference from 1e-6 to 1", found=f"{confidence}, {indifference}", remedy="give others")
        self._confidence, self._step = confidence, math.log1p(indifference) / _FINE
        self._generator = np.random.default_rng(seed)
        self._searched = [_logs(runs) for runs in tried]
        self._out = np.array([not len(logs) for logs in self._searched], bool)
        self._runs: list[list[tuple[int, float]]] = [[] for _ in tried]
        self._shift = [0.0]
        self._anchors: list[int] = []
        self._asked = 0
        self._most_runs = math.ceil(1.8 * len(tried)) if most_runs is None else most_runs
        self._belief = self._believed()

    def ask(self) -> list[int]:
        """Numbers of the configurations to be run once each, in this order; empty when the race is over."""
        belief, allowed = self._belief, 1.0 - self._confidence
        if belief is None:
            return []
        place = self._leader(belief)
        leader, better = int(belief.numbers[place]), belief.better(place, _FINE)
        enough = len(self._runs[leader]) >= _LEAST_RUNS
        if (enough and _any_of(better) <= allowed) or len(self._runs[leader]) >= _MOST_EACH:
            return []
        found = [leader, *self._challengers(belief, better, allowed / 2)]
        if len(self._shift) == 1:
            found += self._drawn_anchors(found)
        found = found[: max(0, self._most_runs - self._asked)]
        if len(found) < 2 and (enough or not found):
            return []
        self._asked += len(found)
        return [found[place] for place in self._generator.permutation(len(found))]

    def tell(self, numbers: Sequence[int], values: Sequence[float]) -> None:
        """What came of one round; a run that failed is NaN, and its configuration is out.

        Args:
            numbers: in the order in which they ran; values: of each its objective, in the unit of the search.
        """
        pairs = list(zip(numbers, (_logs([value]) for value in values), strict=True))
        self._shift.append(self._common(self._belief, [(number, float(logs[0])) for number, logs in pairs if len(logs)]))
        for number, logs in pairs:
            self._out[number] |= not len(logs)
            self._runs[number] += [(len(self._shift) - 1, float(each)) for each in logs]
        self._belief = self._believed()

    def standing(self) -> Standing:
        """Where the race stands now."""
        probability, belief = np.zeros(len(self._runs)), self._belief
        if belief is None:
            return Standing("none", -1, math.nan, math.nan, math.nan, probability, math.nan, (), self._asked)
        probability[belief.numbers] = belief.best()
        place = self._winner(belief)
        best = int(belief.numbers[place])
        # Others are not independent of each other, being held against the same one: what is the lowest has none better.
        any_better = min(_any_of(belief.better(place, _FINE)), 1.0 - float(probability[best]))
        at_all = belief.better(place, 0)
        ties = tuple(int(belief.numbers[each]) for each in np.argsort(-at_all, kind="stable") if at_all[each] > 1.0 - self._confidence)
        decided = any_better <= 1.0 - self._confidence and len(self._runs[best]) >= _LEAST_RUNS
        verdict: Verdict = "open" if not decided else "tie" if ties else "won"
        values = np.exp([value for _, value in self._runs[best]] or self._searched[best])
        interval = median_interval(values, self._confidence)
        low, high = (interval.low, interval.high) if interval else (float(values.min()), float(values.max()))
        return Standing(verdict, best, float(np.median(values)), low, high, probability, any_better, ties, self._asked)

    def _levelled(self, number: int) -> Floats:
        """The runs of a configuration in the finals as they would have been in the search."""
        return np.array([value - self._shift[round_] for round_, value in self._runs[number]], np.float64)

    def _believed(self) -> Belief | None:
        levelled = [self._levelled(number) for number in range(len(self._runs))]
        together = [
            np.zeros(0) if out else np.concatenate([searched, runs])
            for out, searched, runs in zip(self._out, self._searched, levelled, strict=True)
        ]  # fmt: skip
        # Runs of the search made a configuration a finalist, so that they lie lower than others of it would.
        return believed(together, self._step, levelled)

    def _leader(self, belief: Belief) -> int:
        return int(np.argmin(belief.expected))

    def _winner(self, belief: Belief) -> int:
        """The leader, of those with runs enough: one that looks better after a single lucky run has not been looked at again."""
        runs = np.array([len(self._runs[number]) for number in belief.numbers])
        return int(np.argmin(np.where(runs >= min(_LEAST_RUNS, runs.max()), belief.expected, np.inf)))

    def _challengers(self, belief: Belief, better: Floats, allowed: float) -> list[int]:
        """The likeliest to be better by more than the indifference, so many that what is left over is allowed."""
        order = [each for each in np.argsort(-better, kind="stable").tolist() if better[each] > 0.0]
        left = np.cumsum(better[order][::-1])[::-1]
        wanted = int(np.clip((left > allowed).sum(), _FEWEST, _MOST))
        found = [int(belief.numbers[each]) for each in order]
        return [number for number in found if len(self._runs[number]) < _MOST_EACH][:wanted]

    def _drawn_anchors(self, taken: Sequence[int]) -> list[int]:
        there = np.flatnonzero(~self._out)
        there = there[~np.isin(there, taken)]
        count = min(_ANCHORS, len(self._runs) // 10, len(there))
        self._anchors = [int(each) for each in self._generator.choice(there, count, replace=False)] if count else []
        return self._anchors

    def _common(self, belief: Belief | None, pairs: Sequence[tuple[int, float]]) -> float:
        """What the runs of one round have in common beside what is believed of their configurations; 0 where it may be noise."""
        if belief is None:
            return 0.0
        first = len(self._shift) == 1
        medians = dict(zip(belief.numbers.tolist(), belief.expected.tolist(), strict=True))
        if first:
            medians = {number: float(np.median(self._searched[number])) for number in self._anchors}
        apart = np.array([value - medians[number] for number, value in pairs if number in medians])
        if not len(apart):
            return 0.0
        error = _MEDIAN_ERROR * belief.noise.scale * math.sqrt((2.0 if first else 1.0) / len(apart))
        common = float(np.median(apart))
        return common if abs(common) > _SHIFTED * error else 0.0


def _logs(values: Sequence[float]) -> Floats:
    return np.array([math.log(value) for value in values if value > 0 and math.isfinite(value)], np.float64)


def _any_of(probabilities: Floats) -> float:
    """Probability that one or more of several independent things holds."""
    return float(-np.expm1(np.log1p(-np.clip(probabilities, 0.0, 1.0 - 1e-12)).sum()))
