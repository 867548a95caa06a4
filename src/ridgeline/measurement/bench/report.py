"""`ProcessReport`: what one process measured, as raw rows of integers, on its way to the parent. What the rows mean is decided in `gathered`."""

from __future__ import annotations

import msgspec

from ridgeline.core import Caution, TargetInfo

__all__ = ["COUNTER_INTS", "SAMPLE_INTS", "OverheadTimes", "Piece", "PreparedCommand", "ProcessReport"]

#: int64 of one sample and of one reading of the counters, as in `_native.take_samples`.
SAMPLE_INTS, COUNTER_INTS = 5, 10


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Samples that were taken in one go.

    Args:
        rows: native int64, shape (n, 5), as in `_native.take_samples`.
        counters: native int64, shape (2 × blocks, 10), readings before and after each block.
        block: samples in a block.
        inner: calls in a sample.
        gc_before: collections and nanoseconds in them before the first sample.
        inputs: native int32, shape (n,), which input each sample used; empty where there is one.
    """

    rows: bytes
    counters: bytes
    block: int
    inner: int
    gc_before: tuple[int, int]
    inputs: bytes = b""


class OverheadTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that measuring costs in this process: see `core.Overhead`."""

    sample_s: float
    bare_s: float
    batched_iteration_s: float
    timer_s: float
    synchronise_s: float | None = None


class ProcessReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one process measured.

    Args:
        info, first_s, load_s, warnings: from preparing.
        pieces: samples in order.
        batches: native int64, shape (m, 3): start and end in ns, calls.
        overhead: null where every call is a process of its own.
        input_names: names of the inputs, empty where there is one.
        stages: median seconds of each marked stage in a call, from calls of their own.
        device: native float64, seconds of each sample by the device's own clock; empty without one.
    """

    info: TargetInfo
    first_s: float | None
    load_s: float
    pieces: tuple[Piece, ...]
    batches: bytes = b""
    overhead: OverheadTimes | None = None
    warnings: tuple[Caution, ...] = ()
    input_names: tuple[str, ...] = ()
    stages: dict[str, float] = {}
    device: bytes = b""


class PreparedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that has been run once: what it is, and the seconds of that run."""

    info: TargetInfo
    first_s: float | None
    warnings: tuple[Caution, ...] = ()
