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
from typing import Any, Literal

from ridgeline.core import RidgelineError, TargetFailed, TargetInfo, UsageError
from ridgeline.core.units import format_quantity
from ridgeline.machine import cpu_limit_reached, last_words, missing_extra, missing_in, process_tree, signal_name

from .in_process import inside_of
from .prepared import Prepared, ProcessFlavour
from .source import Transform
from .spec import TargetSpec
from .surroundings import digest
from .watching import FIRST_S, CommandSample, Watch

__all__ = ["CommandSample", "prepare_command", "run_command", "starting_s"]

_TAIL_BYTES = 4096
_PIPE_BYTES = 2**20


def prepare_command(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """A command line; every call is one run. `transform` is for what `load` makes."""
    inside = inside_of(spec.arguments)
    prepared = prepare_argv(spec, spec.arguments, "command", ProcessFlavour(argv=spec.arguments, load=inside.load if inside else None))
    prepared.user_files = inside.user_files if inside else ()
    return prepared


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
    watch = Watch(process.pid, before)
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
        raise _failed(argv, status, tail, usage.ru_utime + usage.ru_stime)
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


def _wait(process: subprocess.Popen[bytes], watch: Watch, tail: bytearray, timeout_s: float | None) -> tuple[Any, int]:
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
            wait_for_end(FIRST_S if chatty else watch.pause_s())
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


def _failed(argv: Sequence[str], status: int, tail: bytearray, used_s: float) -> RidgelineError:
    how = f"exit code {status}" if status > 0 else f"ended by {signal_name(-status)}"
    said = tail.decode("utf-8", "replace")
    name = os.path.basename(argv[1] if argv[0] == sys.executable and len(argv) > 1 else argv[0])
    absent = missing_in(said)
    ours = missing_extra(*absent) if absent and _runs_here(argv) else None
    if ours is not None:
        return ours
    found = how + (f"; its last words: {last_words(said)}" if said.strip() else "")
    remedy = "raise the limit on CPU time (ulimit -t), which it reached" if cpu_limit_reached(status, used_s) else _remedy(absent)
    return TargetFailed(f"{name} to end with exit code 0", found=found, remedy=remedy)


def _runs_here(argv: Sequence[str]) -> bool:
    """Whether the program is a Python program of this very interpreter: another has packages of its own."""
    return argv[0] == sys.executable or inside_of(argv) is not None


def _remedy(absent: tuple[str, str] | None) -> str:
    return f"install {absent[0]} for the Python that runs it, or check the name" if absent else "run it on its own and mend it"


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is not None:
        return
    for pid in [*process_tree(process.pid), process.pid]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
