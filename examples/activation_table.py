"""A synthesiser bends a short block of samples through a saturation curve, many times a second. The block fits into the cache."""

import numpy as np

block = np.linspace(-3, 3, 8_192)
bent = np.empty_like(block)


def saturate(rounds=400):
    for _ in range(rounds):
        np.tanh(block, out=bent)
    return bent


def workload():
    return saturate()
