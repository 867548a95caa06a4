"""Which nodes of the model a node of the optimised model stands for.

onnxruntime fuses nodes, renames the result of a fusion, and inserts nodes of its own. A node of the optimised model is anchored at the node of the
model that makes the same tensor, or that its own name is made from (`conv1_nchwc`, `mul3/LayerNormFusion/`). It then stands for everything that
leads to the anchor and belongs to no other one, and for the activation or sum behind it that belongs to none. What has no anchor was inserted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from ridgeline.work.onnx import Value, op_work
from ridgeline.work.onnx.nodes import Placed, folded_away

__all__ = ["Origin", "origins"]

#: What onnxruntime folds into the operator before it.
_FOLLOWERS = frozenset(
    {"Relu", "Clip", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Add", "Sum", "Mul", "BatchNormalization", "Gelu", "Elu", "Softplus", "HardSwish"}
)
_LEFT_OUT = frozenset({"Constant", "Identity", "Dropout", "Cast"})
_INSERTED = frozenset({"ReorderInput", "ReorderOutput", "MemcpyToHost", "MemcpyFromHost"})
#: Inserted as well unless the model has one there: they only change how a tensor lies in memory.
_CONVERSIONS = frozenset({"Cast", "Transpose", "Reshape", "Squeeze", "Unsqueeze"})
_WORKING = frozenset({"convolution", "matmul", "attention"})
# How the optimiser keeps a derived name unique, and how the blocked layout names its nodes.
_SUFFIX = re.compile(r"(_nchwc)?(_token_\d+)?$")


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What a node stands for.

    Args:
        nodes: names of the model's nodes in their order, empty where the optimiser inserted the node.
        main: the one of them that the result is named after.
        inserted: whether it did.
        weight: the weight of the convolution among them, as the model has it and not padded to the vector width.
    """

    nodes: tuple[str, ...] = ()
    main: str = ""
    inserted: bool = False
    weight: Value | None = None

    def label(self, own_name: str) -> str:
        """For display: the model's name, and what was fused into it."""
        if not self.nodes:
            return own_name
        if len(self.nodes) == 1:
            return self.nodes[0]
        # Exporters write paths; what is fused lies close together, so the last part tells.
        parts = [name.rstrip("/").rpartition("/")[2] for name in self.nodes]
        shown = "+".join(parts[:4]) + (f"+{len(self.nodes) - 4} more" if len(self.nodes) > 4 else "")
        return f"{self.main} (fused: {shown})"


def origins(original: Sequence[Placed], optimised: Sequence[Placed]) -> dict[str, Origin]:
    """Unique name of an optimised node → what it stands for."""
    constant = folded_away(list(original))
    by_name = {part.own_name: index for index, part in enumerate(original)}
    maker = {value.name: index for index, part in enumerate(original) for value in part.node.written}
    anchors = {part.name: anchor for part in optimised if (anchor := _anchor(part, original, by_name, maker)) is not None}
    owners = {index: name for name, index in anchors.items()}
    # What is computed from constants alone was computed before the run and stands for nothing that ran.
    variable = {name: index for name, index in maker.items() if name not in constant}
    # A tensor that both models have is where one operator ends and the next begins.
    shared = {value.name for part in optimised for value in part.node.written}
    inner = {name: index for name, index in variable.items() if name not in shared}
    groups = {name: _backwards(index, original, inner, owners) for name, index in anchors.items()}
    _forwards(original, variable, groups)
    return {part.name: _origin(part, original, groups, anchors) for part in optimised}


def _anchor(part: Placed, original: Sequence[Placed], by_name: Mapping[str, int], maker: Mapping[str, int]) -> int | None:
    if part.node.kind in _INSERTED:
        return None
    made = [maker[value.name] for value in part.node.written if value.name in maker]
    # Fusions name themselves after the node they began with: `name/QuickGeluFusion/`.
    base = _SUFFIX.sub("", part.own_name)
    names = (part.own_name, base, base.rstrip("/").rpartition("/")[0])
    named = [table[name] for name in names for table in (by_name, maker) if name in table]
    for index in (*made, *named):
        if part.node.kind not in _CONVERSIONS or original[index].node.kind == part.node.kind:
            return index
    return None


def _backwards(anchor: int, original: Sequence[Placed], maker: Mapping[str, int], owners: Mapping[int, str]) -> set[int]:
    found: set[int] = set()
    pending = [anchor]
    while pending:
        index = pending.pop()
        if index in found:
            continue
        found.add(index)
        for value in original[index].node.inputs:
            before = maker.get(value.name) if value is not None else None
            if before is not None and before not in owners:
                pending.append(before)
    return found


def _forwards(original: Sequence[Placed], maker: Mapping[str, int], groups: dict[str, set[int]]) -> None:
    group_of = {index: name for name, members in groups.items() for index in members}
    for index, part in enumerate(original):
        if index in group_of or part.node.kind not in _FOLLOWERS:
            continue
        before = [maker[value.name] for value in part.node.inputs if value is not None and value.name in maker]
        owner = next((group_of[one] for one in reversed(before) if one in group_of), None)
        if owner is not None:
            groups[owner].add(index)
            group_of[index] = owner


def _origin(part: Placed, original: Sequence[Placed], groups: Mapping[str, set[int]], anchors: Mapping[str, int]) -> Origin:
    members = groups.get(part.name)
    if not members:
        return Origin(inserted=True)
    kept = [index for index in sorted(members) if original[index].node.kind not in _LEFT_OUT] or [anchors[part.name]]
    main = original[_main(part, kept, original, anchors[part.name])].own_name
    weight = next((original[index].node.optional(1) for index in sorted(members) if original[index].node.kind == "Conv"), None)
    return Origin(nodes=tuple(original[index].own_name for index in kept), main=main, weight=weight)


def _main(part: Placed, kept: Sequence[int], original: Sequence[Placed], anchor: int) -> int:
    """The node that a fusion is named after: of the kind that ran, else the first that convolves or multiplies, else the anchor."""
    kind = part.node.kind.removeprefix("Fused")
    alike = [index for index in (anchor, *kept) if original[index].node.kind == kind]
    working = [index for index in kept if op_work(original[index].node).group in _WORKING]
    return next(iter((*alike, *working)), anchor)
