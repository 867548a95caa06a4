"""Which operators of the model a node of the executed graph stands for. Pure.

OpenVINO names the operators that it fused into a node, though not all: what it rewrote on the way (a product whose bias gave the node its name, a
transposition that became an argument of a product) loses its name. Such an operator belongs to the node that has its result. What has no operator at
all was inserted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from .graph import ExecutedNode, ModelOp

__all__ = ["Origin", "origins"]

#: What a front end adds to the name of an operator that it takes apart.
_PIECES = ("/WithoutBiases", "/sink_port_0")
#: What only changes how or where a tensor lies, and so can be added without changing the result.
_CONVERSIONS = frozenset({"Reorder", "Convert", "Transpose", "Reshape", "Squeeze", "Unsqueeze"})
_SHOWN = 4


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What a node stands for.

    Args:
        members: positions of the model's operators in their order.
        named: those of them that OpenVINO names itself.
        inserted: whether it was added and stands for none.
        label: for display: the model's name and what was fused into it.
    """

    members: tuple[int, ...] = ()
    named: tuple[int, ...] = ()
    inserted: bool = False
    label: str = ""


def origins(model: Sequence[ModelOp], executed: Sequence[ExecutedNode], names: Mapping[str, str] | None = None) -> tuple[Origin, ...]:
    """What each executed node stands for.

    Args:
        model: as it was read.
        executed: the executed graph.
        names: name of a tensor → name that the model's file gives the operator that makes it, where they differ.
    """
    positions = {one.op.name: position for position, one in enumerate(model)}
    named = [[positions[name] for name in node.originals if name in positions] for node in executed]
    owners = {position: index for index, members in enumerate(named) for position in members}
    return tuple(_origin(index, node, model, named[index], owners, names or {}) for index, node in enumerate(executed))


def _origin(
    index: int, node: ExecutedNode, model: Sequence[ModelOp], named: Sequence[int], owners: Mapping[int, int], names: Mapping[str, str]
) -> Origin:
    members = _backwards(index, model, named, owners)
    if not members:
        added = not node.originals or node.kind in _CONVERSIONS
        return Origin(inserted=added, label=node.name)
    shown = list(dict.fromkeys(_said(model[position].op.name, names) for position in members))
    main = _said(model[_main(node, model, named)].op.name, names)
    return Origin(members=members, named=tuple(sorted(named)), label=main if len(shown) == 1 else f"{main} (fused: {_joined(shown)})")


def _backwards(index: int, model: Sequence[ModelOp], named: Sequence[int], owners: Mapping[int, int]) -> tuple[int, ...]:
    """The named operators and everything before them that no node is named after."""
    found: set[int] = set()
    pending = list(named)
    while pending:
        position = pending.pop()
        if position in found or model[position].constant or owners.get(position, index) != index:
            continue
        found.add(position)
        pending += [before for before in model[position].after if before not in owners]
    return tuple(sorted(found))


def _main(node: ExecutedNode, model: Sequence[ModelOp], named: Sequence[int]) -> int:
    """The one that a node is named after: of the node's own kind, else of its own name, else the first."""
    alike = [position for position in named if model[position].op.kind == node.kind]
    own = [position for position in named if model[position].op.name == node.name]
    return next(iter((*alike, *own, *sorted(named))))


def _said(name: str, names: Mapping[str, str]) -> str:
    for piece in _PIECES:
        name = name.removesuffix(piece)
    return names.get(name, name)


def _joined(names: Sequence[str]) -> str:
    # Exporters write paths; what is fused lies close together, so the last part tells.
    parts = [name.rstrip("/").rpartition("/")[2] or name for name in names]
    return "+".join(parts[:_SHOWN]) + (f"+{len(parts) - _SHOWN} more" if len(parts) > _SHOWN else "")
