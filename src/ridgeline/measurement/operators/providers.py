"""The cut of a graph where the profile names a provider for each node and nothing else shows it: consecutive rows of one provider.

This module decides which provider counts as the delegate: the one that was asked for beside the CPU. Copies between providers are nodes of their own
there (`MemcpyFromHost`), so they have their times.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ridgeline.core import OperatorRow, Partition, PartitionTable, Quantity

__all__ = ["partitions_by_provider"]

_FALLBACK = "CPUExecutionProvider"
_COPIES = ("MemcpyToHost", "MemcpyFromHost")


def partitions_by_provider(rows: Sequence[OperatorRow]) -> PartitionTable | None:
    """Partitions in order of first execution; `None` where all rows ran on one provider or their providers are not known.

    Args:
        rows: of the operator table, in order.
    """
    placed = [(index, row) for index, row in enumerate(rows) if row.placement.provider]
    others = [row.placement.provider for _, row in placed if row.placement.provider != _FALLBACK]
    if not others or len({row.placement.provider for _, row in placed}) < 2:
        return None
    copies = [row.total_s for _, row in placed if row.kind in _COPIES]
    work = [(index, row) for index, row in placed if row.kind not in _COPIES]
    found = []
    for provider, group in groupby(work, key=lambda pair: pair[1].placement.provider):
        members = list(group)
        found.append(
            Partition(
                provider=provider,
                nodes=tuple(index for index, _ in members),
                kinds=tuple(row.kind for _, row in members),
                total_s=_sum([row.total_s for _, row in members]),
            )
        )
    return PartitionTable(
        partitions=tuple(found),
        delegate=max(set(others), key=others.count),
        handoff_s=_sum(copies) if copies else None,
        instrument="providers of the nodes in the operator profile",
    )


def _sum(times: Sequence[Quantity]) -> Quantity:
    ends = [sum(getattr(time, end) for time in times) for end in ("value", "low", "high")]
    confidence = min(time.confidence for time in times)
    return Quantity(value=ends[0], low=ends[1], high=ends[2], confidence=confidence, unit="s", source="measured", origin="sum of operators")
