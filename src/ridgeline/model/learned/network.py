"""A small neural network on scaled features: two layers of tanh, trained by Adam, as plain arrays.

This module decides that training is repeatable (every epoch draws from the seed and its own number) and goes on from any state: the state is the
network, the two moments of each weight and the number of epochs done. Loss: absolute error, rounded within 5 %, so that outliers pull no harder than
others. Source: D. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Column, UsageError

from .scaling import Scaling, checked_rows, damaged, scaling_of

__all__ = ["Network", "Schedule", "Training", "train"]

Floats = NDArray[np.float64]

_FIRST, _SECOND, _SMALL = 0.9, 0.999, 1e-8
_ROUNDED = 0.05
_MOST_HIDDEN = 1024


class Network(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.network-weights/1"):
    """out = w3 · tanh(W2ᵀ tanh(W1ᵀ z + b1) + b2) + b3 of P scaled features z and H hidden values.

    Args:
        scaling: of the features; hidden: H.
        weights: W1 (P, H), b1, W2 (H, H), b2, w3 (H,), b3, one after the other, row by row; float64.

    Raises:
        ReadError: another number of weights, or one that is not finite.
    """

    scaling: Scaling
    hidden: int
    weights: Column

    def __post_init__(self) -> None:
        if not 0 < self.hidden <= _MOST_HIDDEN or len(self.weights) != _count(len(self.scaling.features), self.hidden):
            raise damaged(f"{len(self.weights)} weights of a network of {len(self.scaling.features)} features and {self.hidden} hidden values")
        if self.weights.values.dtype.kind != "f" or not np.isfinite(self.weights.values).all():
            raise damaged("a weight that is no finite number")

    def predict(self, rows: Floats) -> Floats:
        """The network at rows of features, (n, P) → (n,)."""
        return self.ready()(checked_rows(rows, self.scaling.features))

    def ready(self) -> Callable[[Floats], Floats]:
        """`predict` for many calls with rows that have been checked."""
        parts = _split(self.weights.values, len(self.scaling.features), self.hidden)
        return lambda rows: _forward(self.scaling.applied(rows), parts)[2]


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """How a network is trained: hidden values, epochs in the end, the most rows (drawn once), rows a step, first rate, decay of weights, seed."""

    hidden: int = 32
    epochs: int = 40
    rows: int = 6000
    batch: int = 256
    rate: float = 3e-3
    decay: float = 1e-4
    seed: int = 0


class Training(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.network-training/1"):
    """A network with the state of its training: first and second moments of the weights, steps and epochs done, and the schedule it follows."""

    network: Network
    schedule: Schedule
    first: Column
    second: Column
    steps: int = 0
    epochs: int = 0

    def __post_init__(self) -> None:
        for column in (self.first, self.second):
            if len(column) != len(self.network.weights) or column.values.dtype.kind != "f" or not np.isfinite(column.values).all():
                raise damaged(f"{len(column)} moments of {len(self.network.weights)} weights, or one that is not finite")


def train(
    rows: Floats, target: Floats, features: tuple[str, ...], schedule: Schedule, *, trained: Training | None = None, epochs: int | None = None
) -> Training:
    """A network that predicts `target` (n,) from `rows` (n, P).

    Args:
        schedule: of the whole training.
        trained: what an earlier call gave, with the same rows and schedule: only the epochs that are missing follow, to the same end.
        epochs: stop after so many of the schedule.

    Raises:
        UsageError: `trained` followed another schedule.
    """
    if trained is not None and (trained.schedule != schedule or trained.network.scaling.features != features):
        raise UsageError("a training of the same schedule and features", found=str(trained.schedule), remedy="start again")
    pick = np.random.default_rng((schedule.seed, 0)).permutation(len(target))[: schedule.rows]
    chosen, wanted = checked_rows(rows, features)[pick], np.asarray(target, np.float64)[pick]
    state = trained or _started(chosen, wanted, features, schedule)
    z = state.network.scaling.applied(chosen)
    weights, first, second = (column.values.astype(np.float64) for column in (state.network.weights, state.first, state.second))
    steps, done = state.steps, state.epochs
    for epoch in range(done, min(schedule.epochs, epochs if epochs is not None else schedule.epochs)):
        rate = schedule.rate * (1 - epoch / schedule.epochs) + 1e-4
        order = np.random.default_rng((schedule.seed, epoch + 1)).permutation(len(wanted))
        for part in np.array_split(order, max(1, len(wanted) // schedule.batch)):
            steps += 1
            slope = _gradient(z[part], wanted[part], _split(weights, len(features), schedule.hidden)) + schedule.decay * weights
            first += (1 - _FIRST) * (slope - first)
            second += (1 - _SECOND) * (slope * slope - second)
            weights -= rate * (first / (1 - _FIRST**steps)) / (np.sqrt(second / (1 - _SECOND**steps)) + _SMALL)
        done = epoch + 1
    network = Network(scaling=state.network.scaling, hidden=schedule.hidden, weights=Column(weights, "1"))
    return Training(network=network, schedule=schedule, first=Column(first, "1"), second=Column(second, "1"), steps=steps, epochs=done)


def _started(rows: Floats, target: Floats, features: tuple[str, ...], schedule: Schedule) -> Training:
    width, hidden = len(features), schedule.hidden
    draw = np.random.default_rng((schedule.seed, 1, 0))
    weights = np.concatenate([
        draw.normal(0, width**-0.5, width * hidden), np.zeros(hidden), draw.normal(0, hidden**-0.5, hidden * hidden), np.zeros(2 * hidden),
        [np.median(target) if len(target) else 0.0],
    ])  # fmt: skip
    nothing = Column(np.zeros(len(weights)), "1")
    network = Network(scaling=scaling_of(rows, features), hidden=hidden, weights=Column(weights, "1"))
    return Training(network=network, schedule=schedule, first=nothing, second=nothing)


def _count(width: int, hidden: int) -> int:
    return width * hidden + hidden + hidden * hidden + hidden + hidden + 1


def _split(weights: Floats, width: int, hidden: int) -> list[Floats]:
    sizes = (width * hidden, hidden, hidden * hidden, hidden, hidden, 1)
    parts = np.split(weights, np.cumsum(sizes)[:-1])
    return [parts[0].reshape(width, hidden), parts[1], parts[2].reshape(hidden, hidden), *parts[3:]]


def _forward(z: Floats, parts: list[Floats]) -> tuple[Floats, Floats, Floats]:
    w1, b1, w2, b2, w3, b3 = parts
    h1 = np.tanh(z @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    return h1, h2, h2 @ w3 + b3


def _gradient(z: Floats, target: Floats, parts: list[Floats]) -> Floats:
    _, _, w2, _, w3, _ = parts
    h1, h2, out = _forward(z, parts)
    slope = np.tanh((out - target) / _ROUNDED) / len(z)
    d2 = slope[:, None] * w3 * (1 - h2**2)
    d1 = (d2 @ w2.T) * (1 - h1**2)
    return np.concatenate([(z.T @ d1).ravel(), d1.sum(0), (h1.T @ d2).ravel(), d2.sum(0), h2.T @ slope, [slope.sum()]])
