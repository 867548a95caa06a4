"""Fresh processes that time the tests which passed, one after the other, and the folder by which they hand over what they found.

Each is pytest with the arguments of this session, so that it collects the same tests with the same options; which of them it runs stands in the
folder. Every test's result is on the disk when the next begins: an interrupt or a crash loses the test in flight.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from .timed import Timing

__all__ = ["Process", "end_with_parent", "keep", "run_processes", "tests_of"]

_TESTS, _RESULTS, _SAID = "tests.json", "results.jsonl", "said.txt"
_TAIL = 300
_SET_PARENT_DEATH_SIGNAL = 1


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """What one fresh process found; `failure` says what else happened in it, in one line; `interrupted`: this session was, while it ran."""

    timings: tuple[Timing, ...]
    failure: str = ""
    interrupted: bool = False


def end_with_parent() -> None:
    """Have this process killed where the session that started it is (prctl(2), PR_SET_PDEATHSIG): nobody would read what it finds."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


def tests_of(folder: str) -> frozenset[str]:
    """Ids of the tests that a process times."""
    return frozenset(msgspec.json.decode(Path(folder, _TESTS).read_bytes(), type=list[str]))


def keep(folder: str, timings: Sequence[Timing]) -> None:
    """Add the results of one test."""
    with Path(folder, _RESULTS).open("ab") as file:
        file.write(b"".join(msgspec.json.encode(timing) + b"\n" for timing in timings))


def run_processes(config: pytest.Config, tests: Sequence[str], count: int, folder: Path, progress: Callable[[int], None]) -> tuple[Process, ...]:
    """Time `tests` in `count` processes; an interrupt ends them and keeps what there is.

    Args:
        config: of this session.
        tests: ids.
        folder: empty, for what they hand over.
        progress: told the number of each process before it starts.
    """
    found: list[Process] = []
    for index in range(count):
        place = folder / str(index)
        place.mkdir()
        (place / _TESTS).write_bytes(msgspec.json.encode(list(tests)))
        progress(index)
        try:
            code = _run(config, place)
        except KeyboardInterrupt:
            found.append(Process(timings=_results(place), failure="interrupted", interrupted=True))
            break
        found.append(Process(timings=_results(place), failure=_failure(code, place)))
    return tuple(found)


def _run(config: pytest.Config, place: Path) -> int:
    command = [sys.executable, *_path_flag(), "-c", "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"]
    given = [str(argument) for argument in config.invocation_params.args]
    # The last of an option counts; positional arguments stay as they are.
    ours = ["--ridgeline", "--ridgeline-processes=1", f"--ridgeline-child={place}", f"--rootdir={config.rootpath}"]
    managed = config.pluginmanager
    ours += ["-n0"] * managed.hasplugin("xdist") + ["--no-cov"] * managed.hasplugin("pytest_cov")
    with (place / _SAID).open("wb") as said:
        process = subprocess.Popen(
            [*command, *ours, *given, *ours], cwd=config.invocation_params.dir, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise


def _path_flag() -> list[str]:
    """`-P` where this session did not have its working directory on the path: `-c` alone would put it there."""
    return [] if {"", os.getcwd()} & set(sys.path) else ["-P"]


def _results(place: Path) -> tuple[Timing, ...]:
    """What a process kept; a line that its end cut short is passed over."""
    file = place / _RESULTS
    found = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            found.append(msgspec.json.decode(line, type=Timing))
        except msgspec.MsgspecError:
            continue
    return tuple(found)


def _failure(code: int, place: Path) -> str:
    if code == pytest.ExitCode.OK:
        return ""
    said = (place / _SAID).read_bytes().decode("utf-8", "replace")
    lines = said.splitlines()
    # The summary cuts its lines at the width of a terminal; the reason stands whole where it was raised.
    failed = [line.partition(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))][:1]
    failed = [" - ".join(failed + [line[1:].strip() for line in lines if line.startswith("E  ")][:1])] if failed else []
    ended = "a test did not pass" if code == pytest.ExitCode.TESTS_FAILED else f"signal {-code}" if code < 0 else f"exit code {code}"
    words = " ".join((failed[0] if failed else said[-_TAIL:]).split())[:_TAIL]
    return f"{ended}: {words}" if words else ended
