"""Chains of elementwise operators that each write their result to memory, and what fusing one would leave to move.

A chain is a connected group of elementwise operators that pass buffers to each other and run one after the other, with nothing but views and
other elementwise operators between them. Fused, it reads what comes from outside once and writes what is needed outside once (`laws.fusion` has
the closed form for the simple chain).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline.core import BufferUse

from .judge import Judged

__all__ = ["Chain", "chains"]


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Members in order of execution, bytes moved now and bytes a fused kernel would move, per call of the target."""

    members: tuple[Judged, ...]
    bytes_now: float
    bytes_fused: float

    @property
    def traffic_ratio(self) -> float:
        """Bytes now ÷ bytes fused, ≥ 1."""
        return max(1.0, self.bytes_now / self.bytes_fused) if self.bytes_fused else 1.0


def chains(judged: Sequence[Judged]) -> list[Chain]:
    """All chains of at least two elementwise operators, in order of execution."""
    parent: dict[int, int] = {}

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    members = {part.index: part for part in judged if _elementwise(part)}
    for index, part in members.items():
        parent.setdefault(index, index)
        for before in part.row.after:
            # Only a result of the same size passes through a fused kernel element by element.
            if before in members and before < index and _same_size(members[before], part):
                parent.setdefault(before, before)
                parent[root(index)] = root(before)
    groups: dict[int, list[Judged]] = {}
    for index in sorted(members):
        groups.setdefault(root(index), []).append(members[index])
    return [_chain(group, judged) for group in groups.values() if len(group) > 1]


def _elementwise(part: Judged) -> bool:
    return part.row.group == "elementwise" and part.row.reads is not None and part.row.writes is not None


def _same_size(first: Judged, second: Judged) -> bool:
    """Whether the later operator reads something about as large as what the earlier one wrote, as often."""
    written = max((use.size_bytes for use in first.row.writes or ()), default=0)
    read = max((use.size_bytes for use in second.row.reads or ()), default=0)
    return written > 0 and 0.4 <= read / written <= 2.5 and first.row.calls == second.row.calls


def _chain(group: list[Judged], judged: Sequence[Judged]) -> Chain:
    calls = group[0].row.calls
    written: dict[int, BufferUse] = {}
    outside: dict[int, BufferUse] = {}
    for part in group:
        for use in part.row.reads or ():
            if use.buffer not in written:
                outside.setdefault(use.buffer, use)
        for use in part.row.writes or ():
            written[use.buffer] = use
    needed = _read_later(group, judged) | {use.buffer for use in group[-1].row.writes or ()}
    fused = sum(use.size_bytes for use in outside.values()) + sum(use.size_bytes for buffer, use in written.items() if buffer in needed)
    return Chain(members=tuple(group), bytes_now=float(sum(part.bytes or 0 for part in group)), bytes_fused=fused * calls)


def _read_later(group: list[Judged], judged: Sequence[Judged]) -> set[int]:
    """Buffers that an operator outside the chain reads after the chain wrote them."""
    inside = {part.index for part in group}
    first = group[0].index
    return {use.buffer for part in judged if part.index not in inside and part.index > first for use in part.row.reads or ()}
