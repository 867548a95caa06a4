"""Subjects of a tuning without a device: a formula over the values, with noise and failures by number, and an executor that counts what it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ridgeline.backends import Attempt
from ridgeline.core import Parameter, RidgelineError, Space
from ridgeline.core.executor import Outcome, Piece
from ridgeline.core.space import Value
from ridgeline.tuning.space import Configurations

__all__ = ["Formula", "Machine", "space_of"]

Config = Mapping[str, Value]


def space_of(constraints: Iterable[str] = (), **parameters: Iterable[Any]) -> Space:
    return Space(parameters=tuple(Parameter(name=name, values=tuple(values)) for name, values in parameters.items()), constraints=tuple(constraints))


class Formula:
    """A subject whose piece is asked of `Machine`."""

    unit, compiles = "s", False
    objectives: tuple[str, ...] = ("time",)

    def __init__(self, space: Space, seconds: Callable[[Config], float], *, default: dict[str, Value] | None = None, name: str = "formula") -> None:
        self.name, self.configurations, self.default, self._seconds = name, Configurations(space), default, seconds
        self.identity = {"source": "formula"}

    def aim(self, objectives: tuple[str, ...]) -> None:
        self.objectives, self.unit = objectives, {"time": "s", "memory": "B", "energy": "J"}[objectives[0]]

    def piece(self, config: Config, best: float | None) -> Piece | Attempt:
        return Piece("support.tuned:run", {"config": dict(config), "seconds": self._seconds(config)})

    def build(self, config: Config) -> Piece | None:
        return None


class Machine:
    """An executor of this process.

    Args:
        noise: deviation of the logarithm of an attempt; tail: part of the attempts that take up to thrice as long.
        slow: factor by the number of the run; outcome: told (number, config), what becomes of it instead, an Attempt or an error; null for a time.
    """

    def __init__(
        self, *, noise: float = 0.0, tail: float = 0.0, seed: int = 0, slow: Callable[[int], float] = lambda number: 1.0,
        outcome: Callable[[int, dict[str, Value]], Attempt | RidgelineError | None] = lambda number, config: None,
    ) -> None:  # fmt: skip
        self._noise, self._tail, self._slow, self._outcome = noise, tail, slow, outcome
        self._generator = np.random.default_rng(seed)
        self.ran: list[dict[str, Value]] = []

    def run(self, pieces: Iterable[Piece], returns: type[Any]) -> Iterator[Outcome[Any]]:
        for number, piece in enumerate(pieces):
            config, at = piece.arguments["config"], len(self.ran)
            self.ran.append(config)
            other = self._outcome(at, config)
            if isinstance(other, RidgelineError):
                yield Outcome(number, None, other)
            else:
                yield Outcome(number, other or self._timed(piece.arguments["seconds"], at), None)

    def _timed(self, seconds: float, at: int) -> Attempt:
        factor = math.exp(self._noise * self._generator.standard_normal()) * self._slow(at)
        if self._generator.random() < self._tail:
            factor *= 1.0 + 2.0 * self._generator.random()
        return Attempt(runs=(seconds * factor,), spent_s=1e-3)
