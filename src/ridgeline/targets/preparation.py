"""`prepare`: `TargetSpec` → `Prepared` in this process: finds the preparer, makes the first call, sees whether results need waiting for.

The first call belongs to preparing because only a result shows whether it is finished, and only a call shows whether a Python function is the
workload or makes it. Its time is kept apart in `first_s`, so nothing is called twice.
"""

from __future__ import annotations

import os
import time
from typing import Any

from ridgeline.core import Caution, plugins

from .prepared import Prepared, ProcessFlavour
from .source import Transform
from .spec import TargetSpec
from .surroundings import allocator, loaded, speed_variables
from .synchronise import synchronisation_of

__all__ = ["first_call", "prepare"]


def prepare(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """Load a target and make its first call. Call it in a worker: the target may do anything to its process.

    Args:
        spec: from `parse_target`.
        transform: rewrites the user's Python source (for an instrumented process of its own).

    Raises:
        UsageError, ReadError: the target is not right.
        BackendUnavailable: a package it needs is missing.
        Exception: whatever the target itself raises.
    """
    plugin: Any = plugins.load("targets", spec.kind)
    before = time.perf_counter()
    prepared: Prepared = plugin(spec, transform)
    prepared.load_s = time.perf_counter() - before - (prepared.first_s or 0.0)
    if prepared.first_s is None:
        first_call(prepared)
    outside = isinstance(prepared.flavour, ProcessFlavour)
    prepared.describe(allocator=allocator(), environment=speed_variables(spec.environment), loaded=None if outside else loaded())
    prepared.warnings += _crowded(spec.threads)
    return prepared


def _crowded(threads: int) -> list[Caution]:
    """A warning where more threads were asked for than there are CPUs for them."""
    cpus = len(os.sched_getaffinity(0))
    if threads <= cpus:
        return []
    message = f"{threads} threads were asked for, {cpus} CPUs may be used"
    return [
        Caution(
            code="more-threads-than-cpus", message=message, effect="threads that take turns wait for each other; the time is not that of so many CPUs"
        )
    ]


def first_call(prepared: Prepared) -> Any:
    """Make the first call, wait for its result, and keep its time; returns the result."""
    before = time.perf_counter()
    result = prepared.call()
    settle(prepared, result, before)
    return result


def settle(prepared: Prepared, result: Any, began: float) -> None:
    """Find out from a first result how such results are waited for, wait for this one, warn about what cannot be waited for, and keep its time.

    Args:
        began: `perf_counter` before the call.
    """
    prepared.first_s = time.perf_counter() - began
    found = synchronisation_of(result, given=prepared.waits_by, never=prepared.never_waits)
    prepared.synchronise, prepared.timer, prepared.check = found.wait, found.timer, found.check
    prepared.warnings += found.cautions
    if found.wait is not None:
        found.wait(result)
        # The work went on while we found out how to wait for it: what that took may be in this time.
        prepared.first_s = time.perf_counter() - began
