"""The mean over all hours for every one of two thousand weather stations, over the first axis of the same kind of table."""

import numpy as np

_random = np.random.default_rng(54)
hours = _random.random((8_760, 2_048))
means = np.empty(2_048)


def average():
    return np.add.reduce(hours, axis=0, out=means)


def workload():
    return average()
