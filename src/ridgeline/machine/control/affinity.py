"""Affinity: the CPUs the target may run on. Measuring wants a target of n threads on n CPUs, each a core of its own, and there to stay.

A target that chooses its number of threads itself keeps all CPUs: pinning would change what is measured. CPUs that the system keeps free of other
work (`isolated`) go first, then the fastest of a hybrid processor, then those that are not CPU 0, where most interrupts arrive.
Source: Documentation/ABI/testing/sysfs-devices-system-cpu; isolcpus in the kernel's parameters.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..system_files import cpu_list, number, read
from .changes import AffinityChange
from .reading import Asked, Reading

__all__ = ["best_cpus", "read_affinity"]

_CPUS = "sys/devices/system/cpu"


def read_affinity(asked: Asked) -> Reading:
    """The setting `affinity`."""
    allowed = sorted(os.sched_getaffinity(0)) if asked.root == Path("/") else _recorded(asked.root)
    found = ",".join(map(str, allowed))
    if not allowed or asked.threads is None:
        return Reading(name="affinity", found=found or None)
    if asked.threads > len(allowed):
        why = f"{asked.threads} threads share {len(allowed)} CPUs, which are all that this process may use"
        return Reading(name="affinity", found=found, wanted=f"{asked.threads} CPUs", reason=why)
    wanted = ",".join(map(str, best_cpus(allowed, asked.threads, asked.root)))
    changes = () if wanted == found else (AffinityChange(found=found, wanted=wanted),)
    return Reading(name="affinity", found=found, wanted=wanted, changes=changes)


def best_cpus(allowed: list[int], count: int, root: Path = Path("/")) -> tuple[int, ...]:
    """The `count` CPUs out of `allowed` to measure on, in ascending order: one a core as long as there are cores, those of one package first."""
    isolated = set(cpu_list(read(root, f"{_CPUS}/isolated")))

    def liking(cpu: int) -> tuple[bool, int, bool, int]:
        return cpu in isolated, _capacity(root, cpu), cpu != 0, cpu

    order = sorted(allowed, key=liking, reverse=True)
    first_package = _package(root, order[0])
    order.sort(key=lambda cpu: _package(root, cpu) != first_package)
    taken: list[int] = []
    cores: set[tuple[int, ...]] = set()
    for cpu in order:
        core = _siblings(root, cpu)
        if core not in cores:
            cores.add(core)
            taken.append(cpu)
    taken += [cpu for cpu in order if cpu not in taken]
    return tuple(sorted(taken[:count]))


def _siblings(root: Path, cpu: int) -> tuple[int, ...]:
    return cpu_list(read(root, f"{_CPUS}/cpu{cpu}/topology/thread_siblings_list")) or (cpu,)


def _package(root: Path, cpu: int) -> str:
    return read(root, f"{_CPUS}/cpu{cpu}/topology/physical_package_id") or ""


def _capacity(root: Path, cpu: int) -> int:
    """What the CPU can do beside others of the machine: its capacity, else its highest frequency; 0 where neither is to be seen."""
    folder = f"{_CPUS}/cpu{cpu}"
    return number(read(root, f"{folder}/cpu_capacity")) or number(read(root, f"{folder}/cpufreq/cpuinfo_max_freq")) or 0


def _recorded(root: Path) -> list[int]:
    for line in (read(root, "proc/self/status") or "").splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return list(cpu_list(line.partition(":")[2]))
    return []
