"""The raw rows of one process as columns: times, and what the kernel and the collector did meanwhile, laid on the samples.

Where counters were read around blocks of several samples, CPU and system time are spread over a block by wall time, and whatever happened
once (switches, faults, run-queue delay) is laid on the slowest sample of the block, since that is the only one that can have had room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.stats import LEAST_STEADY, steady_start
from ridgeline.targets import CommandSample

from .report import COUNTER_INTS, SAMPLE_INTS, Piece

__all__ = ["ProcessColumns", "columns_of", "columns_of_run", "one_after_another"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Columns of `_native.counters_read`: what is spread over a block, and what is laid on its slowest sample.
_SPREAD = {"thread_cpu_s": 1, "process_cpu_s": 2, "system_s": 4}
_LAID = {"run_queue_s": 3, "involuntary_switches": 5, "voluntary_switches": 6, "minor_faults": 7, "major_faults": 8}
_UNREADABLE = -1


@dataclass(kw_only=True)
class ProcessColumns:
    """The samples of one process.

    Attributes:
        start_ns: absolute monotonic nanoseconds, shape (n,).
        wall_s: seconds of a call, shape (n,).
        inner: calls in a sample, shape (n,).
        counters: name of a column of `core.Samples` → values, shape (n,); null where the kernel does not tell.
        inputs: shape (n,), empty where there is one input.
        batch_s, batch_calls: seconds of a call in each batch, and calls in it, shape (m,).
        block: most samples that counters were read around.
        blocks: which block each sample was in, from 0, shape (n,).
        sentinel_s: seconds of the nearest sentinels before and after each sample, the longer, shape (n,); null without.
        device_s: seconds of each sample by the device's own clock, shape (n,); null without one.
    """

    start_ns: Ints
    wall_s: Floats
    inner: Ints
    counters: dict[str, NDArray[Any] | None]
    inputs: Ints
    batch_s: Floats
    batch_calls: Ints
    block: int = 1
    blocks: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    device_s: Floats | None = None
    sentinel_s: Floats | None = None

    @cached_property
    def warmup(self) -> int:
        """Samples before the steady state; 0 where the series is too short, or never settles: then there is nothing to tell them from.

        Found out when it is first asked for: that takes milliseconds, which are not to be spent between two processes.
        """
        if len(self.wall_s) < LEAST_STEADY:
            return 0
        return steady_start(np.maximum(self.wall_s, 1e-9)) or 0


def columns_of(pieces: Sequence[Piece], batches: bytes = b"", device: bytes = b"") -> ProcessColumns:
    """The columns of a process that took samples by itself."""
    parts = [_part(piece) for piece in pieces]
    names = (*_SPREAD, *_LAID, "gc_collections", "gc_s")
    batch = np.frombuffer(batches, np.int64).reshape(-1, 3)
    wall = _joined([part.wall_s for part in parts], np.float64)
    return ProcessColumns(
        start_ns=_joined([part.start_ns for part in parts], np.int64),
        wall_s=wall,
        inner=_joined([part.inner for part in parts], np.int64),
        counters={name: _joined_or_none([part.counters[name] for part in parts]) for name in names},
        inputs=_joined([part.inputs for part in parts], np.int64),
        batch_s=(batch[:, 1] - batch[:, 0]) / batch[:, 2] / 1e9,
        batch_calls=batch[:, 2],
        block=max((part.block for part in parts), default=1),
        blocks=one_after_another([part.blocks for part in parts]),
        sentinel_s=_around(_joined([part.sentinel_s for part in parts if part.sentinel_s is not None], np.float64)),
        device_s=np.frombuffer(device, np.float64) if len(device) == 8 * len(wall) and device else None,
    )


def columns_of_run(start_ns: int, run: CommandSample) -> ProcessColumns:
    """The columns of a process that is one run of a command; CPU and system time are of its whole tree."""
    seconds = {"process_cpu_s": run.user_s + run.system_s, "system_s": run.system_s, "run_queue_s": run.run_queue_s, "thread_cpu_s": None}
    counts = {name: getattr(run, name) for name in ("involuntary_switches", "voluntary_switches", "minor_faults", "major_faults")}
    counters: dict[str, NDArray[Any] | None] = {name: None if value is None else np.array([value]) for name, value in (seconds | counts).items()}
    return ProcessColumns(
        start_ns=np.array([start_ns]),
        wall_s=np.array([run.wall_s]),
        inner=np.ones(1, np.int64),
        counters={**counters, "gc_collections": None, "gc_s": None},
        inputs=np.zeros(0, np.int64),
        batch_s=np.zeros(0),
        batch_calls=np.zeros(0, np.int64),
        blocks=np.zeros(1, np.int64),
    )


def one_after_another(parts: Sequence[Ints]) -> Ints:
    """Numbers from 0 of several parts as numbers of the whole."""
    found, before = [], 0
    for part in parts:
        found.append(part + before)
        before += int(part.max()) + 1 if len(part) else 0
    return _joined(found, np.int64)


def _part(piece: Piece) -> ProcessColumns:
    rows = np.frombuffer(piece.rows, np.int64).reshape(-1, SAMPLE_INTS)
    # A row that was not reached is all zeros.
    rows = rows[rows[:, 0] != 0]
    spans = rows[:, 1] - rows[:, 0]
    collected = np.diff(rows[:, 2:4], axis=0, prepend=np.array([piece.gc_before]))
    return ProcessColumns(
        start_ns=rows[:, 0],
        wall_s=spans / piece.inner / 1e9,
        inner=np.full(len(rows), piece.inner, np.int64),
        counters={**_counters(piece, spans), "gc_collections": collected[:, 0], "gc_s": collected[:, 1] / 1e9},
        inputs=np.frombuffer(piece.inputs, np.int32).astype(np.int64),
        batch_s=np.zeros(0),
        batch_calls=np.zeros(0, np.int64),
        block=min(piece.block, max(1, len(rows))),
        blocks=np.arange(len(rows)) // piece.block,
        sentinel_s=rows[:, 4] / 1e9,
    )


def _around(behind_s: Floats) -> Floats | None:
    """The longer of the sentinels before and after each sample, from those that ran behind samples (0: none ran)."""
    at = np.flatnonzero(behind_s)
    if not len(at):
        return None
    samples = np.arange(len(behind_s))
    after = np.minimum(np.searchsorted(at, samples), len(at) - 1)
    before = np.maximum(np.searchsorted(at, samples) - 1, 0)
    return np.asarray(np.maximum(behind_s[at[before]], behind_s[at[after]]))


def _counters(piece: Piece, spans: Ints) -> dict[str, NDArray[Any] | None]:
    read = np.frombuffer(piece.counters, np.int64).reshape(-1, 2, COUNTER_INTS)
    blocks = -(-len(spans) // piece.block)
    if len(read) < blocks or len(spans) == 0:
        return dict.fromkeys((*_SPREAD, *_LAID))
    read = read[:blocks]
    deltas = read[:, 1] - read[:, 0]
    starts = np.arange(blocks) * piece.block
    found: dict[str, NDArray[Any] | None] = {}
    for name, column in (_SPREAD | _LAID).items():
        if bool((read[:, :, column] == _UNREADABLE).any()):
            found[name] = None
            continue
        values = _spread(deltas[:, column], spans, starts, piece.block) if name in _SPREAD else _laid(deltas[:, column], spans, starts, piece.block)
        found[name] = values / 1e9 if name.endswith("_s") else values
    return found


def _spread(totals: Ints, spans: Ints, starts: Ints, block: int) -> Floats:
    whole = np.maximum(1, np.add.reduceat(spans, starts))
    return np.asarray(spans * np.repeat(totals / whole, block)[: len(spans)])


def _laid(totals: Ints, spans: Ints, starts: Ints, block: int) -> Ints:
    if block == 1:
        return totals
    found = np.zeros(len(spans), np.int64)
    for start, total in zip(starts, totals, strict=True):
        if total:
            found[start + int(np.argmax(spans[start : start + block]))] = total
    return found


def _joined(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _joined_or_none(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known and len(known) == len(parts) else None
