"""One attempt: what is timed, what is given up, what is checked when, and what becomes of every way to fail, also of the process itself."""

from __future__ import annotations

import itertools
import os
import signal
import time

import msgspec
import numpy as np
import pytest

from ridgeline.backends import Attempt, BuildFailed, Check, RunFailed, Runner, attempt, attempts, build, failed, timing
from ridgeline.backends.c import CompiledC
from ridgeline.backends.simulated import BEHAVIOURS, true_seconds
from ridgeline.backends.testing import FakeRunner, fake_job, sums
from ridgeline.core import BackendUnavailable, PluginError, TargetFailed, UsageError
from ridgeline.machine import Limits, Worker

JOB = fake_job({"tile": 8})
SIMULATED = msgspec.structs.replace(JOB, runner="simulated")


@pytest.fixture
def cache(tmp_path):
    return str(tmp_path / "cache")


@pytest.fixture
def checked(tmp_path):
    np.savez(tmp_path / "right.npz", **sums(JOB))
    return msgspec.structs.replace(JOB, check=Check(reference=str(tmp_path / "right.npz")))


def scripted(*seconds):
    """Seconds of runs one after the other; the last goes on for ever. (runner, how many were made)."""
    made = []

    class Kernel:
        def __init__(self, inner):
            self._inner = inner

        def run(self):
            self._inner.run()
            made.append(seconds[min(len(made), len(seconds) - 1)])
            return made[-1]

        def __getattr__(self, name):
            return getattr(self._inner, name)

    class Scripted(FakeRunner):
        def load(self, job, built):
            return Kernel(super().load(job, built))

    return Scripted(), made


def test_runs_are_those_of_the_kernels_own_clock(cache):
    found = attempt(JOB, runs=5, cache=cache, runner=FakeRunner(seconds=lambda values: values["tile"] * 0.5))
    assert found.runs == (4.0,) * 5
    assert found.failure is None
    assert found.build_s > 0
    assert found.spent_s > found.build_s
    assert "given-up" not in found.flags


def test_without_a_clock_of_its_own_the_wall_counts(cache):
    def sleep(outputs):
        time.sleep(0.02)
        return outputs

    class Wall(FakeRunner):
        def load(self, job, built):
            kernel = super().load(job, built)
            inner = kernel.run
            kernel.run = lambda: inner() and None
            return kernel

    found = attempt(JOB, runs=3, cache=cache, runner=Wall(spoil=sleep))
    assert len(found.runs) == 3
    assert min(found.runs) >= 0.02


def test_a_short_kernel_is_run_many_times_in_a_sample(cache):
    """So that the clock's own cost is a hundredth of a sample at most."""
    runner, made = scripted(1e-9)
    found = attempt(JOB, runs=4, cache=cache, runner=runner)
    assert found.runs == pytest.approx([1e-9] * 4)
    long_runner, long_made = scripted(1.0)
    attempt(JOB, runs=4, cache=cache, runner=long_runner)
    # The first, four samples and the last, which is checked.
    assert len(long_made) == 6
    assert len(made) > 100


def test_more_samples_than_asked_for_fill_a_time(cache):
    """Of the wall: a kernel's own clock may be a small part of what a run takes."""

    def sleep(outputs):
        time.sleep(0.005)
        return outputs

    slow = FakeRunner(seconds=lambda values: 1e-6, spoil=sleep)
    assert 2 <= len(attempt(JOB, runs=2, least_s=0.02, cache=cache, runner=slow).runs) <= 4
    assert len(attempt(JOB, runs=6, least_s=0.02, cache=cache, runner=slow).runs) == 6
    assert len(attempt(JOB, runs=2, least_s=1e9, cache=cache, runner=scripted(1.0)[0]).runs) == 64


def test_the_first_run_and_warm_up_are_not_among_the_runs(cache):
    runner, made = scripted(9.0, 1.0)
    assert attempt(JOB, runs=3, cache=cache, runner=runner).runs == (1.0,) * 3
    short, short_made = scripted(5e-3, 2e-3, 2e-3, 1e-3)
    assert set(attempt(JOB, runs=3, cache=cache, runner=short).runs) == {1e-3}
    assert len(short_made) > 1 + 3 + 1
    assert len(made) == 5


def test_what_is_clearly_slower_is_given_up_after_one_run(cache):
    runner, made = scripted(11.0)
    found = attempt(JOB, runs=7, best_s=1.0, slower=2.0, cache=cache, runner=runner)
    assert found.runs == (11.0,)
    assert found.flags[0] == "given-up"
    assert found.failure is None
    assert len(made) == 1


def test_a_first_run_that_is_slow_for_being_the_first_is_not_held_against_it(cache):
    runner, _ = scripted(3.0, 1.0)
    found = attempt(JOB, runs=5, best_s=1.0, slower=2.0, cache=cache, runner=runner)
    assert found.runs == (1.0,) * 5
    short, _ = scripted(0.04, 0.001)
    assert len(attempt(JOB, runs=5, best_s=0.001, slower=2.0, cache=cache, runner=short).runs) == 5


def test_a_slow_one_is_given_up_after_two_runs_and_one_that_was_fast_once_is_not(cache):
    runner, made = scripted(3.0)
    found = attempt(JOB, runs=7, best_s=1.0, slower=2.0, cache=cache, runner=runner)
    assert found.runs == (3.0,)
    assert len(made) == 2
    assert "given-up" in found.flags
    short, _ = scripted(0.003)
    assert attempt(JOB, runs=7, best_s=0.001, slower=2.0, cache=cache, runner=short).runs == (0.003,) * 2
    held_up, _ = scripted(1.0, 9.0, 1.0)
    assert len(attempt(JOB, runs=7, best_s=1.0, slower=2.0, cache=cache, runner=held_up).runs) == 7
    mixed, _ = scripted(1.0, 1.0, 9.0)
    assert len(attempt(JOB, runs=7, best_s=1.0, slower=2.0, cache=cache, runner=mixed).runs) == 7


def test_a_fast_wrong_answer_has_no_time(checked, cache):
    wrong = FakeRunner(seconds=lambda values: 1e-9, spoil=lambda outputs: {name: array + 1 for name, array in outputs.items()})
    found = attempt(checked, cache=cache, runner=wrong)
    assert (found.failure, found.runs) == ("wrong-output", ())
    assert found.new_worker
    assert "total is" in found.text
    assert attempt(checked, cache=cache, runner=FakeRunner()).failure is None


def test_what_is_wrong_is_not_timed(checked, cache):
    runner, made = scripted(1e-3)
    runner._spoil = lambda outputs: {name: array * 2 for name, array in outputs.items()}
    assert attempt(checked, cache=cache, runner=runner).failure == "wrong-output"
    assert len(made) == 1


def test_one_that_is_right_once_only_is_found(checked, cache):
    runs = []

    def spoil(outputs):
        runs.append(1)
        return outputs if len(runs) == 1 else {name: array * 2 for name, array in outputs.items()}

    found = attempt(checked, cache=cache, runner=FakeRunner(spoil=spoil))
    assert found.failure == "wrong-output"
    assert "right in the first" in found.text
    assert found.runs == ()


def test_not_a_number_is_wrong_without_a_reference(cache):
    found = attempt(JOB, cache=cache, runner=FakeRunner(spoil=lambda outputs: {name: array * np.nan for name, array in outputs.items()}))
    assert found.failure == "wrong-output"


class Raises(FakeRunner):
    def __init__(self, where, error):
        super().__init__()
        self._where, self._error = where, error

    def _maybe(self, where):
        if where == self._where:
            raise self._error

    def build(self, job, folder):
        self._maybe("build")
        return super().build(job, folder)

    def load(self, job, built):
        self._maybe("load")
        kernel = super().load(job, built)
        inner = kernel.run
        kernel.run = lambda: self._maybe("run") or inner()
        return kernel


@pytest.mark.parametrize(
    ("where", "error", "failure"),
    [
        ("build", BuildFailed("no"), "compile"),
        ("build", BuildFailed("no", invalid=True), "invalid"),
        ("load", BuildFailed("no", invalid=True), "invalid"),
        ("run", BuildFailed("no", invalid=True), "invalid"),
        ("run", RunFailed("no"), "run"),
        ("run", RunFailed("no", crashed=True), "crash"),
        ("build", MemoryError("no"), "memory"),
        ("run", MemoryError("no"), "memory"),
        ("load", OSError("no"), "compile"),
        ("run", ZeroDivisionError("no"), "run"),
    ],
)
def test_every_failure_has_its_name_and_text(cache, where, error, failure):
    found = attempt(JOB, cache=cache, runner=Raises(where, error))
    assert found.failure == failure
    assert "no" in found.text
    assert found.runs == ()
    assert found.spent_s > 0
    assert attempt(JOB, cache=cache, runner=FakeRunner()).failure is None, "a failure was kept"


def test_errors_that_are_about_every_configuration_remain_errors(cache):
    with pytest.raises(UsageError):
        attempt(JOB, cache=cache, runner=Raises("load", UsageError("a source", found="none")))
    with pytest.raises(PluginError, match="no-such"):
        attempt(msgspec.structs.replace(JOB, runner="no-such"), cache=cache)


def test_a_long_text_keeps_its_beginning_and_its_end(cache):
    found = attempt(JOB, cache=cache, runner=Raises("build", BuildFailed("first " + "x" * 50_000 + " last")))
    assert found.text.startswith("first")
    assert found.text.endswith("last")
    assert len(found.text) < 5000


def test_building_ahead_is_kept_and_a_broken_entry_is_said(cache, tmp_path):
    runner = FakeRunner()
    ahead = build(JOB, cache=cache, runner=runner)
    assert (ahead.failure, ahead.runs) == (None, ())
    assert ahead.build_s > 0
    assert attempt(JOB, cache=cache, runner=runner).build_s == 0
    assert len(runner.builds) == 1
    next((tmp_path / "cache").glob("*/values.json")).write_text("{")
    assert "not whole" in attempt(JOB, cache=cache, runner=runner).text
    assert build(JOB, cache=cache, runner=Raises("build", BuildFailed("no"))).failure is None, "it was there"


def test_phases_are_reported_as_they_begin(cache):
    heard = []
    attempt(JOB, cache=cache, runner=FakeRunner(), report=heard.append)
    assert heard == ["build", "load", "run", "timing"]


def test_runs_that_were_held_up_are_marked(cache, monkeypatch):
    """By the counters of the harness: an involuntary switch in the second of four samples."""
    rows = []

    class Rows:
        def __init__(self, capacity):
            pass

        def read(self):
            rows.append(len(rows))

        def deltas(self):
            count = len(rows) // 2
            zeros = np.zeros(count, np.int64)
            switched = zeros.copy()
            switched[1] = 1
            return {**dict.fromkeys(timing_fields(), zeros), "involuntary_switches": switched}

    monkeypatch.setattr(timing, "CounterRows", Rows)
    monkeypatch.setattr(timing, "ready_threads_s", lambda: 0.0)
    monkeypatch.setattr(timing, "ThrottleWatch", Quiet)
    found = attempt(JOB, runs=4, cache=cache, runner=FakeRunner(seconds=lambda values: 1.0))
    assert found.disturbed == (1,)
    assert found.flags == ("disturbed",)
    assert len(found.runs) == 4


def test_threads_that_waited_for_a_processor_are_a_disturbance(cache, monkeypatch):
    waits = waiting(0.0, 0.0, 5.0)
    monkeypatch.setattr(timing, "ready_threads_s", lambda: next(waits))
    monkeypatch.setattr(timing, "ThrottleWatch", Quiet)
    found = attempt(JOB, runs=4, cache=cache, runner=FakeRunner(seconds=lambda values: 1.0))
    assert 1 in found.disturbed


def waiting(*runs_s):
    """Readings before and after each run, the first one included, of which threads waited so long; none behind these."""
    total = 0.0
    for each in itertools.chain(runs_s, itertools.repeat(0.0)):
        yield total
        total += each
        yield total


def test_what_waited_for_a_processor_is_not_given_up_for_it(cache, monkeypatch):
    """Seven times as slow by the clock, all of which its threads waited; and one that is slow by itself."""
    monkeypatch.setattr(timing, "ThrottleWatch", Quiet)
    for waited_s, given_up in ((6.0, False), (1.0, True)):
        waits = waiting(*[waited_s] * 20)
        monkeypatch.setattr(timing, "ready_threads_s", lambda waits=waits: next(waits))
        found = attempt(JOB, runs=7, best_s=1.0, slower=2.0, cache=cache, runner=FakeRunner(seconds=lambda values: 7.0))
        assert ("given-up" in found.flags, len(found.runs)) == (given_up, 1 if given_up else 22)


def test_more_runs_are_made_until_three_were_not_held_up(cache, monkeypatch):
    waits = waiting(0.0, *[1.0] * 6)
    monkeypatch.setattr(timing, "ready_threads_s", lambda: next(waits))
    monkeypatch.setattr(timing, "ThrottleWatch", Quiet)
    found = attempt(JOB, runs=4, cache=cache, runner=FakeRunner(seconds=lambda values: 1e-6))
    assert len(found.runs) == 9
    assert set(range(6)) <= set(found.disturbed)


def test_a_throttled_machine_is_said(cache, monkeypatch):
    class Hot(Quiet):
        def marked(self, starts, stops, why=("thermal",)):
            return np.arange(len(starts)) == 2 if "thermal" in why else np.zeros(len(starts), bool)

    monkeypatch.setattr(timing, "ThrottleWatch", Hot)
    found = attempt(JOB, runs=4, cache=cache, runner=FakeRunner(seconds=lambda values: 1.0))
    assert {"throttled", "disturbed"} <= set(found.flags)
    assert 2 in found.disturbed


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def look(self, at_s):
        return None

    def marked(self, starts, stops, why=("thermal",)):
        return np.zeros(len(starts), bool)


def timing_fields():
    from ridgeline.measurement.thread_counters import FIELDS

    return FIELDS


def in_a_worker(job, limits=None, timeout_s=60.0, **arguments):
    """What `attempt` in a worker becomes, and the phases that were heard."""
    heard = []
    # Nothing of this process's own is known to it: the runner is found by its name.
    with Worker(limits=limits) as worker:
        worker.wait_until_ready()
        try:
            return worker.call(
                "ridgeline.backends.attempts:attempt", {"job": job, **arguments}, Attempt, timeout_s=timeout_s, on_report=heard.append
            ), heard
        except TargetFailed as error:
            return failed(error, spent_s=1.5, phase=heard[-1] if heard else ""), heard


def simulated(how, **options):
    return msgspec.structs.replace(SIMULATED, options={"behaviours": {how: [{"tile": 8}]}, **options})


@pytest.mark.parametrize(
    ("how", "failure", "words"),
    [
        ("invalid", "invalid", "invalid"),
        ("no-compile", "compile", "no-compile"),
        ("fails", "run", "returns 1"),
        ("crashes", "crash", "SIGSEGV"),
        ("aborts", "crash", "SIGABRT"),
        ("exits", "crash", "exit code 3"),
        ("nan", "wrong-output", "nan"),
        ("loops", "timeout", "allowed for one run"),
        ("hangs-building", "timeout", "allowed for building"),
    ],
)
def test_every_bad_configuration_in_a_worker(cache, how, failure, words):
    found, _ = in_a_worker(simulated(how), cache=cache, build_limit_s=2.0, run_limit_s=2.0)
    assert found.failure == failure, found.text
    assert words in found.text
    assert found.runs == ()
    good, _ = in_a_worker(simulated(how, behaviours={}), cache=cache, runs=3)
    assert len(good.runs) >= 3
    assert set(good.runs) == {true_seconds(SIMULATED)}


def test_every_behaviour_is_known_here():
    assert set(BEHAVIOURS) == {
        "invalid", "no-compile", "fails", "crashes", "aborts", "exits", "nan", "loops", "hangs-building", "memory", "wrong", "once",
    }  # fmt: skip


def test_memory_that_is_not_there(cache):
    found, _ = in_a_worker(simulated("memory"), limits=Limits(memory_bytes=2**30), cache=cache)
    assert found.failure == "memory", found.text


def test_a_run_that_could_not_win_is_not_waited_for_until_its_limit(cache):
    """The limit of the configuration is longer than that of the call, which is what ends it otherwise."""
    found, heard = in_a_worker(simulated("loops"), cache=cache, run_limit_s=600.0, best_s=1e-3, timeout_s=60.0)
    assert (found.failure, heard[-1]) == ("timeout", "run")
    assert "SIGALRM" in found.text
    # One with a clock of its own may take longer by the wall than it says.
    assert not CompiledC().by_wall(msgspec.structs.replace(JOB, options={"returns": "seconds"}))
    assert CompiledC().by_wall(JOB)
    assert not Runner().by_wall(JOB)


def test_what_is_no_run_may_take_longer_than_a_run_may(cache):
    """Filling and checking large arrays: only a run is held against the best."""

    class Slow(FakeRunner):
        def by_wall(self, job):
            return True

    limits = []
    patched = pytest.MonkeyPatch()
    patched.setattr(attempts, "_alarm", limits.append)
    try:
        attempt(JOB, cache=cache, runner=Slow(), best_s=1.0, run_limit_s=500.0, runs=1)
    finally:
        patched.undo()
    # Building; then filling, a run, checking.
    assert limits[4:7] == [500.0, 50.0, 500.0]


def test_the_workers_own_limit_is_a_timeout_too(cache):
    found, heard = in_a_worker(simulated("loops"), cache=cache, timeout_s=3.0)
    assert found.failure == "timeout"
    assert heard[-1] == "run"
    assert found.spent_s == 1.5


def test_wrong_and_once_in_a_worker_against_a_reference(cache, checked):
    for how in ("wrong", "once"):
        job = msgspec.structs.replace(simulated(how), check=checked.check)
        assert in_a_worker(job, cache=cache)[0].failure == "wrong-output"


def test_a_worker_goes_on_after_what_failed_without_ending_it(cache):
    with Worker() as worker:
        for how in ("fails", "", "no-compile", ""):
            job = simulated(how) if how else SIMULATED
            found = worker.call("ridgeline.backends.attempts:attempt", {"job": job, "cache": cache, "run_limit_s": 5.0}, Attempt, timeout_s=60)
            assert (found.failure is None) is (how == "")


def test_limits_do_not_end_a_process_that_is_no_worker(cache):
    before = signal.getsignal(signal.SIGALRM)
    found = attempt(JOB, cache=cache, runner=FakeRunner(), build_limit_s=1e-3, run_limit_s=1e-3, runs=2)
    time.sleep(0.01)
    assert found.failure is None
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def ended(status, tail=""):
    from ridgeline.machine.ending import ended as of_process

    return of_process(status, tail=tail)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ended(-signal.SIGSEGV), "crash"),
        (ended(-signal.SIGABRT), "crash"),
        (ended(-signal.SIGABRT, "terminate called after throwing an instance of 'std::bad_alloc'"), "memory"),
        (ended(-signal.SIGKILL), "memory"),
        (ended(-signal.SIGALRM), "timeout"),
        (ended(-signal.SIGXCPU), "timeout"),
        (ended(1), "crash"),
        (ended(0), "crash"),
        (TargetFailed("answers from the worker", found="the target closed the worker's pipe"), "lost"),
        (TargetFailed("a Python interpreter that starts", found="no memory"), "lost"),
    ],
)
def test_how_a_worker_ended_is_what_the_attempt_was(error, failure):
    found = failed(error, spent_s=2.0)
    assert found.failure == failure
    assert found.text
    assert found.spent_s == 2.0


@pytest.mark.parametrize("error", [UsageError("a source"), BackendUnavailable("gcc"), PluginError("a runner")])
def test_an_error_about_every_configuration_is_raised_again(error):
    with pytest.raises(type(error)):
        failed(error)


def test_caches_are_emptied_before_the_first_run(cache, monkeypatch):
    order = []

    class Emptier:
        def __call__(self):
            order.append("flush")

    monkeypatch.setattr(attempts, "_emptier", Emptier)
    attempt(JOB, runs=1, cache=cache, runner=FakeRunner(spoil=lambda outputs: order.append("run") or outputs))
    assert order[0] == "flush"
    assert order.count("flush") == 1
    order.clear()
    attempt(JOB, runs=1, cache=cache, runner=FakeRunner(spoil=lambda outputs: order.append("run") or outputs), flush=False)
    assert "flush" not in order


def test_a_runner_without_a_build_counts_its_loading(cache):
    class Direct(Runner):
        name = "direct"

        def identity(self, job):
            return {}

        def load(self, job, built):
            time.sleep(0.02)
            return FakeRunner().load(job, FakeRunner().build(job, os.path.dirname(cache)))

    assert attempt(JOB, runs=1, cache=cache, runner=Direct()).build_s >= 0.02
