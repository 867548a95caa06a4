"""Targets `-- command args`: one run of a command line is one call, measured from outside.

This module starts the command, waits for it, and reads what the kernel counted: wall clock, `wait4`'s rusage (getrusage(2); ended and waited-for
children included), and, sampled while it runs, the run-queue delay of every visible thread of it and its children (`/proc/PID/task/TID/schedstat`,
second field), the time in which none of them was running or runnable, and its disk traffic (`/proc/PID/io`). What ends between two samples is
counted up to the last sample only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from ridgeline.core import TargetFailed, TargetInfo, UsageError
from ridgeline.core.units import format_quantity
from ridgeline.machine import signal_name

from .in_process import as_main, script_of
from .prepared import Prepared, ProcessFlavour
from .source import Transform
from .spec import TargetSpec
from .surroundings import digest

__all__ = ["CommandSample", "prepare_command", "run_command", "starting_s"]

_TAIL_BYTES = 4096
_PIPE_BYTES = 2**20
#: Samples come close together at first, then at this part of the time so far, so that short and long runs are both seen and neither is disturbed.
_FIRST_S, _PART, _LONGEST_S = 0.005, 0.04, 0.1


class CommandSample(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a command; seconds and bytes.

    Args:
        wall_s: from before the process was started until it had ended.
        user_s, system_s: CPU time, of children that were waited for too.
        minor_faults, major_faults, voluntary_switches, involuntary_switches: as rusage counts them.
        max_rss_bytes: most resident memory of one of its processes; null if it was never sampled (rusage has that of the process that started it).
        run_queue_s: summed over all threads seen; null if it was never visible.
        blocked_s: time in which no thread was running or runnable; null if it was never sampled.
        read_bytes, written_bytes: disk traffic; null if not visible.
        processes, threads: the most seen at once.
        looks: samples taken while it ran.
    """

    wall_s: float
    user_s: float
    system_s: float
    minor_faults: int
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int
    max_rss_bytes: int | None = None
    run_queue_s: float | None = None
    blocked_s: float | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    processes: int = 0
    threads: int = 0
    looks: int = 0


def prepare_command(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """A command line; every call is one run. `transform` is for what `load` makes."""
    script = script_of(spec.arguments)
    load = (lambda rewrite: as_main(*script, rewrite)) if script else None
    return prepare_argv(spec, spec.arguments, "command", ProcessFlavour(argv=spec.arguments, load=load))


def prepare_argv(spec: TargetSpec, argv: Sequence[str], kind: Literal["script", "command"], flavour: Any) -> Prepared:
    """A prepared target each of whose calls runs `argv` and leaves its sample in `flavour.samples`."""

    def call() -> CommandSample:
        sample = run_command(argv, environment=spec.environment)
        flavour.samples.append(sample)
        return sample

    file = digest(spec.path) if spec.path else ""
    info = TargetInfo(spec=spec.text, kind=kind, name=spec.name, digest=file, threads=spec.threads, use=spec.use, budget=spec.budget)
    return Prepared(call=call, info=info, flavour=flavour, user_files=(spec.path,) if spec.path else ())


def run_command(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
    timeout_s: float | None = None,
) -> CommandSample:
    """Run a command once.

    Args:
        argv: program and arguments; stdin is empty, stdout goes nowhere, the last of stderr is kept for the error message.
        environment: variables on top of this process's.
        timeout_s: after which it and its children are ended.

    Raises:
        UsageError: the program cannot be started.
        TargetFailed: an exit code other than 0, a signal, or the time limit.
    """
    before = time.perf_counter()
    process = _start(argv, environment, directory)
    watch = _Watch(process.pid, before)
    tail = bytearray()
    try:
        usage, status = _wait(process, watch, tail, timeout_s)
    except BaseException:
        _end_tree(process)
        raise
    finally:
        if process.stderr is not None:
            process.stderr.close()
    wall_s = time.perf_counter() - before
    if status != 0:
        raise _failed(argv, status, tail)
    return watch.sample(wall_s, usage)


def starting_s(kind: str, times: int = 5) -> float:
    """Seconds to start and end a process that does nothing: a Python interpreter for a script, `true` for a command; the least of several."""
    argv = [sys.executable, "-c", ""] if kind == "script" else ["true"]
    return min(run_command(argv).wall_s for _ in range(times))


def _start(argv: Sequence[str], environment: Mapping[str, str] | None, directory: str | None) -> subprocess.Popen[bytes]:
    # It stays in our process group: whoever ends this worker's group ends it as well.
    try:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            cwd=directory,
        )
    except (OSError, ValueError, IndexError) as error:
        what = f"{argv[0] if argv else 'nothing'}: {getattr(error, 'strerror', None) or error}"
        raise UsageError("a program that can be started", found=what, remedy="check its name, its path and its permission to be executed") from error


def _wait(process: subprocess.Popen[bytes], watch: _Watch, tail: bytearray, timeout_s: float | None) -> tuple[Any, int]:
    """Sample until the process ends; its rusage and exit code (negative for a signal)."""
    assert process.stderr is not None
    errors = process.stderr.fileno()
    os.set_blocking(errors, False)
    with contextlib.suppress(OSError):
        fcntl.fcntl(errors, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    # Stderr is emptied at our own pace: to wake at every write would make a chatty command and this process take turns.
    with _waiting_for_end(process.pid) as wait_for_end:
        chatty = False
        while True:
            wait_for_end(_FIRST_S if chatty else watch.pause_s())
            chatty = _hear(errors, tail)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                while _hear(errors, tail):
                    pass
                return usage, process.returncode
            if timeout_s is not None and watch.elapsed_s() > timeout_s:
                limit = format_quantity(timeout_s, "s")
                raise TargetFailed(f"a command that ends within {limit}", found="still running", remedy="allow more time, or give it less to do")
            watch.look()


@contextlib.contextmanager
def _waiting_for_end(pid: int) -> Iterator[Callable[[float], None]]:
    """A function that waits for the end of a process, or so many seconds; where the kernel cannot tell, a millisecond at a time."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        yield lambda seconds: time.sleep(min(seconds, 0.001))
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)

    def wait(seconds: float) -> None:
        poll.poll(max(1.0, 1000 * seconds))

    try:
        yield wait
    finally:
        os.close(descriptor)


def _hear(descriptor: int, tail: bytearray) -> bool:
    """Take in a piece of stderr; whether there was one."""
    try:
        data = os.read(descriptor, _PIPE_BYTES)
    except BlockingIOError:
        return False
    tail += data
    del tail[:-_TAIL_BYTES]
    return bool(data)


def _failed(argv: Sequence[str], status: int, tail: bytearray) -> TargetFailed:
    how = f"exit code {status}" if status > 0 else f"ended by {signal_name(-status)}"
    said = " ".join(tail.decode("utf-8", "replace").split())[-400:]
    name = os.path.basename(argv[1] if argv[0] == sys.executable and len(argv) > 1 else argv[0])
    found = how + (f"; its last words: {said}" if said else "")
    return TargetFailed(f"{name} to end with exit code 0", found=found, remedy="run it on its own and mend it")


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is not None:
        return
    for pid in [*_tree(process.pid), process.pid]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _tree(top: int) -> list[int]:
    """A process and all below it, by the kernel's lists of children; parents first."""
    found, waiting = [], [top]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        for task in _tasks(pid):
            with contextlib.suppress(OSError, ValueError):
                waiting += [int(word) for word in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    return found


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


@dataclass
class _Watch:
    """What was seen of a running command so far."""

    pid: int
    started: float
    last: float = 0.0
    looks: int = 0
    blocked_s: float = 0.0
    processes: int = 0
    threads: int = 0
    max_rss_bytes: int = 0
    run_queue_ns: dict[tuple[int, str], int] = field(default_factory=dict)
    traffic: dict[int, tuple[int, int]] = field(default_factory=dict)
    clock: Callable[[], float] = time.perf_counter

    def elapsed_s(self) -> float:
        return self.clock() - self.started

    def pause_s(self) -> float:
        return min(_LONGEST_S, max(_FIRST_S, _PART * self.elapsed_s()))

    def look(self) -> None:
        """Take one sample; not more often than the pause says, however often a chatty stderr wakes us."""
        now = self.elapsed_s()
        if now - self.last < 0.9 * self.pause_s():
            return
        pids, threads, busy = _tree(self.pid), 0, False
        for pid in pids:
            for task in _tasks(pid):
                threads += 1
                busy |= self._see(pid, task)
            self._see_traffic(pid)
            self._see_memory(pid)
        if not busy:
            self.blocked_s += now - self.last
        self.last, self.looks = now, self.looks + 1
        self.processes, self.threads = max(self.processes, len(pids)), max(self.threads, threads)

    def _see(self, pid: int, task: str) -> bool:
        """Keep a thread's run-queue delay; whether it is running or runnable."""
        try:
            delay = Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()
            self.run_queue_ns[pid, task] = int(delay[1])
        except (OSError, IndexError, ValueError):
            pass
        try:
            return Path(f"/proc/{pid}/task/{task}/stat").read_text().rpartition(")")[2].split()[0] == "R"
        except (OSError, IndexError):
            return False

    def _see_traffic(self, pid: int) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError):
            lines = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
            self.traffic[pid] = (int(lines["read_bytes"]), int(lines["write_bytes"]))

    def _see_memory(self, pid: int) -> None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            _, _, after = Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")
            self.max_rss_bytes = max(self.max_rss_bytes, 1024 * int(after.split()[0]))

    def sample(self, wall_s: float, usage: Any) -> CommandSample:
        """The finished record."""
        return CommandSample(
            wall_s=wall_s,
            user_s=usage.ru_utime,
            system_s=usage.ru_stime,
            minor_faults=usage.ru_minflt,
            major_faults=usage.ru_majflt,
            voluntary_switches=usage.ru_nvcsw,
            involuntary_switches=usage.ru_nivcsw,
            max_rss_bytes=self.max_rss_bytes or None,
            run_queue_s=sum(self.run_queue_ns.values()) / 1e9 if self.run_queue_ns else None,
            blocked_s=min(self.blocked_s, wall_s) if self.looks else None,
            read_bytes=sum(read for read, _ in self.traffic.values()) if self.traffic else None,
            written_bytes=sum(written for _, written in self.traffic.values()) if self.traffic else None,
            processes=self.processes,
            threads=self.threads,
            looks=self.looks,
        )
