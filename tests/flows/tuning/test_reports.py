"""What people reported of tuners, and what a hostile hand can write: through the command, each one clear line, or the right answer."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ridgeline.cli import main
from ridgeline.flows.tuning.record import read_record
from ridgeline.machine import process_tree

Ran = Callable[..., tuple[int, str, str]]
SPEC = """
schema = "ridgeline.tuning/1"
name = "sum"
[kernel]
runner = "simulated"
[[kernel.arguments]]
name = "y"
shape = [8]
output = true
[parameters]
tile = [8, 16, 32]
pack = [true, false]
"""
NATIVE = """
schema = "ridgeline.tuning/1"
name = "fill"
[kernel]
runner = "c"
source = "fill.c"
function = "fill"
flags = ["-O{level}"]
[[kernel.arguments]]
name = "y"
shape = [4096]
fill = "zeros"
output = true
[kernel.check]
reference = {level = 0, step = 1, way = "up"}
[parameters]
level = [0, 1, 2]
step = [1, 2, 4, 8]
way = ["up", "down"]
"""
FILL = "#define up 1\n#define down 0\nvoid fill(float *y) { for (int i = 0; i < 4096; i++) y[way ? i : 4095 - i] = 1; }\n"


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def call(text: str | bytes, *arguments: str) -> tuple[int, str, str]:
        (tmp_path / "s.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
        code = main(["tune", "s.toml", "--no-notebook", "--quiet", *arguments])
        return (code, *capsys.readouterr())

    return call


def instead(before: str, after: str) -> str:
    assert before in SPEC
    return SPEC.replace(before, after)


TILE, SIMULATED = "tile = [8, 16, 32]", 'runner = "simulated"'
BAD: dict[str, tuple[str | bytes, str]] = {
    "cut short": (SPEC[:60], "a specification in TOML"),
    "empty": ("", "nothing"),
    "not UTF-8": (b"\xff\xfe\x00", "UTF-8"),
    "a value that is no list": (instead(TILE, "tile = 8"), "a list of values of tile"),
    "no number": (instead(TILE, "tile = [nan]"), "a finite number"),
    "no value": (instead(TILE, "tile = []"), "tile"),
    "a thousand million values": (instead(TILE, 'tile = {kind = "integer", low = 1, high = 1000000000}'), "tile"),
    "more than 64 bits": (instead(TILE, f"tile = [{10**30}]"), "64 bits"),
    "powers beyond 64 bits": (instead(TILE, f'tile = {{kind = "power-of-two", low = 1, high = {2**70}}}'), "64 bits"),
    "an unknown runner": (instead("simulated", "simulatde"), "did you mean 'simulated'?"),
    "an unknown search": (SPEC + '[search]\nstrategy = "guidde"\n', "did you mean 'guided'?"),
    "an option of no search": (SPEC + "[search]\noptions = {nonsense = 1}\n", "nonsense"),
    "an option that is no option": (SPEC + "[search]\noptions = {seed = 1}\n", "write seed beside strategy"),
    "a limit in another unit": (SPEC + '[limits]\nrun = "10 kg"\n', "kg"),
    "a misspelt name": (SPEC + '[space]\nconstraints = ["tlie > 8"]\n', "did you mean 'tile'?"),
    "an attribute": (SPEC + '[space]\nconstraints = ["tile.__class__"]\n', "constraint"),
    "a power without end": (SPEC + '[space]\nconstraints = ["9 ** 9 ** 9 ** 9 > tile"]\n', "constraint"),
    "an empty space": (SPEC + '[space]\nconstraints = ["tile > 100"]\n', "'tile > 100' holds nowhere"),
    "no value anywhere": (SPEC + '[space]\nconstraints = ["tile // (tile - tile) > 0"]\n', "a division by zero"),
    "flags that are none": (instead(SIMULATED, 'runner = "c"\nsource = "s.toml"\nfunction = "f"\nflags = 5'), "an option flags"),
    "a flag that is a list": (instead(SIMULATED, 'runner = "c"\nsource = "s.toml"\nfunction = "f"\nflags = [["-O2"]]'), "an option flags"),
    "a command that is none": (instead(SIMULATED, 'runner = "command"\ncommand = 5'), "an option command"),
    "an open quote": (instead(SIMULATED, "runner = \"command\"\ncommand = \"a 'b\""), "No closing quotation"),
    "an environment that is none": (instead(SIMULATED, 'runner = "command"\ncommand = "true"\nenvironment = 5'), "an option environment"),
    "a file that nothing can be written to": (SPEC, "an ordinary file to write trials to"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_specification_is_one_line_and_writes_nothing(name: str, ran: Ran, tmp_path: Path) -> None:
    text, said = BAD[name]
    beside = ["--record", "/dev/full"] if said.startswith("an ordinary file") else []
    code, out, err = ran(text, "--trials", "2", "--export", "header", "best.h", "--html", "best.html", *beside)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert said in err
    assert not (tmp_path / "best.h").exists()
    assert not (tmp_path / "best.html").exists()


def test_a_pipe_as_a_record_is_refused_and_not_waited_for(ran: Ran, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, _, err = ran(SPEC, "--record", "pipe")
    assert code == 2
    assert "an ordinary file" in err


def test_a_record_behind_a_link_is_kept_where_it_is(ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert ran(SPEC, "--record", "link", "--trials", "2", "--runs", "1")[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert len({str(trial.config) for trial in read_record(tmp_path / "there").trials}) == 2


@pytest.mark.parametrize(
    ("parameters", "count"),
    [
        ("tile = [8]\npack = [true]", 1),
        ("tile = [8]\npack = [true, false]", 2),
        ('tile = ["a", "b"]\npack = [true, false]', 4),
        ("tile = [1, 1.5]\npack = [false]", 2),
        ("tile = [0, -1]\npack = [true]", 2),
    ],
)
@pytest.mark.parametrize("strategy", ["guided", "bandit"])
def test_small_and_odd_spaces(parameters: str, count: int, strategy: str, ran: Ran) -> None:
    """One point, one value, texts, truth values, a mix, nothing above 0."""
    code, out, err = ran(instead(f"{TILE}\npack = [true, false]", parameters), "--json", "--runs", "1", "--strategy", strategy)
    assert code == 0, err
    found = json.loads(out)
    assert (found["unique_evaluations"], found["stopped"], found["failures"]) == (count, "space", {})
    assert found["best"]["config"]


def test_a_division_by_zero_at_some_points_leaves_these_out(ran: Ran) -> None:
    code, out, err = ran(SPEC + '[space]\nconstraints = ["64 // (tile - 8) >= 0"]\n', "--json", "--runs", "1")
    assert code == 0, err
    assert json.loads(out)["unique_evaluations"] == 4


def test_a_constraint_that_captures_a_variable_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.py").write_text(
        "from ridgeline.flows.tuning.spec import kernel, tuning_spec\nlimit = 16\ndef SPEC():\n"
        "    return tuning_spec('sum', kernel=kernel('simulated'), parameters={'tile': [8, 16, 32]}, constraints=[lambda tile: tile <= limit])\n"
    )
    code = main(["tune", f"{tmp_path / 's.py'}:SPEC", "--no-notebook"])
    assert code == 2
    assert "write it as a text over parameters" in capsys.readouterr().err


def test_one_wrong_answer_costs_itself_alone(ran: Ran, tmp_path: Path) -> None:
    spec = instead(SIMULATED, f"{SIMULATED}\nbehaviours = {{wrong = [{{tile = 16, pack = true}}]}}\nseed = 3")
    check = "[kernel.check]\nreference = {tile = 8, pack = true}\n[parameters]"
    code, out, err = ran(spec.replace("[parameters]", check), "--json", "--record", "r")
    assert code == 0, err
    found = json.loads(out)
    assert (found["failures"], found["unique_evaluations"]) == ({"wrong-output": 1}, 6)
    assert found["best"]["config"] != {"tile": 16, "pack": True}


def test_where_nothing_ran_the_page_says_why_and_the_exit_code_is_2(ran: Ran) -> None:
    spec = instead(SIMULATED, f"{SIMULATED}\nshare = {{fails = 1.0}}")
    code, out, _ = ran(spec, "--trials", "3")
    assert code == 2
    assert "said that it failed: simulated: the kernel returns 1" in " ".join(out.split())
    assert "a record (--record FILE) holds the text of each" in " ".join(out.split())
    code, out, _ = ran(spec, "--trials", "3", "--json")
    assert (code, json.loads(out)["failure_texts"]) == (2, {"run": "simulated: the kernel returns 1"})


def test_a_word_or_variable_that_names_a_parameter_which_is_not_active_is_left_out(ran: Ran, tmp_path: Path) -> None:
    spec = """
schema = "ridgeline.tuning/1"
name = "echo"
[kernel]
runner = "command"
command = "sh -c 'echo $#,${LEVEL-none} >> counts' it --method={method} --level={level}"
environment = {LEVEL = "{level}"}
[parameters]
method = ["fast", "small"]
level = {values = [1, 9], when = "method == 'small'"}
"""
    code, out, err = ran(spec, "--json", "--runs", "1")
    assert code == 0, err
    assert (json.loads(out)["unique_evaluations"], json.loads(out)["failures"]) == (3, {})
    assert set((tmp_path / "counts").read_text().split()) == {"1,none", "2,1", "2,9"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--strategy", "guidde"), "did you mean 'guided'?"),
        (("--lower-precision",), "a deployment beside --lower-precision"),
        (("--tirals", "5"), "no such option --tirals"),
    ],
)
def test_a_slip_in_the_options_is_one_line(arguments: tuple[str, ...], said: str, ran: Ran) -> None:
    code, out, err = ran(SPEC, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert said in err


def test_a_slip_in_an_option_has_the_nearest_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.toml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    assert main(["tune", "--tirals", "5", "s.toml"]) == 2
    assert "--trials" in capsys.readouterr().err


def started(folder: Path, *more: str) -> Any:
    command = [sys.executable, "-m", "ridgeline", "tune", "n.toml", "--no-notebook", "--quiet", "--json", "--runs", "2", *more]
    environment = {**os.environ, "RIDGELINE_CACHE": str(folder / "cache")}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )  # fmt: skip


@pytest.fixture
def native(tmp_path: Path) -> Path:
    (tmp_path / "n.toml").write_text(NATIVE)
    (tmp_path / "fill.c").write_text(FILL)
    return tmp_path


def test_two_processes_on_one_compile_cache(native: Path) -> None:
    both = [started(native, "--record", f"r{number}", "--seed", str(number)) for number in range(2)]
    for process in both:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        found = json.loads(out)
        assert (found["unique_evaluations"], found["failures"]) == (24, {})
    entries = list((native / "cache").rglob("entry.json"))
    assert len(entries) == 24


def test_kills_at_random_moments_lose_at_most_the_trial_in_flight(native: Path) -> None:
    """Three of them."""
    draw, kept = random.Random(0), []
    for _ in range(3):
        process = started(native, "--record", "r", "--resume")
        time.sleep(draw.uniform(0.5, 3.0))
        below = process_tree(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        deadline = time.monotonic() + 10.0
        while time.monotonic() < deadline and any(alive(each) for each in below):
            time.sleep(0.02)
        assert not any(alive(each) for each in below)
        if (native / "r").exists() and (native / "r").read_bytes().count(b"\n"):
            found = read_record(native / "r")
            assert (found.remarks, found.trials[: len(kept)]) == ([], kept)
            kept = found.trials
    process = started(native, "--record", "r", "--resume")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert (json.loads(out)["unique_evaluations"], json.loads(out)["failures"]) == (24, {})
    assert read_record(native / "r").trials[: len(kept)] == kept


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_a_reader_that_leaves_ends_it_without_a_word(native: Path) -> None:
    process = started(native, "--trials", "2", "--record", "r")
    process.stdout.close()
    assert process.wait(timeout=120) == 128 + signal.SIGPIPE
    assert process.stderr.read() == b""
    process.stderr.close()
    assert read_record(native / "r").trials


@pytest.mark.parametrize(
    ("signals", "code", "said"),
    [
        ([signal.SIGINT], 130, None),
        ([signal.SIGTERM], 143, "ended by SIGTERM; what was measured is kept in r: --resume goes on"),
        ([signal.SIGHUP], 129, "ended by SIGHUP; what was measured is kept in r: --resume goes on"),
        ([signal.SIGINT, signal.SIGTERM], 143, "ended by SIGTERM; what was measured is kept in r: --resume goes on"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("everyone", [True, False])
def test_signals_while_trials_run_keep_what_was_told_and_leave_nobody(
    signals: list[signal.Signals], code: int, said: str | None, everyone: bool, native: Path
) -> None:  # fmt: skip
    """To the whole group, as a terminal sends them, or to the command alone, as `kill` does; two of them at once reach it in the order of numbers."""
    process = started(native, "--record", "r", "--workers", "2")
    kept = recorded_until(native / "r", 4)
    below = process_tree(process.pid)
    for number in signals:
        (os.killpg if everyone else os.kill)(process.pid, number)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err.decode()) == (code, "" if said is None else f"ridgeline: {said}\n")
    assert (json.loads(out)["stopped"] if said is None else out) == ("interrupted" if said is None else b"")
    ended(below)
    found = read_record(native / "r")
    assert found.remarks == []
    assert found.trials[: len(kept)] == kept


def test_a_full_disk_ends_it_with_a_line_and_keeps_what_was_told(native: Path) -> None:
    """With a limit on the size of files of the command, in place of a disk that is full."""
    (native / "n.toml").write_text(SPEC)
    process = started(native, "--record", "r")
    recorded_until(native / "r", 3)
    below = process_tree(process.pid)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, ((native / "r").stat().st_size + 10, resource.RLIM_INFINITY))
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err.count(b"\n")) == (2, b"", 1), err
    assert b"r: File too large; to do: free some space, then --resume" in err
    ended(below)
    kept = read_record(native / "r")
    assert kept.remarks == []
    process = started(native, "--record", "r", "--resume")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert (json.loads(out)["unique_evaluations"], read_record(native / "r").trials[: len(kept.trials)]) == (6, kept.trials)


def recorded_until(path: Path, lines: int) -> list[Any]:
    """Trials of a record that is being written, once it has so many lines."""
    deadline = time.monotonic() + 120.0
    while not (path.exists() and path.read_bytes().count(b"\n") >= lines):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return read_record(path).trials


def ended(pids: list[int]) -> None:
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline and any(alive(each) for each in pids):
        time.sleep(0.02)
    assert not any(alive(each) for each in pids)
