"""The state of the clocks and the neighbours while something is measured: two readings of the kernel's counters and their difference.

Sources: /proc/stat and /proc/PID/stat (proc(5)), cpufreq and thermal_throttle in sysfs, `cpu.stat` of the control group. What a busy neighbour or a
throttled clock means for a verdict is decided elsewhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from ridgeline.core import ClockState, UsageError

from . import cgroup
from .system_files import number, read

__all__ = ["ClockWatch", "Watched", "governor", "read_clock"]

_CPUS = "sys/devices/system/cpu"
#: Fields of the `cpu` line that are work: user, nice, system, irq, softirq. Guest time is part of user already.
_BUSY = (0, 1, 2, 5, 6)
_STEAL = 7


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What changed between `start` and `stop`.

    Args:
        clock: governor and frequency now, throttling and share of stolen time in between.
        seconds: wall seconds in between.
        other_load: CPUs kept busy by processes outside our own tree, never below 0; null if not visible.
        throttled_s: seconds in which the quota of the container stopped us; null if not visible.
    """

    clock: ClockState
    seconds: float
    other_load: float | None = None
    throttled_s: float | None = None


def governor(root: Path = Path("/")) -> str | None:
    """The cpufreq governor of CPU 0, `None` where cpufreq is not visible."""
    return read(root, f"{_CPUS}/cpu0/cpufreq/scaling_governor") or None


def _hz(root: Path) -> float | None:
    """Mean frequency in Hz: cpufreq (kHz) where there is one, else what /proc/cpuinfo says (in a virtual machine the nominal one)."""
    found = [number(read(root, f"{_CPUS}/{folder.name}/cpufreq/scaling_cur_freq")) for folder in sorted((root / _CPUS).glob("cpu[0-9]*"))]
    known = [1e3 * value for value in found if value]
    if not known:
        for line in (read(root, "proc/cpuinfo") or "").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "cpu MHz" and value.strip().replace(".", "", 1).isdigit():
                known.append(float(value) * 1e6)
    return sum(known) / len(known) if known else None


def read_clock(root: Path = Path("/")) -> ClockState:
    """Governor and frequency now; throttling and steal need two readings (`ClockWatch`) and stay null."""
    return ClockState(governor=governor(root), hz=_hz(root))


class ClockWatch:
    """Two readings and their difference.

    Args:
        root: `/`, or a recorded tree.
        clock: monotonic seconds.

    >>> watch = ClockWatch()
    >>> watch.start()
    >>> watch.stop().seconds >= 0
    True
    """

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        self._root, self._clock = root, clock
        self._first: _Reading | None = None

    def start(self) -> None:
        """Take the first reading; a few milliseconds, so not inside a sample."""
        self._first = _reading(self._root, self._clock())

    def stop(self) -> Watched:
        """Take the second reading and compare.

        Raises:
            UsageError: `start` was not called.
        """
        if self._first is None:
            raise UsageError("a watch that was started", found="stop before start", remedy="call start first")
        first, last = self._first, _reading(self._root, self._clock())
        seconds = last.at_s - first.at_s
        state = read_clock(self._root)
        return Watched(
            clock=msgspec.structs.replace(state, throttled=_rose(first.throttles, last.throttles), steal=_steal(first.ticks, last.ticks)),
            seconds=seconds,
            other_load=_other_load(first, last, seconds),
            throttled_s=None if first.throttled_s is None or last.throttled_s is None else last.throttled_s - first.throttled_s,
        )


class _Reading(msgspec.Struct, frozen=True, kw_only=True):
    at_s: float
    ticks: tuple[int, ...]
    own_ticks: int | None
    throttles: int | None
    throttled_s: float | None


def _reading(root: Path, at_s: float) -> _Reading:
    group = cgroup.throttling(root)
    thermal = _thermal(root)
    counted = [count for count in (group.periods if group else None, thermal) if count is not None]
    return _Reading(
        at_s=at_s,
        ticks=_ticks(root),
        own_ticks=_tree_ticks(root, os.getpid()),
        throttles=sum(counted) if counted else None,
        throttled_s=group.seconds if group else None,
    )


def _ticks(root: Path) -> tuple[int, ...]:
    words = (read(root, "proc/stat") or "").split("\n", 1)[0].split()
    values = [number(word) for word in words[1:]]
    return tuple(value or 0 for value in values) if words[:1] == ["cpu"] else ()


def _thermal(root: Path) -> int | None:
    """Thermal throttle events of all cores and packages so far."""
    files = sorted((root / _CPUS).glob("cpu[0-9]*/thermal_throttle/*_throttle_count"))
    counts = [count for file in files if (count := number(read(root, str(file.relative_to(root))))) is not None]
    return sum(counts) if counts else None


def _tree_ticks(root: Path, own: int) -> int | None:
    """CPU ticks of a process and everything below it, ended children that were waited for included; `None` if /proc is not visible.

    A child that ends moves its ticks into its parent's, so the sum never falls.
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in (root / "proc").glob("[0-9]*"):
        # The name may hold anything, brackets and spaces too: count fields from its last bracket.
        fields = (read(root, f"proc/{folder.name}/stat") or "").rpartition(")")[2].split()
        if len(fields) > 14:
            process = int(folder.name)
            parents[process] = int(fields[1])
            ticks[process] = sum(int(field) for field in fields[11:15])
    if own not in ticks:
        return None
    return sum(count for process, count in ticks.items() if _descends(process, own, parents))


def _descends(process: int, ancestor: int, parents: dict[int, int]) -> bool:
    for _ in range(len(parents) + 1):  # a table read while processes come and go could hold a circle
        if process == ancestor:
            return True
        process = parents.get(process, 0)
    return False


def _rose(first: int | None, last: int | None) -> bool | None:
    return None if first is None or last is None else last > first


def _steal(first: tuple[int, ...], last: tuple[int, ...]) -> float | None:
    """Stolen ÷ all ticks; `None` before the first tick, or on a kernel that does not count it."""
    passed = [after - before for before, after in zip(first[:8], last[:8], strict=False)]
    if len(passed) <= _STEAL or sum(passed) <= 0:
        return None
    return min(1.0, max(0.0, passed[_STEAL] / sum(passed)))


def _other_load(first: _Reading, last: _Reading, seconds: float) -> float | None:
    if len(first.ticks) <= _STEAL or len(last.ticks) <= _STEAL or first.own_ticks is None or last.own_ticks is None or seconds <= 0:
        return None
    busy = sum(last.ticks[index] - first.ticks[index] for index in _BUSY)
    # All of these are sampled at ticks, so a short interval can come out a little below nothing.
    return max(0.0, (busy - (last.own_ticks - first.own_ticks)) / os.sysconf("SC_CLK_TCK") / seconds)
