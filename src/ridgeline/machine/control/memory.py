"""Swap and what the kernel does with pages by itself: NUMA balancing, huge pages, address randomisation.

Measuring wants no page of the target to go to the disk, and none to be moved between nodes in between. Huge pages and the randomisation of
addresses are left as they are and told, since they are part of what is measured: every process gets another layout, which is why the process is the
unit of inference. Sources: the kernel's admin-guide (sysctl/vm, sysctl/kernel, mm/transhuge, cgroup-v2 on memory.swap.max).
"""

from __future__ import annotations

from pathlib import Path

from .. import cgroup
from ..system_files import number, read
from .changes import FileChange, may_write
from .reading import Asked, Reading

__all__ = ["read_huge_pages", "read_layout", "read_numa", "read_swap"]

_SWAPPINESS = "proc/sys/vm/swappiness"
_NUMA = "proc/sys/kernel/numa_balancing"
_RANDOM = {"0": "fixed", "1": "random stack and mappings", "2": "random"}


def read_swap(asked: Asked) -> Reading:
    """The setting `swap`: `none`, or the swappiness."""
    devices = (read(asked.root, "proc/swaps") or "").splitlines()[1:]
    limit = cgroup.swap_limit_bytes(asked.root)
    if (not devices and read(asked.root, "proc/swaps") is not None) or limit == 0:
        return Reading(name="swap", found="none", wanted="none")
    value = read(asked.root, _SWAPPINESS)
    if value is None or number(value) is None:
        return Reading(name="swap", wanted="none", reason="neither swap areas nor swappiness are visible")
    if value == "0":
        return Reading(name="swap", found="swappiness 0", wanted="swappiness 0")
    return _file(asked.root, "swap", f"swappiness {value}", "swappiness 0", _SWAPPINESS, value)


def read_numa(asked: Asked) -> Reading:
    """The setting `numa-balancing` (`on`, `off`)."""
    name, value = "numa-balancing", read(asked.root, _NUMA)
    nodes = len(list((asked.root / "sys/devices/system/node").glob("node[0-9]*")))
    if nodes <= 1 or value == "0":
        return Reading(name=name, found="off" if value == "0" else "one node")
    if value is None or number(value) is None:
        return Reading(name=name, wanted="off", reason="it is not visible")
    return _file(asked.root, name, "on", "off", _NUMA, value)


def _file(root: Path, name: str, found: str, wanted: str, key: str, value: str) -> Reading:
    """A reading of a file that holds a number and should hold 0."""
    if not may_write(key, value):
        return Reading(name=name, found=found, wanted=wanted, reason="what was found there is no value that could be put back")
    change = FileChange(key=key, found=value, wanted="0", root=root)
    if not change.writable():
        return Reading(name=name, found=found, wanted=wanted, reason="only root may set it, and in a container nobody")
    return Reading(name=name, found=found, wanted=wanted, changes=(change,))


def read_huge_pages(asked: Asked) -> Reading:
    """The setting `huge-pages`: read only."""
    text = read(asked.root, "sys/kernel/mm/transparent_hugepage/enabled") or ""
    return Reading(name="huge-pages", found=text.partition("[")[2].partition("]")[0] or None)


def read_layout(asked: Asked) -> Reading:
    """The setting `address-layout`: read only."""
    return Reading(name="address-layout", found=_RANDOM.get(read(asked.root, "proc/sys/kernel/randomize_va_space") or ""))
