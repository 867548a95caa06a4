"""The cut of the graph as a `PartitionTable`: kinds, times and the bytes that are handed over at each entry."""

from __future__ import annotations

from collections.abc import Mapping

from ridgeline.core import Partition, PartitionTable, Quantity
from ridgeline.work.tflite import Model, node_of

from .cut import Cut, Piece
from .rows import BUILTIN, XNNPACK

__all__ = ["partition_table"]


def partition_table(model: Model, seen: Cut, seconds: Mapping[str, Quantity]) -> PartitionTable:
    """Partitions in order of execution.

    Args:
        seconds: row name (`CONV_2D:3`) → seconds; empty where there are no times.
    """
    made = tuple(_partition(model, piece, seconds) for piece in seen.pieces)
    instrument = "nodes and delegates of the interpreter" + (", times of the LiteRT profile" if seconds else "")
    return PartitionTable(partitions=made, delegate=XNNPACK, instrument=instrument)


def _partition(model: Model, piece: Piece, seconds: Mapping[str, Quantity]) -> Partition:
    operators = model.subgraphs[0].operators
    kinds = tuple(operators[node].kind for node in piece.nodes)
    times = [seconds.get(f"{kind}:{node}") for node, kind in zip(piece.nodes, kinds, strict=True)]
    return Partition(
        provider=XNNPACK if piece.delegated else BUILTIN,
        nodes=piece.nodes,
        kinds=kinds,
        total_s=_sum([time for time in times if time is not None]) if all(time is not None for time in times) else None,
        entry_bytes=_entry(model, piece),
    )


def _sum(times: list[Quantity]) -> Quantity | None:
    if not times:
        return None
    ends = [sum(getattr(time, end) for time in times) for end in ("value", "low", "high")]
    confidence = min(time.confidence for time in times)
    return Quantity(value=ends[0], low=ends[1], high=ends[2], confidence=confidence, unit="s", source="measured", origin="sum of its operators")


def _entry(model: Model, piece: Piece) -> int | None:
    """Bytes of tensors that other partitions made and this one reads, each once."""
    main, own = model.subgraphs[0], {tensor for node in piece.nodes for tensor in model.subgraphs[0].operators[node].outputs}
    made = {tensor for operator in main.operators for tensor in operator.outputs}
    sizes: dict[str, int] = {}
    for node in piece.nodes:
        operator = main.operators[node]
        for tensor, value in zip(operator.inputs, node_of(model, 0, node).inputs, strict=True):
            if value is not None and tensor in made and tensor not in own and value.dtype:
                try:
                    sizes[value.name] = value.size_bytes
                except Exception:  # a size that is not known: the sum is not either
                    return None
    return sum(sizes.values())
