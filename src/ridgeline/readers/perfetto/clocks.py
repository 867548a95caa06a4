"""Clocks of a Perfetto trace: the time of each packet, whatever clock its writer used, on the clock of the trace.

Two clocks are joined by the last snapshot that has both: between snapshots they are taken to run alike, as Perfetto's own importer does. A clock of a
writer (64 to 127) belongs to its sequence of packets; it may count in units of several nanoseconds, and each packet on from the one before.
"""

from __future__ import annotations

__all__ = ["BOOTTIME", "Clocks"]

BOOTTIME = 6
_OWN = range(64, 128)
_Clock = tuple[int, int]


class Clocks:
    """What the snapshots so far say."""

    def __init__(self) -> None:
        self.trace = BOOTTIME
        self._offsets: dict[_Clock, dict[_Clock, int]] = {}
        self._units: dict[_Clock, tuple[int, bool]] = {}
        self._reached: dict[_Clock, int] = {}

    def snapshot(self, sequence: int, clocks: dict[int, tuple[int, int, bool]], primary: int) -> None:
        """Readings of several clocks at one moment: time in the clock's unit, unit in ns, whether it counts on."""
        if primary:
            self.trace = primary
        times = {}
        for clock, (time, unit, incremental) in clocks.items():
            key = _key(sequence, clock)
            times[key] = time * unit
            self._units[key] = (unit, incremental)
            self._reached[key] = time * unit
        for key, time in times.items():
            self._offsets.setdefault(key, {}).update({other: then - time for other, then in times.items() if other != key})

    def on_trace(self, sequence: int, clock: int, time: int) -> int | None:
        """A packet's time in ns on the clock of the trace; `None` where no snapshot ties its clock to that."""
        key, target = _key(sequence, clock), (0, self.trace)
        unit, incremental = self._units.get(key, (1, False))
        time *= unit
        if incremental:
            time += self._reached.get(key, 0)
            self._reached[key] = time
        if key == target:
            return time
        direct = self._offsets.get(key, {}).get(target)
        if direct is not None:
            return time + direct
        for other, offset in self._offsets.get(key, {}).items():
            further = self._offsets.get(other, {}).get(target)
            if further is not None:
                return time + offset + further
        return None


def _key(sequence: int, clock: int) -> _Clock:
    return (sequence, clock) if clock in _OWN else (0, clock)
