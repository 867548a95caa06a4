"""Where a tuning with several objectives stands: which configurations are on the front, by which runs, and what of it the report says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import FrontPoint, Trial, TunedFront
from ridgeline.tuning.front import covered, non_dominated, untold

from .known import FINAL, FRONT, Known
from .objectives import OBJECTIVES, vector_of
from .subjects import key_of, objective_of

__all__ = ["LEAST_RUNS", "front_keys", "front_of", "known_vectors", "units_of"]

Floats = NDArray[np.float64]
#: Runs of a configuration on the front beside those of the search: a search runs many once each, and the lowest of them were lucky.
LEAST_RUNS = 3


class _Runs(NamedTuple):
    """Objectives of the runs of one configuration, (n, objectives): of the search, and of what came after it."""

    searched: list[list[float]]
    late: list[list[float]]

    def counted(self) -> Floats:
        """Those that count: the late ones where there are enough, since the search's made it look good."""
        return np.array(self.late if len(self.late) >= LEAST_RUNS else [*self.searched, *self.late], np.float64)

    def middle(self) -> Floats:
        """The median of each objective; NaN for all where a run failed, and for one that was never measured."""
        runs = self.counted()
        if np.isnan(np.array([*self.searched, *self.late])).all(axis=1).any():
            return np.full(runs.shape[1], math.nan)
        return np.array([np.median(column[~np.isnan(column)]) if (~np.isnan(column)).any() else math.nan for column in runs.T])


def known_vectors(known: Known, objectives: Sequence[str]) -> list[tuple[Trial, list[float]]]:
    """Each trial that tells of objectives, with these."""
    found = []
    for trial, level, unsure in zip(known.trials, known.level.logs, known.level.unsure, strict=True):
        if not unsure or trial.objective is None:
            value = math.nan if trial.objective is None else trial.objective.value / math.exp(level)
            # Where the first objective alone was not measured, the run has not failed.
            values = vector_of(trial, value, objectives) if trial.objective or trial.failure else [math.nan, *vector_of(trial, 1.0, objectives)[1:]]
            found.append((trial, values))
    return found


def _runs_of(known: Known, objectives: Sequence[str]) -> dict[str, _Runs]:
    found: dict[str, _Runs] = {}
    for trial, values in known_vectors(known, objectives):
        runs = found.setdefault(key_of(trial.config), _Runs([], []))
        (runs.late if {FINAL, FRONT} & set(trial.flags) else runs.searched).append(values)
    return found


def front_keys(known: Known, objectives: Sequence[str]) -> dict[str, int]:
    """Keys of the configurations on the front as it looks now → runs of each beside the search's."""
    runs = _runs_of(known, objectives)
    keys = list(runs)
    on = non_dominated(np.array([runs[key].middle() for key in keys]).reshape(len(keys), -1))
    return {key: len(runs[key].late) for key, there in zip(keys, on, strict=True) if there}


def front_of(known: Known, objectives: Sequence[str], units: Sequence[str]) -> TunedFront | None:
    """The front at the end; null where nothing has all objectives.

    Args:
        units: of the objectives.
    """
    runs = _runs_of(known, objectives)
    middles = {key: middle for key, each in runs.items() if not np.isnan(middle := each.middle()).any()}
    if not middles:
        return None
    values = np.array(list(middles.values()))
    keys = [key for key, there in zip(middles, non_dominated(values), strict=True) if there]
    keys.sort(key=lambda key: middles[key].tolist())
    intervals = [_intervals(runs[key], units) for key in keys]
    points = tuple(
        FrontPoint(config=known.configs[key], values=tuple(middles[key].tolist()), intervals=interval, runs=len(runs[key].counted()), untold=others)
        for key, interval, others in zip(keys, intervals, untold(intervals), strict=True)
    )
    best, worst = values.min(axis=0), values.max(axis=0)
    return TunedFront(
        objectives=tuple(objectives), units=tuple(units), points=points, ideal=tuple(best.tolist()), reference=tuple(worst.tolist()),
        hypervolume=min(1.0, covered(np.array([middles[key] for key in keys]), best, worst)), measured=len(middles),
    )  # fmt: skip


def _intervals(runs: _Runs, units: Sequence[str]) -> tuple[tuple[float, float], ...]:
    counted = runs.counted()
    found = [objective_of(column[~np.isnan(column)].tolist(), unit) for column, unit in zip(counted.T, units, strict=True)]
    return tuple((each.low, each.high) for each in found)


def units_of(objectives: Sequence[str], first: str) -> tuple[str, ...]:
    """Units of objectives, that of the first as its subject has it."""
    return (first, *(OBJECTIVES[name].unit for name in objectives[1:]))
