"""Partition hand-off: operators that the delegate refuses cut its part of the graph into pieces.

The cost is what the refused operators take on kernels of another provider and what passing the boundary takes. Both must be seen: many pieces
that take no time are no bottleneck, and one large piece with nearly all nodes is healthy. How much faster a refused operator would be inside the
delegate is judged by its own ceiling on all threads of the target.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from ridgeline.core import Evidence, PartitionTable, Quantity
from ridgeline.core.units import format_quantity

from ..case import Case, Finding, Proposal, Rule, measured_share
from ..judge import Judged
from ..partitions import delegated, fallbacks, healthy_cut, partition_summary

__all__ = ["PartitionHandoff"]

_LEAST = 0.05
#: A replacement needs several operators that the delegate has, none of them at its ceiling: a local response normalisation as six of them took nine
#: times what the ceiling allows.
_DEAREST = 10.0
_LARGEST_GAIN = 50.0
#: Of an operator whose work is not known only this is promised.
_UNKNOWN_GAIN = (1.0, 10.0)


class PartitionHandoff(Rule):
    """Names `partition-handoff` where refused operators and the boundaries around them take time."""

    causes = ("partition-handoff",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding; the place is the refused operator that takes longest."""
        table = case.facts.partitions
        if table is None or not case.shares_hold or healthy_cut(table):
            return
        refused = _refused(case, table)
        boundary = _boundary_share(case, table)
        share = min(1.0, case.sum_of(refused) + boundary)
        if not refused or share < _LEAST:
            return
        summary = partition_summary(table)
        assert summary is not None
        top = max(refused, key=lambda part: part.share)
        kinds = Counter(part.row.kind for part in refused if part.share > 0)
        named = ", ".join(kind for kind, _ in kinds.most_common(3))
        yield Finding(
            cause="partition-handoff",
            bound="latency",
            share=share,
            where=case.where(top),
            evidence=tuple(_evidence(case, table, refused)),
            proposals=(
                Proposal(
                    action="replace-operators",
                    because=f"{table.delegate} refuses {named}; operators that it has need {_needed(refused)} for the same, in one partition",
                    gain=_gain(case, refused),
                ),
            ),
            summary=f"{summary.count} partitions on {table.delegate} with {summary.delegated} of {summary.nodes} nodes; {share:.0%} of the wall is "
            f"{named} outside of it and the way there and back",
            operators=len(refused),
        )


def _refused(case: Case, table: PartitionTable) -> list[Judged]:
    """Operators on another provider than the delegate; those that only name things take no time and are left out."""
    if not delegated(table):
        return []
    nodes = {node for partition in fallbacks(table) for node in partition.nodes}
    return [part for part in case.judged if part.row.placement.provider not in ("", table.delegate) and (part.index in nodes or not nodes)]


def _boundary_share(case: Case, table: PartitionTable) -> float:
    """The share that crossing takes at the least; an upper bound alone accuses nobody."""
    if table.handoff_s is None or case.operators_wall_s <= 0 or case.perturbed:
        return 0.0
    return min(1.0, table.handoff_s.low / case.operators_wall_s)


def _gain(case: Case, refused: list[Judged]) -> tuple[float, float]:
    """Now ÷ then, for all refused operators together: then is their ceiling at best, ten times that at worst."""
    now = sum(part.row.total_s.value for part in refused)
    ideals = [(_ideal_s(case, part), part.row.total_s.value) for part in refused]
    if now <= 0 or any(ideal is None and time > 0.1 * now for ideal, time in ideals):
        return _UNKNOWN_GAIN
    best = sum(ideal if ideal is not None else time for ideal, time in ideals)
    high = min(_LARGEST_GAIN, now / best) if best > 0 else _LARGEST_GAIN
    return max(1.0, min(high, high / _DEAREST)), max(1.0, high)


def _ideal_s(case: Case, part: Judged) -> float | None:
    """Seconds at the ceiling, on the threads of the target instead of the one that the fallback used."""
    return part.ideal_s * part.threads / max(part.threads, case.threads) if part.ideal_s is not None else None


def _needed(refused: list[Judged]) -> str:
    ideals = [part.ideal_s for part in refused if part.ideal_s is not None]
    return f"from {format_quantity(sum(ideals), 's')} on" if ideals else "less"


def _evidence(case: Case, table: PartitionTable, refused: list[Judged]) -> Iterator[Evidence]:
    summary = partition_summary(table)
    assert summary is not None
    origin = table.instrument
    yield Evidence(name="partitions on the delegate", quantity=Quantity.exact(summary.count, "count", source="counted", origin=origin))
    part = summary.delegated / summary.nodes if summary.nodes else math.nan
    yield Evidence(name="nodes on the delegate", quantity=Quantity.exact(part, "1", source="counted", origin=origin))
    yield measured_share("refused operators, share of the wall", case.sum_of(refused), origin="operator profile")
    if table.handoff_s is not None and table.handoff_s.high > 0 and not case.perturbed:
        yield Evidence(name="boundaries, at most", quantity=table.handoff_s)
    entry = sum(partition.entry_bytes or 0 for partition in table.partitions)
    if entry:
        yield Evidence(name="bytes handed over", quantity=Quantity.exact(entry, "B", source="counted", origin="shapes"))
