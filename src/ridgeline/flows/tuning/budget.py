"""How long a tuning may go on: by trials, by time, and how much of either is done."""

from __future__ import annotations

import time
from typing import Literal

from ridgeline.core import UsageError

__all__ = ["DEFAULT_TRIALS", "Budget", "Stopped"]

DEFAULT_TRIALS = 200
#: Part of the time that is kept for the finals; of it, for the best beside the default.
_FINALS, _BESIDE = 0.3, 0.2
#: Seconds that a tuning may be given: thirty years.
_MOST_S = 1e9
Stopped = Literal["trials", "time", "space", "interrupted"]


class Budget:
    """Trials and seconds of a tuning, all sessions together.

    Args:
        trials: different configurations that are tried, null for no limit; time_s: wall seconds with the finals, null for no limit. Neither: 200
            trials.
        spent_s: of the sessions before; started: when this one began, by `time.monotonic`, now if null.

    Raises:
        UsageError: less than one trial, or no time.
    """

    def __init__(self, trials: int | None, time_s: float | None, spent_s: float = 0.0, started: float | None = None) -> None:
        if trials is not None and trials < 1:
            raise UsageError("at least one trial", found=str(trials), remedy="allow more")
        if time_s is not None and not 0 < time_s < _MOST_S:
            wanted = f"at least one trial, and a time above 0 and below {_MOST_S:.0e} s"
            raise UsageError(wanted, found=f"{time_s:g} s", remedy="give another, such as 10min")
        self.trials = DEFAULT_TRIALS if trials is None and time_s is None else trials
        self.time_s, self._spent_s, self._started = time_s, spent_s, time.monotonic() if started is None else started

    @property
    def spent_s(self) -> float:
        """Wall seconds so far."""
        return self._spent_s + time.monotonic() - self._started

    @property
    def now_s(self) -> float:
        """Wall seconds of this session."""
        return time.monotonic() - self._started

    def searched(self, tried: int) -> Stopped | None:
        """Why the search is over with so many tried; null while it is not."""
        if self.trials is not None and tried >= self.trials:
            return "trials"
        if self.time_s is not None and self.spent_s >= (1.0 - _FINALS) * self.time_s:
            return "time"
        return None

    @property
    def over(self) -> bool:
        """Whether the time for the finals is over as well."""
        return self.time_s is not None and self.spent_s >= self.time_s

    @property
    def raced(self) -> bool:
        """Whether what is left is to hold the best against the default."""
        return self.past(1.0 - _BESIDE * _FINALS)

    def past(self, part: float) -> bool:
        """Whether this part of the time is over."""
        return self.time_s is not None and self.spent_s >= part * self.time_s

    def progress(self, tried: int, now: int) -> tuple[float, float | None]:
        """(part of the search that is done, seconds that are left of it); the second null before anything can be said.

        Args:
            tried: in all sessions; now: in this one.
        """
        of_trials = tried / self.trials if self.trials is not None else 0.0
        of_time = self.spent_s / ((1.0 - _FINALS) * self.time_s) if self.time_s is not None else 0.0
        left = None if self.time_s is None else max(0.0, (1.0 - _FINALS) * self.time_s - self.spent_s)
        if self.trials is not None and now:
            by_trials = (self.trials - tried) * (time.monotonic() - self._started) / now
            left = by_trials if left is None else min(left, by_trials)
        return min(1.0, max(of_trials, of_time)), left
