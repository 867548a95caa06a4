"""What a time on this host depends on beside the job: the processor, and variables of the environment, as texts for identities."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from ridgeline.machine import read_machine
from ridgeline.machine.caches import read_levels
from ridgeline.machine.vectors import vector_bits

__all__ = ["environment", "host_limits", "processor", "versions"]

#: What decides how threads and memory of any program behave; not whether two copies of OpenMP's runtime end it, which threadpoolctl sets on import.
_ANY = r"(?!KMP_DUPLICATE_LIB_OK$)(LD_LIBRARY_PATH|LD_PRELOAD|GLIBC_TUNABLES|(OMP|GOMP|KMP|MALLOC|MKL|OPENBLAS)_\w+)"


@lru_cache(maxsize=1)
def processor() -> str:
    """What `-march=native` goes by, and how many of it there are."""
    machine = read_machine()
    return f"{machine.cpu_model}, {machine.architecture}, {machine.cpus_online} CPUs, {' '.join(machine.isa)}"


def host_limits() -> dict[str, int]:
    """What is known of this CPU without measuring: CPUs that may be used, width of a vector, caches, memory."""
    machine = read_machine()
    caches = {f"{each.name.lower()}_bytes": each.capacity_bytes for each in read_levels(machine.cpus_allowed[0] if machine.cpus_allowed else 0)}
    found = {"execution_units": machine.cpus_usable, "vector_bits": vector_bits(machine.isa), "memory_bytes": machine.memory_bytes, **caches}
    return {name: value for name, value in found.items() if value}


def environment(more: str = "") -> str:
    """Variables that are set, with their values.

    Args:
        more: regular expression of names, beside those that change any program.
    """
    wanted = re.compile(f"{_ANY}|{more}" if more else _ANY)
    return " ".join(f"{name}={value}" for name, value in sorted(os.environ.items()) if wanted.fullmatch(name))


def versions(*packages: str) -> str:
    """Packages with their versions, those that are installed."""
    found = []
    for name in packages:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
