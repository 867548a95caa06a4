"""Settings are set, put back in reverse order, and put back by the next start after a kill: in trees of files, with real processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from machine.control.trees import AUTOGROUP, BOOT, GOVERNORS, HOLD, NO_TURBO, NUMA, SWAPPINESS, all_values, laptop, value
from ridgeline.machine.control import left_over, read_settings, restore_left_over, tuned
from ridgeline.machine.control.changes import FileChange

FILES = [*GOVERNORS, NO_TURBO, SWAPPINESS, NUMA]
SET = {GOVERNORS[0]: "performance", GOVERNORS[1]: "performance", NO_TURBO: "1", SWAPPINESS: "0", NUMA: "0"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return laptop(tmp_path / "root")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


def journals(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.journal"))


def found(root: Path) -> dict[str, str]:
    return {name: value(root, name) for name in FILES}


@contextlib.contextmanager
def held(root: Path, folder: Path, act: str = "wait", script: str = HOLD) -> Iterator[subprocess.Popen[str]]:
    """A process that has tuned the tree and waits for a line."""
    command = [sys.executable, "-c", script, str(root), str(folder), act]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "tuned\n"
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def killed(root: Path, folder: Path) -> None:
    with held(root, folder) as process:
        process.kill()
        process.wait()


def test_without_tune_nothing_is_touched(root: Path, folder: Path) -> None:
    before = all_values(root)
    with tuned(False, root=root, folder=folder) as settings:
        assert settings == read_settings(root)
        assert all_values(root) == before
    assert not folder.exists()


def test_set_and_put_back(root: Path, folder: Path) -> None:
    before, nice = all_values(root), os.getpriority(os.PRIO_PROCESS, 0)
    with tuned(True, root=root, folder=folder) as settings:
        said = {setting.name: setting for setting in settings}
        assert found(root) == SET
        assert said["governor"].state == said["turbo"].state == said["swap"].state == "set"
        assert said["turbo"].found == "on"
        assert said["turbo"].used == "off"
        assert len(journals(folder)) == 1
    assert all_values(root) == before
    assert os.getpriority(os.PRIO_PROCESS, 0) == nice
    assert journals(folder) == []


def test_put_back_after_an_exception_in_reverse_order(root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    put = FileChange.put

    def noted(self: FileChange, text: str) -> None:
        written.append(self.key)
        put(self, text)

    monkeypatch.setattr(FileChange, "put", noted)
    before = all_values(root)
    with contextlib.suppress(ZeroDivisionError), tuned(True, root=root, folder=folder):
        assert len(written) == len(FILES)
        raise ZeroDivisionError
    assert all_values(root) == before
    assert written[len(FILES) :] == written[: len(FILES)][::-1]


def test_somebody_elses_value_stays(root: Path, folder: Path) -> None:
    said: list[str] = []
    with tuned(True, root=root, folder=folder, report=said.append):
        (root / SWAPPINESS).write_text("10\n")
    assert value(root, SWAPPINESS) == "10"
    assert value(root, NO_TURBO) == "0"
    assert [line for line in said if "somebody has set it to 10" in line]
    assert journals(folder) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_end_puts_back_first_and_ends_then(root: Path, folder: Path, number: signal.Signals) -> None:
    before = all_values(root)
    with held(root, folder) as process:
        assert found(root) == SET
        process.send_signal(number)
        process.wait(30)
        # By the signal itself, or by Python's own way to end after an interrupt.
        assert process.returncode in (-number, 130, 1)
    assert all_values(root) == before
    assert journals(folder) == []


def test_an_exception_in_a_child_puts_back(root: Path, folder: Path) -> None:
    before = all_values(root)
    with held(root, folder, "raise") as process:
        process.wait(30)
    assert process.returncode == 1
    assert all_values(root) == before


def test_a_kill_leaves_a_journal_and_the_next_start_puts_back_once(root: Path, folder: Path) -> None:
    before = all_values(root)
    killed(root, folder)
    assert found(root) == SET
    left = left_over(root, folder)
    assert {entry.key for entry in left} == set(FILES)
    assert all(entry.outcome == "left" for entry in left)
    done = restore_left_over(root, folder)
    assert [entry.outcome for entry in done] == ["put back"] * len(FILES)
    assert [entry.key for entry in done] == [entry.key for entry in left][::-1]
    assert all_values(root) == before
    assert restore_left_over(root, folder) == left_over(root, folder) == ()
    assert journals(folder) == []


def test_what_somebody_has_set_since_a_kill_stays(root: Path, folder: Path) -> None:
    killed(root, folder)
    (root / GOVERNORS[0]).write_text("schedutil\n")
    (root / NUMA).unlink()
    outcomes = {entry.key: entry.outcome for entry in restore_left_over(root, folder)}
    assert value(root, GOVERNORS[0]) == "schedutil"
    assert outcomes[GOVERNORS[0]] == "not ours"
    assert outcomes[NUMA] == "failed"
    assert value(root, GOVERNORS[1]) == "powersave"
    # What failed is tried again, and only that.
    (root / NUMA).write_text("0\n")
    (root / GOVERNORS[1]).write_text("performance\n")
    assert [(entry.key, entry.outcome) for entry in restore_left_over(root, folder)] == [(NUMA, "put back")]
    assert value(root, GOVERNORS[1]) == "performance"


def test_a_living_process_keeps_its_settings(root: Path, folder: Path) -> None:
    before = all_values(root)
    with held(root, folder) as process:
        assert restore_left_over(root, folder) == left_over(root, folder) == ()
        assert found(root) == SET
        process.communicate("go\n", timeout=30)
    assert all_values(root) == before


def test_a_fork_that_lives_on_does_not_keep_a_journal_alive(root: Path, folder: Path) -> None:
    before = all_values(root)
    with held(root, folder, "fork") as process:
        process.kill()
        process.wait()
        assert {entry.outcome for entry in restore_left_over(root, folder)} == {"put back"}
        assert all_values(root) == before
        assert process.stdin is not None
        process.stdin.write("go\n")


def test_the_last_of_several_puts_back_what_the_first_found(root: Path, folder: Path) -> None:
    before = all_values(root)
    with tuned(True, root=root, folder=folder):
        with held(root, folder) as process:
            process.communicate("go\n", timeout=30)
            assert found(root) == SET
        with held(root, folder) as killed_one:
            killed_one.kill()
            killed_one.wait()
            restore_left_over(root, folder)
            assert found(root) == SET
    assert all_values(root) == before
    assert journals(folder) == []


def test_who_joined_keeps_the_settings_of_one_that_ended_first(root: Path, folder: Path) -> None:
    before = all_values(root)
    with held(root, folder) as first:
        with tuned(True, root=root, folder=folder) as settings:
            assert {setting.name: setting.state for setting in settings}["turbo"] == "fine"
            first.communicate("go\n", timeout=30)
            assert found(root) == SET
        assert all_values(root) == before


def test_who_joined_keeps_the_settings_of_one_that_was_killed(root: Path, folder: Path) -> None:
    before = all_values(root)
    with held(root, folder) as first, tuned(True, root=root, folder=folder):
        first.kill()
        first.wait()
        outcomes = {entry.outcome for entry in restore_left_over(root, folder)}
        assert outcomes == {"not ours"}
        assert found(root) == SET
    assert all_values(root) == before


RACER = """
import sys
from pathlib import Path
from ridgeline.machine.control import restore_left_over
print('ready', flush=True)
sys.stdin.readline()
print(len([1 for entry in restore_left_over(Path(sys.argv[1]), Path(sys.argv[2])) if entry.outcome == "put back"]))
"""


def test_several_starts_at_once_put_back_exactly_once(root: Path, folder: Path) -> None:
    before = all_values(root)
    killed(root, folder)
    command = [sys.executable, "-c", RACER, str(root), str(folder)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    counts = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        counts.append(int(racer.communicate(timeout=60)[0]))
    assert sum(counts) == len(FILES)
    assert all_values(root) == before
    assert journals(folder) == []


def test_a_restart_of_the_machine_makes_a_journal_void(root: Path, folder: Path) -> None:
    killed(root, folder)
    (root / BOOT).write_text("99999999-2222-3333-4444-555555555555\n")
    assert left_over(root, folder) == ()
    assert restore_left_over(root, folder) == ()
    assert found(root) == SET  # the kernel's own values of the new boot: not ours
    assert journals(folder) == []


def test_tuning_puts_back_what_a_kill_left_before_it_looks(root: Path, folder: Path) -> None:
    before = all_values(root)
    killed(root, folder)
    said: list[str] = []
    with tuned(True, root=root, folder=folder, report=said.append) as settings:
        assert {setting.name: setting.found for setting in settings}["turbo"] == "on"
    assert len([line for line in said if "put back" in line]) == len(FILES)
    assert all_values(root) == before


def test_without_a_journal_nothing_lasting_is_set(root: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    before = all_values(root)
    with tuned(True, root=root, folder=blocked / "below") as settings:
        assert all_values(root) == before
        said = {setting.name: setting for setting in settings}
        assert said["governor"].state == "cannot"
        assert "journal" in said["governor"].reason
    assert all_values(root) == before


def test_a_setting_is_set_whole_or_not_at_all(root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = FileChange.put

    def failing(self: FileChange, text: str) -> None:
        if self.key == GOVERNORS[1] and text == "performance":
            raise PermissionError(1, "not permitted")
        put(self, text)

    monkeypatch.setattr(FileChange, "put", failing)
    before = all_values(root)
    with tuned(True, root=root, folder=folder) as settings:
        governor = {setting.name: setting for setting in settings}["governor"]
        assert (governor.state, governor.used, governor.reason) == ("cannot", "powersave", "not permitted")
        assert value(root, GOVERNORS[0]) == "powersave"
        assert value(root, NO_TURBO) == "1"
    assert all_values(root) == before


def test_a_kernel_that_takes_a_value_and_does_not_keep_it_is_not_believed(root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileChange, "put", lambda self, text: None)
    with tuned(True, root=root, folder=folder) as settings:
        turbo = {setting.name: setting for setting in settings}["turbo"]
        assert turbo.state == "cannot"
        assert "stays at 0" in turbo.reason


def test_what_cannot_be_put_back_is_said_and_tried_again(root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, said = all_values(root), list[str]()
    put = FileChange.put

    def failing(self: FileChange, text: str) -> None:
        if (self.key, text) == (SWAPPINESS, "60"):
            raise OSError(16, "busy")
        put(self, text)

    with monkeypatch.context() as patch:
        patch.setattr(FileChange, "put", failing)
        with tuned(True, root=root, folder=folder, report=said.append):
            pass
    assert [line for line in said if "busy" in line]
    assert found(root) == {**{name: before[name].strip() for name in FILES}, SWAPPINESS: "0"}
    assert [(entry.key, entry.outcome) for entry in restore_left_over(root, folder)] == [(SWAPPINESS, "put back")]
    assert all_values(root) == before


def test_processes_inherit_what_belongs_to_the_process(tmp_path: Path) -> None:
    """Live: affinity and thread counts of this very process, and of what it starts."""
    before = os.sched_getaffinity(0)
    ask = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)), os.environ.get('OMP_NUM_THREADS'), os.getpriority(0, 0))"]
    quiet = laptop(tmp_path / "root", **{AUTOGROUP: "0\n"})
    given, nice = os.environ.get("OMP_NUM_THREADS"), os.getpriority(os.PRIO_PROCESS, 0)
    # A recorded tree for the kernel's files: nothing of this machine but the process itself is touched.
    recorded = quiet / "proc/self/status"
    recorded.write_text(f"Cpus_allowed_list:\t{','.join(map(str, sorted(before)))}\n")
    with tuned(True, threads=1, root=quiet, folder=tmp_path / "state"):
        count, threads, _ = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()
        assert (count, threads) == ("1", "1")
    assert os.sched_getaffinity(0) == before
    assert os.environ.get("OMP_NUM_THREADS") == given
    assert os.getpriority(os.PRIO_PROCESS, 0) == nice


def test_a_second_process_waits_for_the_lock_and_says_so(root: Path, folder: Path) -> None:
    from ridgeline.core import UsageError
    from ridgeline.machine.control.journal import locked

    with locked(folder), pytest.raises(UsageError, match="is held"), locked(folder, wait_s=0.05):
        pass
    with locked(folder, wait_s=0.05):
        pass


KILLED_AT = """
import os, signal, sys
from pathlib import Path
from ridgeline.machine.control import changes, tuned
left = [int(sys.argv[3])]
def at_each(function):
    def counted(*arguments):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), int(sys.argv[4]))
        return function(*arguments)
    return counted
# Before and after each line of the journal is on the disk, and before each write to a setting.
os.fsync, os.ftruncate, os.unlink = at_each(at_each(os.fsync)), at_each(os.ftruncate), at_each(os.unlink)
changes.FileChange.put = at_each(changes.FileChange.put)
with tuned(True, root=Path(sys.argv[1]), folder=Path(sys.argv[2])):
    pass
print("to the end")
"""


def test_a_kill_at_any_moment_leaves_nothing_that_is_not_put_back(root: Path, folder: Path) -> None:
    """Kills at moments spread over the changes and the putting back: afterwards one start makes all as before."""
    before = all_values(root)
    moments = [1, 3, 4, 6, 8, 12, 17, 18, 20, 23, 26, 29, 32, 1000]
    ends = []
    for moment in moments:
        done = subprocess.run([sys.executable, "-c", KILLED_AT, str(root), str(folder), str(moment), "9"], capture_output=True, text=True, timeout=60)
        assert done.returncode in (-signal.SIGKILL, 0), done.stderr
        ends.append(done.returncode)
        if moment == 12:
            assert all_values(root) != before  # the kills do fall between changes
        restore_left_over(root, folder)
        assert all_values(root) == before, moment
        assert journals(folder) == []
    assert ends[-1] == 0
    assert ends.count(-signal.SIGKILL) >= 10


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", [2, 9, 17, 21, 30])
def test_a_signal_in_the_middle_of_a_change_waits_for_its_end(root: Path, folder: Path, number: signal.Signals, moment: int) -> None:
    before = all_values(root)
    command = [sys.executable, "-c", KILLED_AT, str(root), str(folder), str(moment), str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode in (-number, 130, 1), done.stderr
    assert "to the end" not in done.stdout
    assert all_values(root) == before
    assert journals(folder) == []


def test_the_handler_of_the_command_line_stays_in_force(root: Path, folder: Path) -> None:
    before = all_values(root)
    script = HOLD.replace("with tuned", "from ridgeline.cli.signals import terminating\nwith terminating(), tuned", 1)
    with held(root, folder, script=script) as process:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=30)[1]
    assert process.returncode == 1
    assert "Terminated: SIGTERM" in said
    assert all_values(root) == before
    assert journals(folder) == []


AGAIN_AND_AGAIN = """
import sys, time
from pathlib import Path
from ridgeline.machine.control import tuned
root, folder = Path(sys.argv[1]), Path(sys.argv[2])
for turn in range(12):
    with tuned(True, root=root, folder=folder):
        for name, wanted in (("sys/devices/system/cpu/intel_pstate/no_turbo", "1"), ("proc/sys/vm/swappiness", "0")):
            now = (root / name).read_text().strip()
            assert now == wanted, (turn, name, now)
        time.sleep(0.001 * (turn % 4))
"""


def test_settings_hold_for_each_of_several_processes_that_come_and_go(root: Path, folder: Path) -> None:
    before = all_values(root)
    command = [sys.executable, "-c", AGAIN_AND_AGAIN, str(root), str(folder)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=60)[1] for process in processes]
    assert said == [""] * 3
    assert all_values(root) == before
    assert journals(folder) == []
