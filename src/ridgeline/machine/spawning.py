"""Starting a worker's process: its interpreter, its pipes, and the descriptors that both ends own.

What is sent through the pipes and when the process must end is decided in `worker`; what the process does with them in `child`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ridgeline.core import TargetFailed

__all__ = ["command_line", "cpu_s", "own", "pipe", "start"]

#: Affinity comes before every import: math libraries size their thread pools by it when they are loaded. msgspec asks for `typing_extensions` and
#: does without: with all it loads in turn it would be an eighth of the start of a child, which is paid once a process that is measured.
_BOOT = (
    "import os, sys; sys.argv[6] and os.sched_setaffinity(0, map(int, sys.argv[6].split(','))); "
    "absent = sys.modules.setdefault('typing_extensions') is None; import msgspec; absent and sys.modules.pop('typing_extensions'); "
    "from ridgeline.machine.child import main; main(sys.argv[1:])"
)
#: Descriptors above those that programs close by number.
_LOWEST_DESCRIPTOR = 64


def command_line(
    python: str | None, descriptors: tuple[int, ...], memory_bytes: int | None, cpus: tuple[int, ...] | None, preload: str = ""
) -> list[str]:
    """The command that boots a child: the interpreter, the descriptors it inherits, its limits (0 or empty for none), modules to import."""
    # -P: the working directory belongs to the target and must not hide modules of ours.
    words = (*map(str, descriptors), str(memory_bytes or 0), ",".join(map(str, cpus or ())), preload)
    return [python or sys.executable, "-P", "-c", _BOOT, *words]


def own(descriptor: int, owner: contextlib.ExitStack) -> int:
    """Move a descriptor above those that programs close by number; `owner` closes it."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST_DESCRIPTOR)
    except OSError:  # the limit of open files is that low
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    owner.callback(_close, moved)
    return moved


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)


def pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe's read end, closed by `reader`, and its write end, closed by `writer`.

    Raises:
        TargetFailed: this process may open no more files.
    """
    try:
        read_end, write_end = os.pipe()
        return own(read_end, reader), own(write_end, writer)
    except OSError as error:
        raise TargetFailed("descriptors for a worker process", found=str(error), remedy="close files, or raise ulimit -n") from error


def start(
    command: list[str], output: int, passed: tuple[int, ...], environment: Mapping[str, str], directory: str | os.PathLike[str] | None
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, with empty stdin and its output in `output`.

    Raises:
        TargetFailed: it does not start.
    """
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=passed,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise TargetFailed(
            "a Python interpreter that starts",
            found=f"{command[0] or 'none'}: {error}",
            remedy="check the interpreter, the directory and the number of processes",
        ) from error


def cpu_s(pid: int) -> float | None:
    """CPU seconds of a process so far, from /proc/PID/stat (proc(5), fields 14 and 15)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return None
