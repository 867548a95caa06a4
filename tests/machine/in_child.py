"""Functions that tests run in a worker; each does one thing that a target may do to its process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import Column, OutOfRange, UsageError

kept: dict[str, int] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    column: Column


class Unlisted(OutOfRange):
    """A stranger's leaf below one of ours."""


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no text")


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def echo(value: Any) -> Any:
    return value


def doubled(answer: Answer) -> Answer:
    assert isinstance(answer, Answer)
    return Answer(number=2 * answer.number, column=Column(2 * answer.column.values, "s"))


def remember(name: str) -> int:
    kept[name] = kept.get(name, 0) + 1
    return kept[name]


def report_three(report: Callable[[Any], None]) -> int:
    for number in range(3):
        report({"done": number})
    return 3


def report_then_crash(report: Callable[[Any], None]) -> None:
    report("first")
    os._exit(3)


def raise_value_error() -> None:
    raise ValueError("wrong\nvalue")


def raise_hostile() -> None:
    raise HostileError


def raise_usage() -> None:
    raise UsageError("a thing", found="another", remedy="mend it")


def raise_unlisted() -> None:
    raise Unlisted("a number in range", found="11", remedy="take 10")


def interrupt() -> None:
    raise KeyboardInterrupt


def sys_exit() -> None:
    sys.exit(4)


def os_exit() -> None:
    sys.stderr.write("farewell")
    sys.stderr.flush()
    os._exit(3)


def segfault() -> None:
    ctypes.string_at(0)


def crash_once(folder: str) -> int:
    """Ends its process the first time that it is asked in that folder."""
    mark = os.path.join(folder, "was here")
    if not os.path.exists(mark):
        with open(mark, "w", encoding="utf-8"):
            os.kill(os.getpid(), signal.SIGKILL)
    return 7


def abort() -> None:
    os.abort()


def spin() -> None:
    while True:
        pass


def sleep() -> None:
    time.sleep(600)


def spin_with_lock() -> None:
    """Native code that never gives the interpreter's lock back."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def hog() -> int:
    return int(np.ones(4_000_000_000).sum())


def hog_abort() -> int:
    blocks = [bytearray(1 << 20) for _ in range(1 << 20)]
    return len(blocks)


def print_garbage() -> int:
    for _ in range(20_000):
        print("x" * 80)
    sys.stdout.flush()
    os.write(2, os.urandom(300_000))
    return 1


def close_standard() -> int:
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    return 1


def close_everything() -> int:
    os.closerange(3, 4096)
    return 1


def close_requests() -> int:
    """Close the pipe that calls come through, and keep the one for results."""
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:") and os.get_blocking(descriptor):
                os.close(descriptor)
                return 1
    raise AssertionError("no pipe was found")


def miss_module(name: str) -> None:
    """What an import of a package that is not installed raises, whether it is installed or not."""
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def write_everywhere() -> int:
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            continue
    return 1


def megabytes(count: int) -> str:
    return "z" * (count << 20)


def hostile() -> Any:
    return Hostile()


def not_finite() -> float:
    return float("nan")


def fork_and_return() -> int:
    os.fork()
    return 5


def start_process() -> int:
    return subprocess.Popen(["sleep", "600"]).pid


def start_processes_and_sleep(report: Callable[[Any], None]) -> None:
    """Start a shell and a process below it, and say which they are."""
    shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    report([shell.pid, int(shell.stdout.readline())])
    time.sleep(600)


def thread_and_return() -> int:
    threading.Thread(target=sleep).start()
    return 1


def facts_about_process() -> dict[str, Any]:
    return {
        "argv": sys.argv,
        "cwd": os.getcwd(),
        "group": os.getpgrp(),
        "pid": os.getpid(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "stdin": os.read(0, 1).decode(),
        "variable": os.environ.get("RIDGELINE_TEST", ""),
        "torch": "torch" in sys.modules,
    }


def ignore_interrupts_and_sleep() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(600)


def errs(how: str) -> None:
    if how == "name":
        no_such_name  # noqa: B018, F821
    if how == "import":
        from ridgeline.core import no_such_name  # type: ignore[attr-defined]  # noqa: F401
    raise AssertionError(how)


def killed(folder: str, times: int) -> int:
    """Ended from outside so many times, counted by the files of a folder."""
    number = len(os.listdir(folder))
    with open(os.path.join(folder, str(number)), "w"):
        pass
    if number < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def crash_after_reports(reports: list[str], report: Callable[[Any], None]) -> int:
    for each in reports:
        report(each)
    os.kill(os.getpid(), signal.SIGSEGV)
    return 0


def process_and_variable(name: str) -> list[str]:
    return [str(os.getpid()), os.environ.get(name, "")]
