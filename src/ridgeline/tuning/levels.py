"""Whether a device is as fast as it was: what a configuration takes that is run again and again while others are tried.

A device that throttles half-way makes everything after it look slow, the best as well. So a configuration that was tried before is run again after
every few trials, a look; where it takes clearly longer or shorter than it did, and does so again, the device is at another level, and what is tried
at that level is brought back to the first before it is compared. What was tried between the last look that was well and the first that was not lies
at one of two levels, nobody knows which.
"""

from __future__ import annotations

import math
from statistics import median

from ridgeline.stats import mad_sigma

__all__ = ["Level"]

#: Looks in a row at which a move is believed.
_LOOKS = 3
#: Least move in logarithms that is one, and in deviations of looks that were well.
_LEAST, _DEVIATIONS, _TELL = 0.08, 4.0, 5


class Level:
    """The level of a device over trials, which are told one after the other.

    Attributes:
        logs: level at each trial, a logarithm, the first being 0; a move that is found out later is put right here.
        unsure: whether each trial lies at one of two levels.
        moves: how often the device has changed its level.
        odd: looks in a row that were not as they should be and are not believed yet.
    """

    def __init__(self) -> None:
        self.logs: list[float] = []
        self.unsure: list[bool] = []
        self.moves = 0
        self.odd: list[float] = []
        self._known: dict[str, list[float]] = {}
        self._well: list[float] = []
        self._now, self._last_well, self._first_odd = 0.0, -1, 0

    @property
    def now(self) -> float:
        """At the last trial."""
        return self._now

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
        if look and key in self._known and self._moved(apart := log - median(self._known[key])):
            self._first_odd = self._first_odd if self.odd else place
            self.odd.append(apart)
            if len(self.odd) >= _LOOKS and self._moved(median(self.odd)):
                self._move(place)
            return
        if look:
            if key in self._known:
                self._well.append(log - median(self._known[key]))
            self.odd, self._last_well = [], place
        self._known.setdefault(key, []).append(log)

    def _moved(self, apart: float) -> bool:
        scale = mad_sigma(self._well) if len(self._well) >= _TELL else 0.0
        return abs(apart) > max(_LEAST, _DEVIATIONS * scale)

    def _move(self, place: int) -> None:
        self._now += median(self.odd)
        self.moves += 1
        self.logs[self._first_odd :] = [self._now] * (len(self.logs) - self._first_odd)
        between = range(self._last_well + 1, self._first_odd)
        for each in between:
            self.unsure[each] = True
        self.odd, self._last_well = [], place
