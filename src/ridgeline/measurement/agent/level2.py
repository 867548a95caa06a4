"""Level 2 in the child: the wall split and the stages, each over calls of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ridgeline.core import BackendUnavailable, Quantity, WallSplit
from ridgeline.targets import ProcessFlavour, adapter_for

from .. import commands, wall_split
from ..medians import median_of
from ..stages.measure import StagesReport, measure_stages
from .target import Session, held, inside

__all__ = ["SplitReport", "StagesReport", "split", "stages"]


class SplitReport(msgspec.Struct, frozen=True, kw_only=True):
    """Level 2: the split and the wall of a call while it was taken."""

    split: WallSplit
    wall_s: Quantity


def split(seconds: float) -> SplitReport:
    """Level 2: the wall split, over calls of their own."""
    prepared = held()
    if isinstance(prepared.flavour, ProcessFlavour):
        return _split_runs(inside(prepared), seconds)
    seen = wall_split.observe(prepared.call, synchronise=prepared.synchronise, seconds=seconds)
    return SplitReport(split=wall_split.split(seen), wall_s=median_of(seen.walls, "calls under the samplers"))


def stages(seconds: float) -> StagesReport:
    """Level 2: the stages of the call, or of a script's source run here.

    Raises:
        BackendUnavailable: the target is only ever outside this process.
    """
    prepared = held()
    call = inside(prepared)
    if call is None:
        raise BackendUnavailable("stages of a Python program", found="a command that is not Python's", remedy="give a Python function or script")
    if isinstance(prepared.flavour, ProcessFlavour):
        call()  # imports and caches: they belong to the start of the process, which no stage is
    wait = adapter_for(None)
    return measure_stages(
        call,
        synchronise=prepared.synchronise,
        wait=(lambda: wait(None)) if wait is not None else None,
        seconds=seconds,
        user_files=prepared.user_files,
    )


def _split_runs(inner: Callable[[], Any] | None, seconds: float) -> SplitReport:
    seen = None
    if inner is not None:
        if not Session.runs or Session.runs[-1].wall_s <= seconds:
            inner()  # imports and caches, which the runs from outside have each time; not where one run alone takes longer
        seen = wall_split.observe(inner, seconds=seconds)
    split = commands.split_command(Session.runs, (seen.interpreter_samples, seen.cpu_samples) if seen else None)
    return SplitReport(split=split, wall_s=median_of([run.wall_s for run in Session.runs], "runs of the command"))
