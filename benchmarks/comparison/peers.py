"""The rules by which other tools call two results different, on data that was recorded once for all: written from their documentation.

Each gets the samples of both versions process by process, in seconds, and says whether it would report a difference. None of them knows of processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["PEERS"]

Processes = Sequence[NDArray[np.float64]]


def _pooled(side: Processes) -> NDArray[np.float64]:
    return np.concatenate(list(side))


def pyperf(a: Processes, b: Processes) -> bool:
    """`pyperf compare_to`: Student's two-sample t-test of all values, two-sided at 95 %."""
    return bool(stats.ttest_ind(_pooled(a), _pooled(b)).pvalue < 0.05)


def google_benchmark(a: Processes, b: Processes) -> bool:
    """Google Benchmark's `compare.py`: Mann-Whitney U test of all repetitions, two-sided at 5 %."""
    return bool(stats.mannwhitneyu(_pooled(a), _pooled(b)).pvalue < 0.05)


def asv(a: Processes, b: Processes) -> bool:
    """asv's test of two results: Mann-Whitney U at 0.002; with samples too few for that, 99 % intervals of the medians that do not meet."""
    x, y = _pooled(a), _pooled(b)
    if math.comb(len(x) + len(y), len(x)) > 2 / 0.002:
        return bool(stats.mannwhitneyu(x, y).pvalue < 0.002)
    return bool(x.max() < y.min() or y.max() < x.min())


def pytest_benchmark(a: Processes, b: Processes) -> bool:
    """pytest-benchmark with `--benchmark-compare-fail=mean:5%`: the mean of one process each, more than 5 % longer."""
    return bool(np.mean(b[0]) > 1.05 * np.mean(a[0]))


def medians_5(a: Processes, b: Processes) -> bool:
    """What a script does: the medians of all samples differ by more than 5 %."""
    return bool(abs(np.median(_pooled(b)) / np.median(_pooled(a)) - 1) > 0.05)


PEERS: dict[str, Callable[[Processes, Processes], bool]] = {
    "pyperf, t-test": pyperf,
    "Google Benchmark, U test": google_benchmark,
    "asv, U test at 0.002": asv,
    "pytest-benchmark, mean:5%": pytest_benchmark,
    "medians 5 % apart": medians_5,
}
