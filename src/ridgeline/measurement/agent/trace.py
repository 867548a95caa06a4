"""A trace of a few calls in the child, written by the profiler of the framework that runs the target, between bursts of clean calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from ridgeline.core import BackendUnavailable, Quantity, quotient
from ridgeline.targets import OnnxFlavour, Prepared, PythonFlavour

from ..instrumented import failing_under
from ..medians import median_of
from .level3 import burst
from .target import held

__all__ = ["TraceTaken", "recorded_trace"]

#: Recorded calls may take this many times the clean ones, starting the profiler included.
_PATIENCE = 4


class TraceTaken(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded trace.

    Args:
        file: that the profiler wrote; instrument: which profiler.
        calls: that were recorded to be looked at, the last ones in the file; before: calls in the file before these.
        shapes_and_stacks: whether this profiler records them where they are asked for.
        wall_s: median of a recorded call, clean_s: of those around them that nothing recorded; ratio: the one by the other.
    """

    file: str
    instrument: str
    calls: int
    before: int
    shapes_and_stacks: bool
    wall_s: Quantity
    clean_s: Quantity
    ratio: Quantity


class _Recorded(NamedTuple):
    file: Path
    walls_s: list[float]
    before: int


def recorded_trace(folder: str, seconds: float, iterations: int = 10, shapes: bool = False, stacks: bool = False) -> TraceTaken:
    """Record calls of the held target into a file in `folder`.

    Args:
        folder: an empty one; it belongs to the caller.
        seconds: about how long the clean calls may take; one call alone that takes longer is recorded once.
        iterations: calls to record.
        shapes, stacks: what is recorded beside, where the profiler can.

    Raises:
        BackendUnavailable: neither torch nor onnxruntime runs this target in this process.
        TargetFailed: it does not run under the profiler.
    """
    prepared = held()
    instrument, recorder = _recorder(prepared, Path(folder), seconds, shapes, stacks)
    before = burst(prepared.call, prepared.synchronise, seconds / 4)
    long = min(before) > seconds
    with failing_under(f"the target to run under {instrument}", f"{instrument} is", prepared.user_files):
        found = recorder(1 if long else iterations)
    after = [] if long else burst(prepared.call, prepared.synchronise, seconds / 4)
    wall = median_of(found.walls_s, "timer around each recorded call")
    clean = median_of([*before, *after], "clean calls before and after the recorded ones")
    return TraceTaken(
        file=str(found.file),
        instrument=instrument,
        calls=len(found.walls_s),
        before=found.before,
        shapes_and_stacks=not isinstance(prepared.flavour, OnnxFlavour),
        wall_s=wall,
        clean_s=clean,
        ratio=quotient(wall, clean, "1", origin="recorded ÷ clean calls of the same minute"),
    )


def _recorder(prepared: Prepared, folder: Path, seconds: float, shapes: bool, stacks: bool) -> tuple[str, Callable[[int], _Recorded]]:
    """The profiler's name, and what records so many calls."""
    flavour = prepared.flavour
    if isinstance(flavour, OnnxFlavour):
        from ..operators.onnxruntime import record_trace as record_onnx

        return "onnxruntime's profiler", lambda iterations: _Recorded(*record_onnx(flavour, folder, iterations))
    if isinstance(flavour, PythonFlavour) and "torch" in sys.modules:
        from ..operators.torch import count_operators, record_trace

        with failing_under("the target to run under torch.profiler", "torch.profiler is", prepared.user_files):
            counted = count_operators(prepared.call)
        if counted:

            def record_torch(iterations: int) -> _Recorded:
                file = folder / "trace.json"
                limit_s, how = _PATIENCE * seconds, {"shapes": shapes, "stacks": stacks}
                walls = record_trace(prepared.call, file, iterations, synchronise=prepared.synchronise, seconds=limit_s, **how)
                return _Recorded(file, walls, 0)

            return "torch.profiler", record_torch
    raise BackendUnavailable(
        "a trace of a PyTorch function or an ONNX model",
        found=f"a target of kind {prepared.info.kind} whose calls run neither in this process",
        remedy=_remedy(prepared),
    )


def _remedy(prepared: Prepared) -> str:
    if prepared.info.kind in ("script", "command"):
        return "name a function that calls torch, file.py:function, or record one with the program's own profiler and give that file"
    return "record one with a profiler of its own and give that file"
