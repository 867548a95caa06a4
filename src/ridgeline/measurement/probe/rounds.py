"""The order of the readings: round-robin over all numbers, so that a neighbour who is busy for a second spoils no number whole.

After the planned rounds, numbers whose readings do not agree get more, until they do or the time is over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .items import Item
from .summary import agree

__all__ = ["FULL", "QUICK", "Effort", "Readings", "Report", "take_readings"]

#: (label of what is measured, fraction done).
Report = Callable[[str, float], None]

#: What a reading may fail with without ending the probe: no memory, no such CPU, a thread that cannot be made, a library that refuses.
_FAILURES = (MemoryError, ValueError, OSError, RuntimeError, TypeError)
#: Share of the progress that belongs to the planned rounds.
_PLANNED_SHARE = 0.9


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much time to spend.

    Args:
        rounds: planned readings of each number.
        costly_rounds: of each number that takes long to set up.
        seconds: length of one reading.
        budget_s: when it is over, no round is begun beyond the second, and the current one is left.
    """

    rounds: int
    costly_rounds: int
    seconds: float
    budget_s: float


QUICK = Effort(rounds=3, costly_rounds=2, seconds=0.006, budget_s=11.0)
FULL = Effort(rounds=7, costly_rounds=5, seconds=0.025, budget_s=55.0)


@dataclass
class Readings:
    """Readings by index of the item, and why an item gave none."""

    values: list[list[float]]
    failures: dict[int, str] = field(default_factory=dict)
    cut_short: bool = False


def take_readings(items: Sequence[Item], effort: Effort, *, clock: Callable[[], float], report: Report | None = None) -> Readings:
    """Take the planned rounds, then more of what does not agree.

    Args:
        items: what to measure.
        effort: how long.
        clock: monotonic seconds.
        report: told the label and the fraction before each reading.
    """
    taken = Readings(values=[[] for _ in items])
    start = clock()
    planned = sum(effort.costly_rounds if item.costly else effort.rounds for item in items)
    done = 0
    for number in range(effort.rounds):
        for index in _due(items, effort, number, taken):
            if number >= 2 and clock() - start > effort.budget_s:
                taken.cut_short = True
                return taken
            if report:
                report(items[index].label, _PLANNED_SHARE * done / planned)
            _read(items[index], index, number, effort.seconds, taken)
            done += 1
    _settle(items, effort, taken, lambda: clock() - start, report)
    return taken


def _due(items: Sequence[Item], effort: Effort, number: int, taken: Readings) -> list[int]:
    return [
        index for index, item in enumerate(items) if index not in taken.failures and number < (effort.costly_rounds if item.costly else effort.rounds)
    ]


def _settle(items: Sequence[Item], effort: Effort, taken: Readings, elapsed: Callable[[], float], report: Report | None) -> None:
    began = elapsed()
    # At most as many again: what has not settled by then will not, and says so.
    for number in range(effort.rounds, 2 * effort.rounds):
        restless = [i for i, item in enumerate(items) if i not in taken.failures and not agree(taken.values[i], lower_is_better=item.lower_is_better)]
        for index in restless:
            if elapsed() > effort.budget_s:
                return
            if report:
                spent = (elapsed() - began) / max(effort.budget_s - began, 1e-9)
                report(items[index].label, _PLANNED_SHARE + (1 - _PLANNED_SHARE) * min(1.0, max(0.0, spent)))
            _read(items[index], index, number, effort.seconds, taken)


def _read(item: Item, index: int, number: int, seconds: float, taken: Readings) -> None:
    try:
        value = item.read(seconds, number)
    except _FAILURES as error:
        # Readings taken before the failure stand; a number without any is noted as not measured.
        taken.failures[index] = f"{type(error).__name__}: {error}"
        return
    # A cost taken as a difference may come out at or below zero on a disturbed machine: no reading at all.
    if math.isfinite(value) and value > 0:
        taken.values[index].append(value)
