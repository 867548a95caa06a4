"""The doctor's third part: the settings that decide speed, what `--tune` would do about each, and what a killed run has left set.

Nothing is set here, and nothing put back: the doctor only tells. Each setting is read by `machine.control`.
"""

from __future__ import annotations

from pathlib import Path

from ridgeline.core import Finding, RidgelineError, Setting
from ridgeline.machine.control import left_over, read_settings

__all__ = ["setting_findings"]

#: What depends on how many threads the target has; the strictest wish is shown, that of one thread.
_BY_THREADS = frozenset({"affinity", "threads"})
_LOSS = {
    "affinity": "The target is moved from CPU to CPU, and finds its caches cold there.",
    "threads": "More threads than may run stop each other.",
    "governor": "The clock rises and falls with load, and the times with it.",
    "turbo": "The clock depends on temperature and on how many cores are busy.",
    "smt": "A neighbour on the same core takes a part of it.",
    "priority": "Whoever else wants the CPU interrupts the target.",
    "swap": "A page that was swapped out makes one call a thousand times longer.",
    "quota": "The container is stopped in the middle of a call.",
    "numa-balancing": "Pages are unmapped and moved while the target uses them.",
    "gpu-clock": "The GPU's clock follows load and temperature.",
}


def setting_findings(root: Path = Path("/"), folder: Path | None = None) -> tuple[Finding, ...]:
    """Findings about settings.

    Args:
        root: `/`, or a tree like it.
        folder: where the journals are, the user's state folder if null.
    """
    return (*(_finding(setting) for setting in read_settings(root, threads=1)), *_left(root, folder))


def _finding(setting: Setting) -> Finding:
    name, found = f"setting {setting.name}", setting.found or "not visible"
    if setting.state == "fine":
        return Finding(name=name, ok=True if setting.wanted else None, detail=found)
    loss = _LOSS.get(setting.name, "")
    if setting.state == "not asked":
        note = f"; {setting.reason}" if setting.reason else ""
        of_one = " of a target with --threads 1" if setting.name in _BY_THREADS else ""
        return Finding(name=name, ok=None, detail=f"{found}; --tune sets {setting.wanted} for a measurement{of_one}{note}", consequence=loss)
    wanted = f", wanted {setting.wanted}" if setting.wanted else ""
    return Finding(name=name, ok=None if setting.found is None else False, detail=f"{found}{wanted}: {setting.reason}", consequence=loss)


def _left(root: Path, folder: Path | None) -> tuple[Finding, ...]:
    name = "settings left over"
    try:
        entries = left_over(root, folder)
    except RidgelineError as error:
        return (Finding(name=name, ok=None, detail=str(error)),)
    if not entries:
        return (Finding(name=name, ok=True, detail="none: every run has put back what it set"),)
    loss = "The machine is not as its owner set it, and numbers taken now are of another state."
    remedy = "run any other command of ridgeline, which puts them back"
    return tuple(
        Finding(name=name, ok=False, detail=str(entry), consequence=loss, remedy="" if entry.outcome == "unreadable" else remedy) for entry in entries
    )
