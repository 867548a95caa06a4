"""A survey of a signal: spectrum, order statistics, a histogram, a resampling and a filter. Each step takes about as long as the next."""

import numpy as np

_random = np.random.default_rng(42)
signal = _random.standard_normal(1 << 18)
order = np.empty_like(signal)
clock = np.arange(signal.size, dtype=np.float64)
instants = np.sort(_random.uniform(0, signal.size - 1, 120_000))
taps = np.ones(60) / 60


def spectrum():
    return np.abs(np.fft.rfft(signal[: 1 << 17])).max()


def ranks():
    np.copyto(order, signal)
    order.sort()
    return order[order.size // 2]


def histogram():
    return np.bincount((signal * 16 + 128).astype(np.intp), minlength=256)[128]


def resample():
    return np.interp(instants, clock, signal)[0]


def smooth():
    return np.convolve(signal[: 1 << 16], taps, mode="same").max()


def workload():
    return spectrum(), ranks(), histogram(), resample(), smooth()
