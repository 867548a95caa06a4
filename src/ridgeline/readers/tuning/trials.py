"""Trials of a recording: times in seconds, failures by core's words, and the space that they lie in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from ridgeline.core import NotComparable, Parameter, Quantity, ReadError, Space, Trial
from ridgeline.core.space import Failure, Value

from ..source import Source
from .document import number

__all__ = ["NO_TIMES", "Gathering", "Measured", "belongs", "difference", "objective_of", "runs_of", "same", "space_of_configs"]

#: Of one run nothing is known beside itself, and a Quantity wants a confidence above 0.
_LEAST_CONFIDENCE = 1e-9
_SHOWN = 200
NO_TIMES = "no run times"


class Measured(NamedTuple):
    """One configuration of a file, times in seconds."""

    config: dict[str, Value]
    runs: tuple[float, ...]
    failure: Failure | None
    text: str
    build_s: float
    overheads: Mapping[str, float]
    metrics: Mapping[str, float]
    beside: Mapping[str, float]


class Gathering:
    """Trials one after another, with the columns beside them."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self.trials: list[Trial] = []
        self._overheads: list[Mapping[str, float]] = []
        self._beside: list[Mapping[str, float]] = []

    def add(self, one: Measured) -> None:
        """In the order of the file."""
        spent_s = one.build_s + one.overheads.get("verification", 0.0) + one.overheads.get("benchmark", 0.0)
        objective = None if one.failure else objective_of(one.runs, self._origin)
        self.trials.append(
            Trial(
                config=one.config, number=len(self.trials), objective=objective, runs=() if one.failure else one.runs, metrics=dict(one.metrics),
                failure=one.failure, text=one.text, build_s=one.build_s, spent_s=spent_s,
            )
        )  # fmt: skip
        self._overheads.append(one.overheads)
        self._beside.append(one.beside)

    def with_times(self, objective: str, source: Source) -> None:
        """Refuse a recording of something else than times.

        Raises:
            ReadError: no configuration has a time, though not all have failed.
        """
        if not any(trial.runs for trial in self.trials) and any(trial.text == NO_TIMES for trial in self.trials):
            found = f"{source.name} has none; its objective is {objective!r:.60}"
            raise ReadError("a recording of run times", found=found, remedy="only times are read")

    def overheads(self) -> dict[str, tuple[float, ...]]:
        """Of each trial, 0 where the file has none; seconds. What is 0 everywhere was not measured."""
        names = sorted({name for each in self._overheads for name, value in each.items() if value})
        return {name: tuple(each.get(name, 0.0) for each in self._overheads) for name in names}

    def measured(self) -> dict[str, tuple[float | None, ...]]:
        """Of each trial, null where the file has none."""
        names = sorted({name for each in self._beside for name in each})
        return {name: tuple(each.get(name) for each in self._beside) for name in names}


def objective_of(runs: Sequence[float], origin: str) -> Quantity:
    """The median of runs, seconds; all of n runs bound it with probability 1 − 2^(1−n) (David and Nagaraja, Order Statistics, 3rd ed., 7.1)."""
    confidence = max(_LEAST_CONFIDENCE, 1.0 - 2.0 ** (1 - len(runs)))
    return Quantity(
        value=float(median(runs)), low=min(runs), high=max(runs), confidence=confidence, unit="s", source="measured", origin=origin,
    )  # fmt: skip


def runs_of(found: Any, per_s: float) -> tuple[tuple[float, ...], str]:
    """(Seconds of each run, what is wrong with them): none where one is no time.

    Args:
        found: a number or a list of numbers, `per_s` of which are a second.
    """
    listed = found if isinstance(found, list) else [found]
    times = [number(each) for each in listed]
    wrong = [each for each, time in zip(listed, times, strict=True) if time is None or time <= 0]
    if not listed or wrong:
        return (), f"a time of {wrong[0]!r:.60}" if wrong else "no times"
    runs = tuple(time / per_s for time in times if time is not None)
    return (runs, "") if min(runs) > 0 else ((), "times that are too short to be told from 0")


def space_of_configs(configs: Sequence[Mapping[str, Value]]) -> Space:
    """Parameters with the values that configurations have, in the order in which they come first."""
    values: dict[str, dict[tuple[bool, Value], Value]] = {}
    for config in configs:
        for name, value in config.items():
            values.setdefault(name, {})[isinstance(value, bool), value] = value
    return Space(parameters=tuple(Parameter(name=name, values=tuple(found.values())) for name, found in values.items()))


def same(one: Any, other: Any) -> bool:
    """Whether two values are one: 1 and 1.0 are, 1 and true are not."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def difference(found: Space, wanted: Space, source: Source) -> None:
    """Refuse a recording of another space.

    Raises:
        NotComparable: other parameters, another order of them, or other values, with the difference.
    """
    names, other = [each.name for each in found.parameters], [each.name for each in wanted.parameters]
    if names == other:
        for mine, theirs in zip(found.parameters, wanted.parameters, strict=True):
            _same_values(mine, theirs, source)
        return
    remedy = "record it again, or give the space that it is of"
    if sorted(names) == sorted(other):
        raise NotComparable(f"parameters in the order {_listed(other)}", found=f"{_listed(names)} in {source.name}", remedy=remedy)
    without = [name for name in other if name not in names]
    beyond = [name for name in names if name not in other]
    said = [f"without {_listed(without)}"] * bool(without) + [f"with {_listed(beyond)}"] * bool(beyond)
    raise NotComparable(f"the parameters {_listed(other)}", found=f"{source.name} {' and '.join(said)}", remedy=remedy)


def _same_values(mine: Parameter, theirs: Parameter, source: Source) -> None:
    without = [each for each in theirs.values if not any(same(each, value) for value in mine.values)]
    beyond = [each for each in mine.values if not any(same(each, value) for value in theirs.values)]
    if without or beyond:
        said = [f"without {_listed(without)}"] * bool(without) + [f"with {_listed(beyond)}"] * bool(beyond)
        remedy = "record it again, or give the space that it is of"
        raise NotComparable(f"values {_listed(theirs.values)} of {mine.name}", found=f"{source.name} {' and '.join(said)}", remedy=remedy)


def _listed(found: Sequence[Any]) -> str:
    return ", ".join(str(each) for each in found)[:_SHOWN]


def belongs(config: Mapping[str, Value], values: Mapping[str, Sequence[Value]], where: str, source: Source) -> None:
    """Refuse a configuration that the parameters have not.

    Raises:
        ReadError: a value that its parameter has not.
    """
    for name, value in config.items():
        if not any(same(value, each) for each in values.get(name, ())):
            found = f"{name} = {value!r:.60} {where} of {source.name}"
            raise ReadError(
                f"values that the parameters of the file have, of {name}: {_listed(values.get(name, ()))}", found=found, remedy="mend the file"
            )
