"""`profile`: the operator profile of a plain Python program, by recording the calls of its own source.

Runs in the process that holds the target. First one call with every expression recorded, which finds the sites that handle arrays; all other sites
then run as they were written. Timed calls record times only and get their details from a call with the same sequence of sites.
"""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ridgeline.core import OpTable
from ridgeline.targets.source import imported_anew

from ...instrumented import failing_under
from .installation import installed
from .iteration import Iteration, Track, lend, same_way, snapshot
from .recorder import LONG_NS, Recorder
from .repeats import repeats
from .sites import Place
from .table import tabulate

__all__ = ["Load", "profile"]

#: Makes the workload anew from source that goes through the given rewriting of (tree, file name).
Load = Callable[[Callable[[ast.Module, str], ast.Module]], Callable[[], Any]]


def profile(
    load: Load,
    *,
    iterations: int = 10,
    budget_s: float = 3.0,
    synchronise: Callable[[Any], None] | None = None,
    report: Callable[[Any], None] | None = None,
    user_files: Sequence[str] = (),
) -> OpTable:
    """Operators of one call of the target.

    Args:
        load: as `PythonFlavour.load`.
        iterations: most timed calls; at least 3 are made unless one alone takes longer than `budget_s` seconds.
        budget_s: for the timed calls together.
        synchronise: waits for the result of a call.
        report: is told (label, fraction).
        user_files: source files of the user's modules: those already imported are imported once more, through the rewriting, and put back afterwards.

    Raises:
        TargetFailed: the program does not run with its calls recorded, although it may run without.
    """
    with _recording(user_files) as recorder:
        call = load(recorder.transform)
        return _profiled(recorder, _waiting(call, synchronise), iterations, budget_s, report or (lambda message: None))


def detailed_call(
    load: Callable[..., Callable[[], Any]], *, synchronise: Callable[[Any], None] | None = None, user_files: Sequence[str] = ()
) -> tuple[Iteration, tuple[Place, ...]]:
    """One call of the target in its steady state with everything it saw, and the places of its sites.

    Raises:
        TargetFailed: as `profile`.
    """
    with _recording(user_files) as recorder:
        call = _waiting(load(recorder.transform), synchronise)
        _iteration(recorder, call)
        recorder.quieten()
        return _iteration(recorder, call), tuple(recorder.sites.places)


@contextmanager
def _recording(user_files: Sequence[str]) -> Iterator[Recorder]:
    """A recorder at work; what goes wrong meanwhile is the target's failure."""
    recorder = Recorder()
    failing = failing_under("the program to run with its calls recorded", "the rewritten source is", recorder.sites.files)
    with failing, installed(recorder), imported_anew(user_files):
        yield recorder


def _profiled(recorder: Recorder, call: Callable[[], Any], iterations: int, budget_s: float, report: Callable[[Any], None]) -> OpTable:
    first = _iteration(recorder, call)
    python_calls = float(sum(recorder.hits))
    recorder.quieten()
    long = first.wall_ns * 1e-9 > budget_s
    # One call more finds the steady state: what the first allocates once or caches, the later ones find.
    detailed = first if long else _iteration(recorder, call)
    recorder.slow = _slow_sites(detailed)
    recorder.blocks.wanted = False
    count = 1 if long else max(3, min(iterations, int(budget_s / max(detailed.wall_ns * 1e-9, 1e-9))))
    recorder.detail = False
    # A call that long is not made again only to be recorded with less detail, which costs it next to nothing.
    timed: list[Iteration] = [first] if long else []
    for number in range(len(timed), count):
        timed.append(_iteration(recorder, call))
        report(["recording calls", (number + 1) / count])
    note = ""
    if all(same_way(one, detailed) for one in timed):
        timed = [lend(detailed, one) for one in timed]
    else:
        recorder.detail = True
        timed = [_iteration(recorder, call) for _ in range(count)]
        note = "the calls differ from one another, so each was recorded in full"
    repeated = repeats(detailed, recorder.blocks.poked)
    pool = len(os.sched_getaffinity(0))
    return tabulate(timed, recorder.sites.places, pool=pool, python_calls=python_calls, note=note, repeated=repeated)


def _iteration(recorder: Recorder, call: Callable[[], Any]) -> Iteration:
    recorder.begin()
    check = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    start = time.perf_counter_ns()
    call()
    wall = time.perf_counter_ns() - start
    check = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - check
    tracks: tuple[Track, ...] = snapshot(recorder.tapes())
    return Iteration(wall_ns=wall, check_ns=check, tracks=tracks)


def _waiting(call: Callable[[], Any], synchronise: Callable[[Any], None] | None) -> Callable[[], Any]:
    if synchronise is None:
        return call
    return lambda: synchronise(call())


def _slow_sites(iteration: Iteration) -> set[int]:
    """Sites long enough on average that reading two more clocks does not show; a single long call may have been held up by something else."""
    spent: dict[int, list[int]] = {}
    for track in iteration.tracks:
        for event in track.events:
            spent.setdefault(event.site, []).append(event.end_ns - event.start_ns)
    return {site for site, spans in spent.items() if sum(spans) >= LONG_NS * len(spans)}
