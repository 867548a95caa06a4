"""One attempt at measuring a configuration, in the process in which it is called: a worker, since a kernel may crash, hang or take all memory.

Built or taken from the cache, loaded, run once and checked before a time counts, warmed up, timed, and checked again: one may be right once only.
A failure is a result, not an error; what ends the process itself reaches the parent as an error of the worker, and `failed` turns that into the same
result. Errors of ridgeline remain errors: they are about every configuration. Which configuration is tried next is decided elsewhere.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import signal
import time
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any, Literal

import msgspec

from ridgeline.core import RidgelineError, TargetFailed, UsageError
from ridgeline.core.space import Failure
from ridgeline.machine import ProcessEnded, cpu_limit_reached, in_worker
from ridgeline.machine.control import CacheEmptier

from .base import BuildFailed, Job, Kernel, RunFailed, Runner
from .beside import Beside
from .checking import what_is_wrong
from .compiled import CompileCache
from .registry import ready
from .timing import Timed, first_run_s, timed

__all__ = ["Attempt", "Phase", "attempt", "build", "failed"]

Phase = Literal["build", "load", "run", "timing"]
#: The most characters of a compiler's or kernel's text that are kept: mostly its end, and its beginning, where a compiler's first error stands.
_HEAD, _TAIL = 1000, 3000
#: What the tests for steady runs load where they are not sure at once: up to 15 MiB that are not the kernel's.
_LOADED_LATE = ("numpy.random", "scipy.special")
#: A run that takes more than so many times the best so far, and so many seconds, could not win: it is not waited for until its limit. The seconds are
#: what a busy machine may hold up any run.
_HOPELESS, _HOPELESS_S = 50.0, 2.0
_OUT_OF_MEMORY = ("bad_alloc", "out of memory", "cannot allocate memory", "memoryerror", "memory exhausted")


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one attempt; see the fields of the same names in `core.Trial`.

    Args:
        runs: seconds of each timed run, shape (n,); empty where it failed. The first run and those of the warm-up are not among them, except the
            one after which a slow configuration was given up.
        metrics: what else was asked for, as in `core.Trial`; what could not be measured is not there, and `text` says why.
        text: of a failure; else what had to be mended in the compile cache, and what could not be measured.
        flags: `given-up`, `throttled`, `disturbed` (at least one run).
        disturbed: indices of runs that something outside of the process held up, by the counters that `bench` goes by.
        new_worker: whether the process may have been damaged (what is wrong may be written anywhere), so that the next attempt wants a new one.
    """

    runs: tuple[float, ...] = ()
    metrics: dict[str, float] = {}
    failure: Failure | None = None
    text: str = ""
    build_s: float = 0.0
    spent_s: float = 0.0
    flags: tuple[str, ...] = ()
    disturbed: tuple[int, ...] = ()
    new_worker: bool = False


def build(job: Job, cache: str = "", build_limit_s: float | None = None, runner: Runner | None = None) -> Attempt:
    """Only build into the compile cache, so that `attempt` finds it there: several at once, beside a measurement on other cores.

    Args:
        cache: folder of the compile cache, this user's own if empty.
        build_limit_s: seconds, after which the worker ends by SIGALRM; none if null, and none outside of a worker.
        runner: that of the job's name if null.

    Raises:
        RidgelineError: what fails for every configuration alike.
    """

    def go(state: _State) -> None:
        with state.phase("build", build_limit_s), CompileCache(cache or None).held(state.runner, job) as built:
            state.build_s, state.text = built.build_s, built.word

    return _ending_as(go, _State(runner or ready(job.runner), None))


def attempt(
    job: Job,
    runs: int = 7,
    least_s: float = 0.0,
    best_s: float | None = None,
    slower: float = 2.0,
    cache: str = "",
    build_limit_s: float | None = None,
    run_limit_s: float | None = None,
    flush: bool = True,
    beside: Collection[str] = (),
    report: Callable[[Any], None] | None = None,
    runner: Runner | None = None,
) -> Attempt:
    """Build, check, time, check again.

    Args:
        runs: timed runs wanted, ≥ 1; least_s: seconds that they are to fill, with up to 64.
        best_s: seconds of the best so far; a configuration that takes more than `slower` × that in two runs, or far more in the first, is given up,
            with the runs that were made.
        cache: folder of the compile cache, this user's own if empty.
        build_limit_s, run_limit_s: seconds for building and loading, and for one run, after which the worker ends by SIGALRM, whatever native code
            is doing; none if null, and none outside of a worker. A run is not waited for that long where it could not win any more.
        flush: whether the CPU's caches are emptied first, so that nothing is left of the configuration before.
        beside: what is measured beside the time, of `beside.METRICS`.
        report: told each `Phase` as it begins, so that the parent of a process that ended knows where it was.
        runner: that of the job's name if null.

    Raises:
        RidgelineError: what fails for every configuration alike: a runner that is not there, a reference that cannot be read.
    """

    def go(state: _State) -> None:
        with contextlib.ExitStack() as stack:
            with state.phase("build", build_limit_s):
                built = stack.enter_context(CompileCache(cache or None).held(state.runner, job))
                state.build_s, state.text = built.build_s, built.word
            state.beside.begin(_own_memory)
            started = time.perf_counter()
            with state.phase("load", build_limit_s):
                kernel = state.runner.load(job, built.files)
            stack.callback(kernel.close)
            if not built.files:
                state.build_s = time.perf_counter() - started
            if flush:
                _flush()
            limits = (run_limit_s, _waited_s(run_limit_s, best_s if state.runner.by_wall(job) else None))
            state.timed = _measured(job, kernel, runs, least_s, None if best_s is None else slower * best_s, limits, state)

    made = runner or ready(job.runner)
    return _ending_as(go, _State(made, report, Beside(beside, made.device_of(job)) if beside else None))


def failed(error: RidgelineError, *, spent_s: float = 0.0, phase: str = "") -> Attempt:
    """What the end of a worker was, as the attempt that it was making.

    Args:
        error: of `Worker.call`, or the failure of an executor's outcome.
        spent_s: seconds until then.
        phase: the last that was reported; empty where nobody listened.

    Raises:
        RidgelineError: the same error, where it is about every configuration alike.
    """
    if not isinstance(error, TargetFailed):
        raise error
    failure = _how(error) if isinstance(error, ProcessEnded) else "lost"
    text = error.found or str(error)
    if failure == "timeout":
        text = f"it did not end within the time allowed for {_ALLOWED.get(phase, 'building it or one run')}: {text}"
    return Attempt(failure=failure, text=_shortened(text), spent_s=spent_s)


_ALLOWED = {"build": "building it", "load": "loading it", "run": "one run", "timing": "one run"}


def _how(error: ProcessEnded) -> Failure:
    status = error.status
    if status is None or status == -signal.SIGALRM or cpu_limit_reached(status):
        return "timeout"
    said = error.tail.lower()
    if status == -signal.SIGKILL or any(words in said for words in _OUT_OF_MEMORY):
        return "memory"
    return "crash"


class _State:
    """How far an attempt has come."""

    def __init__(self, runner: Runner, report: Callable[[Any], None] | None, beside: Beside | None = None) -> None:
        self.runner, self._report, self.beside = runner, report, beside or Beside(())
        self.at: Phase = "build"
        self.build_s, self.text = 0.0, ""
        self.timed: Timed | None = None

    @contextlib.contextmanager
    def phase(self, name: Phase, limit_s: float | None) -> Iterator[None]:
        """For the time of a `with`, in which at most `limit_s` seconds may pass."""
        self.at = name
        if self._report is not None:
            self._report(name)
        try:
            _alarm(limit_s)
            yield
        finally:
            _alarm(None)


def _alarm(limit_s: float | None) -> None:
    """Have the kernel end this process in `limit_s` seconds (setitimer(2)); native code that never returns is ended as well. Only in a worker: in a
    process of somebody's own that would end what else it does."""
    if in_worker():
        if limit_s is not None:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit_s or 0.0)


def _own_memory() -> None:
    """Have what an attempt itself holds: its buffer, and all that is loaded where it is first needed."""
    _flush()
    timed(_Idle(), 1, first_s=0.0)
    for name in _LOADED_LATE:
        importlib.import_module(name)


class _Idle:
    """A kernel that does nothing."""

    def run(self) -> float | None:
        return None

    def outputs(self) -> dict[str, Any]:
        return {}

    def reset(self) -> None:
        return

    def close(self) -> None:
        return


def _flush() -> None:
    # Where there is no memory for it, what is left in the caches is no reason to fail.
    with contextlib.suppress(UsageError, MemoryError):
        _emptier()()


@lru_cache(maxsize=1)
def _emptier() -> CacheEmptier:
    """One for all attempts of a process: filling its buffer takes longer than reading it."""
    return CacheEmptier()


class _Wrong(Exception):
    """The result is not right."""


def _waited_s(limit_s: float | None, best_s: float | None) -> float | None:
    """Seconds that a run is waited for: until its limit, or until it could not win."""
    hopeless_s = None if best_s is None else max(_HOPELESS_S, _HOPELESS * best_s)
    return min((each for each in (limit_s, hopeless_s) if each is not None), default=None)


def _measured(
    job: Job, kernel: Kernel, runs: int, least_s: float, slow_s: float | None, limits: tuple[float | None, float | None], state: _State
) -> Timed:
    """`limits`: seconds for filling, checking, and whatever else is no run; and for a run."""
    limit_s, run_s = limits
    with state.phase("run", limit_s):
        kernel.reset()
        state.beside.loaded(kernel)
        _alarm(run_s)
        first_s, slow = first_run_s(kernel, slow_s)
        _alarm(limit_s)
        with state.beside.aside():
            _check(job, kernel, "")
    if slow:
        return Timed((first_s,), (), throttled=False, given_up=True)
    with state.phase("timing", limit_s):
        limited = functools.partial(_limited, run_s)
        taken = timed(kernel, runs, first_s=first_s, slow_s=slow_s, least_s=least_s, within=limited)
        if not taken.given_up:
            state.beside.end(kernel, min(taken.runs), limited)
            _alarm(limit_s)
            kernel.reset()
            kernel.run()
            _check(job, kernel, " in a later run, and was right in the first")
    return taken


def _limited(limit_s: float | None, inner: int) -> None:
    _alarm(None if limit_s is None else inner * limit_s)


def _check(job: Job, kernel: Kernel, when: str) -> None:
    if wrong := what_is_wrong(job, kernel.outputs()):
        raise _Wrong(wrong + when)


def _ending_as(go: Callable[[_State], None], state: _State) -> Attempt:
    """Run an attempt to its end, whatever that is."""
    started = time.perf_counter()
    failure, text = None, ""
    try:
        go(state)
    except RidgelineError:
        raise
    except Exception as error:
        failure, text = _failure(error, state.at)
    spent_s = time.perf_counter() - started
    if failure is not None or state.timed is None:
        return Attempt(
            failure=failure, text=text or state.text, build_s=state.build_s, spent_s=spent_s, new_worker=failure in ("wrong-output", "run", "memory")
        )
    taken = state.timed
    seen = {"given-up": taken.given_up, "throttled": taken.throttled, "disturbed": bool(taken.disturbed)}
    return Attempt(
        runs=taken.runs,
        metrics=state.beside.metrics,
        text="; ".join(filter(None, (state.text, *state.beside.words))),
        build_s=state.build_s,
        spent_s=spent_s,
        flags=tuple(flag for flag, there in seen.items() if there),
        disturbed=taken.disturbed,
    )


def _failure(error: Exception, at: Phase) -> tuple[Failure, str]:
    """What an exception stands for, and its text; one that a stranger's runner let through is named with its kind."""
    text = str(error)
    how: Failure = "compile" if at in ("build", "load") else "run"
    if isinstance(error, BuildFailed):
        how = "invalid" if error.invalid else "compile"
    elif isinstance(error, RunFailed):
        how = "crash" if error.crashed else "run"
    elif isinstance(error, _Wrong):
        how = "wrong-output"
    else:
        how = "memory" if isinstance(error, MemoryError) else how
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return how, _shortened(text)


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n…\n{text[-_TAIL:]}"
