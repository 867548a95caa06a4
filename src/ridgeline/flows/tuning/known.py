"""What is known of the configurations that were tried: their objectives as they would have been at the device's first speed, and which is the
best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import median

from ridgeline.core import Trial
from ridgeline.core.space import Value
from ridgeline.machine import shortened
from ridgeline.tuning.levels import Level

from .subjects import key_of

__all__ = ["FINAL", "FRONT", "LOOK", "Known", "failure_texts", "failures"]

Config = dict[str, Value]
#: Characters of a failure's text.
_MOST_TEXT = 300
#: Flags of trials that the search did not ask for: of the finals, of the front run again, and of a look at the device.
FINAL, FRONT, LOOK = "final", "front", "look"


class Known:
    """Trials in the order of their ends.

    Attributes:
        trials: all; configs: key → configuration, in the order of first trials; values: key → objectives at the first level, NaN for failures.
        level: of the device.
    """

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self.trials: list[Trial] = []
        self.configs: dict[str, Config] = {}
        self.values: dict[str, list[float]] = {}
        self.level = Level()
        self._medians: dict[str, float] = {}
        self._best: str | None = None
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> float:
        """One more trial; its objective at the first level, NaN where it failed."""
        key, moves = key_of(trial.config), self.level.moves
        self.trials.append(trial)
        self.configs.setdefault(key, trial.config)
        value = math.nan if trial.objective is None else trial.objective.value
        if not {FINAL, FRONT} & set(trial.flags):
            self.level.add(key, value, look=LOOK in trial.flags)
        else:
            # What rounds of the finals have in common is taken off there.
            self.level.logs.append(self.level.now)
            self.level.unsure.append(False)
        if self.level.moves != moves:
            self._all_again()
        else:
            self._put(key, value / math.exp(self.level.now))
        return value / math.exp(self.level.now)

    def _put(self, key: str, value: float) -> None:
        self.values.setdefault(key, []).append(value)
        middle = median(self.values[key])
        # A configuration that failed once and ran once is one that fails.
        self._medians[key] = math.inf if any(map(math.isnan, self.values[key])) else middle
        if self._best == key or self._best is None:
            self._best = min(self._medians, key=lambda each: self._medians[each])
        elif self._medians[key] < self._medians[self._best]:
            self._best = key

    def _all_again(self) -> None:
        self.values, self._medians, self._best = {key: [] for key in self.configs}, {}, None
        for trial, level, unsure in zip(self.trials, self.level.logs, self.level.unsure, strict=True):
            if not unsure or trial.objective is None:
                value = math.nan if trial.objective is None else trial.objective.value / math.exp(level)
                self._put(key_of(trial.config), value)

    @property
    def best(self) -> tuple[Config, float] | None:
        """The configuration with the lowest median, and that at the first level; null where none ran."""
        if self._best is None or not math.isfinite(self._medians[self._best]):
            return None
        return self.configs[self._best], self._medians[self._best]

    @property
    def doubtful(self) -> list[Config]:
        """Configurations of which nothing is known but what may lie at either of two levels."""
        return [config for key, config in self.configs.items() if not self.values.get(key)]

    @property
    def medians(self) -> Mapping[str, float]:
        """Key → median at the first level, infinite where a run failed."""
        return self._medians

    def running(self) -> list[str]:
        """Keys of those that ran and never failed."""
        return [key for key, value in self._medians.items() if math.isfinite(value)]


def failures(trials: Iterable[Trial]) -> Mapping[str, int]:
    """Kind → configurations that failed so at least once."""
    kinds: dict[str, set[str]] = {}
    for trial in trials:
        if trial.failure is not None:
            kinds.setdefault(trial.failure, set()).add(key_of(trial.config))
    return {kind: len(keys) for kind, keys in sorted(kinds.items())}


def failure_texts(trials: Iterable[Trial]) -> Mapping[str, str]:
    """Kind → what the first that failed so said, in one line."""
    found: dict[str, str] = {}
    for trial in trials:
        if trial.failure is not None and trial.text:
            found.setdefault(trial.failure, shortened(" ".join(trial.text.split()), _MOST_TEXT))
    return found
