"""The instrument `waits` in the child: waits of the target's calls, between bursts of clean calls, in a process of its own."""

from __future__ import annotations

import msgspec

from ridgeline.core import BackendUnavailable, Quantity, WaitTable, quotient
from ridgeline.targets import ProcessFlavour, PythonFlavour, TargetSpec
from ridgeline.targets import prepare as prepare_target

from ..instrumented import failing_under
from ..medians import median_of
from .level3 import burst
from .target import inside

__all__ = ["WaitsReport", "timed_waits"]


class WaitsReport(msgspec.Struct, frozen=True, kw_only=True):
    """The waits with the clean wall taken before and after, and the ratio of the two walls."""

    table: WaitTable
    ratio: Quantity


def timed_waits(spec: TargetSpec, seconds: float) -> WaitsReport:
    """Waits of a Python program, over so many seconds.

    Raises:
        BackendUnavailable: not a Python target.
        TargetFailed: the program does not run with its waits timed.
    """
    from ..waits import observe

    prepared = prepare_target(spec)
    call = inside(prepared)
    load = prepared.flavour.load if isinstance(prepared.flavour, PythonFlavour | ProcessFlavour) else None
    if load is None or call is None:
        raise BackendUnavailable("a Python program whose waits are timed", found=f"a {prepared.info.kind} target", remedy="give a Python function")
    call()
    before = burst(call, prepared.synchronise, seconds / 4)
    with failing_under("the program to run with its waits timed", "the stopwatches are", prepared.user_files):
        table = observe(lambda: load(None), synchronise=prepared.synchronise, seconds=seconds, user_files=prepared.user_files)
    after = burst(call, prepared.synchronise, seconds / 4)
    clean = median_of([*before, *after], "clean calls before and after the timed ones")
    return WaitsReport(table=table, ratio=quotient(table.wall_s, clean, "1", origin="with waits timed ÷ clean calls of the same minute"))
