"""Iteration series with known answers: what courses times take from the first call to the last, under several kinds of noise.

Every series says from which call on it is steady, or that it never is, by construction: the level of the end holds from there on within a few per
cent, for the last sixth of the series at the least.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["COURSES", "LENGTH", "NOISES", "Series", "make"]

Floats = NDArray[np.float64]
Generator = np.random.Generator
LENGTH = 3000
#: (levels without noise, first steady call or None)
Series = tuple[Floats, int | None]


def _flat(g: Generator, n: int) -> Series:
    return np.ones(n), 0


def _step_down(g: Generator, n: int) -> Series:
    at = int(n * g.uniform(0.005, 0.6))
    return np.where(np.arange(n) < at, g.uniform(1.12, 4.0), 1.0), at


def _step_up(g: Generator, n: int) -> Series:
    """A deoptimisation: slower for good."""
    at = int(n * g.uniform(0.05, 0.6))
    return np.where(np.arange(n) < at, 1 / g.uniform(1.12, 1.6), 1.0), at


def _several_steps(g: Generator, n: int) -> Series:
    cuts = np.sort((n * g.uniform(0.01, 0.6, 3)).astype(int))
    levels = np.cumprod([1.0, *(g.uniform(1.12, 1.8, 3))])[::-1]
    return np.asarray(levels[np.searchsorted(cuts, np.arange(n), side="right")]), int(cuts[-1])


def _decay(g: Generator, n: int) -> Series:
    """Nearly decayed where 5 % are left."""
    height, scale = g.uniform(0.5, 4.0), n * g.uniform(0.005, 0.08)
    return 1 + height * np.exp(-np.arange(n) / scale), int(scale * np.log(height / 0.05))


def _ramp(g: Generator, n: int) -> Series:
    """Straight down to the level, steady from where 5 % are left."""
    height, end = g.uniform(0.3, 2.0), int(n * g.uniform(0.1, 0.6))
    return 1 + height * np.maximum(0, 1 - np.arange(n) / end), int(end * (1 - 0.05 / height))


def _late_step(g: Generator, n: int) -> Series:
    """The compiler comes late, and in time."""
    at = int(n * g.uniform(0.75, 0.82))
    return np.where(np.arange(n) < at, g.uniform(1.12, 2.0), 1.0), at


def _too_late_step(g: Generator, n: int) -> Series:
    at = int(n * g.uniform(0.86, 0.97))
    return np.where(np.arange(n) < at, g.choice([g.uniform(1.12, 2.0), 1 / g.uniform(1.12, 2.0)]), 1.0), None


def _cycles(g: Generator, n: int) -> Series:
    """Levels that take turns to the end, the last turn in the last sixth."""
    period, last = int(n * g.uniform(0.04, 0.3)), int(n * g.uniform(0.86, 0.97))
    turns = (np.arange(n) - last + 100 * period) // period % 2
    return np.where(turns == 0, 1.0, g.uniform(1.13, 1.6)), None


def _fast_cycles(g: Generator, n: int) -> Series:
    """So fast that they are noise: every few calls."""
    return np.where(np.arange(n) // int(g.integers(1, 4)) % 2 == 0, 1.0, g.uniform(1.05, 1.3)), 0


def _drift(g: Generator, n: int) -> Series:
    """Ever slower or faster, by a tenth and more in the last sixth."""
    rate = g.uniform(0.66, 1.4) * g.choice([-1, 1])
    return np.exp(rate * np.arange(n) / n), None


def _slight_drift(g: Generator, n: int) -> Series:
    return np.exp(g.uniform(-0.03, 0.03) * np.arange(n) / n), 0


def _visit(g: Generator, n: int) -> Series:
    """A neighbour that comes and goes again: steady after it, since the level did not hold."""
    start = int(n * g.uniform(0.2, 0.5))
    stop = start + int(n * g.uniform(0.06, 0.2))
    at = np.arange(n)
    return np.where((at >= start) & (at < stop), g.uniform(1.15, 1.6), 1.0), stop


def _visits(g: Generator, n: int) -> Series:
    """A neighbour that comes and goes to the end: a fifth of the time slower, in visits of 2 to 5 % of the series, the last one late."""
    levels, slower = np.ones(n), g.uniform(1.2, 1.8)
    for start in [*g.uniform(0.05, 0.85, 5), g.uniform(0.88, 0.92)]:
        levels[int(n * start) : int(n * (start + g.uniform(0.02, 0.05)))] = slower
    return levels, None


def _smaller_and_smaller(g: Generator, n: int) -> Series:
    """Compiled again and again, each time for less: the last step is not much more than the tolerance."""
    cuts = np.sort((n * g.uniform(0.02, 0.6, 3)).astype(int))
    levels = np.array([g.uniform(2.5, 4.0), g.uniform(1.25, 1.35), g.uniform(1.1, 1.16), 1.0])
    return levels[np.searchsorted(cuts, np.arange(n), side="right")], int(cuts[-1])


def _other_end(g: Generator, n: int) -> Series:
    """The last few calls are slower: too few to say that it ended."""
    return np.where(np.arange(n) >= n - int(g.integers(3, 10)), g.uniform(1.3, 2.0), 1.0), 0


COURSES: dict[str, Callable[[Generator, int], Series]] = {
    "flat": _flat,
    "step down": _step_down,
    "step up": _step_up,
    "several steps": _several_steps,
    "decay": _decay,
    "ramp": _ramp,
    "late step": _late_step,
    "step too late": _too_late_step,
    "cycles": _cycles,
    "fast cycles": _fast_cycles,
    "drift": _drift,
    "slight drift": _slight_drift,
    "visit": _visit,
    "visits": _visits,
    "smaller and smaller steps": _smaller_and_smaller,
    "other end": _other_end,
}


def _normal(g: Generator, n: int) -> Floats:
    return g.uniform(0.005, 0.05) * g.standard_normal(n)


def _skewed(g: Generator, n: int) -> Floats:
    return g.uniform(0.01, 0.06) * g.exponential(size=n)


def _wandering(g: Generator, n: int) -> Floats:
    """First-order autoregression: neighbours are alike."""
    phi, spread = g.uniform(0.3, 0.8), g.uniform(0.005, 0.02)
    shocks = spread * np.sqrt(1 - phi**2) * g.standard_normal(n)
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], [1.0, -phi], shocks))


def _spikes(g: Generator, n: int) -> Floats:
    """A collector every so many calls, and lone spikes."""
    noise = 0.015 * g.standard_normal(n)
    noise[int(g.integers(0, 40)) :: int(g.integers(15, 120))] += np.log(g.uniform(1.3, 6.0))
    noise[g.random(n) < 0.005] += np.log(g.uniform(3.0, 50.0))
    return noise


def _two_modes(g: Generator, n: int) -> Floats:
    """Calls that are fast or slow by chance."""
    return 0.005 * g.standard_normal(n) + np.log(g.uniform(1.05, 1.25)) * (g.random(n) < g.uniform(0.2, 0.8))


def _bursts(g: Generator, n: int) -> Floats:
    """Short bursts of a neighbour, of 3 to 10 calls and 2.5 % of all together, and a long tail."""
    noise = 0.01 * g.standard_normal(n) + 0.02 * g.exponential(size=n)
    for start in g.integers(0, n - 10, n // 260):
        noise[start : start + int(g.integers(3, 11))] += np.log(g.uniform(1.3, 2.5))
    return noise


def _busy_twin(g: Generator, n: int) -> Floats:
    """A third of the calls beside a busy twin of the core, for a few calls at a time."""
    busy = np.repeat(g.random(n // 3 + 1) < g.uniform(0.1, 0.35), 3)[:n]
    return 0.01 * g.standard_normal(n) + np.log(g.uniform(1.2, 1.6)) * busy


NOISES: dict[str, Callable[[Generator, int], Floats]] = {
    "normal": _normal,
    "skewed": _skewed,
    "wandering": _wandering,
    "spikes": _spikes,
    "two modes": _two_modes,
    "bursts": _bursts,
    "busy twin": _busy_twin,
}


def make(generator: Generator, course: str, noise: str, length: int = LENGTH) -> tuple[Floats, int | None]:
    """(times in seconds, first steady call or None)."""
    levels, start = COURSES[course](generator, length)
    return 1e-3 * levels * np.exp(NOISES[noise](generator, length)), start
