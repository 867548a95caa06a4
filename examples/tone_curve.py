"""Tone mapping of a large raw mosaic, written the way one writes it first: as an expression."""

import numpy as np

_random = np.random.default_rng(15)
raw = _random.random(30_000_000, dtype=np.float32)


def tone_map(gain=1.8, black=0.05, white=0.97):
    lifted = raw - black
    scaled = lifted * gain
    floored = np.maximum(scaled, 0.0)
    clipped = np.minimum(floored, white)
    return clipped + 0.01


def workload():
    return tone_map()
