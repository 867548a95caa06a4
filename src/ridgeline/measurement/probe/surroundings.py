"""What else went on while the probe ran: time stolen by the hypervisor, other programs, throttling by the container's quota.

From /proc/stat (proc(5): jiffies by state, summed over CPUs) and cpu.stat of the cgroup. Only differences between two looks are used.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Look", "look", "surroundings_notes"]

#: Below these the effect on a ceiling is smaller than the spread of its readings.
_STEAL_SHARE = 0.01
_OTHER_CPUS = 0.1


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look: monotonic s; busy and stolen CPU-seconds of the machine; CPU-seconds of this process; throttled periods. `None` where not visible."""

    at_s: float
    busy_s: float | None
    stolen_s: float | None
    own_s: float
    throttled: int | None


def look(stat: Path = Path("/proc/stat"), quota: Path = Path("/sys/fs/cgroup/cpu.stat")) -> Look:
    """Look once."""
    busy_s, stolen_s = _cpu_times(stat)
    return Look(at_s=time.monotonic(), busy_s=busy_s, stolen_s=stolen_s, own_s=time.process_time(), throttled=_throttled(quota))


def surroundings_notes(before: Look, after: Look) -> tuple[str, ...]:
    """Sentences for the reader, only about what could have lowered the ceilings."""
    wall_s = max(after.at_s - before.at_s, 1e-9)
    notes = []
    if before.stolen_s is not None and after.stolen_s is not None and before.busy_s is not None and after.busy_s is not None:
        stolen_s = after.stolen_s - before.stolen_s
        used_s = after.busy_s - before.busy_s
        if stolen_s > _STEAL_SHARE * (used_s + stolen_s):
            notes.append(f"The hypervisor took {stolen_s / (used_s + stolen_s):.0%} of the CPU time while probing: ceilings may be too low.")
        others = (used_s - (after.own_s - before.own_s)) / wall_s
        if others > _OTHER_CPUS:
            notes.append(f"Other programs kept {others:.1f} CPUs busy while probing: ceilings may be too low.")
    if before.throttled is not None and after.throttled is not None and after.throttled > before.throttled:
        times = after.throttled - before.throttled
        notes.append(f"The container's CPU quota stopped the probe {times} times: ceilings of all threads are those of the quota.")
    return tuple(notes)


def _cpu_times(stat: Path) -> tuple[float | None, float | None]:
    """CPU-seconds that were (busy, stolen): user, nice, system, irq, softirq of the first line; steal is its eighth number."""
    try:
        with stat.open() as file:
            numbers = [int(word) for word in file.readline().split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None, None
    if len(numbers) < 8:
        return None, None
    user, nice, system, _idle, _iowait, irq, softirq, steal = numbers
    return (user + nice + system + irq + softirq) / tick, steal / tick


def _throttled(quota: Path) -> int | None:
    try:
        with quota.open() as file:
            pairs = dict(line.split()[:2] for line in file if len(line.split()) >= 2)
        return int(pairs["nr_throttled"])
    except (OSError, ValueError, KeyError):
        return None
