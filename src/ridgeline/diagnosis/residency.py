"""Where an operator finds its data: from the reuse distance over one call of the target, not from the size of a tensor.

The reuse distance of a buffer is the number of distinct bytes touched since it was last touched, itself included. A cache of that
capacity (fully associative, least recently used) would still hold it; see Mattson et al., "Evaluation techniques for storage hierarchies", IBM
Systems Journal 9(2), 1970. The target is called again and again, so the sequence is a ring: what is first touched in one call was last touched
in the call before.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import BufferUse, Device, MemoryLevel, OperatorRow

__all__ = ["level_of", "reuse_distances"]


def reuse_distances(rows: Sequence[OperatorRow]) -> list[dict[int, int]]:
    """For each row, buffer → reuse distance in bytes (including the buffer's own size).

    A fresh buffer that is written comes from memory the allocator handed back: its distance is taken as the whole footprint of
    the call only if nothing says otherwise; the allocator's reuse of a freed block is seen as the same buffer identity by the recorder.

    Args:
        rows: operators in order of first execution; rows without known buffers touch nothing.

    Returns:
        One dict a row, distances in bytes.
    """
    touches: list[tuple[int, BufferUse]] = [(i, use) for i, row in enumerate(rows) for use in _uses(row)]
    distances: list[dict[int, int]] = [{} for _ in rows]
    # An LRU stack of (buffer → size), oldest first. Two turns around the ring: the first fills the stack, the second measures.
    stack: dict[int, int] = {}
    for turn in (0, 1):
        for index, use in touches:
            if turn == 1:
                distance = _depth(stack, use)
                # What the recorder saw execution by execution knows a loop over tiles from a loop over everything; the order of rows does not.
                distance = use.reuse_bytes or distance
                distances[index][use.buffer] = max(distance, distances[index].get(use.buffer, 0))
            stack.pop(use.buffer, None)
            stack[use.buffer] = use.size_bytes
    return distances


def level_of(device: Device, distance_bytes: float) -> MemoryLevel | None:
    """The nearest memory level that holds data of this reuse distance, the farthest if none does; `None` for a device without levels."""
    known = sorted((level for level in device.levels if level.capacity_bytes), key=lambda level: level.capacity_bytes or 0)
    holding = [level for level in known if (level.capacity_bytes or 0) >= distance_bytes]
    return holding[0] if holding else known[-1] if known else None


def _depth(stack: dict[int, int], use: BufferUse) -> int:
    """Bytes touched since the buffer's last use, the buffer included; the whole stack if it was never touched."""
    depth = use.size_bytes
    for buffer in reversed(stack):
        if buffer == use.buffer:
            return depth
        depth += stack[buffer]
    return depth


def _uses(row: OperatorRow) -> list[BufferUse]:
    seen: dict[int, BufferUse] = {}
    for use in (*(row.reads or ()), *(row.writes or ())):
        if use.buffer not in seen or use.size_bytes > seen[use.buffer].size_bytes:
            seen[use.buffer] = use
    return list(seen.values())
