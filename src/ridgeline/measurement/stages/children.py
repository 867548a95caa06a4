"""Whether a stretch had child processes: the recorder hears the threads of one process, so that a pool's stages must be said to be unseen.

A child counts that lives at the end of the stretch, or that ended and was waited for in it: the kernel then adds its page faults, of which every
process has some, to those of the parent's children. Python's own resource tracker, which does nothing, is no child in this sense.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

__all__ = ["ChildProcesses"]


class ChildProcesses:
    """The child processes of this process from now on."""

    def __init__(self) -> None:
        self._faults = _faults_of_ended()

    def used(self) -> int:
        """How many were seen, at least."""
        return max(len(_alive()), int(_faults_of_ended() > self._faults))


def _faults_of_ended() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


def _alive() -> set[int]:
    """Children that live, as the kernel lists them by thread; where it does not, those that multiprocessing knows of."""
    lists = list(Path("/proc/self/task").glob("*/children"))
    if not lists:
        known = sys.modules.get("multiprocessing.process")
        return {child.pid for child in getattr(known, "_children", ()) if child.pid is not None} - _helpers()
    return {int(pid) for file in lists for pid in _read(file).split()} - _helpers()


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the thread has ended meanwhile
        return ""


def _helpers() -> set[int | None]:
    tracker = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    return {getattr(tracker, "_pid", None)}
