"""A mastering tool applies the gain of a fader to an hour-long recording, in place."""

import numpy as np

_random = np.random.default_rng(23)
recording = _random.standard_normal(200_000_000, dtype=np.float32)


def apply_gain(gain=1.0000001):
    np.multiply(recording, gain, out=recording)
    return recording


def workload():
    return apply_gain()
