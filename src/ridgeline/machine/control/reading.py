"""`Reading`: what a module of a setting says about this machine. What is done about it is decided by `tuning`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .changes import Change

__all__ = ["Asked", "Reading"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the caller wants of the settings.

    Args:
        root: `/`, or a tree like it.
        threads: how many threads the target uses; null where it chooses itself, and may then use every CPU.
        real_time: whether the calling thread is to run before all ordinary ones; for a thread that measures itself only.
        gpu_hz: clock to lock the GPUs to, in Hz; null leaves them alone.
    """

    root: Path = field(default_factory=lambda: Path("/"))
    threads: int | None = None
    real_time: bool = False
    gpu_hz: float | None = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One setting as found.

    Args:
        name: as in `core.Setting`.
        found: its value as text, null where it cannot be seen.
        wanted: what measuring wants, null where nothing is wanted.
        changes: what leads from found to wanted, in order; empty where nothing is to be done or nothing can.
        reason: why it is not as wanted and cannot be made so, in one sentence; where there are changes, what is to be known about them.
    """

    name: str
    found: str | None = None
    wanted: str | None = None
    changes: tuple[Change, ...] = ()
    reason: str = ""
