"""How a worker ended, in words: exit code, signal, the Python line it was in, and what it said last.

Pure text from what the kernel and the fault handler left behind; who noticed the end is `worker`.
"""

from __future__ import annotations

import re
import resource
import signal

from ridgeline.core import RidgelineError, TargetFailed

from .last_words import files_in, last_words

__all__ = ["ProcessEnded", "cpu_limit_reached", "crash_place", "ended", "not_started", "our_fault", "signal_name"]

_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$')
_REMEDIES = {
    signal.SIGSEGV: "a native library crashed; run the target on its own, update the library or report it",
    signal.SIGABRT: "a native library gave up; run the target on its own and read its message",
    signal.SIGILL: "a library uses instructions this CPU does not have; install a build for this CPU",
    signal.SIGBUS: "a mapped file was cut short or memory ran out; check the files and the space",
    signal.SIGFPE: "a native library divided by zero; run the target on its own",
    signal.SIGXCPU: "the limit on CPU time (ulimit -t) was reached: raise it",
    signal.SIGXFSZ: "the limit on the size of files (ulimit -f) was reached: raise it",
    signal.SIGKILL: "most likely memory ran out and the system ended it: give it more memory or a smaller input",
}


class ProcessEnded(TargetFailed):
    """A worker's process ended before it answered.

    Attributes:
        status: exit code, negative for a signal; null where it was ended since its time was up.
        tail: what it printed last.
    """

    status: int | None = None
    tail: str = ""


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


def cpu_limit_reached(status: int, used_s: float | None = None) -> bool:
    """Whether a process ended at the limit on CPU time that it inherited: the kernel kills at the hard limit (setrlimit(2), RLIMIT_CPU).

    Args:
        status: negative for a signal.
        used_s: CPU seconds of the process; those of all children that were waited for, an upper bound, if null.
    """
    if status == -signal.SIGXCPU:
        return True
    limit = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if used_s is None:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        used_s = usage.ru_utime + usage.ru_stime
    # The kernel counts whole ticks against the limit, which on a busy machine run far ahead of the exact time in rusage.
    return status == -signal.SIGKILL and limit != resource.RLIM_INFINITY and used_s >= limit / 2


def our_fault(found: str) -> RidgelineError:
    """The error where code of ridgeline fails in a worker, and the target is not to blame (exit code 70)."""
    return RidgelineError("ridgeline's own code to run", found=found, remedy="install ridgeline again; if that does not help, report this line")


def not_started(status: int, tail: str, package: str, libraries: tuple[str, ...]) -> RidgelineError | None:
    """The error for a worker that ended before it took a call, where ridgeline's own code ended it; `None` where it did not, or nobody knows.

    Args:
        status, tail: as of `ended`.
        package: the folder of ridgeline.
        libraries: folders of code that is not the user's own.
    """
    files = files_in(tail)
    others = [file for file in files if not file.startswith((package, *libraries, "<"))]
    if status < 0 or others or not any(file.startswith(package) for file in files):
        return None
    return our_fault(f"a worker that ended with exit code {status} before it began: {last_words(tail)}")


def ended(status: int, *, place: str = "", tail: str = "", memory_bytes: int | None = None) -> ProcessEnded:
    """The error for a worker that ended before it answered.

    Args:
        status: exit code, negative for a signal, as `subprocess.Popen.returncode`.
        place: from `crash_place`.
        tail: what it printed last.
        memory_bytes: its memory limit, since a library that meets it may abort instead of raising.
    """
    said = f"; its last words: {last_words(tail)}" if tail.strip() else ""
    if status >= 0:
        found = f"it ended its process with exit code {status}{place}{said}"
        return _process_ended(found, "return from the function instead of ending the process", status, tail)
    remedy = _REMEDIES.get(signal.Signals(-status), "find out who sends the signal") if -status in set(signal.Signals) else "find out who sends it"
    if cpu_limit_reached(status):
        remedy = _REMEDIES[signal.SIGXCPU]
    elif memory_bytes is not None and -status in {signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL, signal.SIGBUS}:
        remedy = f"its memory was limited to {memory_bytes} bytes: allow more, or {remedy}"
    return _process_ended(f"it was ended by {signal_name(-status)}{place}{said}", remedy, status, tail)


def _process_ended(found: str, remedy: str, status: int, tail: str) -> ProcessEnded:
    error = ProcessEnded("a target that returns", found=found, remedy=remedy)
    error.status, error.tail = status, tail
    return error
