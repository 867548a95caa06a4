"""`ThrottleWatch`: in which stretches of time the machine was held back, so that the samples taken then can be marked.

Looks at the kernel's counters between blocks of samples: thermal throttling of the CPUs in use, periods in which the quota stopped the container,
time that the hypervisor took, and a clock under load below the processor's base clock. The counters say that something happened between two looks,
not when, so a stretch is what lies between two looks. What a marked sample is worth is decided elsewhere. Sources: thermal_throttle and cpufreq in
sysfs (Documentation/ABI/testing/sysfs-devices-system-cpu), `cpu.stat` (cgroup v1 and v2), /proc/stat (proc(5)).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from .. import cgroup
from ..system_files import number, read

__all__ = ["HeldBack", "ThrottleWatch", "Why"]

Why = Literal["thermal", "quota", "clock", "stolen"]
#: What the CPU did of its own or was told to; time that the hypervisor took is no throttling.
THROTTLED: tuple[Why, ...] = ("thermal", "quota", "clock")

_CPUS = "sys/devices/system/cpu"
#: Below this part of the base clock the CPU is held back; measured clocks wander by a few percent.
_CLOCK_PART = 0.95
_STEAL = 8


class HeldBack(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time, on the caller's clock in seconds, in which the machine was held back.

    Args:
        start_s, stop_s: the two looks it lies between.
        why: `thermal`, `quota`, `clock`, `stolen`.
        amount: how much: events, seconds stopped by the quota, clock ÷ base clock, or seconds of CPU time stolen.
    """

    start_s: float
    stop_s: float
    why: Why
    amount: float


class ThrottleWatch:
    """Looks again and again; a context manager, since it keeps its files open so that a look costs microseconds.

    Args:
        cpus: the CPUs in use, those this process may run on if null.
        root: `/`, or a tree like it.

    >>> with ThrottleWatch() as watch:
    ...     watch.look(0.0)
    ...     watch.look(1.0)
    >>> bool(watch.marked([0.2], [0.4]).any()) in (True, False)
    True
    """

    def __init__(self, cpus: Collection[int] | None = None, root: Path = Path("/")) -> None:
        used = sorted(os.sched_getaffinity(0) if cpus is None else cpus)
        self.intervals: list[HeldBack] = []
        #: Reasons that cannot be looked for here, and why.
        self.not_seen: dict[Why, str] = {}
        self._thermal = _Files(_thermal_files(root, used))
        self._quota = _Files(cgroup.stat_files(root))
        self._stat = _Files([root / "proc/stat"] if (root / "proc/stat").is_file() else [])
        self._base = {cpu: base for cpu in used if (base := number(read(root, f"{_CPUS}/cpu{cpu}/cpufreq/base_frequency")))}
        self._clock = _Files([root / f"{_CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq" for cpu in self._base])
        self._last: dict[Why, float] | None = None
        self._last_s = 0.0
        self._used = frozenset(used)
        self._explain()

    def _explain(self) -> None:
        if not self._thermal.count:
            self.not_seen["thermal"] = "the CPU shows no throttle counters"
        if not self._clock.count:
            self.not_seen["clock"] = "the CPU does not show its base clock"
        if not any("nr_throttled" in text for text in self._quota.texts()):
            self.not_seen["quota"] = "no control group counts it"
        if self._stolen_s() is None:
            self.not_seen["stolen"] = "/proc/stat does not tell it"

    def __enter__(self) -> ThrottleWatch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; the intervals stay."""
        for files in (self._thermal, self._quota, self._stat, self._clock):
            files.close()

    def look(self, at_s: float) -> None:
        """Read the counters; outside of a sample, before the first and after each block.

        Args:
            at_s: now, in seconds on the clock that the samples are taken with.
        """
        now = self._counters()
        if self._last is not None:
            for why, value in now.items():
                rise = value - self._last.get(why, value)
                if rise > 0:
                    self.intervals.append(HeldBack(start_s=self._last_s, stop_s=at_s, why=why, amount=rise))
            self._look_at_clock(at_s)
        self._last, self._last_s = now, at_s

    def marked(self, starts_s: Iterable[float], stops_s: Iterable[float], why: Collection[Why] = THROTTLED) -> NDArray[np.bool_]:
        """Which samples lie in a stretch in which the machine was held back, shape (n,).

        Args:
            starts_s, stops_s: of the samples, on the clock of `look`, shape (n,).
            why: the reasons that count.
        """
        first, last = _array(starts_s), _array(stops_s)
        found = np.zeros(first.shape, np.bool_)
        for stretch in self.intervals:
            if stretch.why in why:
                found |= (first < stretch.stop_s) & (last > stretch.start_s)
        return found

    def _counters(self) -> dict[Why, float]:
        found: dict[Why, float] = {}
        events = [value for text in self._thermal.texts() if (value := number(text)) is not None]
        if events:
            found["thermal"] = float(sum(events))
        stopped = [seconds for text in self._quota.texts() if (seconds := _stopped_s(text)) is not None]
        if stopped:
            found["quota"] = max(stopped)
        stolen = self._stolen_s()
        if stolen is not None:
            found["stolen"] = stolen
        return found

    def _stolen_s(self) -> float | None:
        """CPU seconds that the hypervisor has taken from the CPUs in use so far."""
        total = None
        for text in self._stat.texts():
            for line in text.splitlines():
                if not line.startswith("cpu"):
                    break
                words = line.split()
                if len(words) > _STEAL and number(words[0][3:]) in self._used:
                    total = (total or 0) + (number(words[_STEAL]) or 0)
        return None if total is None else total / os.sysconf("SC_CLK_TCK")

    def _look_at_clock(self, at_s: float) -> None:
        """The fastest of the CPUs in use is the one that has just worked; if even that is below its base clock, it is held back."""
        parts = [value / base for text, base in zip(self._clock.texts(), self._base.values(), strict=False) if (value := number(text))]
        if parts and max(parts) < _CLOCK_PART:
            self.intervals.append(HeldBack(start_s=self._last_s, stop_s=at_s, why="clock", amount=max(parts)))


class _Files:
    """Files of the kernel that are read again and again; one that cannot be read counts as not there."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._open: list[int] = []
        for path in paths:
            with contextlib.suppress(OSError):
                self._open.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    @property
    def count(self) -> int:
        return len(self._open)

    def texts(self) -> list[str]:
        return [_text(descriptor) for descriptor in self._open]

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())


def _text(descriptor: int) -> str:
    try:
        return os.pread(descriptor, 65536, 0).decode("ascii", "replace")
    except OSError:
        return ""


def _stopped_s(text: str) -> float | None:
    """Seconds stopped so far, in a `cpu.stat`: microseconds in version 2, nanoseconds in version 1."""
    values = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    if "throttled_usec" in values:
        return (number(values["throttled_usec"]) or 0) / 1e6
    return None if "throttled_time" not in values else (number(values["throttled_time"]) or 0) / 1e9


def _thermal_files(root: Path, cpus: list[int]) -> list[Path]:
    """Counters of the cores in use, and one counter of each of their packages."""
    found: dict[tuple[str, str], Path] = {}
    for cpu in cpus:
        folder = root / f"{_CPUS}/cpu{cpu}"
        core = read(root, f"{_CPUS}/cpu{cpu}/topology/thread_siblings_list") or str(cpu)
        package = read(root, f"{_CPUS}/cpu{cpu}/topology/physical_package_id") or ""
        found.setdefault(("core", core), folder / "thermal_throttle/core_throttle_count")
        found.setdefault(("package", package), folder / "thermal_throttle/package_throttle_count")
    return list(found.values())


def _array(values: Iterable[float]) -> NDArray[Any]:
    return np.asarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
