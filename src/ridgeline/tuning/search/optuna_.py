"""The samplers of Optuna as searches: asked for a trial, told its value, without a process of its own.

Numbers in an order are given to it as their ranks, names and flags as categories. Optuna knows no constraints: what it proposes and the space has not
is told back as failed, and after a few such, or ones that were tried before, the nearest valid one is taken that was not. Values are told as
logarithms; a failure is told as one. A configuration that is run again keeps the value of its first telling, since a trial of Optuna ends once.

Source: T. Akiba et al., "Optuna: A Next-generation Hyperparameter Optimization Framework", KDD 2019, for ask and tell.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import BackendUnavailable, UsageError

from ..space import INACTIVE, Configurations
from .base import Strategy
from .surrogate import distances

__all__ = ["Optuna"]

Rows = NDArray[np.int64]
_EXTRA = "pip install 'ridgeline[optuna]'"
#: Name → (class of Optuna, its options, the package that it needs beside).
_SAMPLERS: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "tpe": ("TPESampler", {}, ""),
    "random": ("RandomSampler", {}, ""),
    "cmaes": ("CmaEsSampler", {"warn_independent_sampling": False}, "cmaes"),
    "gp": ("GPSampler", {}, "torch"),
    "qmc": ("QMCSampler", {"warn_independent_sampling": False}, ""),
}
#: Proposals in a row that are invalid or known, before the nearest that is neither is taken; and of how many drawn ones it is the nearest.
_REFUSED, _DRAWN = 8, 256


class Optuna(Strategy):
    """A sampler of Optuna.

    Args:
        sampler: `tpe`, `random`, `cmaes`, `gp` (which needs torch) or `qmc`.

    Raises:
        UsageError: another sampler.
        BackendUnavailable: a package is missing.
    """

    name = "optuna"

    def __init__(self, space: Configurations, seed: int = 0, sampler: str = "tpe") -> None:
        super().__init__(space, seed)
        if sampler not in _SAMPLERS:
            raise UsageError(f"a sampler of {', '.join(_SAMPLERS)}", found=repr(sampler)[:80], remedy="name one of these")
        self._optuna = _package("optuna")
        kind, options, beside = _SAMPLERS[sampler]
        if beside:
            _package(beside)
        self._distributions = {name: self._distribution(place) for place, name in enumerate(space.names)}
        with self._quiet():
            made = getattr(self._optuna.samplers, kind)(seed=int(self.generator.integers(2**31)), **options)
            self._study = self._optuna.create_study(sampler=made)
        #: Number → the trial of Optuna that waits for its value; numbers of which it has one.
        self._trials: dict[int, Any] = {}
        self._told: dict[int, float] = {}
        self._apart = distances(space)

    def _distribution(self, place: int) -> Any:
        values = self.space.values[place]
        active = len(values) - (values[-1] is INACTIVE)
        kinds = self._optuna.distributions
        return kinds.IntDistribution(0, active - 1) if self.space.ordered[place] else kinds.CategoricalDistribution(tuple(range(active)))

    def propose(self, count: int) -> Rows:
        """What the sampler says, made valid."""
        found: list[Rows] = []
        with self._quiet():
            while len(found) < count and (row := self._next()) is not None:
                found.append(row)
        return np.vstack(found) if found else self.space.at([])

    def _next(self) -> Rows | None:
        row: Rows = self.space.at([0])[0]
        for _ in range(_REFUSED):
            trial = self._study.ask(self._distributions)
            row = np.array([trial.params[name] for name in self.space.names], np.int64)
            settled = self.space.settled(row)
            number = -1 if settled is None else int(self.space.numbers(settled[None])[0])
            if settled is not None and number not in self._asked and number not in self._trials:
                self._trials[number] = trial
                return settled
            self._end(trial, self._told.get(number, np.nan))
        return self._nearest(row)

    def _nearest(self, row: Rows) -> Rows | None:
        """Of drawn configurations that were not asked for, the one that is nearest to a proposal; null where there is none."""
        drawn = self.space.drawn(_DRAWN, self.generator)
        free = [number not in self._asked and number not in self._trials for number in self.space.numbers(drawn).tolist()]
        drawn = drawn[np.array(free, bool)]
        if not len(drawn):
            return None
        apart = np.sum([table[row[place], drawn[:, place]] for place, (_, table) in enumerate(self._apart)], axis=0)
        found: Rows = drawn[int(np.argmin(apart))]
        # Optuna is told of it as of one that it did not ask for.
        return found

    def told(self, places: list[int], fresh: int) -> None:
        """Optuna is told what it asked for, and is given what it did not."""
        with self._quiet():
            for place in dict.fromkeys(places):
                number = int(self.space.numbers(self.rows[place][None])[0])
                if number in self._told:
                    continue
                log = float(np.log(self.values[place]))
                self._told[number] = log
                if number in self._trials:
                    self._end(self._trials.pop(number), log)
                else:
                    self._study.add_trial(self._made(self.rows[place], log))

    def _end(self, trial: Any, log: float) -> None:
        if np.isnan(log):
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, log)

    def _made(self, row: Rows, log: float) -> Any:
        """A trial of Optuna that is at its end; a parameter that is not there has its first value, as nothing depends on it."""
        values = zip(self.space.names, self.space.values, row.tolist(), strict=True)
        params = {name: 0 if listed[place] is INACTIVE else place for name, listed, place in values}
        state = {"state": self._optuna.trial.TrialState.FAIL} if np.isnan(log) else {"value": log}
        return self._optuna.trial.create_trial(params=params, distributions=self._distributions, **state)

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        """Without its messages, and with its verbosity as it was afterwards."""
        logging = self._optuna.logging
        before = logging.get_verbosity()
        logging.set_verbosity(logging.ERROR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
                yield
        finally:
            logging.set_verbosity(before)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        remedy = "pip install 'ridgeline[torch]'" if name == "torch" else _EXTRA
        raise BackendUnavailable(f"the package {name}", found=str(error), remedy=remedy) from error
