"""`relayouts`: operators of torch repeated as they are and on the layout that suits them, or in tiles that a near cache holds.

The operands are made anew with the recorded shapes and steps in storages of the recorded sizes. The other layout is contiguous, and channels last
for convolutions of images, whose kernels vectorise over channels. What is repeated, and what the ratio means, is decided elsewhere; what cannot be
repeated from its record is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ridgeline.core import BackendUnavailable, Relayout
from ridgeline.measurement.medians import median_of
from ridgeline.work.torch import RecordedOp, TensorUse

from .profiling import record_or_explain
from .rows import group_rows, name_of
from .table import ROW_LIMIT

__all__ = ["relayouts"]

_MOST_EXECUTIONS = 16
_LEAST_PASSES = 5
_MOST_PASSES = 200
_MOST_BYTES = 2**30
_CHANNELS_LAST, _CONTIGUOUS, _IN_TILES = "channels last", "side by side", "in tiles"

_Call = Callable[[], Any]


class _NotRepeatable(Exception):
    """An operator that its record does not suffice for."""


def relayouts(call: Callable[[], Any], wanted: Mapping[tuple[str, str], tuple[int, float, int]], seconds: float) -> tuple[Relayout, ...]:
    """Repeat rows both ways.

    Args:
        call: the workload; it is recorded once more.
        wanted: (name, shapes) of a row → (its index, executions per call, bytes of a tile or 0 for another layout).
        seconds: for all of them together.

    Raises:
        BackendUnavailable: torch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise BackendUnavailable("PyTorch", found=str(error), remedy="pip install 'ridgeline[torch]'") from error
    ops, _ = record_or_explain(call)
    chosen = [
        (wanted[key], [ops[member] for member in group.members[:_MOST_EXECUTIONS]])
        for group in group_rows(ops, ROW_LIMIT - 500)
        if (key := (name_of(group.kind, group.site), group.shapes)) in wanted
    ]
    found = []
    with torch.no_grad():
        for row, executions in chosen:
            try:
                found.append(_repeated(torch, row, executions, seconds / len(chosen)))
            except _NotRepeatable:
                continue
    return tuple(found)


def _repeated(torch: Any, row: tuple[int, float, int], ops: Sequence[RecordedOp], seconds: float) -> Relayout:
    index, calls, tile_bytes = row
    layout = _IN_TILES if tile_bytes else _CHANNELS_LAST if _is_image_convolution(ops[0]) else _CONTIGUOUS
    try:
        as_is = [_call(torch, op, _Storages(torch, op, None)) for op in ops]
        changed = _tiled(torch, ops, tile_bytes) if tile_bytes else [_call(torch, op, _Storages(torch, op, layout)) for op in ops]
        walls = _timed(as_is, changed, seconds)
    except _NotRepeatable:
        raise
    except Exception as error:  # whatever torch says of made-up operands
        raise _NotRepeatable from error
    factor = calls / len(ops)
    return Relayout(
        operator=index,
        as_is_s=median_of([wall * factor for wall in walls[0]], "repeated as it is"),
        changed_s=median_of([wall * factor for wall in walls[1]], f"repeated {layout}"),
        layout=layout,
        executions=len(ops),
    )


def _tiled(torch: Any, ops: Sequence[RecordedOp], tile_bytes: int) -> list[_Call]:
    """The same work tile by tile, always on the same tile: what it costs where the data is near."""
    found: list[_Call] = []
    for op in ops:
        uses = [use for use in (*op.inputs, *op.written) if use.shape]
        lead = max((use.shape[0] for use in uses), default=0)
        row_bytes = sum({use.buffer: use.touched_bytes for use in uses if use.shape[0] == lead}.values()) / max(1, lead)
        rows = int(tile_bytes / row_bytes) if row_bytes else 0
        if rows < 1 or rows * 2 > lead:
            raise _NotRepeatable
        found += [_call(torch, op, _Storages(torch, op, None, (lead, rows)))] * -(-lead // rows)
    return found


def _timed(as_is: Sequence[_Call], changed: Sequence[_Call], seconds: float) -> tuple[list[float], list[float]]:
    """Walls of interleaved passes over both, the first of each left out."""
    walls: tuple[list[float], list[float]] = ([], [])
    start = time.perf_counter()
    while len(walls[0]) < _MOST_PASSES:
        for calls, spent in zip((as_is, changed), walls, strict=True):
            before = time.perf_counter()
            for call in calls:
                call()
            spent.append(time.perf_counter() - before)
        taken = time.perf_counter() - start
        if taken > seconds and (len(walls[0]) > _LEAST_PASSES or taken > 2 * seconds) and len(walls[0]) >= 3:
            break
    return walls[0][1:], walls[1][1:]


def _is_image_convolution(op: RecordedOp) -> bool:
    weight = op.tensor("weight")
    return "convolution" in op.kind and weight is not None and len(weight.shape) == 4


class _Storages:
    """Storages as the recorded ones, and tensors in them: as they were, or on the other layout."""

    def __init__(self, torch: Any, op: RecordedOp, layout: str | None, cut: tuple[int, int] | None = None) -> None:
        uses = [use for use in (*op.inputs, *op.written) if use.numel]
        if sum(max(use.storage_bytes, use.touched_bytes) for use in uses) > _MOST_BYTES:
            raise _NotRepeatable
        self._torch, self._layout, self._cut = torch, layout, cut
        self._made: dict[tuple[object, ...], Any] = {}

    def tensor(self, use: TensorUse) -> Any:
        """A tensor like the recorded one, made at first sight."""
        if self._cut is not None and use.shape and use.shape[0] == self._cut[0]:
            use = msgspec.structs.replace(use, shape=(self._cut[1], *use.shape[1:]), offset=0, storage_bytes=0)
        key = (use.buffer, use.offset, use.shape, use.stride)
        if key not in self._made:
            self._made[key] = self._filled(use)
        return self._made[key]

    def _filled(self, use: TensorUse) -> Any:
        torch = self._torch
        dtype = getattr(torch, use.dtype, None)
        if dtype is None or len(use.stride) != len(use.shape) or not (dtype.is_floating_point or dtype == torch.bool or use.dtype.startswith("int")):
            raise _NotRepeatable
        if self._layout is None or 0 in use.stride:
            reach = sum((size - 1) * step for size, step in zip(use.shape, use.stride, strict=True)) + 1 + use.offset
            base = torch.empty(max(reach, use.storage_bytes // max(1, int(use.item_bytes))), dtype=dtype)
            made = base.as_strided(use.shape, use.stride, use.offset)
        elif self._layout == _CHANNELS_LAST and len(use.shape) == 4:
            base = made = torch.empty(use.shape, dtype=dtype).contiguous(memory_format=torch.channels_last)
        else:
            base = made = torch.empty(use.shape, dtype=dtype)
        if dtype.is_floating_point:
            base.uniform_(0.5, 1.5)
        else:
            base.fill_(1)
        return made


def _call(torch: Any, op: RecordedOp, storages: _Storages) -> _Call:
    """The operator with its arguments from `storages`."""
    overload = getattr(getattr(torch.ops.aten, op.kind.removeprefix("aten::"), None), op.overload or "default", None)
    if overload is None or not op.kind.startswith("aten::"):
        raise _NotRepeatable
    arguments = {name: _argument(value, storages) for name, value in op.arguments.items()}
    return lambda: overload(**arguments)


def _argument(value: Any, storages: _Storages) -> Any:
    if isinstance(value, TensorUse):
        return storages.tensor(value)
    if isinstance(value, tuple):
        return [_argument(entry, storages) for entry in value]
    if isinstance(value, str):
        # The name of a dtype, a device or a memory format: what it stood for is not in the record.
        raise _NotRepeatable
    return value
