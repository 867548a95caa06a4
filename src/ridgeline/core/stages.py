"""Level 2 as it was measured: the stages of one call of the target and how they overlap."""

from __future__ import annotations

import msgspec

from .quantity import Quantity
from .site import Site

__all__ = ["Stage", "StageTable"]


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


class StageTable(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of one call of the target.

    Args:
        stages: the stages.
        wall_s: wall of the calls in which they were timed.
        covered_s: union of all stage intervals, seconds.
        instrument: how they were taken, with the cost of one.
        iterations: calls of the target that were timed.
    """

    stages: tuple[Stage, ...]
    wall_s: Quantity
    covered_s: Quantity
    instrument: str
    iterations: int
