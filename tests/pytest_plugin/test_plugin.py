"""The plugin as pytest runs it: off until it is asked for, timing in fresh processes, refusing beside xdist, and keeping what passed only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from ridgeline.core import SeriesSet
from ridgeline.core.documents import decode

pytest_plugins = ["pytester"]

SUITE = """
    import pytest

    def work(count):
        return sum(range(count))

    @pytest.mark.ridgeline(samples=20, min_time=0.02)
    def test_sum(ridgeline):
        assert ridgeline(work, 1000) == 499500
"""


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # These sessions are not parallel to each other, whatever ours is.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return pytester


def _counting(pytester: pytest.Pytester, name: str = "calls") -> Path:
    """A test that writes a line for each call of its function."""
    place = pytester.path / name
    pytester.makepyfile(
        f"""
        import os, pytest

        def work():
            with open({str(place)!r}, "a") as file:
                file.write(str(os.getpid()) + "\\n")
            return 7

        @pytest.mark.ridgeline(samples=3, min_time=0.01)
        def test_counted(ridgeline):
            assert ridgeline(work) == 7
        """
    )
    return place


def _series(path: Path) -> SeriesSet:
    """The latencies of a file; what is batched has the same names."""
    found = decode(path.read_bytes(), SeriesSet)
    assert {series.name for series in found.series if series.metric == "batched"} <= {series.name for series in found.series}
    return msgspec.structs.replace(found, series=tuple(series for series in found.series if series.metric == "latency"))


def test_off_the_function_is_called_once(pytester: pytest.Pytester) -> None:
    place = _counting(pytester)
    result = pytester.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*-- ridgeline --*")
    assert len(place.read_text().split()) == 1


def test_each_of_the_processes_is_a_fresh_one(pytester: pytest.Pytester) -> None:
    place = _counting(pytester)
    result = pytester.runpytest_subprocess("--ridgeline", "--ridgeline-processes=2", "--ridgeline-json=out.json")
    result.assert_outcomes(passed=1)
    pids = place.read_text().split()
    # Once in the session itself, many times in each of two others; and never two of them at the same time.
    assert len(set(pids)) == 3
    assert pids.count(pids[0]) == 1
    assert [pid for at, pid in enumerate(pids) if at == 0 or pids[at - 1] != pid] == list(dict.fromkeys(pids))
    (series,) = _series(pytester.path / "out.json").series
    assert series.name == "test_each_of_the_processes_is_a_fresh_one.py::test_counted"
    assert [len(values) for values in series.by_process()] == [3, 3]
    assert series.processes_known
    assert all(series.values.values > 0)
    assert "one-process" not in {caution.code for caution in series.cautions}


def test_one_process_is_this_one_and_is_said(pytester: pytest.Pytester) -> None:
    place = _counting(pytester)
    result = pytester.runpytest_subprocess("--ridgeline", "--ridgeline-processes=1", "--ridgeline-json=out.json")
    result.stdout.fnmatch_lines(["*one-process: *", "written to out.json"])
    assert len(set(place.read_text().split())) == 1
    (series,) = _series(pytester.path / "out.json").series
    assert [caution.code for caution in series.cautions if caution.code == "one-process"] == ["one-process"]


def test_a_failing_test_stays_failing_and_is_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        SUITE
        + """
    def test_wrong(ridgeline):
        assert ridgeline(work, 10) == 0

    def test_raises(ridgeline):
        ridgeline(work, None)

    @pytest.mark.xfail
    def test_expected(ridgeline):
        ridgeline(work, None)

    @pytest.fixture
    def broken():
        yield
        raise RuntimeError("teardown")

    def test_torn_down(ridgeline, broken):
        ridgeline(work, 10)
    """
    )
    result = pytester.runpytest_subprocess("--ridgeline", "--ridgeline-processes=2", "--ridgeline-json=out.json")
    result.assert_outcomes(passed=2, failed=2, xfailed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    found = _series(pytester.path / "out.json")
    assert [series.name.partition("::")[2] for series in found.series] == ["test_sum"]
    (left_out,) = found.left_out
    assert (left_out.count, left_out.first.partition("::")[2]) == (4, "test_wrong")


def test_what_passes_once_and_fails_when_it_is_timed_fails_the_session(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pathlib

        def test_once(ridgeline):
            before = pathlib.Path("seen").exists()
            pathlib.Path("seen").touch()
            assert ridgeline(lambda: before) is False
        """
    )
    result = pytester.runpytest_subprocess("--ridgeline", "--ridgeline-processes=2")
    result.stdout.fnmatch_lines(["*process-failed: in process 1, 2: a test did not pass: FAILED *test_once*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_beside_xdist_nothing_is_timed(pytester: pytest.Pytester) -> None:
    place = _counting(pytester)
    result = pytester.runpytest_subprocess("--ridgeline", "--ridgeline-json=out.json", "-n1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["nothing was timed: xdist *-n0*"])
    assert len(place.read_text().split()) == 1
    assert not (pytester.path / "out.json").exists()


def test_the_options_of_the_session_hold_in_its_processes_but_not_its_reports(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--size', type=int)")
    pytester.makepyfile(
        """
        def test_sized(ridgeline, pytestconfig):
            assert ridgeline(lambda: pytestconfig.getoption('--size')) == 3

        def test_other(ridgeline): ridgeline(int)
        """
    )
    arguments = ["--ridgeline", "--ridgeline-processes=1", "--ridgeline-json=out.json"]
    result = pytester.runpytest_subprocess(
        *arguments, "--ridgeline-processes=2", "--size=3", "--junitxml=report.xml", "-k", "sized", "-x", str(pytester.path)
    )
    result.assert_outcomes(passed=1, deselected=1)
    (series,) = _series(pytester.path / "out.json").series
    assert len(series.by_process()) == 2
    # Written by the session, whose run of the test is the one that counts.
    assert (pytester.path / "report.xml").read_text().count("<testcase") == 1


def test_work_that_is_only_begun_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        async def later(): pass

        def test_coroutine(ridgeline): ridgeline(later)
        def test_generator(ridgeline): ridgeline(lambda: (n for n in range(3)))
        """
    )
    result = pytester.runpytest_subprocess("--ridgeline", "--ridgeline-processes=1", "-W", "error::RuntimeWarning")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*a coroutine, which does it later*", "*a generator, which does it later*"])
    pytester.runpytest_subprocess("-k", "generator").assert_outcomes(passed=1, deselected=1)


def test_a_marker_that_means_nothing_is_an_error(pytester: pytest.Pytester) -> None:
    markers = {"(5)": "takes samples", "(sample=5)": "found: sample", "(samples=0)": "samples from 1", "(min_time='1')": "min_time in seconds",
               "(min_time=float('nan'))": "above 0"}  # fmt: skip
    tests = [f"@pytest.mark.ridgeline{marker}\ndef test_{at}(ridgeline): ridgeline(int)\n" for at, marker in enumerate(markers)]
    pytester.makepyfile("import pytest\n" + "".join(tests))
    result = pytester.runpytest_subprocess("--ridgeline", "--ridgeline-processes=1")
    result.assert_outcomes(errors=len(markers))
    result.stdout.fnmatch_lines([f"*test_{at}*{said}*" for at, said in enumerate(markers.values())])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ridgeline-json=out.json"], "without --ridgeline"),
        (["--ridgeline", "--ridgeline-processes=0"], "from 1 to 1000"),
        (["--ridgeline", "--ridgeline-json=."], "a folder"),
        (["--ridgeline", "--ridgeline-json=none/out.json"], "can be written"),
        (["--ridgeline", "--ridgeline-json=mine.txt"], "something else"),
    ],
)
def test_what_cannot_be_done_is_said_before_any_test(pytester: pytest.Pytester, options: list[str], said: str) -> None:
    place = _counting(pytester)
    (pytester.path / "mine.txt").write_text("mine")
    result = pytester.runpytest_subprocess(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str()
    assert not place.exists()
    assert (pytester.path / "mine.txt").read_text() == "mine"


def test_a_second_call_has_a_name_of_its_own_and_our_file_is_written_again(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_x(ridgeline): ridgeline(int); ridgeline(str)")
    (pytester.path / "out.json").write_text('{"schema":"ridgeline.series/1", "cut short')
    pytester.runpytest_subprocess("--ridgeline", "--ridgeline-processes=1", "-n0", "--ridgeline-json=out.json").assert_outcomes(passed=1)
    # xdist that distributes nothing is no obstacle.
    assert [series.name.partition("::")[2] for series in _series(pytester.path / "out.json").series] == ["test_x", "test_x #2"]


def test_a_start_of_pytest_loads_nothing_of_ours_but_the_plugin() -> None:
    program = (
        "import sys, json, pytest; before = set(sys.modules); import ridgeline.pytest_plugin.plugin; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    loaded = json.loads(done.stdout)
    assert [name for name in loaded if name.partition(".")[0] in {"numpy", "msgspec", "click", "rich", "sqlalchemy", "scipy"}] == []
    assert {name for name in loaded if name.startswith("ridgeline")} == {
        "ridgeline", "ridgeline.pytest_plugin", "ridgeline.pytest_plugin.plugin",
    }  # fmt: skip


def _while_it_times(pytester: pytest.Pytester, sent: signal.Signals) -> tuple[int, int]:
    """(exit code of the session, id of its process that timed), where a signal came while one call took for ever."""
    place = pytester.path / "timing"
    pytester.makepyfile(
        f"""
        import os, time
        calls = []

        def work():
            calls.append(1)
            if len(calls) > 1:
                with open({str(place)!r} + "~", "w") as file:
                    file.write(str(os.getpid()))
                os.replace({str(place)!r} + "~", {str(place)!r})
                time.sleep(600)

        def test_work(ridgeline):
            ridgeline(work)
        """
    )
    command = [sys.executable, "-m", "pytest", "-q", "--ridgeline", "--ridgeline-processes=2", "--ridgeline-json=out.json"]
    session = subprocess.Popen(command, cwd=pytester.path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        while not place.exists():
            assert session.poll() is None
            time.sleep(0.02)
        session.send_signal(sent)
        return session.wait(60), int(place.read_text())
    finally:
        session.kill()
        session.wait()


def test_an_interrupt_while_it_times_is_one_for_the_exit_code_too(pytester: pytest.Pytester) -> None:
    code, _ = _while_it_times(pytester, signal.SIGINT)
    assert code == pytest.ExitCode.INTERRUPTED
    assert [caution.code for caution in _series(pytester.path / "out.json").cautions] == ["process-failed"]


def test_a_session_that_is_killed_takes_its_process_with_it(pytester: pytest.Pytester) -> None:
    code, timing = _while_it_times(pytester, signal.SIGKILL)
    assert code == -signal.SIGKILL
    for _ in range(500):
        # A process that ended and that nobody has waited for yet is one that ended.
        if not Path(f"/proc/{timing}").exists() or "State:\tZ" in Path(f"/proc/{timing}/status").read_text():
            return
        time.sleep(0.02)
    os.kill(timing, signal.SIGKILL)
    pytest.fail("the process goes on without the session")
