"""`ridgeline diagnose` as a process, on what is broken, hostile or merely odd: one line, the right exit code, and nobody left behind.

The ceilings are made by hand, so that no probe is needed. Limits in seconds only keep a hang from holding up the tests; no time is asserted.
What is known to be wrong is expected to fail, strictly: whoever mends it takes the mark away.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from support.onnx_models import model, tensor

# `main` with ceilings made by hand; what it needs is loaded before the user changes, since others may not be able to read our interpreter.
_COMMAND = """
import functools, os, sys
sys.path.insert(0, sys.argv[1])
import ridgeline.flows.diagnose as room
from ridgeline.cli import main
from support.facts_by_hand import device
room.diagnose = functools.partial(room.diagnose, device=device())
if sys.argv[2] == "other-user" and os.getuid() == 0:
    import sqlite3, sqlalchemy.dialects.sqlite, ridgeline.notebook, ridgeline.flows.log
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main(sys.argv[3:]))
"""
_TESTS = str(Path(__file__).resolve().parents[1])
_HANG_S = 60.0

PROGRAM = """
import ctypes, gc, os, pathlib, signal, subprocess, sys, threading, time

calls = 0

def work():
    total = 0
    for i in range(3000):
        total += i * i % 7
    return total

def nth():
    global calls
    calls += 1
    return calls

# fails
def raises(): raise ValueError("no such\\ncustomer \\x1b[31m" + 5000 * "x")
def raises_late():
    if nth() == 50: raise KeyError("fifty")
    return work()
def exits(): sys.exit(3)
def leaves(): os._exit(0)
def crashes(): ctypes.string_at(0)
def killed(): os.kill(os.getpid(), signal.SIGKILL)
def never_deep_enough(): return never_deep_enough()
class Hostile(BaseException):
    def __str__(self): raise RuntimeError("no text")
def hostile(): raise Hostile

# works, oddly
def prints(): print("x" * 1_000_000); print("y" * 1_000_000, file=sys.stderr); return work()
def is_rude():
    if nth() == 1: sys.stdin.read(); os.chdir("/"); pathlib.Path(__file__).unlink(); gc.disable(); os.closerange(0, 3)
    return work()
def forks():
    if nth() == 3: os.fork()
    return work()
def leaves_children():
    if nth() < 3: subprocess.Popen(["sleep", "600"])
    return work()
def leaves_threads():
    if nth() < 3: threading.Thread(target=time.sleep, args=(600,)).start()
    return work()
def takes_signals():
    for number in (signal.SIGALRM, signal.SIGPROF, signal.SIGTERM, signal.SIGINT): signal.signal(number, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003); signal.setitimer(signal.ITIMER_PROF, 0.003, 0.003)
    return work()
async def coroutine(): return work()
class Answer:
    def __bool__(self): raise RuntimeError
    def __repr__(self): raise RuntimeError
    def __getattr__(self, name): raise RuntimeError
def odd_answer(): work(); return Answer()

# known to be wrong
def stops_the_clock(): time.perf_counter = lambda: 0.0; return work()
def daemons():
    if nth() < 3: subprocess.Popen(["sleep", "600"], start_new_session=True)
    return work()
"""
_SPINS = "import pathlib\npathlib.Path('started').touch()\nwhile True: pass\ndef f(): pass\n"
_KEEPS = """
import pathlib, signal, time
calls = 0
def f():
    global calls
    calls += 1
    if calls > 200: pathlib.Path("started").touch(); signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(0.001)
"""


class Place:
    """A folder with the targets, and what is needed to find every process that was started from it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder, f"ridgeline-test-{uuid.uuid4().hex}"
        self.notebook = folder / "notes.sqlite"

    def start(self, *arguments: str, user: str = "", before: str = "", **options: object) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "RIDGELINE_NOTEBOOK": str(self.notebook), "RIDGELINE_TEST_MARK": self.mark, "COLUMNS": "100"}
        environment.pop("RIDGELINE_DEBUG", None)
        command = [sys.executable, "-c", before + _COMMAND, _TESTS, user, *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen(command, cwd=self.folder, env=environment, **pipes)  # type: ignore[call-overload, no-any-return]

    def run(self, *arguments: str, user: str = "", limit_s: float = _HANG_S) -> tuple[int, str, str]:
        with self.start(*arguments, user=user) as process:
            try:
                out, err = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return process.returncode, out.decode(), err.decode()

    def diagnose(self, *arguments: str, limit_s: float = _HANG_S) -> tuple[int, str, str]:
        return self.run("diagnose", "--quiet", "--time-budget", "0.3", *arguments, limit_s=limit_s)

    def left(self) -> list[int]:
        """Processes that are still there; those just killed get a moment to go."""
        for _ in range(200):
            if not (found := self._marked()):
                break
            time.sleep(0.01)
        return found

    def _marked(self) -> list[int]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "program.py").write_text(PROGRAM)
    made = Place(tmp_path)
    yield made
    for process in made._marked():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def assert_one_line(outcome: tuple[int, str, str], code: int, *words: str) -> None:
    status, out, err = outcome
    assert status == code, err
    assert out == ""
    assert re.fullmatch(r"ridgeline: [^\n]+\n", err), err
    assert "Traceback" not in err
    assert "\x1b" not in err
    assert len(err) < 2000
    for word in words:
        assert word in err


def relu(*, initialisers: dict[str, np.ndarray] | None = None) -> onnx.ModelProto:
    return model([helper.make_node("MatMul", ["x", "W"], ["y"])], [tensor("x", "N", 8)], ["y"], initialisers or {"W": np.ones((8, 8), np.float32)})


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("nothing", ["nothing", "check the name"]),
        ("raises", ["ValueError", "no such customer", "in raises"]),
        ("raises_late", ["fifty", "in raises_late"]),
        ("exits", ["sys.exit(3)", "in exits"]),
        ("leaves", ["exit code 0"]),
        ("crashes", ["SIGSEGV", "in crashes"]),
        ("killed", ["SIGKILL", "memory"]),
        ("never_deep_enough", ["RecursionError"]),
        ("hostile", ["Hostile"]),
    ],
)
def test_a_function_that_fails_is_one_line(place: Place, function: str, words: list[str]) -> None:
    assert_one_line(place.diagnose(f"program.py:{function}"), 2, *words)
    assert place.left() == []


@pytest.mark.parametrize(
    "function",
    [
        "prints",
        "is_rude",
        "forks",
        "leaves_children",
        "leaves_threads",
        "takes_signals",
        "coroutine",
        "odd_answer",
    ],
)
def test_an_odd_function_is_measured_all_the_same(place: Place, function: str) -> None:
    status, out, err = place.diagnose("--no-notebook", f"program.py:{function}")
    assert (status, err) == (0, "")
    assert "VERDICT" in out
    assert "HOW LONG IT REALLY TAKES" in out
    assert place.left() == []


def test_a_function_that_replaces_the_clock_does_not_hang(place: Place) -> None:
    assert place.diagnose("--no-notebook", "program.py:stops_the_clock")[0] in {0, 2}


def test_daemons_of_the_target_end_with_it(place: Place) -> None:
    assert place.diagnose("--no-notebook", "program.py:daemons")[0] == 0
    assert place.left() == []


def test_models_that_are_none(place: Place) -> None:
    folder, whole = place.folder, relu().SerializeToString()
    (folder / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    (folder / "text.onnx").write_text("hello world\n")
    (folder / "empty.onnx").touch()
    (folder / "folder.onnx").mkdir()
    os.mkfifo(folder / "pipe.onnx")
    with open(folder / "large.onnx", "wb") as file:
        file.truncate(3 << 30)
    onnx.save(relu(), str(folder / "outside.onnx"), save_as_external_data=True, location="weights.bin", size_threshold=0)
    (folder / "weights.bin").unlink()
    words = {
        "cut": "cut short",
        "text": "hello world",
        "empty": "empty",
        "folder": "a folder",
        "pipe": "regular",
        "large": "3221225472",
        "outside": "weights.bin",
    }
    for name, word in words.items():
        assert_one_line(place.diagnose(f"{name}.onnx"), 2, word)
    assert place.left() == []


def test_inputs_that_do_not_fit_the_model(place: Place) -> None:
    folder = place.folder
    onnx.save(relu(), str(folder / "model.onnx"))
    np.save(folder / "kind.npy", np.ones((2, 8), np.int64))
    np.save(folder / "objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    np.savez(folder / "names.npz", other=np.ones((2, 8), np.float32))
    np.save(folder / "wide.npy", np.ones((2, 8)))
    np.save(folder / "none.npy", np.ones((0, 8), np.float32))
    np.savez(folder / "more.npz", x=np.ones((2, 8), np.float32), z=np.ones(3))
    words = {
        "kind.npy": "float32", "objects.npy": "Object arrays", "names.npz": "other", "wide.npy": "float32; found: float64",
        "none.npy": "0x8", "more.npz": "x only; found: also z", "": "an empty text",
    }  # fmt: skip
    for name, word in words.items():
        assert_one_line(place.diagnose("--input", name, "model.onnx"), 2, word)
    for shape, word in {"z=2x8": "z", "x=2x9": "2x9", "x=99999999999x8": "smaller"}.items():
        assert_one_line(place.diagnose("--shape", shape, "model.onnx"), 2, word)


def test_targets_that_mean_nothing_say_what_was_expected(place: Place) -> None:
    onnx.save(relu(), str(place.folder / "model.onnx"))
    words = {"no.py": "expected a Python file; found: 'no.py'", "model.onnx:f": "give model.onnx alone", "-- .": "a folder '.'"}
    for target, word in words.items():
        assert_one_line(place.diagnose(*target.split()), 2, word)


def test_nan_in_the_data_is_a_warning(place: Place) -> None:
    onnx.save(relu(), str(place.folder / "model.onnx"))
    np.save(place.folder / "nan.npy", np.full((2, 8), np.nan, np.float32))
    status, out, err = place.diagnose("--no-notebook", "--input", "nan.npy", "model.onnx")
    assert (status, err) == (0, "")
    assert "nan-input" in out


@pytest.mark.parametrize("target", [["target.py:f"], ["--", sys.executable, "target.py"]], ids=["function", "command"])
def test_the_limit_on_cpu_time_is_no_lack_of_memory(place: Place, target: list[str]) -> None:
    (place.folder / "target.py").write_text("def f():\n    while True: pass\nif __name__ == '__main__': f()\n")
    program = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (4, 4))\n"
    with place.start("diagnose", "--quiet", "--no-notebook", *target, before=program) as process:
        out, err = process.communicate(timeout=_HANG_S)
    assert_one_line((process.returncode, out.decode(), err.decode()), 2, "CPU time")
    assert place.left() == []


def test_an_input_that_is_a_pipe_does_not_hang(place: Place) -> None:
    onnx.save(relu(), str(place.folder / "model.onnx"))
    os.mkfifo(place.folder / "pipe.npy")
    assert_one_line(place.diagnose("--input", "pipe.npy", "model.onnx"), 2, "pipe.npy")


@pytest.mark.parametrize(
    ("command", "words"),
    [(["false"], ["exit code 1"]), (["no-such-program"], ["no-such-program"]), (["sh", "-c", "echo why >&2; kill -9 $$"], ["SIGKILL", "why"])],
)
def test_a_command_that_fails_is_one_line(place: Place, command: list[str], words: list[str]) -> None:
    assert_one_line(place.diagnose("--", *command), 2, *words)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("source", [_SPINS, _KEEPS], ids=["spins", "measured"])
def test_stopped_at_any_moment_it_takes_the_target_along(place: Place, source: str, number: signal.Signals) -> None:
    (place.folder / "target.py").write_text(source)
    process = place.start("diagnose", "--quiet", "--time-budget", "30", "target.py:f")
    started = place.folder / "started"
    while not started.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=_HANG_S)
    assert out == b""
    assert b"Traceback" not in err
    if number == signal.SIGINT:
        assert_one_line((process.returncode, "", err.decode()), 130, "interrupted")
    else:
        assert process.returncode != 0
    assert place.left() == []
    assert place.run("log")[0] == 0


@pytest.fixture
def closed(place: Place) -> Iterator[Place]:
    """A notebook in a folder that may not be entered."""
    folder = place.folder / "closed"
    folder.mkdir(mode=0)
    place.notebook = folder / "notes.sqlite"
    yield place
    folder.chmod(0o700)


def test_a_notebook_that_may_not_be_written_is_said_before_measuring(closed: Place) -> None:
    assert_one_line(closed.run("diagnose", "--quiet", "--", "true", user="other-user"), 2, "notes.sqlite", "--no-notebook")


def test_the_log_of_a_notebook_that_may_not_be_read_is_one_line(closed: Place) -> None:
    assert_one_line(closed.run("log", user="other-user"), 2, "notes.sqlite")


def test_the_database_of_another_program_keeps_every_byte(place: Place) -> None:
    with contextlib.closing(sqlite3.connect(place.notebook)) as connection, connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    before = place.notebook.read_bytes()
    assert_one_line(place.run("log"), 2, "songs")
    assert place.notebook.read_bytes() == before
