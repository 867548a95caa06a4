"""What one measured number of the probe is: how to take one reading of it, and where it goes in the `Device`.

A reading is a rate (higher is better) or a time (lower is better) over a few milliseconds. How often and in which order readings are taken is decided
in `rounds`, what they come to in `summary`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ridgeline.core import Engine, Precision

__all__ = ["CostOf", "Item", "RateOf", "Reading", "best_window"]

#: (seconds to spend, number of the round) → one reading in the item's unit.
Reading = Callable[[float, int], float]


#: Long against a thread's start and a timer, short against the slices in which a scheduler shares a CPU out.
_WINDOW_S = 0.003


def best_window(read: Reading, best_of: Callable[[Iterable[float]], float] = max) -> Reading:
    """A reading that is the best of windows of 3 ms (`max` for a rate, `min` for a time): beside a neighbour on the same CPU, one is undisturbed."""

    def best(seconds: float, number: int) -> float:
        windows = max(1, round(seconds / _WINDOW_S))
        return best_of(read(seconds / windows, number) for _ in range(windows))

    return best


@dataclass(frozen=True, kw_only=True)
class RateOf:
    """Where a ceiling goes; fields as in `core.Ceiling`."""

    engine: Engine
    precision: Precision
    threads: int
    level: str | None = None
    working_set_bytes: int | None = None
    library: str = "native"

    @property
    def unit(self) -> str:
        """FLOP/s for multiply-adds, s for latency, B/s for access mixes, op/s for the rest."""
        if self.engine == "fma":
            return "FLOP/s"
        if self.engine == "latency":
            return "s"
        return "B/s" if self.level is not None else "op/s"


@dataclass(frozen=True, kw_only=True)
class CostOf:
    """Where a cost goes; fields as in `core.Cost`."""

    name: str
    library: str = "native"
    unit: str = "s"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One number to be measured.

    Args:
        goal: where it goes.
        read: takes one reading.
        origin: how, for a person.
        costly: a reading takes much longer than it is asked to, as where a gigabyte must be touched first.
    """

    goal: RateOf | CostOf
    read: Reading
    origin: str
    costly: bool = False

    @property
    def lower_is_better(self) -> bool:
        """True for a time, False for a rate."""
        return self.goal.unit == "s"

    @property
    def label(self) -> str:
        """Short text for progress and notes, such as `read DRAM 2 threads`."""
        if isinstance(self.goal, CostOf):
            return self.goal.name if self.goal.library == "native" else f"{self.goal.name} {self.goal.library}"
        words = [self.goal.engine, self.goal.level or self.goal.precision]
        if self.goal.working_set_bytes is not None:
            words.append(f"{self.goal.working_set_bytes / 2**20:.3g} MiB")
        words.append("1 thread" if self.goal.threads == 1 else f"{self.goal.threads} threads")
        if self.goal.library != "native":
            words.append(self.goal.library)
        return " ".join(words)
