"""Level 2 as it was measured: the stages of one call of the target and how they overlap."""

from __future__ import annotations

import msgspec

from .quantity import Quantity
from .site import Site

__all__ = ["Stage", "StageLine", "StageTable"]


class StageLine(msgspec.Struct, frozen=True, kw_only=True):
    """A source line that was seen running inside a stage and in none nested in it, and in how many samples."""

    site: Site
    samples: int


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One named stage, all its entries in one call of the target together, in order of first entry.

    Args:
        name: as the program gave it.
        calls: entries in one call of the target.
        total_s: union of its intervals in one call of the target, seconds, nested stages included.
        own_s: the same without the stages nested in it.
        parent: index of the stage it is nested in; null at the top.
        lanes: threads or tasks it ran on.
        overlapped_s: seconds in which another stage that is neither around nor inside it ran as well.
        device_s: seconds on an asynchronous device by its own events; null where there is none.
        site: where it is entered.
        busy_cpus: CPUs that the whole process kept busy while it ran; null where that was not looked at, or is known too roughly.
        busy_range: (low, high) within which that number lies for certain; null where it was not looked at.
        interpreter: share of its time in which its thread ran the Python interpreter, which only one thread can; null as above.
        lines: lines seen in it, most samples first.
        model: whether this is the call of a model that ridgeline found by itself: no stage of the program's own, and nothing is nested in it.
        models_s: seconds of it in calls of models; null where none was seen in the whole call of the target.
    """

    name: str
    calls: float
    total_s: Quantity
    own_s: Quantity
    parent: int | None = None
    lanes: tuple[str, ...] = ()
    overlapped_s: float = 0.0
    device_s: Quantity | None = None
    site: Site | None = None
    busy_cpus: float | None = None
    interpreter: float | None = None
    lines: tuple[StageLine, ...] = ()
    busy_range: tuple[float, float] | None = None
    model: bool = False
    models_s: Quantity | None = None


class StageTable(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of one call of the target.

    Args:
        stages: the stages.
        wall_s: wall of the calls in which they were timed.
        covered_s: union of the intervals of all stages, seconds; of the program's own, where it marks some.
        instrument: how they were taken, with the cost of one.
        iterations: calls of the target that were timed.
        automatic: whether the program marks none itself and these are the calls of its models.
        cost_s: seconds that recording one entry takes; null where it was not measured.
        unfinished: entries that were still open at the end of a call, the most of any call, by name; their time is in no stage.
        missed: entries that did not fit into the recording, in all calls.
        merged: entries in one call that share the row `(other stages)`, since the program makes up more names than are kept apart.
        left_out: stages that are not in the table, the smallest ones.
        child_processes: child processes seen in a call, at least; what they did and their stages are not in the table.
        models_s: union of the calls of models, inside stages and outside, seconds; null where none was seen.
    """

    stages: tuple[Stage, ...]
    wall_s: Quantity
    covered_s: Quantity
    instrument: str
    iterations: int
    automatic: bool = False
    cost_s: float | None = None
    unfinished: dict[str, int] = {}
    missed: int = 0
    merged: float = 0.0
    left_out: int = 0
    child_processes: int = 0
    models_s: Quantity | None = None
