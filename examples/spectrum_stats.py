"""Order of magnitude, extremes and energy of a long recording, one statistic after the other over all of it."""

import numpy as np

_random = np.random.default_rng(55)
recording = _random.random(100_000_000, dtype=np.float32)


def describe():
    low = recording.min()
    high = recording.max()
    energy = np.dot(recording, recording)
    total = recording.sum()
    return low, high, energy, total, int(recording.argmax())


def workload():
    return describe()
