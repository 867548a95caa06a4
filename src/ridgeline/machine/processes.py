"""Which processes stand below another, by the kernel's lists of children (proc(5), /proc/PID/task/TID/children)."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["end_all", "process_tree", "started", "thread_ids"]


def process_tree(top: int) -> list[int]:
    """A process and all below it, by the kernel's lists of children; parents first."""
    found, waiting = [], [top]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        for task in thread_ids(pid):
            with contextlib.suppress(OSError, ValueError):
                waiting += [int(word) for word in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    return found


def thread_ids(pid: int) -> list[str]:
    """Names of the threads of a process; none where it has ended or may not be seen."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def started(pids: Iterable[int]) -> dict[int, str]:
    """Process → when it was started (clock ticks since boot, field 22 of `stat`), which tells it from a later one of the same number."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError, IndexError):
            found[pid] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return found


def end_all(processes: Mapping[int, str]) -> None:
    """End those of the processes (as `started` gave them) that still run."""
    for pid, since in processes.items():
        if started([pid]).get(pid) == since:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
