"""What can be changed on a machine and put back: a kernel file, the clocks of a GPU, and attributes of this process.

A change knows its key, what was found and what is wanted; it can be read again and written. Which changes are worth making is decided by the modules
of the settings, when and in which order by `tuning`. Changes that outlive the process are `lasting`: they go through the journal first, and only
those on the list of `may_write` can be made at all, so that no journal, however it came to be, writes anywhere else.
Sources: proc(5), the kernel's admin-guide (cpufreq, intel_pstate, sysctl/vm, sysctl/kernel), sched_setaffinity(2), setpriority(2), sched(7).
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from ridgeline.core import UsageError

__all__ = ["AffinityChange", "Change", "FileChange", "NiceChange", "PolicyChange", "VariableChange", "may_write"]

#: The only files that are ever written, relative to the root.
_WRITABLE = re.compile(
    r"sys/devices/system/cpu/cpufreq/policy\d{1,5}/scaling_governor"
    r"|sys/devices/system/cpu/intel_pstate/no_turbo"
    r"|sys/devices/system/cpu/cpufreq/boost"
    r"|proc/sys/vm/swappiness"
    r"|proc/sys/kernel/(?:numa_balancing|sched_autogroup_enabled)",
    re.ASCII,
)
_VALUE = re.compile(r"[a-z0-9_-]{1,32}", re.ASCII)


class Change(Protocol):
    """One thing that can be set and put back."""

    #: Whether it stays when this process ends, so that it must be journalled; the name of its kind there.
    lasting: ClassVar[str]

    @property
    def key(self) -> str:
        """What is changed."""

    @property
    def found(self) -> str:
        """Its value before."""

    @property
    def wanted(self) -> str:
        """Its value while measuring."""

    def now(self) -> str | None:
        """Its value now, null where it cannot be read."""

    def put(self, value: str) -> None:
        """Set it.

        Raises:
            OSError: it cannot be set.
        """


def may_write(key: str, value: str) -> bool:
    """Whether a kernel file is one that ridgeline sets, and the value one it could hold."""
    return _WRITABLE.fullmatch(key) is not None and _VALUE.fullmatch(value) is not None


@dataclass(frozen=True)
class FileChange:
    """A file of the kernel.

    Args:
        key: path below `root`, one that `may_write` knows.
        found, wanted: texts, without a line break.
        root: `/`, or a tree like it.

    Raises:
        UsageError: another file, or a text that no such file holds.
    """

    lasting: ClassVar[str] = "file"
    key: str
    found: str
    wanted: str
    root: Path = Path("/")

    def __post_init__(self) -> None:
        if not (may_write(self.key, self.found) and may_write(self.key, self.wanted)):
            raise UsageError("a setting that ridgeline changes", found=f"{self.key!r}: {self.found!r} → {self.wanted!r}", remedy="set it by hand")

    def now(self) -> str | None:
        """See `Change`."""
        try:
            with os.fdopen(self._open(os.O_RDONLY), "rb") as file:
                return file.read(256).decode("ascii", "replace").strip()
        except OSError:
            return None

    def put(self, value: str) -> None:
        """See `Change`."""
        if not may_write(self.key, value):
            raise PermissionError(f"{self.key} is not for writing {value!r}")
        descriptor = self._open(os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, value.encode("ascii") + b"\n")
        finally:
            os.close(descriptor)

    def writable(self) -> bool:
        """Whether this process may set it here."""
        return os.access(self.root / self.key, os.W_OK)

    def _open(self, flags: int) -> int:
        # In a tree that is not the kernel's a link could lead elsewhere: every folder is resolved, and the file itself may not be a link.
        path = self.root / self.key
        parent = path.parent.resolve()
        if not parent.is_relative_to((self.root / self.key.split("/")[0]).resolve()):
            raise PermissionError(f"{path} leads out of {self.root}")
        descriptor = os.open(parent / path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise PermissionError(f"{path} is no file of the kernel")
        return descriptor


@dataclass(frozen=True)
class AffinityChange:
    """The CPUs that the calling thread, and every process it starts, may run on; as `1` or `0,2`."""

    lasting: ClassVar[str] = ""
    found: str
    wanted: str
    key: str = "affinity"

    def now(self) -> str | None:
        """See `Change`."""
        return ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))

    def put(self, value: str) -> None:
        """See `Change`."""
        os.sched_setaffinity(0, {int(cpu) for cpu in value.split(",")})


@dataclass(frozen=True)
class NiceChange:
    """The nice value of the calling thread and of every process it starts, −20 … 19."""

    lasting: ClassVar[str] = ""
    found: str
    wanted: str
    key: str = "nice"

    def now(self) -> str | None:
        """See `Change`."""
        return str(os.getpriority(os.PRIO_PROCESS, 0))

    def put(self, value: str) -> None:
        """See `Change`."""
        os.setpriority(os.PRIO_PROCESS, 0, int(value))


@dataclass(frozen=True)
class PolicyChange:
    """The scheduling policy of the calling thread alone: `other` or `fifo`; what it starts goes back to `other` by itself (sched(7))."""

    lasting: ClassVar[str] = ""
    found: str
    wanted: str
    key: str = "policy"

    def now(self) -> str | None:
        """See `Change`."""
        policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
        return {os.SCHED_OTHER: "other", os.SCHED_FIFO: "fifo"}.get(policy)

    def put(self, value: str) -> None:
        """See `Change`."""
        if value == "fifo":
            os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        else:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@dataclass(frozen=True)
class VariableChange:
    """An environment variable for the processes that are started from here; the empty text stands for one that is not set."""

    lasting: ClassVar[str] = ""
    key: str
    found: str
    wanted: str
    environment: os._Environ[str] | dict[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def now(self) -> str | None:
        """See `Change`."""
        return self.environment.get(self.key, "")

    def put(self, value: str) -> None:
        """See `Change`."""
        if value:
            self.environment[self.key] = value
        else:
            with contextlib.suppress(KeyError):
                del self.environment[self.key]
