"""What pytest sees: options, marker, fixture, and when something is timed at all.

Without `--ridgeline` the fixture calls the function once and that is all. With it the process is the unit: this one runs the tests as always,
and the tests that passed are run again, timed, in fresh processes one after the other (`processes`); with `--ridgeline-processes 1` they are
timed here. Under xdist nothing is timed, since what runs beside would be timed with it. How a call is timed is left to `timed`, what is written
to `results`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from .timed import Timing

__all__ = ["Caller", "State", "ridgeline"]

R = TypeVar("R")

#: Processes where none are asked for: the fewest that a median has an interval with.
DEFAULT_PROCESSES = 5
_MARKER = "ridgeline(samples=None, min_time=0.25): time the calls of the `ridgeline` fixture; at most so many samples, for about so many seconds"
_PARALLEL = "xdist runs tests beside each other, and each would be timed with the others; to do: run them with -n0, or with -p no:xdist"


@dataclass
class State:
    """What this session times, and what it found.

    Attributes:
        wanted: whether `--ridgeline` was given.
        processes: fresh processes that time; 1 is this one.
        json: file of the results, empty for none.
        child: folder of the tests to time and of their results, where this is one of the fresh processes; else empty.
        refused: why nothing is timed although it was asked for; empty where it is.
        passed: ids of tests that used the fixture and passed, in order.
        failed: ids of tests that used it and did not.
        timings: of tests that passed, timed in this process.
    """

    wanted: bool
    processes: int
    json: str = ""
    child: str = ""
    refused: str = ""
    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)

    @property
    def times_here(self) -> bool:
        """Whether calls are timed in this process."""
        return self.wanted and not self.refused and (bool(self.child) or self.processes == 1)

    @property
    def spawns(self) -> bool:
        """Whether fresh processes time what passed in this one."""
        return self.wanted and not self.refused and not self.child and self.processes > 1


_STATE = pytest.StashKey[State]()
_CALLER = pytest.StashKey["Caller"]()
_BAD = pytest.StashKey[bool]()


class Caller:
    """The fixture: calls a function, and times it where that is wanted."""

    def __init__(self, state: State, test: str, options: dict[str, Any]) -> None:
        self.timings: list[Timing] = []
        self._state = state
        self._test = test
        self._options = options

    def __call__(self, function: Callable[..., R], *arguments: Any, **named: Any) -> R:
        """Return what `function(*arguments, **named)` returns; timed, it is called many times after this first call.

        Raises:
            UsageError: it is to be timed and does its work only later (a coroutine, a generator).
        """
        __tracebackhide__ = True
        if not self._state.times_here and not self._state.spawns:
            return function(*arguments, **named)
        from .timed import refuse_unstarted, timed

        if self._state.spawns:
            result = function(*arguments, **named)
            refuse_unstarted(self._test, result)
            return result
        name = self._test if not self.timings else f"{self._test} #{len(self.timings) + 1}"
        result, timing = timed(name, partial(function, *arguments, **named), **self._options)
        self.timings.append(timing)
        return result


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of which begin with `--ridgeline`."""
    group = parser.getgroup("ridgeline", "timing with ridgeline")
    group.addoption("--ridgeline", action="store_true", help="Time what tests call through the `ridgeline` fixture.")
    group.addoption("--ridgeline-json", metavar="FILE", default=None, help="Write the values to FILE, which `ridgeline compare` reads.")
    group.addoption(
        "--ridgeline-processes", metavar="N", type=int, default=DEFAULT_PROCESSES,
        help=f"Run the timed tests again in N fresh processes, one after the other; 1 times them in this one. [default: {DEFAULT_PROCESSES}]",
    )  # fmt: skip
    group.addoption("--ridgeline-child", metavar="DIR", default="", help="(used by the plugin itself, for the processes that it starts)")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Decide whether anything is timed; a file that cannot be written ends it now and not after the tests."""
    config.addinivalue_line("markers", _MARKER)
    option = config.getoption
    state = State(
        wanted=bool(option("ridgeline")),
        processes=int(option("ridgeline_processes")),
        json=option("ridgeline_json") or "",
        child=option("ridgeline_child"),
    )
    config.stash[_STATE] = state
    if state.child:
        from .processes import end_with_parent

        end_with_parent()
        _quieten(config)
    if not state.wanted:
        if state.json:
            raise pytest.UsageError("--ridgeline-json without --ridgeline: nothing would be timed; to do: add --ridgeline")
        return
    if not 1 <= state.processes <= 1000:
        raise pytest.UsageError(f"--ridgeline-processes from 1 to 1000; found: {state.processes}")
    if _in_parallel(config):
        state.refused = _PARALLEL
    elif state.json and not state.child:
        from .results import refuse_unwritable

        refuse_unwritable(state.json)


def _in_parallel(config: pytest.Config) -> bool:
    """Whether xdist distributes the tests, seen from one of its workers (or a process of one), or from its controller."""
    if hasattr(config, "workerinput") or "PYTEST_XDIST_WORKER" in os.environ:
        return True
    if not config.pluginmanager.hasplugin("xdist"):
        return False
    # "auto" and "logical" are texts here still.
    return config.getoption("numprocesses", None) not in (None, 0) or bool(config.getoption("tx", None))


def _quieten(config: pytest.Config) -> None:
    """In a process that only times: no reports over those of the session that started it, and no choice of tests but that one's."""
    for name, value in {
        "xmlpath": None, "htmlpath": None, "report_log": None, "lf": False, "failedfirst": False, "newfirst": False, "stepwise": False,
        "usepdb": False, "maxfail": 0, "durations": None, "collectonly": False,
    }.items():  # fmt: skip
        if hasattr(config.option, name):
            setattr(config.option, name, value)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a process that only times: keep the tests that are to be timed."""
    state = config.stash[_STATE]
    if not state.child:
        return
    from .processes import tests_of

    wanted = tests_of(state.child)
    left_out = [item for item in items if item.nodeid not in wanted]
    items[:] = [item for item in items if item.nodeid in wanted]
    if left_out:
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture
def ridgeline(request: pytest.FixtureRequest) -> Caller:
    """Call a function, `result = ridgeline(function, *arguments)`; with --ridgeline it is timed as well."""
    state = request.config.stash[_STATE]
    caller = Caller(state, request.node.nodeid, _options(request.node) if state.wanted else {})
    request.node.stash[_CALLER] = caller
    request.node.stash[_BAD] = False  # a plugin may run a test again
    return caller


def _options(item: pytest.Item) -> dict[str, Any]:
    """`samples` and `min_time` of the marker nearest to the test."""
    marker = item.get_closest_marker("ridgeline")
    if marker is None:
        return {}
    unknown = set(marker.kwargs) - {"samples", "min_time"}
    if marker.args or unknown:
        found = ", ".join([*map(repr, marker.args), *sorted(unknown)])
        raise pytest.UsageError(f"{item.nodeid}: the marker ridgeline takes samples=… and min_time=…; found: {found}")
    samples, min_time = marker.kwargs.get("samples"), marker.kwargs.get("min_time", 0.25)
    if samples is not None and (type(samples) is not int or not 1 <= samples <= 10_000_000):
        raise pytest.UsageError(f"{item.nodeid}: samples from 1 to 10000000; found: {samples!r}")
    if type(min_time) not in (int, float) or not 0 < min_time <= 86_400:
        raise pytest.UsageError(f"{item.nodeid}: min_time in seconds, above 0 and up to a day; found: {min_time!r}")
    return {"samples": samples, "min_time_s": float(min_time)}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Keep what a test timed only if all of it passed."""
    outcome = yield
    caller = item.stash.get(_CALLER, None)
    if caller is None:
        return
    report = outcome.get_result()  # type: ignore[attr-defined]
    # An expected failure raised; one that came as a surprise is a pass or a failure as pytest says.
    if not report.passed:
        item.stash[_BAD] = True
    if report.when == "teardown":
        state = item.config.stash[_STATE]
        (state.failed if item.stash[_BAD] else state.passed).append(item.nodeid)
        if not item.stash[_BAD]:
            state.timings += caller.timings
            if state.child and caller.timings:
                from .processes import keep

                keep(state.child, caller.timings)
        del item.stash[_CALLER]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Time in fresh processes what passed, write the file."""
    state = session.config.stash[_STATE]
    if not state.wanted or state.refused or state.child or session.exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR):
        return
    from .results import finish

    finish(session, state)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What was found, or why nothing was timed."""
    state = config.stash[_STATE]
    if not state.wanted or state.child:
        return
    terminalreporter.section("ridgeline", sep="-")
    if state.refused:
        terminalreporter.line(f"nothing was timed: {state.refused}")
        return
    from .results import summary

    for line in summary(config):
        terminalreporter.line(line)
