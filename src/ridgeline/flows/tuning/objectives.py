"""What may be made small, one thing or several: by name, with its metric and unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from ridgeline.backends import METRICS
from ridgeline.core import Trial, UsageError

__all__ = ["OBJECTIVES", "TIME", "Objective", "objectives_of", "vector_of"]


class Objective(NamedTuple):
    """Its name among the metrics of a trial where it is not the trial's own objective, and its unit."""

    metric: str
    unit: str


TIME: tuple[str, ...] = ("time",)
OBJECTIVES: Mapping[str, Objective] = {
    "time": Objective("time_s", "s"), "memory": Objective(METRICS["memory"], "B"), "energy": Objective(METRICS["energy"], "J"),
}  # fmt: skip


def objectives_of(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names of objectives, the first of which decides what is best.

    Args:
        given: names, or a text with commas between them; time if null or empty.

    Raises:
        UsageError: one that is none, one twice, or too many.

    >>> objectives_of("time, memory")
    ('time', 'memory')
    """
    listed = given.split(",") if isinstance(given, str) else list(given or ())
    names = tuple(str(each).strip() for each in listed)
    if not names or names == ("",):
        return TIME
    for name in names:
        if name not in OBJECTIVES:
            near = get_close_matches(name, OBJECTIVES, 1)
            raise UsageError(
                f"objectives of {', '.join(OBJECTIVES)}", found=repr(name)[:60], remedy=f"write {near[0]}" if near else "name one of them"
            )
    if len(set(names)) < len(names):
        raise UsageError("each objective once", found=", ".join(names)[:100], remedy="leave one out")
    return names


def vector_of(trial: Trial, value: float, objectives: Sequence[str]) -> list[float]:
    """All objectives of a trial, NaN for what was not measured, and everywhere for a failure.

    Args:
        value: of the first one, at the level at which trials are compared.
    """
    if math.isnan(value):
        return [math.nan] * len(objectives)
    return [value, *(trial.metrics.get(OBJECTIVES[name].metric, math.nan) for name in objectives[1:])]
