"""What an instrument that changed the time leaves of its numbers: which levels those are, how far their shares may be off, and the warnings.

A perturbed level loses its times and shares; its counts, shapes and order remain evidence. The wall split is the exception that is kept, since
nothing stands in for it: its shares are then intervals that hold wherever the change fell. What the operators' times lose, `Case` decides.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ridgeline.core import Caution, Facts, LevelRecord, Quantity, WallSplit
from ridgeline.core.units import format_quantity

__all__ = ["observer_cautions", "split_perturbed", "with_honest_split"]

_SPLIT = ("blocked", "waiting", "system", "interpreter", "kernels")


def split_perturbed(facts: Facts) -> LevelRecord | None:
    """The record of the wall split where splitting changed the time; else `None`."""
    split = facts.wall_split
    return next(
        (record for record in facts.levels if split is not None and record.level == 2 and record.perturbed and record.instrument == split.how), None
    )


def with_honest_split(facts: Facts) -> Facts:
    """The facts, with the shares of a wall split that changed the time as wide as the change allows.

    With r = instrumented ÷ clean wall, a part with share s of the instrumented wall took s·r of the clean one if the change fell elsewhere, and
    s·r + 1 − r if all of the change was in it; the interval is from the smaller to the larger, over the interval of r.
    """
    record, split = split_perturbed(facts), facts.wall_split
    ratio = record.ratio_to_ground_truth if record is not None else None
    if split is None or ratio is None:
        return facts
    return msgspec.structs.replace(facts, wall_split=msgspec.structs.replace(split, **{name: _widened(split, name, ratio) for name in _SPLIT}))


def _widened(split: WallSplit, name: str, ratio: Quantity) -> Quantity:
    share: Quantity = getattr(split, name)
    ends = (ratio.low, ratio.high)
    low = min(share.low, *(share.low * r + min(0.0, 1.0 - r) for r in ends))
    high = max(share.high, *(share.high * r + max(0.0, 1.0 - r) for r in ends))
    origin = (
        f"{share.origin}; the samplers changed the time, wherever that fell" if share.origin else "the samplers changed the time, wherever that fell"
    )
    return msgspec.structs.replace(share, low=max(0.0, low), high=min(1.0, high), origin=origin)


def observer_cautions(facts: Facts, *, stand_in: bool) -> Iterator[Caution]:
    """One warning for each level that changed the time by more than 10 %, with what that costs.

    Args:
        facts: whose levels are looked at.
        stand_in: whether other times stand in for those of the operators.
    """
    for record in facts.levels:
        if record.perturbed:
            what, effect = _lost(facts, record, stand_in)
            ratio = record.ratio_to_ground_truth
            by = f": {format_quantity(ratio.value, '1')}× the ground truth" if ratio is not None else ""
            yield Caution(code="perturbed", message=f"level {record.level}, {what} changed the time by more than 10 %{by}", effect=effect)


def _lost(facts: Facts, record: LevelRecord, stand_in: bool) -> tuple[str, str]:
    """What the level is, and what it loses."""
    if record.level == 3:
        used = "other times stand in (sampled lines, or the profile less the cost of its records)" if stand_in else "no share is known"
        return "the operator profile", f"its times are lost; {used}"
    if facts.waits is not None and record.instrument == facts.waits.instrument:
        return (
            "timing the waits",
            "its seconds and shares are those of changed calls: who waits for what remains, and no gain from threads that wait is promised",
        )
    if facts.stages is not None and record.instrument == facts.stages.instrument:
        return "timing the stages", "their times and shares are lost"
    if facts.wall_split is not None and record.instrument == facts.wall_split.how:
        return "splitting the wall", "its shares are those of changed calls: in an undisturbed call each may differ by as much as the time did"
    return record.instrument, "its times and shares are those of changed calls"
