"""The tail of two versions compared, apart from their medians: does the p99 differ, and by how much?

A ratio of two p99s has hardly any error bar of its own: it rests on a few samples, and those come in bursts. So the samples of both versions get one
threshold, the quantile of all of them together, and each process one number, the part of its samples beyond it. The processes of the two sides
are compared by the ranks of these parts; a burst is then one process, however many samples it holds. Dividing one side by a ratio until
the ranks no longer differ gives the interval of the ratio.

Sources: H. Mann, D. Whitney, Annals of Mathematical Statistics 18, 1947, with the variance of ties; the interval is the set of ratios that the
test does not reject (E. Lehmann, "Testing Statistical Hypotheses", §3.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..core.errors import UsageError
from ._checks import Values, confidence_level, normal_quantile, positive_floats
from .quantile import minimum_samples

__all__ = ["TailEffect", "tail_effect"]

#: Samples a side under which a comparison of p99s is a warning in itself.
_FEW = 1000
#: The ratio is looked for within this factor.
_WIDEST = 1e4
_STEPS = 40


class TailEffect(msgspec.Struct, frozen=True, kw_only=True):
    """How a high quantile of one version stands to that of another.

    Args:
        q: the quantile, such as 0.99.
        ratio: quantile after ÷ quantile before, all samples of a side together.
        low, high: the ratios that the processes do not contradict; 0 and infinity where there is no end to them.
        confidence: of the interval.
        samples: of each side.
        few: whether a side has under 1,000 samples, so that single ones decide.
    """

    q: float
    ratio: float
    low: float
    high: float
    confidence: float
    samples: tuple[int, int]
    few: bool

    @property
    def worse(self) -> bool:
        """Whether the tail after is slower beyond doubt."""
        return self.low > 1.0

    @property
    def better(self) -> bool:
        """Whether the tail after is faster beyond doubt."""
        return self.high < 1.0


def tail_effect(before: Sequence[Values], after: Sequence[Values], q: float = 0.99, confidence: float = 0.97) -> TailEffect | None:
    """The ratio of the q-quantiles after ÷ before, with the process as the unit.

    Args:
        before, after: the samples of each process, each of shape (n,), > 0, in one unit.
        q: above 0.5.
        confidence: in (0, 1).

    Returns:
        `None` where a side has fewer samples than the quantile needs at 95 % (299 for the p99) or fewer than four processes.

    Raises:
        UsageError: a quantile of the lower half, a time that is not above zero.

    >>> tail_effect([[1.0] * 50] * 5, [[1.0] * 50] * 5) is None
    True
    """
    confidence_level(confidence)
    if not 0.5 < q < 1:
        raise UsageError("a quantile between 0.5 and 1", found=repr(q), remedy="write the p99 as 0.99")
    sides = [[np.log(positive_floats(samples)) for samples in side] for side in (before, after)]
    sizes = (sum(process.size for process in sides[0]), sum(process.size for process in sides[1]))
    if min(sizes) < minimum_samples(q, 0.95) or min(map(len, sides)) < 4:
        return None
    critical = normal_quantile(confidence)
    before_values, after_values = np.concatenate(sides[0]), np.concatenate(sides[1])
    ratio = float(np.quantile(after_values, q) - np.quantile(before_values, q))
    lengths = np.array([process.size for side in sides for process in side])

    def score(shift: float) -> float:
        return _score(np.concatenate([before_values, after_values - shift]), lengths, len(sides[0]), q)

    return TailEffect(
        q=q,
        ratio=math.exp(ratio),
        low=_end(lambda shift: score(shift) > critical, ratio, -1.0),
        high=_end(lambda shift: score(shift) < -critical, ratio, 1.0),
        confidence=confidence,
        samples=sizes,
        few=min(sizes) < _FEW,
    )


def _end(rejected: Callable[[float], bool], start: float, way: float) -> float:
    """The ratio at which rejection begins, from `start` in one direction; where nothing is rejected there is no end."""
    near, far = start, start + way * math.log(_WIDEST)
    if not rejected(far):
        return 0.0 if way < 0 else math.inf
    if rejected(start):
        # The pooled quantile itself is contradicted: bursts in a few processes moved it. The interval lies on the other side.
        near, far = start - way * math.log(_WIDEST), start
    for _ in range(_STEPS):
        middle = (near + far) / 2
        near, far = (near, middle) if rejected(middle) else (middle, far)
    return math.exp(near)


def _score(values: NDArray[np.float64], lengths: NDArray[np.int64], m: int, q: float) -> float:
    """Standard score of the rank sum of the parts beyond the common quantile: above zero where the processes after have more beyond it.

    Args:
        values: of all processes one after the other, the m before first; lengths: how many each has, all above 0.
    """
    beyond = values > float(np.quantile(values, q))
    parts = np.add.reduceat(beyond, np.cumsum(lengths) - lengths, dtype=np.int64) / lengths
    n = lengths.size - m
    different, inverse, counts = np.unique(parts, return_inverse=True, return_counts=True)
    if different.size == 1:
        return 0.0
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse]
    excess = float(ranks[m:].sum()) - n * (m + n + 1) / 2
    ties = float(np.sum(counts.astype(np.float64) ** 3 - counts)) / ((m + n) * (m + n - 1))
    deviation = math.sqrt(m * n / 12 * (m + n + 1 - ties))
    # Half a rank of continuity, toward no difference.
    return math.copysign(max(0.0, abs(excess) - 0.5), excess) / deviation
