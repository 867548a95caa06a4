"""What one process does after its first call: samples of single calls and batches of many in turn, until its time is over; nothing is concluded.

Runs beside the target, so it imports little and computes next to nothing. Every call of a sample is kept, those of the warm-up too.
"""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

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
#: The same of calls this short, whose first ones tell little about the later.
_LOOKED_AT_SHORT, _SHORT_S = 50, 5e-6
#: Rounds of samples and batches.
_MOST_ROUNDS = 10
#: Part of the time that goes to batches, and how many calls are in one at the most.
_BATCH_PART, _BATCH_CALLS = 0.25, 100_000
#: How long a batch lasts: long where a wait at its end is to be spread over its calls (the interpreter's switch interval), else so short that most
#: of them meet no other program, but not of fewer calls than this where they fit into a long one.
_BATCH_S, _BATCH_SHORT_S, _BATCH_LEAST = 0.005, 0.001, 10
#: Batches end where they take more than this part after all: calls with another input may take much longer.
_BATCHES_MOST = 1.0
_MOST_INNER, _MARGIN = 10_000, 1.25
#: Seconds between two hand-overs of what has been taken.
_HAND_OVER_S = 0.5


class Measured(msgspec.Struct, kw_only=True):
    """Samples and batches as they come in."""

    overhead: OverheadTimes
    pieces: list[Piece] = []
    batches: array[int] = msgspec.field(default_factory=lambda: array("q"))


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
        began_ns = time.monotonic_ns()
        _look_at(taker, plan, began_ns)
        # Of several inputs a batch may have any: its size goes by the slowest so far.
        batched_s = taker.typical_s() if before_batch is None else taker.slowest_s()
        shape = _shaped(plan, taker, batched_s, overhead.timer_s, batches=plan.cache == "warm", each=before is not None)
        for index in range(shape.rounds):
            _samples_of_round(taker, plan, shape, index, began_ns)
            _batches_of_round(taker, shape, before_batch)
        _fill_up(taker, plan, shape, began_ns)
    if synchronise is not None:
        taker.found.overhead = msgspec.structs.replace(overhead, synchronise_s=synchronising_s(call, synchronise))
    return taker.found


def _look_at(taker: _Taker, plan: ProcessPlan, began_ns: int) -> None:
    """The first calls one by one, from which the sizes of everything after are chosen."""
    wanted = min(_LOOKED_AT, plan.samples or _LOOKED_AT)
    while taker.count < wanted and (taker.count == 0 or plan.samples or time.monotonic_ns() - began_ns < plan.most_s * 1e9):
        taker.samples(1, inner=1, block=1)
    if taker.typical_s() < _SHORT_S and (plan.samples is None or plan.samples > _LOOKED_AT_SHORT):
        taker.samples(_LOOKED_AT_SHORT - taker.count, inner=1, block=_LOOKED_AT_SHORT)


def _samples_of_round(taker: _Taker, plan: ProcessPlan, shape: _Shape, index: int, began_ns: int) -> None:
    part = (index + 1) / shape.rounds
    # What batches have taken so far is not taken from the samples.
    until = None if plan.samples else began_ns + int(part * shape.seconds * (1 - shape.batch_part) * 1e9) + taker.batch_ns
    wanted = (plan.samples or plan.most_samples) * (index + 1) // shape.rounds - taker.count
    if wanted > 0 and (until is None or time.monotonic_ns() < began_ns + shape.seconds * 1e9):
        taker.samples(wanted, inner=shape.inner, block=shape.block, until=until)


def _fill_up(taker: _Taker, plan: ProcessPlan, shape: _Shape, began_ns: int) -> None:
    """What is missing of the fewest calls, where later ones took longer than those that were looked at."""
    until, missing = began_ns + int(max(plan.seconds, plan.most_s) * 1e9), plan.calls - taker.count
    if plan.samples is None and missing > 0 and time.monotonic_ns() < until:
        taker.samples(missing, inner=shape.inner, block=shape.block, until=until)


def _batches_of_round(taker: _Taker, shape: _Shape, before_batch: Callable[[int], Any] | None) -> None:
    for _ in range(shape.batches_a_round):
        if taker.batch_ns > _BATCHES_MOST * shape.seconds * 1e9:
            return
        if before_batch is not None:
            before_batch(taker.count + len(taker.found.batches) // 3)
        taker.batch(shape.batch_size)


class _Shape(msgspec.Struct, frozen=True, kw_only=True):
    seconds: float
    rounds: int
    inner: int
    block: int
    batch_size: int
    batches_a_round: int

    @property
    def batch_part(self) -> float:
        return _BATCH_PART if self.batches_a_round else 0.0


def _shaped(plan: ProcessPlan, taker: _Taker, batched_s: float, timer_s: float, *, batches: bool, each: bool) -> _Shape:
    """Sizes of everything, from how long calls have taken."""
    typical_s, batched_s = max(taker.typical_s(), 1e-9), max(batched_s, 1e-9)
    # The timer is in a sample of one call; what is left of a short one is no exact time, hence the margin.
    call_s = max(taker.fastest_s() - timer_s, 0.2 * taker.fastest_s(), 1e-9)
    part = 1 - _BATCH_PART if batches else 1.0
    seconds = min(max(plan.seconds, plan.calls * typical_s / part), max(plan.seconds, plan.most_s))
    inner = 1 if timer_s <= _TIMER_PART * typical_s else min(_MOST_INNER, int(_MARGIN * timer_s / (_TIMER_PART * call_s)) + 1)
    fitting = int(_BATCH_S / batched_s)
    if not taker.waits:
        fitting = min(fitting, max(_BATCH_LEAST, int(_BATCH_SHORT_S / batched_s)))
    size = max(2, min(_BATCH_CALLS, fitting))
    number = int(_BATCH_PART * seconds / (size * batched_s)) if batches else 0
    rounds = max(1, min(_MOST_ROUNDS, number))
    block = 1 if each else max(1, min(1000, round(_COUNTERS_PART * _COUNTERS_S / (inner * typical_s))))
    return _Shape(seconds=seconds, rounds=rounds, inner=inner, block=block, batch_size=size, batches_a_round=number // rounds)


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

    @property
    def waits(self) -> bool:
        """Whether results are waited for."""
        return self._synchronise is not None

    def typical_s(self) -> float:
        """Seconds of a call so far; the lower half, since the first ones warm up."""
        walls = [end - start for piece in self.found.pieces for start, end in _times(piece)]
        return median(sorted(walls)[: (len(walls) + 1) // 2]) / 1e9

    def fastest_s(self) -> float:
        """Seconds of the fastest call so far, the timer in it."""
        return min(end - start for piece in self.found.pieces for start, end in _times(piece)) / 1e9

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
        with suppress(ValueError):  # the target may have emptied the list
            gc.callbacks.remove(_native.collection_seen)
