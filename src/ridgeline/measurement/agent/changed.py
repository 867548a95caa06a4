"""A target with a change, in the child: prepared, warmed up, called in blocks, and its outputs kept or compared.

Two such children, one without a change, are called by turns; who calls whom and what the times mean is decided outside.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from typing import Any

import msgspec

from ridgeline.core import HotSpots, OutputCheck, TargetFailed, TargetInfo
from ridgeline.targets import ProcessFlavour, TargetSpec
from ridgeline.targets import prepare as prepare_target
from ridgeline.targets.changes import Applied, find

from ..bench.middle import median
from ..outputs import Leaf, compare, leaves, load, store
from ..seeding import seed_everything

__all__ = [
    "ChangedReport", "ColdReport", "WarmReport", "block", "check_outputs", "first_and_later", "first_lines", "keep_outputs", "prepare_changed",
    "warm",
]  # fmt: skip

#: Results of so many calls are compared: a target that counts its calls shows in the second.
_RESULTS = 2
_SEED = 12345


class ChangedReport(msgspec.Struct, frozen=True, kw_only=True):
    """What preparing found, and the seconds of preparing, of the first call, and of applying the change."""

    info: TargetInfo
    load_s: float
    first_s: float
    applied_s: float


class WarmReport(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a warm call, calls made, and whether they settled; null where there were too few to tell."""

    call_s: float
    calls: int
    steady: bool | None


class ColdReport(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of the first call of a process and of a later one, and whether an early and a late call return the same."""

    first_s: float
    later_s: float
    output: OutputCheck


class _Held:
    applied: Applied | None = None
    results: list[list[Leaf]] | None = None


def prepare_changed(spec: TargetSpec, change: str = "", report: Callable[[Any], None] | None = None) -> ChangedReport:
    """Prepare the target and apply a change to it; none where the name is empty.

    The generators of random numbers that can be seeded are, so that two processes make the same data.

    Raises:
        NotComparable: the change has no place in this target.
        RidgelineError: whatever is wrong with the target.
    """
    seed_everything(_SEED)
    prepared = prepare_target(spec)
    before = perf_counter()
    _Held.applied = find(change).apply(prepared) if change else Applied(call=prepared.call, synchronise=prepared.synchronise)
    _Held.results = None
    if isinstance(prepared.flavour, ProcessFlavour):
        _Held.applied.restore = _nothing
    return ChangedReport(info=prepared.info, load_s=prepared.load_s, first_s=prepared.first_s or 0.0, applied_s=perf_counter() - before)


def keep_outputs(path: str) -> int:
    """Make calls and write their results to a file; returns how many."""
    _Held.results = _results()
    store(Path(path), _Held.results)
    return len(_Held.results)


def check_outputs(path: str, tolerance: float, any_float: bool = False, later: bool = False) -> OutputCheck:
    """Make the same calls and compare their results with those of the file; `tolerance` is relative to the largest value of an array.

    Results are kept, so that asking twice makes no further calls unless `later` ones are asked for.
    """
    kept = load(Path(path))
    if later or _Held.results is None:
        _Held.results = _results()
    return compare(kept, _Held.results, tolerance, any_float=any_float)


def warm(budget_s: float) -> WarmReport:
    """Call until the times have settled, for at most `budget_s` seconds, a single long call apart."""
    from ..harness import warm_up  # late: with its statistics it takes long to load, and who only looks at results does not need it

    applied = _applied()
    seen = warm_up(applied.call, applied.synchronise, _nanoseconds, 4.0 * budget_s)
    last = seen.seconds[-max(1, len(seen.seconds) // 3) :]
    return WarmReport(call_s=median(last), calls=len(seen.seconds), steady=seen.steady)


def block(calls: int, skip: int) -> list[float]:
    """Seconds an item of `calls` calls in a row, after `skip` calls whose times are thrown away: caches and threads come back in those."""
    applied = _applied()
    call, synchronise, items = applied.call, applied.synchronise, applied.items
    walls = [0.0] * calls
    for index in range(-skip, calls):
        before = perf_counter()
        result = call()
        if synchronise is not None:
            synchronise(result)
        after = perf_counter()
        if index >= 0:
            walls[index] = after - before
    return [wall / items for wall in walls]


def first_and_later(spec: TargetSpec, calls: int) -> ColdReport:
    """The first call of this process, and the one after `calls` more."""
    report = prepare_changed(spec)
    applied = _applied()
    early = leaves(applied.restore(_waited(applied)))
    for _ in range(calls - 1):
        _waited(applied)
    before = perf_counter()
    result = _waited(applied)
    later_s = perf_counter() - before
    return ColdReport(first_s=report.first_s, later_s=later_s, output=compare([early], [leaves(applied.restore(result))], 0.0))


def first_lines(spec: TargetSpec) -> HotSpots:
    """Sampled lines of the user's own functions while the target is prepared and called for the first time in this process."""
    from ..stacks import sample_lines

    files = [spec.path] if spec.path and spec.path.endswith(".py") else []
    seen = sample_lines(lambda: prepare_target(spec), seconds=0.0, user_files=files)
    # What runs at the level of a module is loading, which is timed apart.
    inside = tuple(spot for spot in seen.spots if spot.site.function != "<module>")
    return msgspec.structs.replace(seen, spots=inside, samples=sum(spot.samples for spot in inside))


def _waited(applied: Applied) -> Any:
    result = applied.call()
    if applied.synchronise is not None:
        applied.synchronise(result)
    return result


def _results() -> list[list[Leaf]]:
    applied = _applied()
    return [leaves(applied.restore(_waited(applied))) for _ in range(_RESULTS)]


def _nothing(result: Any) -> None:
    """A process of its own leaves no result here."""


def _nanoseconds() -> int:
    return int(perf_counter() * 1e9)


def _applied() -> Applied:
    if _Held.applied is None:
        raise TargetFailed("a prepared target", found="none in this process", remedy="call prepare_changed first")
    return _Held.applied
