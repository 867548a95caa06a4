"""How a worker ended, in words: exit code, signal, the Python line it was in, and what it said last.

Pure text from what the kernel and the fault handler left behind; who noticed the end is `worker`.
"""

from __future__ import annotations

import re
import signal
import sysconfig

from ridgeline.core import TargetFailed

__all__ = ["LIBRARIES", "crash_place", "ended", "signal_name"]

#: Where code lives that is not the user's own.
LIBRARIES = tuple(sorted({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}))

_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$')
_REMEDIES = {
    signal.SIGSEGV: "a native library crashed; run the target on its own, update the library or report it",
    signal.SIGABRT: "a native library gave up; run the target on its own and read its message",
    signal.SIGILL: "a library uses instructions this CPU does not have; install a build for this CPU",
    signal.SIGBUS: "a mapped file was cut short or memory ran out; check the files and the space",
    signal.SIGFPE: "a native library divided by zero; run the target on its own",
    signal.SIGKILL: "most likely memory ran out and the system ended it: give it more memory or a smaller input",
}


def signal_name(number: int) -> str:
    """`SIGSEGV (segmentation fault)` for 11; the number where the system has no name for it."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} ({(signal.strsignal(number) or '').lower()})"


def crash_place(dump: str, package: str, libraries: tuple[str, ...] = ()) -> str:
    """The innermost Python frame outside `package` in a fault handler's dump, as ` at FILE:LINE in FUNCTION`; empty if there is none.

    The block of the thread that crashed (`Current thread`) goes before the others, and a frame outside `libraries` before one inside.
    """
    blocks = re.split(r"\n\s*\n", dump)
    blocks.sort(key=lambda block: "Current thread" not in block)
    for block in blocks:
        frames = [frame for line in block.splitlines() if (frame := _FRAME.match(line)) and not frame["file"].startswith((package, "<"))]
        own = [frame for frame in frames if not frame["file"].startswith(libraries)] if libraries else frames
        for frame in (own or frames)[:1]:
            return f" at {frame['file']}:{frame['line']} in {frame['function']}"
    return ""


def ended(status: int, *, place: str = "", tail: str = "", memory_bytes: int | None = None) -> TargetFailed:
    """The error for a worker that ended before it answered.

    Args:
        status: exit code, negative for a signal, as `subprocess.Popen.returncode`.
        place: from `crash_place`.
        tail: what it printed last.
        memory_bytes: its memory limit, since a library that meets it may abort instead of raising.
    """
    said = f"; its last words: {' '.join(tail.split())[-400:]}" if tail.strip() else ""
    if status >= 0:
        found = f"it ended its process with exit code {status}{place}{said}"
        return TargetFailed("a target that returns", found=found, remedy="return from the function instead of ending the process")
    remedy = _REMEDIES.get(signal.Signals(-status), "find out who sends the signal") if -status in set(signal.Signals) else "find out who sends it"
    if memory_bytes is not None and -status in {signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL, signal.SIGBUS}:
        remedy = f"its memory was limited to {memory_bytes} bytes: allow more, or {remedy}"
    return TargetFailed("a target that returns", found=f"it was ended by {signal_name(-status)}{place}{said}", remedy=remedy)
