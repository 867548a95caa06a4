"""When a live comparison has seen enough: looks at sizes fixed by the cost of the first processes, each at its share of the error rate.

The size of the last look follows from what the first processes took, and from nothing that says which version is faster, so that the error rate
of the whole stays what it is (`stats.looks`). Where the time ends between two looks, the last one gets what was not spent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ridgeline.core import Comparison
from ridgeline.stats import Look, looks

__all__ = ["Enough", "Judge"]

#: Compares what there is so far at a confidence; `None` while a side has nothing to compare.
Judge = Callable[[float], Comparison | None]
#: Processes of each side before the first look: fewer cannot tell anything at 97 %.
_LEAST = 5
#: More processes than this are not planned, however cheap they are.
_MOST = 200
_CERTAIN = ("faster", "slower", "same", "incomparable")


@dataclass(kw_only=True)
class Enough:
    """Decides after every round of processes whether to stop, and at which confidence the end is judged.

    Attributes:
        confidence: of the whole comparison.
        budget_s: seconds for all processes.
        processes: of each side, exactly; as many as fit into the budget if null.
        tail: whether to go on until the tail is judged as well.
        announce: told what will be seen, once.
        clock: seconds, a fake one in tests.
        schedule: the looks, once they are fixed.
    """

    confidence: float
    budget_s: float
    processes: int | None = None
    tail: bool = False
    announce: Callable[[str], None] = lambda text: None
    clock: Callable[[], float] = time.monotonic
    schedule: tuple[Look, ...] = ()
    certain: Comparison | None = None
    _began: float = field(default=0.0)
    _first: tuple[int, float] | None = None
    _done: int = 0
    _spent: float = 0.0

    def __post_init__(self) -> None:
        self._began = self.clock()

    def __call__(self, processes: int, judge: Judge) -> bool:
        """Whether to stop, with so many processes of each side."""
        if not self.schedule:
            most = self._most(processes)
            if most is None:
                return False
            self.schedule = looks(most, min(_LEAST, most), self.confidence)
            self._say(processes, most, judge)
        due = [look for look in self.schedule[self._done :] if look.processes <= processes]
        if not due:
            return False
        self._done += len(due)
        # Looks that were passed over cost nothing that was used: their share goes to this one.
        error = sum(1 - look.confidence for look in due)
        self._spent += error
        found = judge(1 - error)
        if found is not None and self._settled(found):
            self.certain = found
        return self.certain is not None or self._done == len(self.schedule)

    @property
    def final_confidence(self) -> float:
        """Confidence at which the end is judged where no look was certain and none was the last: the error rate that is left."""
        left = 1 - self.confidence - self._spent
        last = 1 - self.schedule[-1].confidence if self.schedule else 1 - self.confidence
        return 1 - (left if left > 1e-9 else last)

    @property
    def told(self) -> str:
        """When it was looked, and that the interval allows for it."""
        times = max(1, self._done)
        ended = "as soon as it was certain" if self.certain is not None else "when the processes or the time were used up"
        return f"it ended {ended}, at look {times}; the interval holds for all looks together"

    def _most(self, processes: int) -> int | None:
        """Processes of each side at the last look; null while that is not known."""
        if self.processes is not None:
            return self.processes
        if processes < _LEAST:
            self._first = self._first or (processes, self.clock())
            return None
        # From the first on: before it lies what is not paid again, such as a soak.
        done, at = self._first or (0, self._began)
        each_s = (self.clock() - at) / (processes - done)
        return max(_LEAST, min(_MOST, math.floor(self.budget_s / each_s))) if each_s > 0 else _MOST

    def _settled(self, found: Comparison) -> bool:
        if found.verdict not in _CERTAIN:
            return False
        return not self.tail or found.tail.verdict != "inconclusive" or found.verdict == "incomparable"

    def _say(self, processes: int, most: int, judge: Judge) -> None:
        """The detectable effect before the rest is measured, from the processes so far: it shrinks with the root of their number."""
        pilot = judge(self.confidence) if processes >= _LEAST else None
        if pilot is None or pilot.detectable_ratio is None:
            self.announce(f"note: up to {most} processes of each version")
            return
        there = math.expm1(math.log(pilot.detectable_ratio) * math.sqrt(processes / most))
        self.announce(f"note: up to {most} processes of each version; a difference of {there:.1%} would be found nine times of ten")
