"""Watching a command from outside while it runs: which of its threads run or wait, for how long, and what it moves to and from the disk.

Sources: `/proc/PID/task/TID/schedstat` (second field: nanoseconds runnable but not running), `stat`, `children`, `/proc/PID/io` and `status`
(proc(5)). Only looks; starting and ending the command is `command`'s.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.machine import process_tree, thread_ids

__all__ = ["FIRST_S", "CommandSample", "Watch"]

#: Samples come close together at first, then at this part of the time so far, so that short and long runs are both seen and neither is disturbed.
FIRST_S, _PART, _LONGEST_S = 0.005, 0.04, 0.1


class CommandSample(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a command; seconds and bytes.

    Args:
        wall_s: from before the process was started until it had ended.
        user_s, system_s: CPU time, of children that were waited for too.
        minor_faults, major_faults, voluntary_switches, involuntary_switches: as rusage counts them.
        max_rss_bytes: most resident memory of one of its processes; null if it was never sampled (rusage has that of the process that started it).
        run_queue_s: summed over all threads seen; null if it was never visible.
        blocked_s: time in which no thread was running or runnable; null if it was never sampled.
        read_bytes, written_bytes: disk traffic; null if not visible.
        processes, threads: the most seen at once.
        looks: samples taken while it ran.
    """

    wall_s: float
    user_s: float
    system_s: float
    minor_faults: int
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int
    max_rss_bytes: int | None = None
    run_queue_s: float | None = None
    blocked_s: float | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    processes: int = 0
    threads: int = 0
    looks: int = 0


@dataclass
class Watch:
    """What was seen of a running command so far."""

    pid: int
    started: float
    last: float = 0.0
    looks: int = 0
    blocked_s: float = 0.0
    processes: int = 0
    threads: int = 0
    max_rss_bytes: int = 0
    run_queue_ns: dict[tuple[int, str], int] = field(default_factory=dict)
    traffic: dict[int, tuple[int, int]] = field(default_factory=dict)
    clock: Callable[[], float] = time.perf_counter

    def elapsed_s(self) -> float:
        """Seconds since the command was started."""
        return self.clock() - self.started

    def pause_s(self) -> float:
        """Seconds until the next look."""
        return min(_LONGEST_S, max(FIRST_S, _PART * self.elapsed_s()))

    def look(self) -> None:
        """Take one sample; not more often than the pause says, however often a chatty stderr wakes us."""
        now = self.elapsed_s()
        if now - self.last < 0.9 * self.pause_s():
            return
        pids, threads, busy = process_tree(self.pid), 0, False
        for pid in pids:
            for task in thread_ids(pid):
                threads += 1
                busy |= self._see(pid, task)
            self._see_traffic(pid)
            self._see_memory(pid)
        if not busy:
            self.blocked_s += now - self.last
        self.last, self.looks = now, self.looks + 1
        self.processes, self.threads = max(self.processes, len(pids)), max(self.threads, threads)

    def _see(self, pid: int, task: str) -> bool:
        """Keep a thread's run-queue delay; whether it is running or runnable."""
        try:
            delay = Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()
            self.run_queue_ns[pid, task] = int(delay[1])
        except (OSError, IndexError, ValueError):
            pass
        try:
            return Path(f"/proc/{pid}/task/{task}/stat").read_text().rpartition(")")[2].split()[0] == "R"
        except (OSError, IndexError):
            return False

    def _see_traffic(self, pid: int) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError):
            lines = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
            self.traffic[pid] = (int(lines["read_bytes"]), int(lines["write_bytes"]))

    def _see_memory(self, pid: int) -> None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            _, _, after = Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")
            self.max_rss_bytes = max(self.max_rss_bytes, 1024 * int(after.split()[0]))

    def sample(self, wall_s: float, usage: Any) -> CommandSample:
        """The finished record."""
        return CommandSample(
            wall_s=wall_s,
            user_s=usage.ru_utime,
            system_s=usage.ru_stime,
            minor_faults=usage.ru_minflt,
            major_faults=usage.ru_majflt,
            voluntary_switches=usage.ru_nvcsw,
            involuntary_switches=usage.ru_nivcsw,
            max_rss_bytes=self.max_rss_bytes or None,
            run_queue_s=sum(self.run_queue_ns.values()) / 1e9 if self.run_queue_ns else None,
            blocked_s=min(self.blocked_s, wall_s) if self.looks else None,
            read_bytes=sum(read for read, _ in self.traffic.values()) if self.traffic else None,
            written_bytes=sum(written for _, written in self.traffic.values()) if self.traffic else None,
            processes=self.processes,
            threads=self.threads,
            looks=self.looks,
        )
