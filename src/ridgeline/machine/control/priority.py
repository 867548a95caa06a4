"""Priority: who runs when several want the CPU. Measuring wants the target to go first: nice −20, and one queue for all sessions.

Nice values count within a session only while the kernel groups the tasks of a session (sched_autogroup_enabled), so that is switched off for the
time. SCHED_FIFO goes before everything and is therefore set only where it is asked for, and for the calling thread alone: a thread that spins would
starve whoever could end it. Its trap: the kernel stops real-time threads for the rest of each period (50 ms of a second by default,
sched_rt_runtime_us), which shows as an outlier with an involuntary switch; that guard stays. Sources: sched(7), setpriority(2).
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from ..system_files import number, read
from .changes import Change, FileChange, NiceChange, PolicyChange
from .reading import Asked, Reading

__all__ = ["read_priority"]

_LOWEST = -20
_AUTOGROUP = "proc/sys/kernel/sched_autogroup_enabled"
_RUNTIME, _PERIOD = "proc/sys/kernel/sched_rt_runtime_us", "proc/sys/kernel/sched_rt_period_us"
#: Bit of CAP_SYS_NICE in the capability sets (linux/capability.h).
_CAP_SYS_NICE = 23


def read_priority(asked: Asked) -> Reading:
    """The setting `priority`, as `nice 0` or `nice -20, real time`."""
    nice, policy = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    found = "real time" if policy in (os.SCHED_FIFO, os.SCHED_RR) else f"nice {nice}"
    wanted = "real time" if asked.real_time else f"nice {_LOWEST}"
    if found in (wanted, "real time"):
        return Reading(name="priority", found=found, wanted=found)
    if asked.real_time:
        return _real_time(asked.root, found, nice)
    if not _may_go_first(asked.root):
        why = "it needs root, CAP_SYS_NICE, or a limit on nice (ulimit -e) of 40"
        return Reading(name="priority", found=found, wanted=wanted, reason=why)
    together = _one_queue(asked.root)
    note = "" if together is not None else "the kernel groups the tasks of a session, and nice counts within the session only"
    changes: tuple[Change, ...] = (*(together or ()), NiceChange(found=str(nice), wanted=str(_LOWEST)))
    return Reading(name="priority", found=found, wanted=wanted, changes=changes, reason=note)


def _real_time(root: Path, found: str, nice: int) -> Reading:
    wanted, runtime, period = "real time", number(read(root, _RUNTIME)), number(read(root, _PERIOD))
    if runtime is None or period is None or not 0 <= runtime < period:
        why = "the kernel lets real-time threads run without end here, so that one that spins could never be stopped"
        return Reading(name="priority", found=found, wanted=wanted, reason=why)
    if not (_has_capability(root) or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0):
        return Reading(name="priority", found=found, wanted=wanted, reason="it needs root, CAP_SYS_NICE, or a limit on real time (ulimit -r) of 1")
    if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK != os.SCHED_OTHER:
        return Reading(name="priority", found=found, wanted=wanted, reason="this thread has a scheduling policy of its own, which is left as it is")
    note = f"the kernel stops it for {(period - runtime) / 1e3:g} ms in every {period / 1e3:g} ms that it fills"
    return Reading(name="priority", found=found, wanted=wanted, changes=(PolicyChange(found="other", wanted="fifo"),), reason=note)


def _may_go_first(root: Path) -> bool:
    limit = resource.getrlimit(resource.RLIMIT_NICE)[0]
    return _has_capability(root) or limit == resource.RLIM_INFINITY or 20 - limit <= _LOWEST


def _has_capability(root: Path) -> bool:
    for line in (read(root, "proc/self/status") or "").splitlines():
        if line.startswith("CapEff:"):
            try:
                return bool(int(line.partition(":")[2], 16) >> _CAP_SYS_NICE & 1)
            except ValueError:
                return False
    return False


def _one_queue(root: Path) -> tuple[FileChange, ...] | None:
    """The change that makes nice count among all; empty where it does already, `None` where it cannot be made."""
    if read(root, _AUTOGROUP) != "1":
        return ()
    change = FileChange(key=_AUTOGROUP, found="1", wanted="0", root=root)
    return (change,) if change.writable() else None
