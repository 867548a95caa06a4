"""Which nodes the delegate took: read from the interpreter that makes the clean calls.

The interpreter lists a DELEGATE node for each partition, with the tensors that go in and come out, and not the nodes inside. They are found by
walking back from what comes out to what goes in. What ends in an assignment comes out nowhere: it belongs to the partition that has or makes all it
reads, its constants too. The order of execution is that of the last node of a partition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

__all__ = ["Cut", "Piece", "cut"]

_DELEGATE = "DELEGATE"
#: Tensors that a node reads, and that it makes.
Ends = tuple[tuple[int, ...], tuple[int, ...]]


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of the main graph that run together, by index in order; `delegated` if the delegate runs them."""

    nodes: tuple[int, ...]
    delegated: bool


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces in order of execution."""

    pieces: tuple[Piece, ...]

    @property
    def fallback(self) -> frozenset[int]:
        """Nodes that the delegate did not take."""
        return frozenset(node for piece in self.pieces if not piece.delegated for node in piece.nodes)


def cut(details: Sequence[Mapping[str, Any]], results: Collection[int]) -> Cut:
    """The pieces, from the interpreter's list of operators.

    Args:
        details: with `index`, `op_name`, `inputs`, `outputs`; the nodes of the file first, then the delegate's.
        results: tensors that the model hands out.
    """
    nodes = {int(entry["index"]): _ends(entry) for entry in details if entry["op_name"] != _DELEGATE}
    maker = {tensor: index for index, (_, outputs) in nodes.items() for tensor in outputs}
    owner: dict[int, int] = {}
    delegates = [_ends(entry) for entry in details if entry["op_name"] == _DELEGATE]
    for number, (inputs, outputs) in enumerate(delegates):
        _claim(number, set(inputs), outputs, nodes, maker, owner)
    for index in sorted(_dead_ends(nodes, results) - owner.keys()):
        for number, (given, _) in enumerate(delegates):
            if all(tensor in given or owner.get(maker.get(tensor, -1)) == number for tensor in nodes[index][0]) and nodes[index][0]:
                owner[index] = number
                break
    return Cut(pieces=tuple(_pieces(nodes, owner)))


def _dead_ends(nodes: Mapping[int, Ends], results: Collection[int]) -> set[int]:
    """Nodes whose results nobody reads but nodes of this kind: assignments, and what only they need."""
    readers: dict[int, list[int]] = {}
    for index, (inputs, _) in nodes.items():
        for tensor in inputs:
            readers.setdefault(tensor, []).append(index)
    found: set[int] = set()
    for index in sorted(nodes, reverse=True):
        outputs = nodes[index][1]
        if all(tensor not in results and all(reader in found for reader in readers.get(tensor, ())) for tensor in outputs):
            found.add(index)
    return found


def _ends(entry: Mapping[str, Any]) -> Ends:
    inputs, outputs = ((() if entry[end] is None else entry[end]) for end in ("inputs", "outputs"))
    return tuple(int(tensor) for tensor in inputs if tensor >= 0), tuple(int(tensor) for tensor in outputs)


def _claim(
    number: int,
    inputs: set[int],
    outputs: Sequence[int],
    nodes: Mapping[int, Ends],
    maker: Mapping[int, int],
    owner: dict[int, int],
) -> None:
    pending = list(outputs)
    while pending:
        index = maker.get(pending.pop())
        if index is None or index in owner:
            continue
        owner[index] = number
        pending.extend(tensor for tensor in nodes[index][0] if tensor not in inputs)


def _pieces(nodes: Mapping[int, Any], owner: Mapping[int, int]) -> list[Piece]:
    members: dict[int, list[int]] = {}
    for index in sorted(nodes):
        if index in owner:
            members.setdefault(owner[index], []).append(index)
    # A partition runs as one: its place is behind everything that it needs, which is where its last node stands.
    timed = [(max(found), Piece(nodes=tuple(found), delegated=True)) for found in members.values()]
    timed += [(index, Piece(nodes=(index,), delegated=False)) for index in nodes if index not in owner]
    pieces: list[Piece] = []
    for _, piece in sorted(timed, key=lambda pair: pair[0]):
        if pieces and not piece.delegated and not pieces[-1].delegated:
            pieces[-1] = Piece(nodes=pieces[-1].nodes + piece.nodes, delegated=False)
        else:
            pieces.append(piece)
    return pieces
