"""Rules about shapes: what computes one, and operators that only give another one.

As `rules`. Which dimensions a model leaves free a graph with bound shapes does not hold; so a rule that needs them fixed is asked for by `fixed`.
Source: onnxruntime/core/optimizer (reshape_fusion.cc, matmul_add_fusion.cc, split slices into Split), release 1.32.
"""

from __future__ import annotations

import math

from ridgeline.core import Op

from .rewriting import Net, Part

__all__ = ["computed_reshapes", "decided_branches", "flattened_gemm", "reshape_chains", "slices"]

_STEPS = frozenset(("Unsqueeze", "Squeeze", "Gather", "Slice", "Cast"))


def decided_branches(net: Net) -> None:
    """Drop an If whose condition is known; its branch stands in the graph by itself."""
    for part in net.parts:
        if part.kind == "If" and net.constant(part.inputs[0]):
            net.drop(part)


def computed_reshapes(net: Net) -> None:
    """A shape that is put together from dimensions of the same tensor and constants is a constant: such a dimension is written as 0."""
    for part in net.parts:
        joined = net.maker(part.inputs[1]) if part.kind == "Reshape" and len(part.inputs) > 1 else None
        if joined is None or joined.kind != "Concat":
            continue
        if all(net.constant(name) or _dimension_of(net, name, part.inputs[0]) for name in joined.inputs):
            net.fix(joined.result)
            net.absorb(part, [], [part.inputs[0], net.tensor(joined.result, f"{part.result}/shape", net.shape(joined.result) or ())], part.outputs)
            _unread(net, joined)


def _dimension_of(net: Net, name: str, source: str) -> bool:
    maker = net.maker(name)
    while maker is not None and maker.kind in _STEPS and all(net.constant(other) for other in maker.inputs[1:] if other):
        maker = net.maker(maker.inputs[0])
    return maker is not None and maker.kind == "Shape" and maker.inputs[0] == source


def _unread(net: Net, part: Part) -> None:
    """Drop a part that nobody reads, and what it alone read."""
    if any(net.readers(name) or net.is_end(name) for name in part.outputs if name):
        return
    before = [maker for name in dict.fromkeys(part.inputs) if (maker := net.maker(name)) is not None]
    net.drop(part)
    for maker in before:
        _unread(net, maker)


def flattened_gemm(net: Net) -> None:
    """A product of more dimensions with a matrix and the sum with a row: rows of one matrix, between two reshapes."""
    for part in net.parts:
        product = next((maker for name in part.inputs if part.kind == "Add" and _dense(net, maker := net.maker(name), part)), None)
        if product is None:
            continue
        left, right = net.shape(product.inputs[0]), net.shape(product.inputs[1])
        bias = part.inputs[1] if part.inputs[0] == product.result else part.inputs[0]
        if left is None or right is None or len(left) < 3 or net.shape(bias) != (right[1],):
            continue
        rows, source, result = math.prod(left[:-1]), product.inputs[0], part.result
        flat = net.tensor(source, f"{result}/rows", (rows, left[-1]))
        sums = net.tensor(result, f"{result}/sums", (rows, right[1]))
        product.kind = "Gemm"
        net.absorb(product, [part], [flat, product.inputs[1], bias], [sums])
        net.insert(_reshape(source, flat), product, after=False)
        net.insert(_reshape(sums, result), product, after=True)


def _dense(net: Net, maker: Part | None, reader: Part) -> bool:
    if maker is None or maker.kind != "MatMul" or net.only_reader(maker) is not reader:
        return False
    return net.constant(maker.inputs[1]) and len(net.shape(maker.inputs[1]) or ()) == 2


def _reshape(source: str, result: str) -> Part:
    group = {"group": "view"}
    part = Part(Op(name=f"{result}/Reshape", kind="Reshape", inputs=(source,), outputs=(result,), flop=0.0, attributes=group))
    part.members = []
    return part


def reshape_chains(net: Net) -> None:
    """Of two reshapes behind one another the last one."""
    for part in net.parts:
        first = net.maker(part.inputs[0]) if part.kind == "Reshape" else None
        if first is not None and first.kind == "Reshape" and net.only_reader(first) is part:
            net.absorb(part, [first], [first.inputs[0], *part.inputs[1:]], part.outputs)


def slices(net: Net) -> None:
    """Slices of one tensor along one axis that cover it are a split, from opset 13 on, in which a Squeeze reads its axes."""
    if not any(part.kind in ("Squeeze", "Unsqueeze") and len(part.inputs) > 1 for part in net.parts):
        return
    for source in list(net.tensors):
        shape = net.shape(source)
        found = [part for part in net.readers(source) if part.kind == "Slice" and part.inputs[0] == source]
        if shape is None or len(found) < 2 or not all(net.constant(name) for part in found for name in part.inputs[1:] if name):
            continue
        axes = {_axis(shape, net.shape(part.result)) for part in found}
        axis = axes.pop()
        if axes or axis is None or sum((net.shape(part.result) or shape)[axis] for part in found) != shape[axis]:
            continue
        first = found[0]
        first.kind, first.attributes = "Split", {"group": first.attributes.get("group", "copy"), "axis": str(axis)}
        net.absorb(first, found[1:], [source], [part.result for part in found])


def _axis(shape: tuple[int, ...], part: tuple[int, ...] | None) -> int | None:
    """The one dimension in which a slice is less than the whole."""
    if part is None or len(part) != len(shape):
        return None
    less = [axis for axis, (whole, taken) in enumerate(zip(shape, part, strict=True)) if taken < whole]
    return less[0] if len(less) == 1 else None
