from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.core import BackendUnavailable, Column, OutOfRange, RidgelineError, TargetFailed, UsageError
from ridgeline.machine import Limits, Worker

from .in_child import Answer

HERE = os.path.dirname(__file__)
PATHS = {"PYTHONPATH": HERE}
SHORT_S = 0.4


def start(**options: Any) -> Worker:
    return Worker(environment={**PATHS, **options.pop("environment", {})}, **options)


@pytest.fixture
def worker() -> Iterator[Worker]:
    with start() as started:
        yield started


@pytest.fixture(scope="module")
def shared() -> Iterator[Worker]:
    """For calls that leave the child as it was."""
    with start() as started:
        yield started


def failure(worker: Worker, function: str, **options: Any) -> TargetFailed:
    with pytest.raises(TargetFailed) as caught:
        worker.call(f"in_child:{function}", {}, Any, **options)
    line = str(caught.value)
    assert "\n" not in line
    assert caught.value.remedy
    return caught.value


def gone(pid: int) -> bool:
    """Whether a process has ended, reaped or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 20
    while not gone(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return gone(pid)


# ---- values --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 1, -1.5, "text", "ünïcode \ud7ff", [1, [2]], {"a": {"b": [None]}}, True, 2**60])
def test_plain_values_come_back_as_they_went(shared: Worker, value: Any) -> None:
    assert shared.call("in_child:echo", {"value": value}, Any) == value


@pytest.mark.parametrize("length", [0, 3, 5000])
def test_structs_with_columns_travel_both_ways(shared: Worker, length: int) -> None:
    sent = Answer(number=4, column=Column(np.arange(length) / 8, "s", dtype=np.float64))
    received = shared.call("in_child:doubled", {"answer": sent}, Answer)
    assert received == Answer(number=8, column=Column(np.arange(length) / 4, "s", dtype=np.float64))


def test_large_values_travel_both_ways(shared: Worker) -> None:
    assert len(shared.call("in_child:megabytes", {"count": 24}, str)) == 24 << 20
    text = "y" * (24 << 20)
    assert shared.call("in_child:echo", {"value": text}, str) == text


def test_state_stays_between_calls(shared: Worker) -> None:
    counts = [shared.call("in_child:remember", {"name": "state"}, int) for _ in range(3)]
    assert counts == [1, 2, 3]


def test_reports_arrive_in_order_before_the_result(shared: Worker) -> None:
    reports: list[Any] = []
    assert shared.call("in_child:report_three", {}, int, on_report=reports.append) == 3
    assert reports == [{"done": 0}, {"done": 1}, {"done": 2}]


def test_reports_before_a_crash_are_not_lost(worker: Worker) -> None:
    reports: list[Any] = []
    with pytest.raises(TargetFailed):
        worker.call("in_child:report_then_crash", {}, Any, on_report=reports.append)
    assert reports == ["first"]


def test_the_child_is_a_process_of_its_own(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    with start(directory=tmp_path, limits=Limits(cpus=(cpu,)), environment={"RIDGELINE_TEST": "set"}) as worker:
        found = worker.call("in_child:facts_about_process", {}, dict)
        assert found["pid"] == worker.pid == found["group"] != os.getpid()
    assert found["cwd"] == str(tmp_path)
    assert found["cpus"] == [cpu]
    assert found["variable"] == "set"
    assert found["argv"] == [""]
    assert found["stdin"] == ""
    assert found["torch"] is False


def test_modules_in_the_working_directory_do_not_hide_the_library(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise RuntimeError('imported by mistake')")
    with start(directory=tmp_path) as worker:
        assert worker.call("in_child:echo", {"value": 1}, int) == 1


# ---- errors after which the child goes on ----------------------------------------------------------------------------------------------


def test_errors_of_ridgeline_keep_their_class_and_texts(shared: Worker) -> None:
    with pytest.raises(UsageError) as caught:
        shared.call("in_child:raise_usage", {}, Any)
    assert (caught.value.expected, caught.value.found, caught.value.remedy) == ("a thing", "another", "mend it")


def test_a_strangers_error_arrives_as_the_leaf_it_descends_from(shared: Worker) -> None:
    with pytest.raises(OutOfRange) as caught:
        shared.call("in_child:raise_unlisted", {}, Any)
    assert type(caught.value) is OutOfRange


def test_other_exceptions_name_type_text_and_line(shared: Worker) -> None:
    line = str(failure(shared, "raise_value_error"))
    assert "ValueError: wrong value" in line
    assert "in_child.py:" in line
    assert "in raise_value_error" in line


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("sys_exit", "sys.exit(4)"),
        ("interrupt", "KeyboardInterrupt"),
        ("raise_hostile", "HostileError"),
        ("hostile", "Hostile"),
    ],
)
def test_the_child_survives_what_python_can_catch(shared: Worker, function: str, said: str) -> None:
    assert said in str(failure(shared, function))
    assert shared.alive
    assert shared.call("in_child:echo", {"value": 1}, int) == 1


def test_a_result_that_is_not_finite_is_refused(shared: Worker) -> None:
    with pytest.raises(UsageError, match="nan"):
        shared.call("in_child:not_finite", {}, float)


def test_a_result_of_another_type_is_refused(shared: Worker) -> None:
    with pytest.raises(TargetFailed, match="result of type int"):
        shared.call("in_child:echo", {"value": "text"}, int)


@pytest.mark.parametrize("name", ["in_child:nothing", "no_such_module:f", "in_child", "", ":", "in_child:kept.x"])
def test_a_function_that_cannot_be_found_is_a_usage_error(shared: Worker, name: str) -> None:
    with pytest.raises(UsageError):
        shared.call(name, {}, Any)


def test_a_memory_limit_is_met_with_a_clear_error() -> None:
    with start(limits=Limits(memory_bytes=1 << 30)) as worker:
        assert "MemoryError" in str(failure(worker, "hog"))
        assert worker.call("in_child:echo", {"value": 1}, int) == 1
        assert "memory" in str(failure(worker, "hog_abort"))


# ---- output cannot hurt the protocol ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["print_garbage", "close_standard"])
def test_standard_streams_belong_to_the_target(worker: Worker, function: str) -> None:
    assert worker.call(f"in_child:{function}", {}, int) == 1
    assert worker.call("in_child:echo", {"value": 2}, int) == 2


def test_the_output_tail_is_bounded_and_quoted(worker: Worker) -> None:
    worker.call("in_child:print_garbage", {}, int)
    assert 0 < len(worker.output_tail) <= 8192
    assert "farewell" in str(failure(worker, "os_exit"))


def test_shown_output_goes_to_stderr_not_to_stdout() -> None:
    code = "from ridgeline.machine import Worker\nwith Worker(show_output=True) as w: w.call('in_child:print_garbage', {}, int)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **PATHS}, capture_output=True, timeout=120, check=True)
    assert done.stdout == b""
    assert done.stderr.startswith(b"x" * 80)


@pytest.mark.parametrize("function", ["close_everything", "close_requests", "write_everywhere"])
def test_a_target_that_breaks_the_pipes_is_named(worker: Worker, function: str) -> None:
    if function == "close_requests":
        worker.call(f"in_child:{function}", {}, Any)  # the answer still arrives where only the way down is closed
    assert "descriptors" in failure(worker, function).remedy
    assert not worker.alive


@pytest.mark.parametrize(("module", "kind"), [("torch", BackendUnavailable), ("no_such_module", TargetFailed), ("torch.no_such", TargetFailed)])
def test_a_module_that_is_missing_is_named_with_its_place(shared: Worker, module: str, kind: type[RidgelineError]) -> None:
    with pytest.raises(RidgelineError) as caught:
        shared.call("in_child:miss_module", {"name": module}, Any)
    assert type(caught.value) is kind
    assert f"{module}, which the target imports" in caught.value.expected
    assert "in_child.py:" in caught.value.found
    assert ("ridgeline[torch]" in caught.value.remedy) is (kind is BackendUnavailable)


# ---- ends ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("os_exit", "exit code 3"),
        ("segfault", "SIGSEGV"),
        ("abort", "SIGABRT"),
    ],
)
def test_an_end_of_the_process_is_named(worker: Worker, function: str, said: str) -> None:
    line = str(failure(worker, function))
    assert said in line
    assert not worker.alive
    assert str(failure(worker, "echo")) == line  # and stays named


def test_a_crash_names_the_users_line(worker: Worker) -> None:
    assert "in_child.py:" in str(failure(worker, "segfault"))


@pytest.mark.parametrize("function", ["spin", "sleep", "spin_with_lock", "ignore_interrupts_and_sleep"])
def test_a_time_limit_ends_anything_and_names_the_line(worker: Worker, function: str) -> None:
    worker.call("in_child:echo", {"value": 1}, int)  # imported: the limit is the function's alone
    line = str(failure(worker, function, timeout_s=SHORT_S))
    assert "400 ms" in line
    assert f"in {function}" in line
    assert gone(worker.pid)


def test_the_limit_of_the_worker_is_that_of_its_calls() -> None:
    with start(limits=Limits(wall_s=SHORT_S)) as worker:
        assert "400 ms" in str(failure(worker, "sleep"))


def test_a_fork_that_returns_answers_once(worker: Worker) -> None:
    assert worker.call("in_child:fork_and_return", {}, int) == 5
    assert [worker.call("in_child:remember", {"name": "fork"}, int) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("end", ["close", "kill"])
def test_what_the_target_started_ends_with_it(end: str) -> None:
    worker = start()
    pid = worker.call("in_child:start_process", {}, int)
    assert not gone(pid)
    getattr(worker, end)()
    assert wait_until_gone(pid)
    assert gone(worker.pid)
    getattr(worker, end)()  # harmless


def test_closing_does_not_wait_for_a_targets_threads(worker: Worker) -> None:
    worker.call("in_child:thread_and_return", {}, int)
    worker.close()
    assert gone(worker.pid)


def test_a_closed_worker_says_so(worker: Worker) -> None:
    worker.close()
    with pytest.raises(TargetFailed, match="a closed one"):
        worker.call("in_child:echo", {"value": 1}, int)


def test_a_callback_that_raises_ends_the_child(worker: Worker) -> None:
    def refuse(_: Any) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        worker.call("in_child:report_three", {}, int, on_report=refuse)
    assert gone(worker.pid)


def test_workers_leave_no_descriptors_open() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    for function in ("echo", "os_exit"):
        with start() as worker:
            if function == "echo":
                worker.call("in_child:echo", {"value": 1}, int)
            else:
                failure(worker, function)
    assert sorted(os.listdir("/proc/self/fd")) == before


# ---- the parent ------------------------------------------------------------------------------------------------------------------------

PARENT = """
import sys
from ridgeline.machine import Worker
worker = Worker()
worker.call("in_child:echo", {"value": 1}, int)
print(worker.pid, flush=True)
try:
    worker.call("in_child:" + sys.argv[1], {}, object, on_report=lambda pids: print(*pids, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


def parent(function: str) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen([sys.executable, "-c", PARENT, function], env={**os.environ, **PATHS}, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("function", ["sleep", "spin", "spin_with_lock"])
def test_the_child_dies_with_a_killed_parent(function: str) -> None:
    process, child = parent(function)
    process.kill()
    process.communicate()
    assert wait_until_gone(child)


def test_what_the_target_started_dies_with_a_killed_parent() -> None:
    process, child = parent("start_processes_and_sleep")
    assert process.stdout is not None
    below = [int(word) for word in process.stdout.readline().split()]
    assert len(below) == 2
    assert not any(gone(pid) for pid in (child, *below))
    process.kill()
    process.communicate()
    assert all(wait_until_gone(pid) for pid in (child, *below))


@pytest.mark.parametrize("function", ["spin_with_lock", "ignore_interrupts_and_sleep"])
def test_ctrl_c_ends_the_child_and_goes_on_as_ctrl_c(function: str) -> None:
    process, child = parent(function)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said == "interrupted\n"
    assert process.returncode == -signal.SIGINT
    assert gone(child)


# ---- arguments --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [{"wall_s": 0}, {"wall_s": float("nan")}, {"memory_bytes": 0}, {"memory_bytes": -5}, {"cpus": ()}, {"cpus": (99_999,)}],
)
def test_limits_that_mean_nothing_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Limits(**limits)


def test_an_interpreter_that_does_not_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match="no-such-python"):
        Worker(python=str(tmp_path / "no-such-python"))
    with pytest.raises(TargetFailed):
        Worker(directory=tmp_path / "no-such-folder")
    with Worker(python="/bin/false") as worker, pytest.raises(TargetFailed, match="exit code 1"):
        worker.call("in_child:echo", {"value": 1}, int)


# ---- our own faults --------------------------------------------------------------------------------------------------------------------


def _broken(folder: Path, line: str) -> dict[str, str]:
    """Variables with which every interpreter runs a line of ours before anything else."""
    (folder / "sitecustomize.py").write_text(line)
    return {"PYTHONPATH": f"{folder}{os.pathsep}{PATHS['PYTHONPATH']}"}


@pytest.mark.parametrize("module", ["ridgeline.machine.protocol", "ridgeline.core.documents"])
def test_a_worker_that_our_own_code_keeps_from_starting_is_our_fault(tmp_path: Path, module: str) -> None:
    line = f"import sys, types; sys.modules[{module!r}] = types.ModuleType('empty')"
    with Worker(environment=_broken(tmp_path, line)) as worker, pytest.raises(RidgelineError) as caught:
        worker.call("in_child:echo", {"value": 1}, int)
    assert (type(caught.value), caught.value.exit_code) == (RidgelineError, 70)
    assert "ridgeline's own code" in caught.value.expected
    assert "ImportError: cannot import name" in caught.value.found


def test_a_function_of_ours_that_cannot_be_imported_is_our_fault_and_another_is_not(tmp_path: Path) -> None:
    line = "import sys, types; sys.modules['ridgeline.machine.clock'] = types.ModuleType('empty')"
    with Worker(environment=_broken(tmp_path, line)) as worker:
        for function, code in (("ridgeline.machine.host:read_machine", 70), ("ridgeline.machine:no_such", 70), ("in_child:no_such", 2)):
            with pytest.raises(RidgelineError) as caught:
                worker.call(function, {}, Any)
            assert caught.value.exit_code == code
        assert worker.alive


def test_a_file_of_the_user_that_hides_a_module_is_not_our_fault(tmp_path: Path) -> None:
    (tmp_path / "msgspec.py").write_text("raise ImportError('not the one you want')")
    with Worker(environment={"PYTHONPATH": f"{tmp_path}{os.pathsep}{PATHS['PYTHONPATH']}"}) as worker, pytest.raises(TargetFailed) as caught:
        worker.call("in_child:echo", {"value": 1}, int)
    assert "msgspec.py:1" in caught.value.found


@pytest.mark.parametrize("name", ["name", "import", "assertion"])
def test_what_a_target_raises_stays_its_own(shared: Worker, name: str) -> None:
    with pytest.raises(TargetFailed) as caught:
        shared.call("in_child:errs", {"how": name}, Any)
    assert "in_child.py:" in caught.value.found
