"""Which roofs the roofline shows: the arithmetic peak and one diagonal a memory level, for one thread and for all.

The choice is one of drawing only: every operator keeps the ceiling that the diagnosis judged it by.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ridgeline.core import Ceiling, Device, OperatorSummary
from ridgeline.core.units import format_quantity

from ..page import Column, Table, count, number, words
from .scale import finite

__all__ = ["Roof", "memory_roofs", "peak_roofs", "roof_table"]

# The mix drawn where it was measured; the others stand in the table.
_MIXES = ("triad", "copy", "read", "fill")
# A precision that ran less of the time than this gets no roof of its own.
_LEAST_SHARE = 0.03


class Roof(msgspec.Struct, frozen=True, kw_only=True):
    """One roof: a horizontal one in FLOP/s, or a diagonal in B/s.

    Args:
        rate: its height in FLOP/s, or its slope in B/s.
        unit: FLOP/s or B/s.
        name: what it is, such as `DRAM triad`.
        threads: threads that reached it, 0 for a specification of the whole device.
        fewest: whether it belongs to the smallest number of threads of several (drawn dashed).
    """

    rate: float
    unit: str
    name: str
    threads: int
    fewest: bool

    @property
    def label(self) -> str:
        """Its name, threads and rate, as it is written along the roof."""
        threads = "" if self.threads == 0 else f", {self.threads} thread{'s' if self.threads != 1 else ''}"
        return f"{self.name}{threads}: {format_quantity(self.rate, self.unit)}"


def peak_roofs(device: Device, operators: Sequence[OperatorSummary]) -> tuple[Roof, ...]:
    """Multiply-add peaks in FLOP/s of the precisions that ran (fp32 where none is known), for the fewest and the most threads."""
    points = [c for c in device.ceilings if c.engine == "fma" and c.level is None and finite(c.rate.value) and c.rate.value > 0]
    ran: dict[str, float] = {}
    for operator in operators:
        if operator.flop and operator.share is not None and finite(operator.share):
            ran[operator.precision] = ran.get(operator.precision, 0.0) + operator.share
    known = {c.precision for c in points}
    usual: tuple[str, ...] = ("fp32", "fp16", "bf16", "fp64")
    wanted = [name for name, part in ran.items() if part >= _LEAST_SHARE and name in known] or [name for name in usual if name in known][:1]
    return tuple(roof for name in sorted(wanted) for roof in _ends([c for c in points if c.precision == name], name))


def memory_roofs(device: Device) -> tuple[Roof, ...]:
    """The best bandwidth in B/s of each memory level for the fewest and the most threads, all of one access mix."""
    points = [c for c in device.ceilings if c.rate.unit == "B/s" and finite(c.rate.value) and c.rate.value > 0]
    mix = next((name for name in _MIXES if any(c.engine == name for c in points)), None)
    by_level: dict[str, list[Ceiling]] = {}
    for point in points:
        if point.engine == mix:
            by_level.setdefault(point.level or "memory", []).append(point)
    return tuple(roof for level, own in by_level.items() for roof in _ends(own, f"{level} {mix}"))


def _ends(points: Sequence[Ceiling], name: str) -> list[Roof]:
    best: dict[int, Ceiling] = {}
    for point in points:
        if point.threads not in best or point.rate.value > best[point.threads].rate.value:
            best[point.threads] = point
    if not best:
        return []
    return [_roof(best[threads], name, fewest=threads != max(best)) for threads in sorted({min(best), max(best)}, reverse=True)]


def _roof(point: Ceiling, name: str, *, fewest: bool) -> Roof:
    return Roof(rate=point.rate.value, unit=point.rate.unit, name=name, threads=point.threads, fewest=fewest)


def roof_table(roofs: Sequence[Roof]) -> Table:
    """The roofs that are drawn, in numbers."""
    columns = (Column(title="roof"), Column(title="threads", right=True), Column(title="rate", right=True))
    rows = tuple((words(roof.name), count(roof.threads or None, "the whole device"), number(roof.rate, roof.unit)) for roof in roofs)
    return Table(caption="the roofs of the roofline: the best rates seen", columns=columns, rows=rows)
