"""The numbers that our own C loops give: multiply-adds, streams by level and mix, latency by level.

One thread changes its CPU from round to round, so that neither a neighbour on one CPU nor a slow core of a hybrid processor decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from ridgeline.core import Engine, MemoryLevel, Precision

from ..core_to_core import ORIGIN as CORE_TO_CORE
from ..core_to_core import core_to_core
from .items import CostOf, Item, RateOf, Reading, best_window
from .working_sets import WorkingSet, working_sets

__all__ = ["Native", "cycle_item", "fma_items", "latency_items", "stream_items", "system_cost_items"]

_MIXES: tuple[Engine, ...] = ("read", "copy", "triad", "fill")
#: From here on touching the set takes longer than measuring with it.
_COSTLY_BYTES = 256 << 20
#: Where neighbours leave two threads no turn to play: 64 passes took at least 20 ms.
_GIVEN_UP_S = 0.02 / 64
#: And from here on it takes too long to be done once for every window.
_SLOW_BYTES = 12 << 20


class Native(Protocol):
    """The part of `ridgeline._native` that the probe uses; a fake stands in for it in tests."""

    def isa(self) -> tuple[str, ...]:
        """Usable instruction sets."""
        ...

    def fma_precisions(self) -> tuple[str, ...]:
        """Precisions that have an instruction."""
        ...

    def fma(self, precision: str, seconds: float, cpus: tuple[int, ...], /) -> tuple[float, float]:
        """(operations, elapsed s)."""
        ...

    def stream(self, mix: str, bytes_per_thread: int, seconds: float, cpus: tuple[int, ...], /) -> tuple[float, float]:
        """(bytes moved, elapsed s)."""
        ...

    def chase(self, working_set_bytes: int, seconds: float, cpu: int, /) -> float:
        """Seconds a load."""
        ...

    def clock_rate(self, seconds: float, cpu: int, /) -> float:
        """Cycles per second."""
        ...

    def handoff(self, cpus: tuple[int, int], rounds: int, /) -> float:
        """Seconds a hand-off."""
        ...

    def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
        """Seconds a pass."""
        ...

    def page_fault(self, pages: int, /) -> float:
        """Seconds a page."""
        ...

    def timer_read(self, n: int, /) -> float:
        """Seconds a reading."""
        ...


def fma_items(native: Native, cpus: tuple[int, ...]) -> Iterable[Item]:
    """Multiply-adds in every precision the processor has an instruction for, one thread and all."""
    for precision in native.fma_precisions():
        for threads in _thread_counts(cpus):
            yield Item(
                goal=RateOf(engine="fma", precision=cast(Precision, precision), threads=threads),
                read=_fma_reading(native, precision, threads, cpus),
                origin="multiply-adds in registers",
            )


def stream_items(native: Native, cpus: tuple[int, ...], caches: Sequence[MemoryLevel], memory_bytes: int) -> Iterable[Item]:
    """Every mix at every working set, one thread and all."""
    for threads in _thread_counts(cpus):
        for held in working_sets(caches, memory_bytes, threads):
            for mix in _MIXES:
                yield Item(
                    goal=RateOf(engine=mix, precision="any", threads=threads, level=held.level, working_set_bytes=held.total_bytes),
                    read=_stream_reading(native, mix, held, cpus),
                    origin="stream over arrays of its own, ordinary stores",
                    costly=held.total_bytes >= _COSTLY_BYTES,
                )


def latency_items(native: Native, cpus: tuple[int, ...], caches: Sequence[MemoryLevel], memory_bytes: int) -> Iterable[Item]:
    """Load-to-use latency at every working set of one thread."""
    for held in working_sets(caches, memory_bytes, 1):
        yield Item(
            goal=RateOf(engine="latency", precision="any", threads=1, level=held.level, working_set_bytes=held.total_bytes),
            read=_chase_reading(native, held.total_bytes, cpus),
            origin="pointer chase, one line a load, huge pages where given",
            costly=held.total_bytes >= _COSTLY_BYTES,
        )


def cycle_item(native: Native, cpus: tuple[int, ...]) -> Item:
    """The clock: cycles per second of scalar code."""
    return Item(
        goal=CostOf(name="clock", unit="Hz"),
        read=best_window(lambda seconds, number: native.clock_rate(seconds, _one(cpus, number))),
        origin="chain of one-cycle additions",
    )


def system_cost_items(native: Native, cpus: tuple[int, ...]) -> Iterable[Item]:
    """Timer read, hand-off between threads that sleep and that spin, first touch of a page."""
    pair = (cpus[0], cpus[-1])
    where = "on two CPUs" if len(cpus) > 1 else "on the one CPU there is"
    yield Item(goal=CostOf(name="timer-read"), read=lambda _seconds, _number: native.timer_read(20_000), origin="clock_gettime, monotonic")
    yield Item(goal=CostOf(name="hand-off"), read=lambda _seconds, _number: native.handoff(pair, 300), origin=f"futex, both threads sleep, {where}")
    if len(cpus) > 1:
        yield Item(goal=CostOf(name="core-to-core"), read=lambda _s, _n: core_to_core(native, cpus) or _GIVEN_UP_S, origin=CORE_TO_CORE)
    yield Item(goal=CostOf(name="page-fault"), read=lambda _seconds, _number: native.page_fault(2048), origin="first touch of 4 KiB, no huge pages")


def _thread_counts(cpus: Sequence[int]) -> tuple[int, ...]:
    return (1,) if len(cpus) == 1 else (1, len(cpus))


def _one(cpus: tuple[int, ...], number: int) -> int:
    return cpus[number % len(cpus)]


def _some(cpus: tuple[int, ...], threads: int, number: int) -> tuple[int, ...]:
    return cpus if threads == len(cpus) else (_one(cpus, number),)


def _fma_reading(native: Native, precision: str, threads: int, cpus: tuple[int, ...]) -> Reading:
    def read(seconds: float, number: int) -> float:
        operations, elapsed_s = native.fma(precision, seconds, _some(cpus, threads, number))
        return operations / elapsed_s

    return best_window(read)


def _stream_reading(native: Native, mix: str, held: WorkingSet, cpus: tuple[int, ...]) -> Reading:
    def read(seconds: float, number: int) -> float:
        moved, elapsed_s = native.stream(mix, held.per_thread_bytes, seconds, _some(cpus, held.threads, number))
        return moved / elapsed_s

    return read if held.total_bytes >= _SLOW_BYTES else best_window(read)


def _chase_reading(native: Native, size: int, cpus: tuple[int, ...]) -> Reading:
    def read(seconds: float, number: int) -> float:
        return native.chase(size, seconds, _one(cpus, number))

    return read if size >= _SLOW_BYTES else best_window(read, min)
