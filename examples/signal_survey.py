"""A survey of a signal: spectrum, order statistics, a regression and a filter. Each step takes about as long as the next."""

import numpy as np

_random = np.random.default_rng(42)
signal = _random.standard_normal(1 << 18)
design = _random.standard_normal((4_000, 250))
order = np.empty_like(signal)


def spectrum():
    return np.abs(np.fft.rfft(signal)).max()


def ranks():
    np.copyto(order, signal)
    order.sort()
    return order[order.size // 2]


def regression():
    return np.linalg.solve(design.T @ design, design.T @ signal[:4_000])[0]


def smooth():
    return np.convolve(signal[: 1 << 16], np.ones(60) / 60, mode="same").max()


def workload():
    return spectrum(), ranks(), regression(), smooth()
