"""Level 2 in the child: the wall split, over calls of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ridgeline.core import Quantity, WallSplit
from ridgeline.targets import ProcessFlavour

from .. import commands, wall_split
from ..medians import median_of
from .target import Session, held, inside

__all__ = ["SplitReport", "split"]


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


def _split_runs(inner: Callable[[], Any] | None, seconds: float) -> SplitReport:
    seen = None
    if inner is not None:
        inner()  # imports and caches, which the runs from outside have each time
        seen = wall_split.observe(inner, seconds=seconds)
    split = commands.split_command(Session.runs, (seen.interpreter_samples, seen.cpu_samples) if seen else None)
    return SplitReport(split=split, wall_s=median_of([run.wall_s for run in Session.runs], "runs of the command"))
