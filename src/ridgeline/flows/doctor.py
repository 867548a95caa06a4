"""`doctor`: what can and cannot be measured here, why, what a diagnosis loses by it, and how to enable it.

This module looks at the host (kernel, clocks, CPUs, memory); settings are looked at in `doctor_settings`, packages, places and devices in
`doctor_software`. Each check is a small function of a root folder, so that a recorded tree of /proc and /sys can be examined. Sources:
perf_event_open(2), proc(5), ptrace(2), the kernel's admin-guide (cpufreq, powercap, transhuge, cgroup v2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path

from ridgeline.core import DoctorReport, Finding, Machine
from ridgeline.machine import ClockWatch, read_machine

from .doctor_settings import setting_findings
from .doctor_software import software_findings

__all__ = ["count_cycles", "doctor", "host_findings"]

_NO_COUNTERS = "Mechanisms are told apart by perturbation and arithmetic instead of event counts."
# Longer than a few scheduler ticks, short enough not to be noticed.
_LISTEN_S = 0.3


def doctor(*, notebook: str | None = None) -> DoctorReport:
    """Examine this machine.

    Args:
        notebook: location of the notebook whose place is checked; the default one if null.
    """
    machine = read_machine()
    findings = (*host_findings(machine), *setting_findings(), *software_findings(notebook))
    return DoctorReport(machine=machine.description, fingerprint=machine.fingerprint, findings=findings)


def host_findings(machine: Machine, root: Path = Path("/"), cycles: Callable[[], int] | None = None) -> tuple[Finding, ...]:
    """Findings about kernel, clocks, CPUs and memory.

    Args:
        machine: as `machine.read_machine` sees it.
        root: `/`, or the folder of a recorded tree.
        cycles: tries to count cycles and returns 0 or the errno; `count_cycles` if null.
    """
    return (
        _counters((cycles or count_cycles)()),
        _paranoid(root),
        _perf(),
        _schedstat(root),
        _steal(root),
        _clock_source(root),
        _governor(machine),
        _throttling(root),
        _energy(root),
        _siblings(machine),
        _quota(machine),
        _affinity(machine),
        _huge_pages(root),
        _neighbours(root),
    )


def _read(root: Path, path: str) -> str | None:
    try:
        return (root / path).read_text("utf-8", "replace").strip()
    except OSError:
        return None


def count_cycles() -> int:
    """Try to open a counter of user-space cycles on this process by perf_event_open; 0 if it works, else the errno."""
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    if number is None:
        return errno.ENOSYS
    # struct perf_event_attr up to PERF_ATTR_SIZE_VER0: type HARDWARE, size 64, config CPU_CYCLES; bits disabled, exclude_kernel, exclude_hv.
    attributes = struct.pack("=IIQQQQQ", 0, 64, 0, 0, 0, 0, 1 | 1 << 5 | 1 << 6).ljust(64, b"\0")
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.syscall(ctypes.c_long(number), ctypes.c_char_p(attributes), 0, -1, -1, ctypes.c_ulong(0))
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def _counters(failed: int) -> Finding:
    name = "hardware counters"
    if failed == 0:
        return Finding(name=name, ok=True, detail="cycles can be counted")
    if failed in {errno.EACCES, errno.EPERM}:
        remedy = "sysctl kernel.perf_event_paranoid=2, or give CAP_PERFMON; in a container also allow perf_event_open"
        return Finding(name=name, ok=False, detail="not permitted", consequence=_NO_COUNTERS, remedy=remedy)
    why = "there is no PMU to be seen" if failed in {errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV} else os.strerror(failed)
    remedy = "use bare metal, or a virtual machine whose host passes the PMU through"
    return Finding(name=name, ok=False, detail=why, consequence=_NO_COUNTERS, remedy=remedy)


def _paranoid(root: Path) -> Finding:
    name, text = "perf_event_paranoid", _read(root, "proc/sys/kernel/perf_event_paranoid")
    if text is None or not text.lstrip("-").isdecimal():
        return Finding(name=name, ok=None, detail="not visible")
    if int(text) <= 2:
        return Finding(name=name, ok=True, detail=f"{text}: own processes may be observed")
    return Finding(
        name=name, ok=False, detail=f"{text}: no events without privilege", consequence=_NO_COUNTERS, remedy="sysctl kernel.perf_event_paranoid=2"
    )


def _perf() -> Finding:
    path = shutil.which("perf")
    if path:
        return Finding(name="perf", ok=True, detail=path)
    return Finding(
        name="perf", ok=False, detail="not on PATH", consequence="Native code is sampled by ridgeline itself only.", remedy="install linux-perf"
    )


def _schedstat(root: Path) -> Finding:
    name, fields = "run-queue delay", (_read(root, "proc/self/schedstat") or "").split()
    if len(fields) == 3 and all(field.isdecimal() for field in fields):
        return Finding(name=name, ok=True, detail="/proc/self/schedstat is readable")
    loss = "Time spent waiting for a CPU cannot be told from time spent blocked."
    return Finding(name=name, ok=False, detail="no /proc/self/schedstat", consequence=loss, remedy="use a kernel with CONFIG_SCHED_INFO")


def _steal(root: Path) -> Finding:
    fields = (_read(root, "proc/stat") or "").partition("\n")[0].split()
    if len(fields) >= 9 and fields[0] == "cpu":
        return Finding(name="stolen time", ok=True, detail="/proc/stat tells what the hypervisor takes")
    loss = "Another guest on the same host looks like a slow program."
    return Finding(name="stolen time", ok=False, detail="not in /proc/stat", consequence=loss)


def _clock_source(root: Path) -> Finding:
    name, source = "clock source", _read(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return Finding(name=name, ok=None, detail="not visible")
    if source in {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"}:
        return Finding(name=name, ok=True, detail=f"{source}: read without a system call")
    loss = "Each reading costs about a microsecond; short calls are timed in batches only."
    return Finding(name=name, ok=False, detail=source, consequence=loss, remedy="boot with clocksource=tsc where the TSC is stable")


def _governor(machine: Machine) -> Finding:
    name = "clock governor"
    if machine.governor is None:
        return Finding(
            name=name, ok=None, detail="cpufreq is not visible", consequence="The clock can neither be fixed nor followed; sentinels watch it."
        )
    if machine.governor == "performance":
        return Finding(name=name, ok=True, detail="performance")
    loss = "The clock rises and falls with load, and the times with it."
    return Finding(name=name, ok=False, detail=machine.governor, consequence=loss, remedy="cpupower frequency-set -g performance")


def _throttling(root: Path) -> Finding:
    name, text = "thermal throttling", _read(root, "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count")
    if text is None:
        loss = "Throttling is inferred from sentinels that slow down."
        return Finding(name=name, ok=None, detail="no counter to be seen", consequence=loss)
    return Finding(name=name, ok=True, detail=f"counted, {text} so far")


def _energy(root: Path) -> Finding:
    name, loss = "energy", "Energy of a call is not measured."
    counter = root / "sys/class/powercap/intel-rapl:0/energy_uj"
    if not counter.exists():
        return Finding(name=name, ok=False, detail="no RAPL to be seen", consequence=loss, remedy="use bare metal with powercap")
    if _read(root, "sys/class/powercap/intel-rapl:0/energy_uj") is None:
        return Finding(name=name, ok=False, detail="RAPL may not be read", consequence=loss, remedy=f"chmod a+r {counter}, or run as root")
    return Finding(name=name, ok=True, detail="RAPL is readable")


def _siblings(machine: Machine) -> Finding:
    name = "hyper-threads"
    if machine.threads_per_core is None:
        loss = "Two CPUs may be one core, so that two threads reach less than twice of one."
        return Finding(name=name, ok=None, detail="topology not visible", consequence=loss)
    if machine.threads_per_core == 1:
        return Finding(name=name, ok=True, detail="none: each CPU is a core")
    loss = "Ceilings of all threads are measured, not assumed to be those of one times the CPUs."
    return Finding(name=name, ok=True, detail=f"{machine.threads_per_core} CPUs a core", consequence=loss)


def _quota(machine: Machine) -> Finding:
    name = "CPU quota"
    if machine.quota_cpus is None:
        return Finding(name=name, ok=True, detail="none")
    loss = "The tail holds pauses of the quota, not of the program."
    if machine.quota_cpus >= len(machine.cpus_allowed):
        return Finding(name=name, ok=True, detail=f"{machine.quota_cpus:g} CPUs, as many as may be used")
    detail = f"{machine.quota_cpus:g} CPUs of {len(machine.cpus_allowed)}"
    return Finding(name=name, ok=False, detail=detail, consequence=loss, remedy="raise the quota, or pin to as many CPUs as it grants")


def _affinity(machine: Machine) -> Finding:
    allowed = len(machine.cpus_allowed)
    if allowed >= machine.cpus_online:
        return Finding(name="affinity", ok=True, detail=f"all {allowed} CPUs may be used")
    loss = "All threads means these CPUs only."
    detail = f"{allowed} of {machine.cpus_online} CPUs may be used"
    return Finding(name="affinity", ok=None, detail=detail, consequence=loss, remedy="widen it with taskset or the container's cpuset")


def _huge_pages(root: Path) -> Finding:
    name, text = "huge pages", _read(root, "sys/kernel/mm/transparent_hugepage/enabled")
    if text is None:
        return Finding(name=name, ok=None, detail="not visible")
    chosen = text.partition("[")[2].partition("]")[0] or text
    if chosen != "never":
        return Finding(name=name, ok=True, detail=f"transparent huge pages: {chosen}")
    loss = "Large arrays pay for address translation and page faults; latency of memory includes it."
    remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
    return Finding(name=name, ok=False, detail="transparent huge pages: never", consequence=loss, remedy=remedy)


def _neighbours(root: Path) -> Finding:
    """How much the others are doing just now; it changes by the minute."""
    name, watch = "quiet machine", ClockWatch(root)
    watch.start()
    time.sleep(_LISTEN_S)
    load = watch.stop().other_load
    if load is None:
        return Finding(name=name, ok=None, detail="the load of others is not visible")
    if load < 0.25:
        return Finding(name=name, ok=True, detail=f"others keep {load:.2f} CPUs busy just now")
    loss = "Times are longer and spread wider; small effects drown."
    return Finding(name=name, ok=False, detail=f"others keep {load:.1f} CPUs busy just now", consequence=loss, remedy="stop them, or measure later")
