"""Operators that move numbers: transpositions, joins, cuts, changes of layout and of type, look-ups."""

from __future__ import annotations

from ridgeline.core import UsageError, Workload

from .nodes import BLOCKED, MICROSOFT, Node, constant, operand, weights

__all__ = ["copy", "gather"]

#: Channels of a block of onnxruntime's layout where an instruction takes 512 bits; with 256 half of it, which divides it.
_BLOCK = 16


def copy(work: Workload) -> Node:
    """`elements` in runs that stay together."""
    made = _KINDS.get(work.variant)
    if made is None:
        raise UsageError(f"a movement that onnxruntime has: {', '.join(_KINDS)}", found=work.variant, remedy="name one of them")
    return made(work)


def _dtype(work: Workload) -> str:
    """What is moved: single precision, or bytes."""
    return "uint8" if work.precision == "int8" or work.variant == "QLinearConcat" else "float32"


def _transpose(work: Workload) -> Node:
    """Two axes change places, or three turn round; others only say how often."""
    size = work.sizes
    elements, run, axes = size["elements"], size.get("run", 1), size.get("axes", 0)
    if axes == 0:
        return _moved(work, (1, elements), (0, 1))
    rows, columns = size["rows"], size["columns"]
    inner = rows * columns * run
    if elements % inner or axes not in (2, 3):
        raise UsageError("a transposition of two or three axes", found=f"{axes} axes, {elements} elements by {inner}", remedy="give sizes that go")
    outer = elements // inner
    if axes == 2:
        return _moved(work, (outer, rows, columns, run), (0, 2, 1, 3))
    # Rows become the fastest, columns the slowest; what is between stays between.
    return _moved(work, (rows, outer, columns, run), (2, 1, 0, 3))


def _moved(work: Workload, shape: tuple[int, ...], order: tuple[int, ...]) -> Node:
    kept = [axis for axis in order if shape[axis] > 1] or [0]
    place = {axis: number for number, axis in enumerate(sorted(kept))}
    shape = tuple(shape[axis] for axis in sorted(kept))
    order = tuple(place[axis] for axis in kept)
    result = tuple(shape[axis] for axis in order)
    return Node(work.variant, (operand(*shape, dtype=_dtype(work)),), ((result, _dtype(work)),), "", {"perm": list(order)})


def _concat(work: Workload) -> Node:
    """So many operands of one size, each in runs."""
    elements, run, parts = work.sizes["elements"], work.sizes.get("run", 1), work.sizes.get("parts", 1)
    if elements % (run * parts):
        raise UsageError("a join of equal operands", found=f"{elements} elements of {parts} × runs of {run}", remedy="give sizes that go")
    outer, dtype = elements // (run * parts), _dtype(work)
    result, part = (((outer, run * parts), dtype),), operand(outer, run, dtype=dtype)
    if work.variant == "QLinearConcat":
        scale = (constant(0.05), constant(0, "uint8"))
        return Node("QLinearConcat", (*scale, *((part, *scale) * parts)), result, MICROSOFT, {"axis": 1})
    return Node("Concat", (part,) * parts, result, "", {"axis": 1})


def _split(work: Workload) -> Node:
    elements, run, parts = work.sizes["elements"], work.sizes.get("run", 1), work.sizes.get("parts", 1)
    if elements % (run * parts):
        raise UsageError("a cut in equal parts", found=f"{elements} elements of {parts} × runs of {run}", remedy="give sizes that go")
    outer = elements // (run * parts)
    return Node("Split", (operand(outer, run * parts),), (((outer, run), "float32"),) * parts, "", {"axis": 1})


def _slice(work: Workload) -> Node:
    """The first half of each row."""
    elements, run = work.sizes["elements"], work.sizes.get("run", 1)
    outer = max(1, elements // run)
    ends = (constant([0], "int64"), constant([run], "int64"), constant([1], "int64"))
    return Node("Slice", (operand(outer, 2 * run), *ends), (((outer, run), "float32"),))


def _pad(work: Workload) -> Node:
    elements, run = work.sizes["elements"], work.sizes.get("run", 1)
    outer = max(1, elements // (run + 2))
    return Node("Pad", (operand(outer, run), constant([0, 1, 0, 1], "int64")), (((outer, run + 2), "float32"),))


def _expand(work: Workload) -> Node:
    elements, run = work.sizes["elements"], work.sizes.get("run", 1)
    outer = max(1, elements // run)
    return Node("Expand", (operand(1, run), constant([outer, run], "int64")), (((outer, run), "float32"),))


def _cast(work: Workload) -> Node:
    """From whole numbers, as after a product in eight bits."""
    return Node("Cast", (operand(work.sizes["elements"], dtype="int32"),), (((work.sizes["elements"],), "float32"),), "", {"to": 1})


def _image(work: Workload, factor: int) -> tuple[int, int, int, int]:
    """(1, c, h, w) of a result that is `factor` times as large on each side as what it is made of."""
    elements, wide = work.sizes["elements"], work.sizes.get("run", 1) * factor
    rows = elements // wide
    if wide % factor or elements % (wide * factor):
        raise UsageError(f"an image {factor} times as large", found=f"{elements} elements in rows of {wide}", remedy="give sizes that go")
    high = next((high for high in (wide, 2 * factor, factor) if rows % high == 0 and high % factor == 0), factor)
    return 1, rows // high, high, wide


def _resize(work: Workload) -> Node:
    """To twice the height and width, each element again."""
    one, channels, high, wide = _image(work, 2)
    nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    operands = (operand(one, channels, high // 2, wide // 2), None, constant([1.0, 1.0, 2.0, 2.0]))
    return Node("Resize", operands, (((one, channels, high, wide), "float32"),), "", nearest)


def _upsample(work: Workload) -> Node:
    one, channels, high, wide = _image(work, 2)
    attributes = {"scales": [1, 1, 2, 2], "mode": "nearest"}
    return Node("Upsample", (operand(one, channels, high // 2, wide // 2),), (((one, channels, high, wide), "float32"),), BLOCKED, attributes)


def _space_to_depth(work: Workload) -> Node:
    elements, run = work.sizes["elements"], work.sizes.get("run", 1)
    rows = elements // run
    if elements % run or run % 2 or rows % 2:
        raise UsageError("an image of even sides", found=f"{elements} elements in rows of {run}", remedy="give sizes that go")
    high = next((high for high in (run, 2) if rows % high == 0), 2)
    channels = rows // high
    return Node("SpaceToDepth", (operand(1, channels, high, run),), (((1, 4 * channels, high // 2, run // 2), "float32"),), "", {"blocksize": 2})


def _reorder_in(work: Workload) -> Node:
    channels, pixels = work.sizes["rows"], work.sizes["columns"]
    whole = -(-channels // _BLOCK) * _BLOCK
    return Node("ReorderInput", (operand(1, channels, 1, pixels),), (((1, whole, 1, pixels), "float32"),), BLOCKED)


def _reorder_out(work: Workload) -> Node:
    channels, pixels = work.sizes["rows"], work.sizes["columns"]
    whole = -(-channels // _BLOCK) * _BLOCK
    return Node("ReorderOutput", (operand(1, whole, 1, pixels),), (((1, channels, 1, pixels), "float32"),), BLOCKED, {"channels": channels})


_KINDS = {
    "Transpose": _transpose, "Concat": _concat, "QLinearConcat": _concat, "Split": _split, "Slice": _slice, "Pad": _pad, "Expand": _expand,
    "Cast": _cast, "Resize": _resize, "Upsample": _upsample, "SpaceToDepth": _space_to_depth, "ReorderInput": _reorder_in,
    "ReorderOutput": _reorder_out,
}  # fmt: skip


def gather(work: Workload) -> Node:
    """`indices` rows of a table."""
    rows, width, indices = (work.sizes[name] for name in ("rows", "width", "indices"))
    # The table is each operator's own, as those of a model are.
    places = operand(indices, dtype="int64")
    return Node("Gather", (weights(rows, width), places), (((indices, width), "float32"),), "", {"axis": 0})
