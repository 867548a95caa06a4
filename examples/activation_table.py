"""A synthesiser bends a short block of samples through a saturation curve, many times a second. The block fits into the cache."""

import numpy as np

signal = np.linspace(-3, 3, 8_192 + 400)
bent = np.empty(8_192)


def saturate(rounds=400):
    for start in range(rounds):
        np.tanh(signal[start : start + 8_192], out=bent)
    return bent


def workload():
    return saturate()
