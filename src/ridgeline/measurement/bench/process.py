"""What one process does after its first call: samples of single calls and batches of many in turn, until its time is over; nothing is concluded.

Runs beside the target, so it imports little and computes next to nothing. Every call of a sample is kept, those of the warm-up too.
"""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ridgeline import _native

from .middle import median
from .overhead import measured_overhead, synchronising_s
from .plan import ProcessPlan
from .report import COUNTER_INTS, SAMPLE_INTS, OverheadTimes, Piece

__all__ = ["Measured", "measure_process"]

Call = Callable[[], Any]

#: A timer pair must stay under this part of a sample.
_TIMER_PART = 0.01
#: Counters are read around a sample that takes at least so many times as long as the reading, else around blocks that do.
_COUNTERS_PART = 10
_COUNTERS_S = 3.5e-6
#: Calls that are looked at to choose the sizes of everything after.
_LOOKED_AT = 5
#: Rounds of samples and batches.
_MOST_ROUNDS = 10
#: Part of the time that goes to batches; how long one lasts (the interpreter's switch interval), and how many calls are in it at the most.
_BATCH_PART, _BATCH_S, _BATCH_CALLS = 0.25, 0.005, 100_000
#: Batches end where they take more than this part after all: calls with another input may take much longer.
_BATCHES_MOST = 1.0
_MOST_INNER = 10_000
#: Seconds between two hand-overs of what has been taken.
_HAND_OVER_S = 0.5


@dataclass(kw_only=True)
class Measured:
    """Samples and batches as they come in."""

    overhead: OverheadTimes
    pieces: list[Piece] = field(default_factory=list)
    batches: array[int] = field(default_factory=lambda: array("q"))


def measure_process(
    call: Call,
    plan: ProcessPlan,
    *,
    synchronise: Callable[[Any], Any] | None = None,
    before: Callable[[int], Any] | None = None,
    before_batch: Callable[[int], Any] | None = None,
    input_of: Callable[[int], int] | None = None,
    hand_over: Callable[[Piece], None] | None = None,
) -> Measured:
    """Measure a call whose first has been made.

    Args:
        call: the workload.
        plan: how long.
        synchronise: waits for a call's result.
        before: called with the sample's number outside the timed interval.
        before_batch: the same before a batch, with the number of samples so far.
        input_of: which input the sample of a number uses.
        hand_over: given pieces at most every half second, so that an end loses no more.
    """
    overhead = measured_overhead()
    taker = _Taker(call, synchronise, before, input_of, Measured(overhead=overhead), hand_over)
    with _collections_counted():
        began = time.monotonic_ns()
        looked = min(_LOOKED_AT, plan.samples or _LOOKED_AT)
        while taker.count < looked and (taker.count == 0 or plan.samples or time.monotonic_ns() - began < plan.most_s * 1e9):
            taker.samples(1, inner=1, block=1)
        # Of several inputs a batch may have any: its size goes by the slowest so far.
        typical_s = taker.typical_s()
        batched_s = typical_s if before_batch is None else max(typical_s, taker.slowest_s())
        shape = _shaped(plan, typical_s, batched_s, overhead.timer_s, batches=plan.cache == "warm", each=before is not None)
        deadline = began + int(shape.seconds * 1e9)
        for index in range(shape.rounds):
            share = (index + 1) / shape.rounds
            until = None if plan.samples else began + int(share * shape.seconds * (1 - shape.batch_part) * 1e9) + taker.batch_ns
            wanted = (plan.samples or plan.most_samples) * (index + 1) // shape.rounds - taker.count
            if wanted > 0 and (until is None or time.monotonic_ns() < deadline):
                taker.samples(wanted, inner=shape.inner, block=shape.block, until=until)
            for _ in range(shape.batches_a_round):
                if before_batch is not None:
                    before_batch(taker.count + len(taker.found.batches) // 3)
                taker.batch(shape.batch_size)
                if taker.batch_ns > _BATCHES_MOST * shape.seconds * 1e9:
                    break
    if synchronise is not None:
        waits = synchronising_s(call, synchronise)
        taker.found.overhead = OverheadTimes(
            sample_s=overhead.sample_s,
            bare_s=overhead.bare_s,
            batched_iteration_s=overhead.batched_iteration_s,
            timer_s=overhead.timer_s,
            synchronise_s=waits,
        )
    return taker.found


@dataclass(frozen=True, kw_only=True)
class _Shape:
    seconds: float
    rounds: int
    inner: int
    block: int
    batch_size: int
    batches_a_round: int

    @property
    def batch_part(self) -> float:
        return _BATCH_PART if self.batches_a_round else 0.0


def _shaped(plan: ProcessPlan, typical_s: float, batched_s: float, timer_s: float, *, batches: bool, each: bool) -> _Shape:
    """Sizes of everything, from how long a call takes."""
    typical_s = max(typical_s, 1e-9)
    seconds = min(max(plan.seconds, plan.calls * typical_s), max(plan.seconds, plan.most_s))
    inner = 1 if timer_s <= _TIMER_PART * typical_s else min(_MOST_INNER, int(timer_s / (_TIMER_PART * typical_s)) + 1)
    part_s = _BATCH_PART * seconds
    batched_s = max(batched_s, 1e-9)
    size = max(2, min(_BATCH_CALLS, int(_BATCH_S / batched_s)))
    number = int(part_s / (size * batched_s)) if batches else 0
    rounds = max(1, min(_MOST_ROUNDS, number))
    return _Shape(
        seconds=seconds,
        rounds=rounds,
        inner=inner,
        block=max(1, min(1000, round(_COUNTERS_PART * _COUNTERS_S / (inner * typical_s)))) if not each else 1,
        batch_size=size,
        batches_a_round=number // rounds,
    )


class _Taker:
    """Takes samples and batches and keeps them."""

    def __init__(
        self,
        call: Call,
        synchronise: Callable[[Any], Any] | None,
        before: Callable[[int], Any] | None,
        input_of: Callable[[int], int] | None,
        found: Measured,
        hand_over: Callable[[Piece], None] | None,
    ) -> None:
        self.found = found
        self.count, self.batch_ns = 0, 0
        self._call, self._synchronise, self._before, self._input_of = call, synchronise, before, input_of
        self._hand_over, self._handed_over, self._handed_at = hand_over, 0, time.monotonic()

    def typical_s(self) -> float:
        """Seconds of a call so far; the lower half, since the first ones warm up."""
        walls = [end - start for piece in self.found.pieces for start, end in _times(piece)]
        return median(sorted(walls)[: (len(walls) + 1) // 2]) / 1e9

    def slowest_s(self) -> float:
        """Seconds of the slowest call after the first so far, of the first where there is no other."""
        walls = [end - start for piece in self.found.pieces for start, end in _times(piece)]
        return max(walls[1:] or walls) / 1e9

    def samples(self, most: int, *, inner: int, block: int, until: int | None = None) -> None:
        """Up to `most` samples, at least one, until the clock (ns) has passed `until`."""
        rows = bytearray(8 * SAMPLE_INTS * most)
        counters = bytearray(16 * COUNTER_INTS * ((most + block - 1) // block))
        offset, before = self.count, self._before
        prepare = None if before is None else (lambda index: before(offset + index))
        gc_before = _native.collections()
        taken = _native.take_samples(self._call, self._synchronise, prepare, rows, counters, inner, block, 2**62 if until is None else until)
        used = array("i", (self._input_of(offset + index) for index in range(taken))) if self._input_of else array("i")
        self.found.pieces.append(
            Piece(
                rows=bytes(rows[: 8 * SAMPLE_INTS * taken]),
                counters=bytes(counters[: 16 * COUNTER_INTS * ((taken + block - 1) // block)]),
                block=block,
                inner=inner,
                gc_before=gc_before,
                inputs=used.tobytes(),
            )
        )
        self.count += taken
        if self._hand_over is not None and time.monotonic() - self._handed_at >= _HAND_OVER_S:
            for piece in self.found.pieces[self._handed_over :]:
                self._hand_over(piece)
            self._handed_over, self._handed_at = len(self.found.pieces), time.monotonic()

    def batch(self, size: int) -> None:
        """So many calls that are waited for once."""
        start, end = _native.take_batch(self._call, self._synchronise, size)
        self.found.batches.extend((start, end, size))
        self.batch_ns += end - start


def _times(piece: Piece) -> Iterator[tuple[int, int]]:
    values = memoryview(piece.rows).cast("q")
    return zip(values[0::SAMPLE_INTS], values[1::SAMPLE_INTS], strict=True)


@contextmanager
def _collections_counted() -> Iterator[None]:
    gc.callbacks.append(_native.collection_seen)
    try:
        yield
    finally:
        gc.callbacks.remove(_native.collection_seen)
