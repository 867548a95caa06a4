"""The container's CPU quota. Measuring wants none, or one that leaves every CPU that may be used: a quota stops the target in the middle of a call.

It is never set here, not even where root could: the limit belongs to whoever runs the container.
"""

from __future__ import annotations

from ..host import read_machine
from .reading import Asked, Reading

__all__ = ["read_quota"]


def read_quota(asked: Asked) -> Reading:
    """The setting `quota`, in CPUs."""
    machine = read_machine(asked.root)
    allowed = len(machine.cpus_allowed)
    if machine.quota_cpus is None:
        return Reading(name="quota", found="none", wanted="none")
    found = f"{machine.quota_cpus:g} CPUs of {allowed}"
    if machine.quota_cpus >= allowed:
        return Reading(name="quota", found=found, wanted=found)
    why = "the limit belongs to whoever runs the container: raise it there, or measure with no more threads than it grants"
    return Reading(name="quota", found=found, wanted="none", reason=why)
