"""Whether a device is as fast as it was: what configurations take that were tried before and are run again while others are tried.

A device that throttles half-way makes everything after it look slow, the best as well. So one that was tried before is run again after every few
trials, a look. Where it takes clearly longer or shorter than it did, others are looked at at once, as different from it as there are: a device moves
all of them alike, while a neighbour on one core, or a configuration that is sometimes fast and sometimes slow, moves some. Only what several say with
one voice is a move, and what is tried at the new level is brought back to the first before it is compared. What was tried between the last look that
was well and the first that was not lies at one of two levels, nobody knows which.
"""

from __future__ import annotations

import math
from statistics import median

from ridgeline.stats import mad_sigma

__all__ = ["Level"]

#: Configurations that have to say the same.
_VOICES = 3
#: Least move in logarithms that is one, and in deviations of looks that were well.
_LEAST, _DEVIATIONS, _TELL = 0.08, 4.0, 5
#: Moves are the same that lie no further from their median than this, and this part of it: what waits for memory feels a clock less.
_ALIKE, _ALIKE_PART = 0.05, 0.35


class Level:
    """The level of a device over trials, which are told one after the other.

    Attributes:
        logs: level at each trial, a logarithm, the first being 0; a move that is found out later is put right here.
        unsure: whether each trial lies at one of two levels.
        moves: how often the device has changed its level.
        odd: key → how far its look was from what it took before, of looks in a row that were not as they should be and are not believed yet.
    """

    def __init__(self) -> None:
        self.logs: list[float] = []
        self.unsure: list[bool] = []
        self.moves = 0
        self.odd: dict[str, float] = {}
        self._known: dict[str, list[float]] = {}
        self._well: list[float] = []
        #: Keys of configurations that were odd alone: they say nothing about the device.
        self._unsteady: set[str] = set()
        self._now, self._last_well, self._first_odd = 0.0, -1, 0

    @property
    def now(self) -> float:
        """At the last trial."""
        return self._now

    def serves(self, key: str) -> bool:
        """Whether a look at this configuration would say something: it ran before, steadily as far as is known, and is not among the odd ones."""
        return key in self._known and key not in self._unsteady and key not in self.odd

    def add(self, key: str, value: float, *, look: bool) -> None:
        """One more trial.

        Args:
            key: of its configuration; value: its objective, NaN where it failed, which tells nothing; look: whether it was run to look at the device.
        """
        place = len(self.logs)
        self.logs.append(self._now)
        self.unsure.append(False)
        if not (value > 0 and math.isfinite(value)):
            return
        log = math.log(value) - self._now
        apart = log - median(self._known[key]) if key in self._known else 0.0
        if look and self._moved(apart):
            self._first_odd = self._first_odd if self.odd else place
            self.odd[key] = apart
            if len(self.odd) >= _VOICES:
                self._weigh(place)
            return
        if look:
            if key in self._known:
                self._well.append(apart)
            self._unsteady.update(self.odd)
            self.odd, self._last_well = {}, place
        self._known.setdefault(key, []).append(log)

    def _moved(self, apart: float) -> bool:
        scale = mad_sigma(self._well) if len(self._well) >= _TELL else 0.0
        return abs(apart) > max(_LEAST, _DEVIATIONS * scale)

    def _weigh(self, place: int) -> None:
        """Several odd ones: a move of the device, or each one's own."""
        middle = median(self.odd.values())
        alike = sum(abs(apart - middle) <= _ALIKE + _ALIKE_PART * abs(middle) for apart in self.odd.values())
        if alike == len(self.odd):
            self._move(place, middle)
        else:
            self._unsteady.update(self.odd)
        self.odd = {}

    def _move(self, place: int, by: float) -> None:
        self._now += by
        self.moves += 1
        self.logs[self._first_odd :] = [self._now] * (len(self.logs) - self._first_odd)
        for each in range(self._last_well + 1, self._first_odd):
            self.unsure[each] = True
        self._last_well = place
