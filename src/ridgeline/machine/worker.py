"""`Worker`: one fresh interpreter that runs named functions for its parent, under limits, and whose end is always a clear error.

The one child-process protocol of ridgeline: samples, trials, profilers and untrusted parsing all go through it. The child is a new interpreter and
never a fork (a fork after torch or OpenMP deadlocks). A function is named as `package.module:name`, so that higher floors run their code without
this room importing them. What runs in the child is decided by the caller; the bytes are `protocol`'s, the child's side is `child`'s.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, TypeVar

import msgspec

from ridgeline.core import ReadError, RidgelineError, TargetFailed, UsageError
from ridgeline.core.units import format_quantity

from .ending import ProcessEnded, crash_place, ended, not_started
from .last_words import LIBRARIES
from .processes import end_all, process_tree, started
from .protocol import Frames, Message, frame, message, rebuild, value_of
from .spawning import command_line, cpu_s, own, pipe, start

__all__ = ["Limits", "Worker"]

T = TypeVar("T")

_PACKAGE = str(Path(__file__).resolve().parents[1])
_TAIL_BYTES = 8192
_CLOSE_S = 2.0
# Death is normally seen at once as the end of the pipe; only where the target's own forks hold the pipe open does it take this long.
_LOOK_S = 0.5
_START_S = 60.0
_OUR_STDERR = 2


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker may use.

    Args:
        wall_s: seconds for one call, unless the call says otherwise; none if null.
        memory_bytes: private writable memory of the process; none if null.
        cpus: logical CPUs it may run on; the parent's if null.
    """

    wall_s: float | None = None
    memory_bytes: int | None = None
    cpus: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.wall_s is not None and not self.wall_s > 0:
            raise UsageError("Limits.wall_s > 0", found=repr(self.wall_s), remedy="give seconds, or leave it out")
        if self.memory_bytes is not None and not 0 < self.memory_bytes < 2**62:
            raise UsageError("Limits.memory_bytes > 0", found=repr(self.memory_bytes), remedy="give bytes, or leave it out")
        if self.cpus is not None and not (self.cpus and set(self.cpus) <= os.sched_getaffinity(0)):
            raise UsageError(f"CPUs out of {sorted(os.sched_getaffinity(0))}", found=str(list(self.cpus)), remedy="name CPUs this process may use")


class Worker:
    """A child process that runs functions by name; use it as a context manager. Not for several threads at once.

    Args:
        limits: what the child may use.
        environment: variables on top of the parent's; the parent's own stay as they are.
        directory: working directory, the parent's if not given.
        python: interpreter, the parent's if not given; ridgeline must be importable there.
        preload: modules, with commas between them, that the child imports before it is ready, so that no call has to wait for them.
        show_output: whether what the child prints goes to the parent's stderr; otherwise the last of it is kept for error messages.

    Raises:
        TargetFailed: the interpreter does not start.

    >>> with Worker() as worker:
    ...     worker.call("textwrap:dedent", {"text": "  one"}, str)
    'one'
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        python: str | None = None,
        preload: str = "",
        show_output: bool = False,
    ) -> None:
        self._limits = limits or Limits()
        self._frames, self._arrived, self._tail = Frames(), list[Message](), bytearray()
        self._ready = self._leaving = False
        self._status: int | None = None
        self._why_ended: RidgelineError | None = None
        self._below: dict[int, str] = {}
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            requests, self._requests = pipe(theirs, ours)
            self._results, results = pipe(ours, theirs)
            life_line, self._life_line = pipe(theirs, ours)
            self._crash = own(os.memfd_create("ridgeline-crash"), ours)
            output = _OUR_STDERR
            self._output: int | None = None
            if not show_output:
                self._output, output = pipe(ours, theirs)
                os.set_blocking(self._output, False)
            os.set_blocking(self._requests, False)
            os.set_blocking(self._results, False)
            passed = (requests, results, life_line, self._crash)
            command = command_line(python, passed, self._limits.memory_bytes, self._limits.cpus, preload)
            self._process = start(command, output, passed, {**os.environ, **(environment or {})}, directory)
            self._descriptors = ours.pop_all()

    @property
    def pid(self) -> int:
        """Process id of the child, which leads a session and group of its own."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the child can take another call."""
        return self._status is None and not self._has_exited()

    @property
    def output_tail(self) -> str:
        """The last of what the child printed to stdout and stderr; empty under `show_output`."""
        return self._tail.decode("utf-8", "replace")

    def call(
        self,
        function: str,
        arguments: Mapping[str, Any],
        returns: type[T],
        *,
        timeout_s: float | None = None,
        on_report: Callable[[Any], None] | None = None,
        limit_after: Callable[[Any], float | None] | None = None,
    ) -> T:
        """Run `function` in the child and return its result.

        Args:
            function: `package.module:name`. Arguments are converted by its type hints; a parameter `report` receives a callable that sends a value
                here at once.
            arguments: plain values or msgspec structs, by name.
            returns: type of the result.
            timeout_s: seconds for this call, `Limits.wall_s` if not given.
            on_report: told each report in plain form as it arrives, so that a kill loses at most what is in flight.
            limit_after: of a report, the seconds in which the next one or the answer has to come; null for no such limit.

        Raises:
            RidgelineError: of the class that the function raised.
            RidgelineError: of no leaf, where ridgeline's own code failed in the child.
            TargetFailed: any other exception, the end of the process, the time or memory limit, or a result that is not of type `returns`.
        """
        if self._why_ended is not None or self._status is not None or self._leaving:
            raise self._why_ended or TargetFailed("a running worker", found="a closed one", remedy="start another")
        limit_s = timeout_s if timeout_s is not None else self._limits.wall_s
        try:
            self._wait_until_ready()
            self._tail.clear()
            answer = self._exchange(frame(message("call", dict(arguments), function)), limit_s, on_report or _ignore, limit_after)
        except BaseException:
            # Whatever happened on this side (Ctrl-C, a callback that raised), the child is in the middle of something nobody waits for.
            self.kill()
            raise
        if answer.failure is not None:
            raise rebuild(answer.failure)
        try:
            return value_of(answer, returns)
        except ReadError as error:
            raise TargetFailed(f"a result of type {getattr(returns, '__name__', returns)}", found=error.found, remedy=f"mend {function}") from error

    def wait_until_ready(self) -> None:
        """Wait until the child has started and imported what it was told to; from then on it sleeps until it is called.

        Raises:
            TargetFailed: it does not start, or has ended.
        """
        if self._why_ended is not None or self._status is not None or self._leaving:
            raise self._why_ended or TargetFailed("a running worker", found="a closed one", remedy="start another")
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def _wait_until_ready(self) -> None:
        if not self._ready:
            self._ready = self._exchange(b"", _START_S, _ignore).kind == "ready"

    def leave(self) -> None:
        """Ask the child to end by itself, and do not wait; `close` does."""
        if self._status is None and not self._leaving:
            # Once the child has ended, nobody knows any more which processes were its own.
            self._below = started(process_tree(self._process.pid)[1:])
            self._send(memoryview(frame(Message(kind="close"))))
            self._leaving = True

    def close(self) -> None:
        """Let the child end by itself, for at most two seconds, then end it and everything it started."""
        if self._status is None:
            self.leave()
            deadline = time.monotonic() + _CLOSE_S
            while not self._has_exited() and time.monotonic() < deadline:
                if self._listen(None, 0.02):
                    self._wait_for_exit(deadline)
        self.kill()

    def kill(self) -> None:
        """End the child and every process of its group at once; harmless when it has ended."""
        if self._status is not None:
            return
        # Before the leader is waited for: until then its number cannot belong to anyone else.
        # What the target put into sessions of their own is below the child, which adopts orphans; those are ended one by one.
        end_all({**self._below, **started(process_tree(self._process.pid)[1:])})
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._status = self._process.wait()
        self._drain()
        self._descriptors.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.kill()

    def _exchange(
        self, request: bytes, limit_s: float | None, on_report: Callable[[Any], None], limit_after: Callable[[Any], float | None] | None = None
    ) -> Message:
        """Send the request and wait for its answer, passing reports on."""
        waiting = memoryview(request)
        started, cpu_before = time.monotonic(), cpu_s(self._process.pid)
        end = math.inf if limit_s is None else started + limit_s
        next_end = math.inf
        while True:
            while self._arrived:
                received = self._arrived.pop(0)
                if received.kind == "report":
                    on_report(received.value)
                    allowed_s = None if limit_after is None else limit_after(received.value)
                    next_end = math.inf if allowed_s is None else time.monotonic() + allowed_s
                else:
                    return received
            left = min(end, next_end) - time.monotonic()
            if left <= 0:
                self._time_is_up(time.monotonic() - started if next_end < end else limit_s or 0.0, cpu_before)
            wait_s = min(_LOOK_S, left)
            at_end = self._listen(waiting, wait_s)
            if at_end and not self._arrived:
                self._gone()
            if not at_end:
                waiting = self._send(waiting)

    def _listen(self, waiting: memoryview | None, wait_s: float) -> bool:
        """Wait for anything to happen and take it in; true once the child is gone and all it wrote has been read."""
        poll = select.poll()
        poll.register(self._results, select.POLLIN)
        if self._output is not None:
            poll.register(self._output, select.POLLIN)
        if waiting:
            poll.register(self._requests, select.POLLOUT)
        exited = self._has_exited()
        poll.poll(0 if exited else max(1.0, wait_s * 1000))
        self._hear_output()
        closed = self._read_results()
        return exited or closed

    def _read_results(self) -> bool:
        """Take in what has arrived; true at the end of the pipe."""
        while True:
            try:
                data = os.read(self._results, 1 << 20)
            except BlockingIOError:
                return False
            if not data:
                return True
            try:
                self._arrived += self._frames.feed(data)
            except ReadError as error:
                raise TargetFailed("answers from the worker", found=error.found, remedy="do not write to descriptors of others") from error

    def _send(self, waiting: memoryview) -> memoryview:
        if not waiting:
            return waiting
        try:
            return waiting[os.write(self._requests, waiting) :]
        except BlockingIOError:
            return waiting
        except BrokenPipeError:
            return memoryview(b"")  # it is gone; the next look finds out how

    def _hear_output(self) -> bool:
        """Take in a piece of what the child prints; false when there is none."""
        if self._output is None:
            return False
        try:
            data = os.read(self._output, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self._output = None  # closed by the target; the descriptor itself goes with the others
            return False
        self._tail += data
        del self._tail[:-_TAIL_BYTES]
        return True

    def _drain(self) -> None:
        # Bounded: a process outside the group that still holds the pipe could print for ever.
        for _ in range(64):
            if not self._hear_output():
                break

    def _has_exited(self) -> bool:
        # Seen without reaping, so that the process number stays ours until `kill`.
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _wait_for_exit(self, deadline: float) -> None:
        """Sleep until the child has exited: between the end of its pipes and its own it may take its time, and we would take that from it."""
        poll = select.poll()
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except OSError:  # a kernel without it, or no descriptor left
            while not self._has_exited() and time.monotonic() < deadline:
                time.sleep(0.001)
            return
        try:
            poll.register(descriptor, select.POLLIN)
            poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        finally:
            os.close(descriptor)

    def _gone(self) -> NoReturn:
        """The result pipe has ended: find out how the child did."""
        self._wait_for_exit(time.monotonic() + _CLOSE_S)
        closed_only = not self._has_exited()
        self._drain()
        crash = self._crash_dump()
        self.kill()
        status = self._status or 0
        error: RidgelineError
        if closed_only:
            error = TargetFailed("answers from the worker", found="the target closed the worker's pipe", remedy="close only descriptors you opened")
        else:
            place = crash_place(crash, _PACKAGE, LIBRARIES) if status < 0 else ""
            error = ended(status, place=place, tail=self.output_tail, memory_bytes=self._limits.memory_bytes)
        if not self._ready and not closed_only and self._limits.memory_bytes is None:
            # No target has run yet.
            error = not_started(status, self.output_tail, _PACKAGE + os.sep, LIBRARIES) or error
        self._why_ended = error
        raise error

    def _time_is_up(self, limit_s: float, cpu_before: float | None) -> NoReturn:
        cpu_after = cpu_s(self._process.pid)
        # The fault handler writes down where it was, even while native code holds the interpreter's lock.
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGABRT)
        deadline = time.monotonic() + 0.5
        while not self._has_exited() and time.monotonic() < deadline:
            time.sleep(0.005)
        place = crash_place(self._crash_dump(), _PACKAGE, LIBRARIES)
        self.kill()
        busy = ""
        if cpu_before is not None and cpu_after is not None:
            busy = f", after {format_quantity(cpu_after - cpu_before, 's')} of CPU time"
        error = ProcessEnded(
            f"a target that returns within {format_quantity(limit_s, 's')}",
            found=f"still running{place}{busy}",
            remedy="allow more time, or give it less to do",
        )
        error.tail = self.output_tail
        self._why_ended = error
        raise error

    def _crash_dump(self) -> str:
        with contextlib.suppress(OSError):
            return os.pread(self._crash, 1 << 16, 0).decode("utf-8", "replace")
        return ""


def _ignore(_: Any) -> None:
    """Where nobody asked for reports."""
