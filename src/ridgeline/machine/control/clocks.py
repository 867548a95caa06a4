"""Governor and turbo: what the CPU's clock does. Measuring wants it to stay where it is: governor `performance`, turbo off.

With turbo the clock depends on temperature, on how many cores are busy and on luck, so that two versions run at two clocks. Without it the numbers
are lower than in daily use, by the same factor for both sides of a comparison. Sources: the kernel's admin-guide/pm (cpufreq, intel_pstate,
amd-pstate).
"""

from __future__ import annotations

from pathlib import Path

from ..system_files import read
from .changes import FileChange, may_write
from .reading import Asked, Reading

__all__ = ["read_governor", "read_turbo"]

_CPUFREQ = "sys/devices/system/cpu/cpufreq"
_HIDDEN = "cpufreq is not visible here: the host of this virtual machine or container decides"
_ROOT_ONLY = "only root may set it"


def read_governor(asked: Asked) -> Reading:
    """The setting `governor`, of all policies (groups of CPUs with one clock)."""
    name, wanted = "governor", "performance"
    policies = sorted(folder.name for folder in (asked.root / _CPUFREQ).glob("policy[0-9]*"))
    found = {policy: read(asked.root, f"{_CPUFREQ}/{policy}/scaling_governor") or "" for policy in policies}
    values = sorted({value for value in found.values() if value})
    if not values:
        return Reading(name=name, wanted=wanted, reason=_HIDDEN)
    text = ", ".join(values)
    others = {policy: value for policy, value in found.items() if value and value != wanted}
    if not others:
        return Reading(name=name, found=text, wanted=wanted)
    missing = [policy for policy in others if wanted not in (read(asked.root, f"{_CPUFREQ}/{policy}/scaling_available_governors") or wanted).split()]
    if missing:
        return Reading(name=name, found=text, wanted=wanted, reason=f"the clock of {missing[0]} knows no governor performance")
    return _changed(asked.root, name, text, wanted, {f"{_CPUFREQ}/{policy}/scaling_governor": (value, wanted) for policy, value in others.items()})


def read_turbo(asked: Asked) -> Reading:
    """The setting `turbo` (`on`, `off`): intel_pstate/no_turbo, else cpufreq/boost."""
    name = "turbo"
    for key, off in (("sys/devices/system/cpu/intel_pstate/no_turbo", "1"), (f"{_CPUFREQ}/boost", "0")):
        value = read(asked.root, key)
        if value in ("0", "1"):
            if value == off:
                return Reading(name=name, found="off", wanted="off")
            return _changed(asked.root, name, "on", "off", {key: (value, off)})
    return Reading(name=name, wanted="off", reason=_HIDDEN)


def _changed(root: Path, name: str, found: str, wanted: str, values: dict[str, tuple[str, str]]) -> Reading:
    """A reading with a change of each file, or why there can be none."""
    if not all(may_write(key, before) for key, (before, _) in values.items()):
        return Reading(name=name, found=found, wanted=wanted, reason="what was found there is no value that could be put back")
    changes = tuple(FileChange(key=key, found=before, wanted=after, root=root) for key, (before, after) in values.items())
    if not all(change.writable() for change in changes):
        return Reading(name=name, found=found, wanted=wanted, reason=_ROOT_ONLY)
    return Reading(name=name, found=found, wanted=wanted, changes=changes)
