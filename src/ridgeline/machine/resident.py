"""How much memory a process has held at most: of this one above what it held at a moment, and of one that it started.

Linux keeps the highest resident size of a process (`VmHWM`) and forgets it on demand (`5` written to `clear_refs`); elsewhere there is only a number
that never falls (`ru_maxrss`). Sources: proc_pid_status(5), proc_pid_clear_refs(5), getrusage(2), malloc_trim(3).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .processes import process_tree
from .system_files import number

__all__ = ["PeakMemory", "most_resident_of"]

#: Bytes of `ru_maxrss`: of Linux in KiB, of macOS in bytes.
_UNIT = 1 if sys.platform == "darwin" else 1024
_OWN = Path("/proc/self")
#: Between two looks at a process that was started.
_PAUSE_S = 1e-3


class PeakMemory:
    """Most resident memory of this process above what it held when this was made.

    Args:
        own: folder of this process in /proc.

    Attributes:
        exact: whether the highest size could be forgotten first; where not, what this process held earlier may hide some of it, and what comes after
            `aside` does not count.
    """

    def __init__(self, own: Path = _OWN) -> None:
        self._own = own
        _give_back()
        self.exact = self._forget()
        self._base = self._held("VmRSS") if self.exact else _max_rss()
        self._most, self._ended = 0, False

    def read_bytes(self) -> int:
        """Bytes so far."""
        if not self._ended:
            self._most = max(self._most, (self._held("VmHWM") if self.exact else _max_rss()) - self._base)
        return self._most

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """What is taken inside of the `with` does not count, and what of it is kept does not count afterwards."""
        self.read_bytes()
        _give_back()
        before = self._held("VmRSS") if self.exact else 0
        try:
            yield
        finally:
            _give_back()
            if self.exact:
                self._base += self._held("VmRSS") - before
                self._forget()
            self._ended |= not self.exact

    def _forget(self) -> bool:
        try:
            (self._own / "clear_refs").write_text("5")
        except OSError:
            return False
        return bool(self._held("VmHWM"))

    def _held(self, what: str) -> int:
        return _status(self._own, what)


def _give_back() -> None:
    """Give pages that were freed and that the allocator kept back to the system (malloc_trim(3), of glibc): what is taken next would hide there."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def most_resident_of(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process that was started, and return the bytes that it, or one that it started, has held at most; 0 where it was too short to see.

    `ru_maxrss` of a process starts at what the process that started it has held, so that it tells of larger ones only; smaller ones are looked at
    every millisecond until they end.
    """
    most = 0
    while True:
        most = max(most, *(_status(Path(f"/proc/{pid}"), "VmHWM") for pid in process_tree(process.pid)), 0)
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            used = usage.ru_maxrss * _UNIT
            return max(most, used) if used > _max_rss() else most
        time.sleep(_PAUSE_S)


def _status(folder: Path, what: str) -> int:
    try:
        _, _, after = (folder / "status").read_text().partition(f"{what}:")
    except OSError:
        return 0
    return 1024 * (number(after.split()[0] if after.split() else None) or 0)


def _max_rss() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
