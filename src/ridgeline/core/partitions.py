"""How a runtime cut a graph between providers or delegates, as it was observed."""

from __future__ import annotations

import msgspec

from .quantity import Quantity

__all__ = ["Partition", "PartitionTable"]


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive nodes on one provider.

    Args:
        provider: execution provider or delegate, such as `XNNPACK`.
        nodes: indices of its nodes in the model, in order.
        kinds: their kinds, in the same order.
        total_s: seconds in one call of the target; null if not measured.
        entry_bytes: bytes of tensors handed over from other partitions at its entry; null if not known.
    """

    provider: str
    nodes: tuple[int, ...]
    kinds: tuple[str, ...]
    total_s: Quantity | None = None
    entry_bytes: int | None = None


class PartitionTable(msgspec.Struct, frozen=True, kw_only=True):
    """Partitions in order of execution.

    Args:
        partitions: the partitions.
        delegate: the provider that was asked for.
        handoff_s: seconds of entering and leaving partitions in one call of the target, copies included; null if not measured.
        instrument: how it was observed.
        count: partitions on the delegate, nodes: in the graph, delegated: nodes that the delegate took, runs: stretches of nodes on one provider, as
            the runtime says them; null where it does not, and where `partitions` tell.
        refused: kind of operator → why the delegate refused it, where it says so.
    """

    partitions: tuple[Partition, ...]
    delegate: str
    handoff_s: Quantity | None = None
    instrument: str = ""
    count: int | None = None
    runs: int | None = None
    nodes: int | None = None
    delegated: int | None = None
    refused: dict[str, str] = {}
