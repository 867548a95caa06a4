"""From recorded operators to rows: what is one operator site, how many threads worked for it, what it waits for.

Pure. Executions are one row when source line, kind and shapes agree.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import msgspec

from ridgeline.core import Placement, Site
from ridgeline.work.torch import RecordedOp, TensorUse, Work

__all__ = ["Group", "describe_shapes", "edges", "group_rows", "name_of", "placement_of", "threads_of"]

_SHORT = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
    "uint8": "u8", "bool": "b1", "complex64": "c64", "complex128": "c128",
}  # fmt: skip

#: Elements below which torch runs a pointwise operator on the calling thread (at::internal::GRAIN_SIZE, ATen/Parallel.h).
GRAIN = 32_768


class Group(msgspec.Struct, frozen=True):
    """Executions that make one row: the key, their indices among the recorded operators, in order."""

    kind: str
    shapes: str
    site: Site | None
    members: list[int]


def group_rows(ops: Sequence[RecordedOp], limit: int) -> list[Group]:
    """Groups in order of first execution; past `limit` of them the source line and shapes of the rest are dropped, so that kinds remain."""
    groups: dict[tuple[object, ...], Group] = {}
    for index, op in enumerate(ops):
        shapes = describe_shapes(op)
        key: tuple[object, ...] = (op.kind, shapes, op.site)
        if key not in groups and len(groups) >= limit:
            key, shapes, op = (op.kind,), "", msgspec.structs.replace(op, site=None)
        groups.setdefault(key, Group(op.kind, shapes, op.site, [])).members.append(index)
    return list(groups.values())


def describe_shapes(op: RecordedOp) -> str:
    """Text such as `f32[8,64], f32[64,10] → f32[8,10]`; at most four inputs are written."""
    inputs = [_one(use) for use in op.inputs[:4]] + (["…"] if len(op.inputs) > 4 else [])
    outputs = [_one(use) for use in op.outputs[:1]]
    return " → ".join(part for part in (", ".join(inputs), ", ".join(outputs)) if part)


def _one(use: TensorUse) -> str:
    return f"{_SHORT.get(use.dtype, use.dtype)}[{','.join(str(size) for size in use.shape)}]"


def name_of(kind: str, site: Site | None) -> str:
    """`kind@file:line`, or the kind alone where no line is known."""
    if site is None or site.file is None:
        return kind
    return f"{kind}@{os.path.basename(site.file)}:{site.line}"


def threads_of(op: RecordedOp, work: Work, available: int) -> int:
    """Threads that share one execution, from torch's own rules for when to split.

    Pointwise operators, reductions and copies split into pieces of at least `GRAIN` elements; products and convolutions when they are worth it at
    all; random numbers and the sort of a single row never.
    """
    elements = max((use.numel for use in (*op.inputs, *op.outputs)), default=0)
    if work.group in ("view", "random") or not work.writes:
        return 1
    if work.group in ("matmul", "convolution", "attention"):
        return available if (work.flop or 0) > 2 * GRAIN else 1
    if work.group == "sort":
        last = op.inputs[0].shape[-1] if op.inputs and op.inputs[0].shape else 1
        rows = op.inputs[0].numel // max(1, last) if op.inputs else 1
        return max(1, min(available, rows if elements > GRAIN else 1))
    return max(1, min(available, math.ceil(elements / GRAIN)))


def placement_of(op: RecordedOp, work: Work, available: int, kernel: str = "") -> Placement:
    """Where and how one execution ran."""
    return Placement(device="cpu", precision=work.precision, threads=threads_of(op, work, available), kernel=kernel)


def edges(ops: Sequence[RecordedOp], row_of: Sequence[int], rows: int) -> list[tuple[int, ...]]:
    """For each row, the other rows whose result it reads: the last writer of each buffer at the time of reading."""
    writer: dict[int, int] = {}
    after: list[set[int]] = [set() for _ in range(rows)]
    for op, row in zip(ops, row_of, strict=True):
        if op.is_view:
            continue
        after[row].update(writer[use.buffer] for use in op.inputs if use.buffer in writer)
        writer.update((use.buffer, row) for use in op.written)
    return [tuple(sorted(found - {row})) for row, found in enumerate(after)]
