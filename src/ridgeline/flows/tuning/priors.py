"""Recordings of the same kernel from other devices, of other sizes or earlier sources, as rows of the space that is tuned now.

Parameters go by their names and values by what they are; what has no counterpart here is dropped with a word. A time of a recording is only ever held
against other times of the same recording: it says which configurations may be good, and none of it is a time of this device.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import RecordedSpace, TunedPrior, UsageError
from ridgeline.core.space import Value
from ridgeline.tuning.space import INACTIVE, Configurations

from .known import Known
from .recordings import read_recording

__all__ = ["Prior", "read_prior"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Key = tuple[bool, Value]
#: Values that are named where they have no counterpart.
_NAMED = 4


class Prior(NamedTuple):
    """`used`: for the report; `rows`: (n, parameters), −1 for a parameter that the recording has not; `values`: (n,), NaN of failures."""

    used: TunedPrior
    rows: Rows
    values: Floats


def read_prior(path: str | os.PathLike[str], space: Configurations, unit: str = "s") -> Prior:
    """A recording as rows of the space.

    Args:
        unit: of what is tuned.

    Raises:
        ReadError: the file is no recording.
        UsageError: it is of another objective, it has no parameter or no configuration in common with the space, or none of those ran.
    """
    name, recorded = os.fspath(path), read_recording(path)
    if recorded.unit != unit:
        raise UsageError(f"a recording in {unit}", found=f"{name} in {recorded.unit}", remedy="leave it out, or tune for what it recorded")
    mapping = _Mapping(space, recorded)
    if not mapping.shared:
        found = f"{', '.join(each.name for each in recorded.space.parameters)[:200]} in {name}"
        raise UsageError(f"a recording of the parameters {', '.join(space.names)[:200]}", found=found, remedy="give one of the same kernel")
    known = Known(recorded.trials)
    best: dict[bytes, float] = {}
    rows: dict[bytes, Rows] = {}
    for key, row in zip(known.configs, mapping.rows(list(known.configs.values())), strict=True):
        if row is not None:
            # Where the recording has a parameter more, a configuration here is worth what it was worth there at the best value of that.
            value, place = _value(known.values[key]), row.tobytes()
            rows[place], best[place] = row, np.fmin(value, best.get(place, np.nan))
    if not rows or np.isnan(list(best.values())).all():
        said = "none that ran" if rows else f"none: {mapping.note}"
        raise UsageError(f"configurations in {name} that this space has as well", found=said, remedy="give a recording of the same kernel")
    note = "; ".join(filter(None, (mapping.note, *recorded.remarks)))
    used = TunedPrior(source=name, device=recorded.device, trials=len(known.configs) - mapping.dropped, dropped=mapping.dropped, note=note)
    return Prior(used, np.array(list(rows.values())), np.array(list(best.values())))


def _value(runs: Sequence[float]) -> float:
    """One that failed once fails."""
    return float("nan") if not runs or np.isnan(runs).any() else median(runs)


class _Mapping:
    """From the configurations of a recording to rows of a space; counts what has no counterpart."""

    def __init__(self, space: Configurations, recorded: RecordedSpace) -> None:
        self._space = space
        theirs = {each.name for each in recorded.space.parameters}
        self.shared = [name for name in space.names if name in theirs]
        self._places: list[Mapping[Key, int]] = [
            {(isinstance(value, bool), value): place for place, value in enumerate(values) if value is not INACTIVE} for values in space.values
        ]
        self._absent = [_absent(name, values, theirs) for name, values in zip(space.names, space.values, strict=True)]
        self._strange: dict[str, dict[Key, Value]] = {}
        self._invalid = self.dropped = 0
        self._beyond = [each.name for each in recorded.space.parameters if each.name not in space.names]
        self._silent = [name for name, absent in zip(space.names, self._absent, strict=True) if absent == -1]

    def rows(self, configs: Sequence[Mapping[str, Value]]) -> list[Rows | None]:
        """The row of each configuration; null where it has no counterpart."""
        places = [[self._place(number, name, config) for number, name in enumerate(self._space.names)] for config in configs]
        made = np.array(places, np.int64).reshape(-1, len(self._space.names))
        there = (made != _NONE).all(axis=1)
        valid = there & (bool(self._silent) | self._space.valid(np.maximum(made, 0)))
        found: list[Rows | None] = [row if good else None for row, good in zip(made, valid.tolist(), strict=True)]
        for number in np.flatnonzero(there & ~valid).tolist():
            # A tuner without conditions has a value for what is not there.
            found[number] = self._space.settled(made[number])
            self._invalid += found[number] is None
        self.dropped = sum(row is None for row in found)
        return found

    def _place(self, number: int, name: str, config: Mapping[str, Value]) -> int:
        if name not in config:
            absent = self._absent[number]
            return _NONE if absent is None else absent
        key = (isinstance(config[name], bool), config[name])
        if key not in self._places[number]:
            self._strange.setdefault(name, {})[key] = config[name]
        return self._places[number].get(key, _NONE)

    @property
    def note(self) -> str:
        """What has no counterpart."""
        said = []
        for name, values in self._strange.items():
            shown = ", ".join(str(each) for each in list(values.values())[:_NAMED])
            said.append(f"{name} is never {shown}{', …' if len(values) > _NAMED else ''} here")
        if self._invalid:
            said.append(f"{self._invalid:,} are not valid here")
        if self._beyond:
            said.append(f"no parameter here: {', '.join(self._beyond)}")
        if self._silent:
            said.append(f"it says nothing of {', '.join(self._silent)}")
        return "; ".join(said)


#: The place of a value that the space has not.
_NONE = -2


def _absent(name: str, values: Sequence[Any], theirs: set[str]) -> int | None:
    """The place of a parameter that a configuration of the recording does not name: inactive, or −1 where the recording never names it."""
    if name not in theirs:
        return 0 if len(values) == 1 else -1
    return len(values) - 1 if values[-1] is INACTIVE else None
