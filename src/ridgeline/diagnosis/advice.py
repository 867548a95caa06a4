"""How an action is carried out, in one phrase: what to write, by the library that the operators come from.

Words only: whether an action is worth anything is the business of the rules, and nothing here changes a number.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import BufferUse
from ridgeline.core.units import format_quantity

from .judge import Judged

__all__ = ["how_to_fuse", "how_to_lay_out", "strided_operand"]

_NUMPY = ("numpy.", "builtins.", "scipy.")
_TORCH = "aten::"
#: Elementwise operators of ONNX that give away a GELU or a layer normalisation written out in parts.
_GELU, _NORM = "Erf", ("Sub", "Sqrt", "Div")


def how_to_fuse(parts: Sequence[Judged]) -> str:
    """What makes one pass of a chain of elementwise operators; empty where nothing is known for their library."""
    kinds = {part.row.kind for part in parts}
    if all(kind.startswith(_NUMPY) for kind in kinds):
        return "in blocks that fit the cache, or with numexpr, numba or torch.compile"
    if all(kind.startswith(_TORCH) for kind in kinds):
        return "with torch.compile, or with operators that do several at once"
    if any(":" in kind or "." in kind for kind in kinds):
        return ""
    names = [name for name, found in (("Gelu", _GELU in kinds), ("LayerNormalization", kinds.issuperset(_NORM))) if found]
    return f"export the operator {' and '.join(names)} instead of its parts" if names else ""


def strided_operand(part: Judged) -> str:
    """Which operand is visited in the largest steps, with the step; empty where none is."""
    found = [(use.stride_bytes, verb, number, uses) for verb, uses in _sides(part) for number, use in enumerate(uses, 1) if use.stride_bytes]
    if not found:
        return ""
    step, verb, number, uses = max(found, key=lambda one: one[0])
    use = uses[number - 1]
    which = f"operand {number} of {len(uses)} that it {verb}" if len(uses) > 1 else f"what it {verb}"
    kept = ", the same in every call" if use.constant or use.persistent else ""
    return f"{which} ({format_quantity(float(use.size_bytes), 'B')}{kept}) lies across the walk: stride {step} B"


def how_to_lay_out(part: Judged, layout: str) -> str:
    """What to write so that the operands lie as the operator visits them; empty where nothing is known for its library."""
    if layout == "channels last":
        return "write model.to(memory_format=torch.channels_last), and the same for its input"
    kept = any(use.stride_bytes and (use.constant or use.persistent) for _, uses in _sides(part) for use in uses)
    once = "once, outside the call" if kept else "where it is made, not here: a copy for each call costs what it saves"
    if part.row.kind.startswith(_TORCH):
        return f"write weight.t().contiguous() or tensor.contiguous() {once}"
    if part.row.kind.startswith(_NUMPY):
        return f"write numpy.ascontiguousarray(array), or of its transpose, {once}"
    return ""


def _sides(part: Judged) -> tuple[tuple[str, Sequence[BufferUse]], ...]:
    return ("reads", part.row.reads or ()), ("writes", part.row.writes or ())
