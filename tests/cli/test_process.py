"""The command as a process: pipes that close, disks that are full, terminals that are poor, signals."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAMS = ([sys.executable, "-m", "ridgeline"], [str(Path(sys.executable).parent / "ridgeline")])
_PATCHED = """
import sys, time, types
from pathlib import Path
import ridgeline.targets
from ridgeline.core import Diagnosis
from ridgeline.core.documents import decode
ridgeline.targets.parse_target = lambda *a, **k: None
def diagnose(spec, *, report, **options):
    report("measuring", 0.25)
    if len(sys.argv) > 2 and sys.argv[2] == "slow":
        print("started", file=sys.stderr, flush=True)
        time.sleep(60)
    return decode(Path(sys.argv[1]).read_bytes(), Diagnosis)
module = types.ModuleType("ridgeline.flows.diagnose")
module.diagnose = diagnose
sys.modules["ridgeline.flows.diagnose"] = module
from ridgeline.cli import main
sys.exit(main(["diagnose", "--no-notebook", *sys.argv[3:], "model.onnx"]))
"""


@pytest.fixture
def document(tmp_path: Path, full_diagnosis: object) -> Path:
    from ridgeline.core.documents import encode

    file = tmp_path / "diagnosis.json"
    file.write_bytes(encode(full_diagnosis))  # type: ignore[arg-type]
    return file


def _command(document: Path, *arguments: str, mode: str = "fast") -> list[str]:
    return [sys.executable, "-c", _PATCHED, str(document), mode, *arguments]


def test_a_reader_that_leaves_ends_it_quietly_as_it_ends_every_tool(document: Path, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    report = tmp_path / "report.html"
    done = subprocess.run(_command(document, "--quiet", "--html", str(report)), stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == ""
    assert report.read_text().startswith("<!DOCTYPE html>"), "what goes to a file does not depend on who reads stdout"


def test_a_reader_of_one_line_gets_it_and_the_code_is_that_of_the_command(document: Path) -> None:
    """A page that fits the pipe is written before the reader leaves."""
    line = 'set -o pipefail; "$@" | head -1; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(["bash", "-c", line, "bash", *_command(document, "--quiet")], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] in ("0", "141")
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")])
def test_a_signal_that_asks_to_end_is_one_line_and_its_code(document: Path, number: signal.Signals, name: str) -> None:
    process = subprocess.Popen(_command(document, "--quiet", mode="slow"), stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "started\n"
    process.send_signal(number)
    assert process.stderr.read() == f"ridgeline: ended by {name}; nothing was kept\n"
    assert process.wait(timeout=60) == 128 + number


def test_a_signal_that_is_ignored_stays_so(document: Path) -> None:
    command = ["bash", "-c", 'trap "" HUP; exec "$@"', "bash", *_command(document, "--quiet", mode="slow")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "started\n"
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert process.stderr.read() == "ridgeline: ended by SIGTERM; nothing was kept\n"
    assert process.wait(timeout=60) == 128 + signal.SIGTERM


def test_a_broken_pipe_inside_is_not_taken_for_a_reader_who_left() -> None:
    code = "import importlib, sys; sys.exit(importlib.import_module('ridgeline.cli.main')._ended(BrokenPipeError(32, 'Broken pipe')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 70
    assert "BrokenPipeError" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_behind_stdout(document: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(_command(document, "--quiet"), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "space" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--json"], ["--markdown"]])
def test_a_stdout_of_plain_ascii_gets_all_the_same(document: Path, arguments: list[str]) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"}
    done = subprocess.run(_command(document, *arguments), capture_output=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"weight-traffic" in done.stdout


@pytest.mark.parametrize("arguments", [["diagnose", "--no-notebook", "a.py"], ["log", "--notebook", "n.sqlite"]])
def test_a_working_directory_that_is_gone(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "gone").mkdir()
    command = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", sys.executable, "-P", "-m", "ridgeline", *arguments]
    done = subprocess.run(command, cwd=tmp_path / "gone", stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, "ridgeline: expected a working directory; found: it was deleted; to do: change to one that exists\n")


def test_closed_streams_do_no_harm(document: Path) -> None:
    command = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *_command(document)]
    assert subprocess.run(command, timeout=60).returncode == 0


def test_an_interrupt_ends_with_130_and_one_line(document: Path) -> None:
    process = subprocess.Popen(_command(document, "--quiet", mode="slow"), stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "started\n"
    process.send_signal(signal.SIGINT)
    assert process.stderr.read() == "ridgeline: interrupted; nothing was kept\n"
    assert process.wait(timeout=60) == 130


def _on_a_terminal(command: list[str], environment: dict[str, str]) -> str:
    parent, child = pty.openpty()
    process = subprocess.Popen(command, stdout=child, stderr=child, stdin=child, env={**os.environ, **environment}, close_fds=True)
    os.close(child)
    parts = []
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(parent)
    assert process.wait(timeout=60) == 0
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    ("environment", "arguments", "coloured"),
    [
        ({"NO_COLOR": "", "TERM": "xterm"}, ["--quiet"], True),
        ({"NO_COLOR": "1", "TERM": "xterm"}, ["--quiet"], False),
        ({"NO_COLOR": "", "TERM": "dumb"}, ["--quiet"], False),
        ({"NO_COLOR": "", "TERM": "xterm"}, ["--quiet", "--no-color"], False),
    ],
)
def test_colour_on_a_terminal(document: Path, environment: dict[str, str], arguments: list[str], coloured: bool) -> None:
    text = _on_a_terminal(_command(document, *arguments), environment)
    assert ("\x1b[" in text) is coloured
    assert "weight-traffic" in text


def test_progress_on_a_terminal(document: Path) -> None:
    text = _on_a_terminal(_command(document), {"TERM": "xterm", "NO_COLOR": "1"})
    assert "weight-traffic" in text


_INTERRUPTS_ITSELF = """
import os, signal, sys
MOMENT = sys.argv[1]
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == MOMENT: os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from ridgeline.__main__ import main
sys.argv[1:] = ["devices"]
sys.exit(main())
"""


@pytest.mark.parametrize("moment", ["ridgeline.cli", "click", "numpy", "numpy._core.multiarray", "ridgeline.flows.calc_laws"])
def test_an_interrupt_while_loading_is_one_line_and_130(moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", _INTERRUPTS_ITSELF, moment], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "ridgeline: interrupted; nothing was kept\n"


def test_an_ignored_interrupt_stays_ignored_while_loading() -> None:
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{_INTERRUPTS_ITSELF}"
    done = subprocess.run([sys.executable, "-c", code, "numpy"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_program_and_the_module_are_one() -> None:
    said = [subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60).stdout for command in _PROGRAMS]
    assert said[0] == said[1] != ""
