from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ridgeline.core import BackendUnavailable, TargetFailed, UsageError
from ridgeline.targets import ProcessFlavour, parse_target, prepare, run_command, starting_s
from ridgeline.targets.watching import Watch

PYTHON = sys.executable


class FakeSeconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("code", "blocked_s"), [("import time; print(flush=True); time.sleep(600)", 3.0), ("print(flush=True)\nwhile True: pass", 0.0)]
)
def test_blocked_time_by_a_fake_clock(code: str, blocked_s: float) -> None:
    clock = FakeSeconds()
    with subprocess.Popen([PYTHON, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has started
        wait_for_state(process.pid, "S" if blocked_s else "R")
        watch = Watch(process.pid, 0.0, clock=clock)
        for _ in range(3):
            clock.now += 1.0
            watch.look()
            watch.look()  # at once again: not a look
        process.kill()
    sample = watch.sample(3.0, resource.getrusage(resource.RUSAGE_CHILDREN))
    assert sample.blocked_s == blocked_s
    assert (sample.looks, sample.processes, sample.threads) == (3, 1, 1)


def wait_for_state(pid: int, state: str) -> None:
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != state and time.monotonic() < deadline:
        time.sleep(0.01)


def test_a_sample_is_consistent() -> None:
    sample = run_command([PYTHON, "-c", "import time; x = bytearray(64 << 20); time.sleep(0.2)"])
    assert sample.blocked_s is not None
    assert 0 <= sample.blocked_s <= sample.wall_s
    assert sample.run_queue_s is None or sample.run_queue_s >= 0
    assert sample.max_rss_bytes is not None
    assert sample.max_rss_bytes > 64 << 20
    assert sample.minor_faults > 1000


def test_what_was_never_looked_at_is_null() -> None:
    watch = Watch(os.getpid(), 0.0)
    sample = watch.sample(1.0, resource.getrusage(resource.RUSAGE_SELF))
    assert sample.blocked_s is sample.run_queue_s is sample.max_rss_bytes is sample.read_bytes is sample.written_bytes is None


def test_children_are_seen_and_their_time_is_counted() -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    sample = run_command([PYTHON, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"])
    assert sample.processes == 2
    assert sample.user_s + sample.system_s > 0


def test_what_is_written_to_the_disk_is_counted(tmp_path: Path) -> None:
    code = f"import os, time; f = open({str(tmp_path / 'out')!r}, 'wb'); f.write(bytes(8 << 20)); f.flush(); os.fsync(f.fileno()); time.sleep(0.3)"
    sample = run_command([PYTHON, "-c", code])
    assert sample.written_bytes is not None
    assert sample.written_bytes in range(64 << 20)  # nothing on a file system in memory


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["sh", "-c", "echo first >&2; echo last >&2; exit 3"], "exit code 3; its last words: first last"),
        (["sh", "-c", "kill -SEGV $$"], "SIGSEGV"),
        (["false"], "exit code 1"),
    ],
)
def test_a_command_that_fails_is_a_failed_target(argv: list[str], said: str) -> None:
    with pytest.raises(TargetFailed) as caught:
        run_command(argv)
    assert said in str(caught.value)


@pytest.mark.parametrize("argv", [["no-such-program-here"], [], ["/"], ["a\0b"]])
def test_a_command_that_does_not_start_is_a_usage_error(argv: list[str]) -> None:
    with pytest.raises(UsageError):
        run_command(argv)


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    with pytest.raises(UsageError):
        run_command([str(path)])


def test_a_time_limit_ends_the_whole_tree(tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match=r"1\.00 s"):
        run_command(["sh", "-c", f"sleep 600 & echo $! > {tmp_path}/pid; wait"], timeout_s=1.0)
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    assert not os.path.exists(f"/proc/{pid}")


def test_a_chatty_command_is_heard_to_its_end_and_kept_short() -> None:
    code = "import sys\nfor _ in range(50_000): sys.stderr.write('x' * 100)\nsys.exit(1)"
    with pytest.raises(TargetFailed) as caught:
        run_command([PYTHON, "-c", code])
    assert len(str(caught.value)) < 1000


def test_a_background_process_that_keeps_stderr_does_not_hold_us_up(tmp_path: Path) -> None:
    run_command(["sh", "-c", f"sleep 600 & echo $! > {tmp_path}/pid; exit 0"])
    left = int((tmp_path / "pid").read_text())
    assert os.path.exists(f"/proc/{left}")
    os.kill(left, signal.SIGKILL)


def test_the_environment_and_the_directory(tmp_path: Path) -> None:
    run_command(["sh", "-c", 'echo "$A $PWD" > seen'], environment={"A": "b"}, directory=str(tmp_path))
    assert (tmp_path / "seen").read_text() == f"b {tmp_path}\n"


def test_nothing_is_left_open() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    run_command(["true"])
    with pytest.raises(TargetFailed):
        run_command(["false"])
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_prepared_command_keeps_one_sample_a_call() -> None:
    target = prepare(parse_target(None, ["true"]))
    assert isinstance(target.flavour, ProcessFlavour)
    assert len(target.flavour.samples) == 1
    target.call()
    assert len(target.flavour.samples) == 2
    assert target.info.kind == "command"
    assert target.first_s is not None
    assert target.first_s >= target.flavour.samples[0].wall_s


def test_a_script_is_a_process_of_its_own_and_can_be_run_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text("import os, sys\nassert __name__ == '__main__'\nopen(sys.argv[1], 'a').write(f'{os.getpid()} {sys.argv[2]}\\n')\n")
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "argv", sys.argv[:])
    main = sys.modules["__main__"]
    target = prepare(parse_target(str(script), [str(out), "word"]))
    target.call()
    assert isinstance(target.flavour, ProcessFlavour)
    assert target.flavour.load is not None
    target.flavour.load(None)()
    pids = [int(line.split()[0]) for line in out.read_text().splitlines()]
    assert len(set(pids)) == 3
    assert pids[2] == os.getpid()
    assert pids[0] != os.getpid()
    assert sys.modules["__main__"] is main
    assert target.user_files == (str(script),)
    assert target.info.kind == "script"


def test_a_script_that_fails_is_named(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; sys.exit('enough')")
    with pytest.raises(TargetFailed, match=r"script\.py.*enough"):
        prepare(parse_target(str(script)))


_MISSES = "raise ModuleNotFoundError(\"No module named '{0}'\", name='{0}')"


def test_a_script_without_a_package_of_an_extra_names_the_extra(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("\n" + _MISSES.format("ray"))
    with pytest.raises(BackendUnavailable, match=r"ray.*script\.py:2.*ridgeline\[ray\]"):
        prepare(parse_target(str(script)))
    script.write_text(_MISSES.format("no_such_module"))
    with pytest.raises(TargetFailed, match=r"script\.py:1; to do: install no_such_module"):
        prepare(parse_target(str(script)))


def test_what_another_interpreter_misses_is_no_extra_of_ours() -> None:
    said = "ModuleNotFoundError: No module named 'ray'"
    with pytest.raises(TargetFailed, match="install ray"):
        run_command(["sh", "-c", f'echo \'  File "/m.py", line 1\' >&2; echo "{said}" >&2; exit 1'])


def test_starting_takes_time() -> None:
    assert starting_s("command", 1) > 0
    assert starting_s("script", 1) > 0
