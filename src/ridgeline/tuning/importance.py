"""What each parameter is worth, and which go together: the variance of the objective divided among parameters and pairs of them.

Trees are grown on the logarithm of the objective of what ran, each on trials drawn with replacement, and each is divided exactly, since a tree is a
sum
of boxes: the marginal of a parameter is the mean over all others, and its share is the variance of that; the share of a pair is that of its marginal
less those of both. All combinations of values count alike, valid or not. Intervals are quantiles over trees, and what the trees say of trials that
they
were not grown on is said beside: of a model that explains nothing, shares mean nothing.

Source: F. Hutter, H. Hoos, K. Leyton-Brown, "An Efficient Approach for Assessing Hyperparameter Importance", ICML 2014; trees: L. Breiman,
"Random Forests", Machine Learning 45, 2001.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Importance, ImportanceTable

from .space import Configurations
from .space.parameters import domains_of

__all__ = ["importance"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
_METHOD = "functional ANOVA of a forest on the logarithm of the objective (Hutter, Hoos, Leyton-Brown, ICML 2014); intervals at 90 % over its trees"
_TREES, _LEAST_LEAF = 48, 2
#: Fewest trials for anything, and for each parameter that differs among them.
_LEAST, _LEAST_EACH = 16, 3
_MOST_TRIALS = 1000
#: Parameters, by their own shares and what pairs are likely to hold, whose pairs are looked at.
_MOST_PAIRED = 8
#: Share of the variance of trials left out from which the forest knows something.
_KNOWS = 0.2
_INTERVAL = (0.05, 0.95)


class _Leaf(NamedTuple):
    """`value` in the box of values that `inside` allows of each parameter, (values,) each."""

    value: float
    inside: tuple[NDArray[np.bool_], ...]


def importance(configurations: Configurations, rows: Rows, values: Floats, seed: int = 0) -> ImportanceTable:
    """The shares of parameters and of pairs.

    Args:
        rows: configurations that were tried, (n, parameters), each once; values: their objectives in any unit, positive, NaN for failures, (n,).
        seed: of the trees.
    """
    ran = np.isfinite(values) & (values > 0)
    rows, logs = np.asarray(rows)[ran], np.log(np.asarray(values)[ran])
    if len(rows) > _MOST_TRIALS:
        kept = np.random.default_rng(seed).choice(len(rows), _MOST_TRIALS, replace=False)
        rows, logs = rows[kept], logs[kept]
    differ = [place for place in range(rows.shape[1]) if len(np.unique(rows[:, place])) > 1] if len(rows) else []
    needed = max(_LEAST, _LEAST_EACH * len(differ))
    if len(rows) < needed or not differ:
        note = f"too few: {len(rows)} configurations ran, {needed} are needed" if differ else "no parameter was varied among what ran"
        return ImportanceTable(trials=len(rows), method=_METHOD, note=note)
    if float(np.ptp(logs)) < 1e-9:
        return ImportanceTable(trials=len(rows), method=_METHOD, note="all that ran took the same")
    ordered = [each.ordered for each in domains_of(configurations.space)]
    forest = _Forest(rows, logs, configurations.sizes.tolist(), ordered, differ, seed)
    found = [_shares(leaves, differ, forest.weights) for leaves in forest.trees]
    shares = [_share(names, [each.get(names, 0.0) for each in found], configurations.names) for names in dict.fromkeys(itertools.chain(*found))]
    note = (
        "" if forest.explained >= _KNOWS else "the forest explains next to nothing of trials that it has not seen: the shares are not to be relied on"
    )
    return ImportanceTable(
        shares=tuple(sorted((each for each in shares if each.share > 0), key=lambda each: -each.share)), explained=forest.explained, trials=len(rows),
        method=_METHOD, note=note,
    )  # fmt: skip


def _share(places: tuple[int, ...], of_trees: Sequence[float], names: Sequence[str]) -> Importance:
    low, middle, high = np.quantile(of_trees, (_INTERVAL[0], 0.5, _INTERVAL[1]))
    return Importance(parameters=tuple(names[place] for place in places), share=float(middle), low=float(low), high=float(high))


class _Forest:
    """Trees, and how well they tell what each has not seen."""

    def __init__(self, rows: Rows, logs: Floats, sizes: Sequence[int], ordered: Sequence[bool], differ: Sequence[int], seed: int) -> None:
        self._rows, self._logs, self._ordered, self._differ = rows, logs, ordered, list(differ)
        self._generator = np.random.default_rng(seed)
        self.trees: list[list[_Leaf]] = []
        # Values that nobody tried say nothing of themselves: a tree would give them their neighbours' place.
        seen = [np.isin(np.arange(size), rows[:, place]) for place, size in enumerate(sizes)]
        self.weights = [each / each.sum() for each in seen]
        whole = tuple(np.ones(size, bool) for size in sizes)
        told, times = np.zeros(len(logs)), np.zeros(len(logs))
        for _ in range(_TREES):
            drawn = self._generator.integers(0, len(logs), len(logs))
            leaves = list(self._grown(drawn, whole))
            self.trees.append(leaves)
            left = np.setdiff1d(np.arange(len(logs)), drawn)
            told[left] += _told(leaves, rows[left])
            times[left] += 1
        known = times > 0
        errors = logs[known] - told[known] / times[known]
        self.explained = float(1.0 - np.mean(errors**2) / max(float(np.var(logs[known])), 1e-300))

    def _grown(self, held: Rows, box: tuple[NDArray[np.bool_], ...]) -> Iterator[_Leaf]:
        split = self._split(held) if len(held) >= 2 * _LEAST_LEAF else None
        if split is None:
            yield _Leaf(float(self._logs[held].mean()), box)
            return
        place, low = split
        inside = low[self._rows[held, place]]
        for part, allowed in ((held[inside], low), (held[~inside], ~low)):
            yield from self._grown(part, (*box[:place], box[place] & allowed, *box[place + 1 :]))

    def _split(self, held: Rows) -> tuple[int, NDArray[np.bool_]] | None:
        """(parameter, which of its values go to one side) that takes most of the variance, of parameters drawn anew for each split."""
        logs = self._logs[held] - self._logs[held].mean()
        tried = self._generator.permutation(self._differ)[: max(1, -(-2 * len(self._differ) // 3))]
        best, found = 1e-12 * len(logs), None
        for place in tried.tolist():
            gain, low = self._best_of(place, self._rows[held, place], logs)
            if gain > best:
                best, found = gain, (place, low)
        return found

    def _best_of(self, place: int, values: Rows, logs: Floats) -> tuple[float, NDArray[np.bool_]]:
        size = len(self.weights[place])
        counts, sums = np.bincount(values, minlength=size), np.bincount(values, logs, minlength=size)
        there = np.flatnonzero(counts)
        # Names stand in no order but that of their means (W. Fisher, JASA 53, 1958: no other split of two is better).
        order = there if self._ordered[place] else there[np.argsort(sums[there] / counts[there], kind="stable")]
        below, total = np.cumsum(counts[order])[:-1], len(logs)
        gains = np.cumsum(sums[order])[:-1] ** 2 * (1.0 / np.maximum(below, 1) + 1.0 / np.maximum(total - below, 1))
        gains[(below < _LEAST_LEAF) | (total - below < _LEAST_LEAF)] = 0.0
        low = np.zeros(size, bool)
        if not len(gains):
            return 0.0, low
        at = int(np.argmax(gains))
        if self._ordered[place]:
            low[: order[at] + 1] = True
        else:
            low[order[: at + 1]] = True
        return float(gains[at]), low


def _told(leaves: Sequence[_Leaf], rows: Rows) -> Floats:
    found = np.zeros(len(rows))
    for leaf in leaves:
        inside = np.all([allowed[rows[:, place]] for place, allowed in enumerate(leaf.inside)], axis=0)
        found[inside] = leaf.value
    return found


def _shares(leaves: Sequence[_Leaf], differ: Sequence[int], weights: Sequence[Floats]) -> dict[tuple[int, ...], float]:
    """Share of the variance of one tree that each parameter, and each pair beyond both, has."""
    values = np.array([leaf.value for leaf in leaves])
    parts = {place: np.array([weights[place] @ leaf.inside[place] for leaf in leaves]) for place in differ}
    volume = np.prod([parts[place] for place in differ], axis=0)
    mean = float(values @ volume)
    total = float((values - mean) ** 2 @ volume)
    if total <= 0:
        return {}
    inside = {place: np.array([leaf.inside[place] for leaf in leaves], float) for place in differ}
    without = {place: values * np.prod([parts[other] for other in differ if other != place] or [np.ones(len(values))], axis=0) for place in differ}
    single = {place: float(weights[place] @ (without[place] @ inside[place] - mean) ** 2) for place in differ}
    found: dict[tuple[int, ...], float] = {(place,): single[place] / total for place in differ}
    paired = sorted(differ, key=lambda place: -single[place])[:_MOST_PAIRED]
    for one, other in itertools.combinations(sorted(paired), 2):
        rest = values * np.prod([parts[place] for place in differ if place not in (one, other)] or [np.ones(len(values))], axis=0)
        marginal = (inside[one] * rest[:, None]).T @ inside[other] - mean
        both = float(weights[one] @ marginal**2 @ weights[other])
        found[one, other] = max(0.0, both - single[one] - single[other]) / total
    return found
