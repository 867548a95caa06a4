"""SMT siblings: two CPUs that are one core. Measuring wants the sibling of a CPU that is measured to stay idle.

That is reached by the choice of CPUs in `affinity`, one a core. SMT is never switched off here: that takes CPUs away from everybody on the machine,
and programs that were pinned to them do not get their pinning back when they return. Source: the kernel's admin-guide/hw-vuln (smt/control) and
cpuset(7) on CPUs that go offline.
"""

from __future__ import annotations

from ..host import read_machine
from ..system_files import read
from .reading import Asked, Reading

__all__ = ["read_siblings"]

_CONTROL = "sys/devices/system/cpu/smt/control"
_OFF = frozenset({"off", "forceoff", "notsupported"})


def read_siblings(asked: Asked) -> Reading:
    """The setting `smt`."""
    control, machine = read(asked.root, _CONTROL), read_machine(asked.root)
    if machine.threads_per_core is None and machine.hypervisor:
        return Reading(name="smt", wanted="off", reason="the host shows every CPU as a core, whether it is one or not")
    if control in _OFF or machine.threads_per_core == 1:
        return Reading(name="smt", found="off", wanted="off")
    if machine.threads_per_core is None:
        return Reading(name="smt", wanted="off", reason="it is not visible which CPUs are one core")
    why = f"others may use the siblings of the CPUs that are measured; for all of them: echo off > /{_CONTROL}, as root, while nothing else runs"
    return Reading(name="smt", found=f"on, {machine.threads_per_core} CPUs a core", wanted="off", reason=why)
