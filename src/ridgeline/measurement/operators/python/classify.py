"""`classify`: from what an operation saw and how long it was on a CPU, to its work and group.

Decides what is the interpreter's work (callbacks, loops of the library over Python objects, libraries written in Python), what is native code on
something else than arrays, what is waiting, and leaves the work on arrays to `ridgeline.work.numpy`.
"""

from __future__ import annotations

import msgspec

from ridgeline.work.numpy import Work, work_of
from ridgeline.work.objects import MANY_OBJECTS, walks_by_kind

from .capture import Seen

__all__ = ["Cpu", "classify"]

#: Below this share of its time on a CPU an operation without arrays is waiting for something.
_ASLEEP = 0.3
_WAITS = frozenset(
    {"sleep", "acquire", "wait", "join", "recv", "recvfrom", "accept", "connect", "select", "poll", "result", "communicate", "waitpid", "wait4",
     "urlopen", "fsync", "fdatasync", "sync", "system", "getaddrinfo", "check_output", "check_call", "run_until_complete"}
)  # fmt: skip
_WAITING_MODULES = ("queue.", "socket.", "subprocess.", "select.", "selectors.", "requests.", "urllib.", "http.", "asyncio.", "multiprocessing.")


class Cpu(msgspec.Struct, frozen=True):
    """Sums over executions in ns: wall, CPU of the calling thread, CPU of the process; wall 0 where no CPU time was read."""

    wall_ns: int = 0
    thread_ns: int = 0
    process_ns: int = 0

    @property
    def asleep(self) -> bool | None:
        """Whether the thread slept and no other thread of the process worked for it; `None` where that was not read."""
        if not self.wall_ns:
            return None
        return self.thread_ns < _ASLEEP * self.wall_ns and self.process_ns < 2 * _ASLEEP * self.wall_ns

    @property
    def busy_threads(self) -> float | None:
        """CPU time of the process ÷ wall, `None` where that was not read."""
        return self.process_ns / self.wall_ns if self.wall_ns else None


def classify(seen: Seen, cpu: Cpu) -> Work:
    """The work of one execution of a row.

    Args:
        seen: what it saw.
        cpu: of all executions of the row.
    """
    if seen.kind.startswith("torch."):
        return _unknown("other", "an operator of torch; its own profile has the work")
    if not seen.arrays:
        return _without_arrays(seen, cpu)
    if seen.calls_back:
        return _unknown("python", "it calls back into Python code")
    work = work_of(seen.kind, seen.inputs, seen.outputs, seen.options)
    if work.group == "other" and work.flop is None and cpu.asleep:
        return msgspec.structs.replace(work, group="blocking", reason="on no CPU for most of its time")
    return work


def _without_arrays(seen: Seen, cpu: Cpu) -> Work:
    # `str.join` and its like share a name with waits and are none.
    by_name = seen.kind.rpartition(".")[2] in _WAITS and not seen.kind.startswith("builtins.")
    waits = seen.kind.startswith(_WAITING_MODULES) or by_name
    asleep = cpu.asleep
    if asleep or (asleep is None and waits):
        return _unknown("blocking", "on no CPU for most of its time" if asleep else "a wait by its name")
    if waits and cpu.thread_ns < _ASLEEP * cpu.wall_ns:
        return _unknown("other", "waits for threads of the same process")
    if seen.calls_back:
        return _unknown("python", "it calls back into Python code")
    if seen.native and seen.objects is not None and seen.objects < MANY_OBJECTS and not walks_by_kind(seen.kind):
        return _unknown("other", f"native code on no array: no formula for {seen.kind}")
    return _unknown("python", "no array takes part")


def _unknown(group: str, reason: str) -> Work:
    return Work(group=group, flop=None, reads=None, writes=None, reason=reason)
