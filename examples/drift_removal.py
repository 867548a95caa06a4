"""Removes a drift from a large field of measurements. The drift model comes from another program, which stores its matrices by column."""

import numpy as np

_random = np.random.default_rng(53)
field = _random.random((4096, 4096), dtype=np.float32)
drift = np.asfortranarray(_random.random((4096, 4096), dtype=np.float32))
cleaned = np.empty_like(field)


def remove():
    np.subtract(field, drift, out=cleaned)
    return cleaned


def workload():
    return remove()
