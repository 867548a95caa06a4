"""What a line of a record cannot say: a file that can be edited by hand, or put together from two, is held against what this tool writes itself.

A line that says one of these costs itself, with a word, as one that is cut short does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ridgeline.core import Space, Trial, UsageError
from ridgeline.core.space import Value
from ridgeline.tuning.space import Configurations

__all__ = ["not_believed", "outside", "values_of"]

#: Of trials of one record: far beyond what anybody can run, and a number in every language.
_MOST_NUMBER = 2**53
#: Seconds that one trial may have taken: as much as a tuning may be given.
_MOST_S = 1e9


def values_of(space: Space) -> dict[str, set[tuple[type, Value]]]:
    """Name → values of each parameter with their types: 1, 1.0 and true are three."""
    return {each.name: {(type(value), value) for value in each.values} for each in space.parameters}


def not_believed(trial: Trial, unit: str, values: dict[str, set[tuple[type, Value]]]) -> str:
    """What is wrong with a trial as it was read; empty where nothing is.

    Args:
        unit: of the objectives of the record; values: as of `values_of`.
    """
    for name, value in trial.config.items():
        if (type(value), value) not in values.get(name, ()):
            return f"the space has no {name} = {value!r:.40}"
    if not 0 <= trial.number < _MOST_NUMBER:
        return f"its number is {trial.number}"
    if not all(0 <= seconds <= _MOST_S for seconds in (trial.build_s, trial.spent_s)):
        return f"it took {trial.spent_s!r} s, {trial.build_s!r} s of them to build"
    return _wrong_objective(trial, unit)


def _wrong_objective(trial: Trial, unit: str) -> str:
    # A run may say 0: a need of memory that is below what can be seen.
    low = [run for run in trial.runs if not 0 <= run < math.inf]
    if low:
        return f"a run of {low[0]!r} {unit}"
    if trial.objective is None:
        return ""
    if trial.failure is not None:
        return f"it failed ({trial.failure}) and has an objective"
    if trial.objective.unit != unit:
        return f"its objective is in {trial.objective.unit!r:.20}, not in {unit}"
    return "" if trial.objective.value > 0 else f"an objective of {trial.objective.value!r} {unit}"


def outside(configurations: Configurations, trials: Iterable[Trial]) -> list[bool]:
    """Of each trial whether its configuration is none of the space, by its conditions and constraints."""
    rows, places, found = [], [], []
    for place, trial in enumerate(trials):
        found.append(True)
        try:
            rows.append(configurations.row(trial.config))
        except UsageError:
            continue
        places.append(place)
    if rows:
        for place, valid in zip(places, configurations.valid(np.array(rows)).tolist(), strict=True):
            found[place] = not valid
    return found
