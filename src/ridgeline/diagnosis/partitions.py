"""What a cut graph says: partitions on the delegate, how often execution leaves it and comes back, and what it left behind.

Counts are those a runtime prints: seven partitions are six hand-offs. This module decides when a cut is healthy and concludes nothing about time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ridgeline.core import Partition, PartitionSummary, PartitionTable

__all__ = ["delegated", "fallbacks", "healthy_cut", "partition_summary"]

#: One partition with more than this part of the nodes is how a delegated graph should look (the method, operator profilers).
_HEALTHY = 0.95


def delegated(table: PartitionTable) -> list[Partition]:
    """Partitions on the delegate."""
    return [partition for partition in table.partitions if partition.provider == table.delegate]


def fallbacks(table: PartitionTable) -> list[Partition]:
    """Partitions that ran elsewhere."""
    return [partition for partition in table.partitions if partition.provider != table.delegate]


def healthy_cut(table: PartitionTable) -> bool:
    """Whether one partition of the delegate has over 95 % of the nodes, or there is no delegate to leave."""
    taken = [len(partition.nodes) for partition in delegated(table)]
    return not taken or max(taken) > _HEALTHY * _nodes(table.partitions)


def partition_summary(table: PartitionTable | None, *, perturbed: bool = False) -> PartitionSummary | None:
    """The contract's part about partitions; `fallbacks` are kinds with their count, most first.

    A hand-off time of which only an upper end is known is no time; one from a profile that changed the time bounds nothing.
    """
    if table is None:
        return None
    taken = delegated(table)
    handoff = table.handoff_s if not perturbed and table.handoff_s is not None and table.handoff_s.high > 0 else None
    kinds = Counter(kind for partition in fallbacks(table) for kind in partition.kinds)
    return PartitionSummary(
        count=len(taken),
        nodes=_nodes(table.partitions),
        delegated=_nodes(taken),
        handoffs=max(0, len(taken) - 1),
        handoff_s=handoff.value if handoff is not None and handoff.low > 0 else None,
        handoff_at_most_s=handoff.high if handoff is not None else None,
        fallbacks=tuple(kind if count == 1 else f"{kind} × {count}" for kind, count in kinds.most_common()),
    )


def _nodes(partitions: Sequence[Partition]) -> int:
    return sum(len(partition.nodes) for partition in partitions)
