"""What the kernel knows about the calling thread, read in one cheap call before and after each sample.

The layout of the row is that of `_native.counters_read`. System time is sampled by the kernel's tick on most machines, so it is only used as a
sum over many samples.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ridgeline import _native

__all__ = ["FIELDS", "CounterRows", "ready_threads_s"]

FIELDS: Final = (
    "monotonic_ns",
    "thread_cpu_ns",
    "process_cpu_ns",
    "run_queue_ns",
    "system_ns",
    "involuntary_switches",
    "voluntary_switches",
    "minor_faults",
    "major_faults",
    "process_system_ns",
)
_UNREADABLE = -1
_TASKS = Path("/proc/self/task")


def ready_threads_s(tasks: Path = _TASKS) -> float:
    """Seconds in which any thread of this process was ready to run while something else ran, all threads that live now since their start together.

    0 where the system does not say; too coarse for one sample, since every thread's file is read.
    """
    total = 0
    for each in tasks.glob("*/schedstat"):
        try:
            total += int(each.read_bytes().split()[1])
        except (OSError, IndexError, ValueError):
            continue  # the thread has ended, or the kernel keeps no such numbers
    return total / 1e9


class CounterRows:
    """Preallocated rows of counters: 2 n readings for n samples, so that nothing is allocated while measuring.

    Args:
        capacity: number of readings that fit.
    """

    def __init__(self, capacity: int) -> None:
        self._rows: NDArray[np.int64] = np.zeros((capacity, len(FIELDS)), dtype=np.int64)
        self._views = [memoryview(row) for row in self._rows]  # made now: slicing while measuring costs more than the reading
        self._used = 0

    @property
    def room(self) -> int:
        """Readings that still fit."""
        return len(self._views) - self._used

    def read(self) -> None:
        """Take one reading into the next row."""
        _native.counters_read(self._views[self._used], bool(self._used % 2))
        self._used += 1

    def drop(self, readings: int) -> None:
        """Forget the last readings."""
        self._used -= readings

    def deltas(self) -> dict[str, NDArray[np.int64] | None]:
        """Differences between the second and the first of each pair of readings, shape (n,), by field; `None` where it cannot be read here."""
        rows = self._rows[: self._used - self._used % 2]
        before, after = rows[0::2], rows[1::2]
        return {
            name: None if len(rows) == 0 or bool((rows[:, i] == _UNREADABLE).any()) else after[:, i] - before[:, i] for i, name in enumerate(FIELDS)
        }
