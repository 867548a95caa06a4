"""`Gathered`: the processes of one version as they finish, and the `Benchmark` that they make so far."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Benchmark, Caution, ClockState, Column, CoreToCore, Overhead, ProcessRecord, Samples, Setting, TargetInfo
from ridgeline.core.samples import FLAG_GC, FLAG_PREEMPTED, FLAG_STOLEN, FLAG_THROTTLED, FLAG_WARMUP
from ridgeline.machine.control import ThrottleWatch
from ridgeline.machine.control.throttle import Why

from .columns import ProcessColumns, one_after_another
from .report import OverheadTimes

__all__ = ["Gathered"]

_STOLEN: tuple[Why, ...] = ("stolen",)
_SECONDS = ("thread_cpu_s", "process_cpu_s", "run_queue_s", "system_s", "gc_s")
_COUNTS = ("involuntary_switches", "voluntary_switches", "minor_faults", "major_faults", "gc_collections")


class Gathered:
    """What one version's processes have measured.

    Args:
        began_ns: monotonic nanoseconds that times count from.
        seed, cache, settings: for the record.

    Attributes:
        soaked_s: seconds of load before the first sample.
    """

    def __init__(
        self,
        began_ns: int,
        *,
        seed: int = 0,
        cache: Literal["warm", "cold"] = "warm",
        settings: tuple[Setting, ...] = (),
    ) -> None:
        self._began_ns, self._seed, self._cache, self._settings = began_ns, seed, cache, settings
        self.soaked_s: float | None = None
        self._records: list[ProcessRecord] = []
        self._columns: list[ProcessColumns] = []
        self._held_back: list[NDArray[np.int64]] = []
        self._overheads: list[OverheadTimes] = []
        self._stages: dict[str, list[float]] = {}
        self._cautions: dict[tuple[str, str], Caution] = {}
        self.target: TargetInfo | None = None
        self.input_names: tuple[str, ...] = ()
        self._made: Benchmark | None = None

    @property
    def processes(self) -> int:
        """Processes so far, failed ones among them."""
        return len(self._records)

    @property
    def measured(self) -> int:
        """Processes that did not fail."""
        return sum(not record.failure for record in self._records)

    def add(
        self,
        columns: ProcessColumns,
        *,
        start_ns: int,
        first_s: float | None,
        load_s: float | None,
        overhead: OverheadTimes | None = None,
        cautions: Sequence[Caution] = (),
        stages: Mapping[str, float] | None = None,
        failure: str = "",
    ) -> None:
        """Take in one process."""
        self._made = None
        for name, seconds in (stages or {}).items():
            self._stages.setdefault(name, []).append(seconds)
        self._records.append(
            ProcessRecord(index=len(self._records), at_s=(start_ns - self._began_ns) / 1e9, first_s=first_s, load_s=load_s, failure=failure)
        )
        self._columns.append(columns)
        self._held_back.append(np.zeros(len(columns.wall_s), np.int64))
        if overhead is not None:
            self._overheads.append(overhead)
        for caution in cautions:
            self._cautions[caution.code, caution.message] = caution

    def watched(self, clock: ClockState, watch: ThrottleWatch, between_s: tuple[float, float]) -> None:
        """Mark the samples of the last process that were taken while the machine was held back.

        Args:
            clock: governor and frequency.
            watch: has looked before and after the process, at `between_s`.
        """
        self._made = None
        columns = self._columns[-1]
        starts = columns.start_ns / 1e9
        stops = starts + columns.wall_s * columns.inner
        throttled, stolen = watch.marked(starts, stops), watch.marked(starts, stops, _STOLEN)
        self._held_back[-1] = FLAG_THROTTLED * throttled.astype(np.int64) + FLAG_STOLEN * stolen.astype(np.int64)
        blind = {"thermal", "quota", "clock"} <= set(watch.not_seen)
        state = msgspec.structs.replace(clock, throttled=None if blind else bool(throttled.any()), steal=_steal(watch, *between_s))
        self._records[-1] = msgspec.structs.replace(self._records[-1], clock=state)

    def placed(self, apart: CoreToCore) -> None:
        """Keep how far apart the cores were before and after the last process."""
        self._made = None
        last = self._records[-1]
        self._records[-1] = msgspec.structs.replace(last, clock=msgspec.structs.replace(last.clock or ClockState(), core_to_core=apart))

    def benchmark(self) -> Benchmark:
        """All processes so far; the same object until another one comes."""
        if self._made is None:
            self._made = self._benchmark()
        return self._made

    def _benchmark(self) -> Benchmark:
        parts = self._columns
        wall = _joined([part.wall_s for part in parts], np.float64)
        lengths = [len(part.wall_s) for part in parts]
        process = np.repeat(np.arange(len(parts), dtype=np.int32), lengths)
        starts = _joined([part.start_ns for part in parts], np.int64)
        inner = _joined([part.inner for part in parts], np.int64)
        counters = {name: _column([part.counters.get(name) for part in parts], "s") for name in _SECONDS}
        counters |= {name: _column([part.counters.get(name) for part in parts], "count") for name in _COUNTS}
        inputs = _joined([part.inputs for part in parts], np.int64)
        blocks = one_after_another([part.blocks for part in parts])
        overheads = self._overheads
        batch_s = _joined([part.batch_s for part in parts], np.float64)
        samples = Samples(
            wall_s=Column(wall, "s"),
            start_s=Column((starts - self._began_ns) / 1e9, "s", dtype=np.float64),
            process=Column(process, "count"),
            inner=Column(inner.astype(np.int32), "count"),
            block=Column(blocks, "count") if len(blocks) == len(wall) and any(part.block > 1 for part in parts) else None,
            input_id=Column(inputs, "count") if len(inputs) == len(wall) and len(wall) and self.input_names else None,
            sentinel_s=_column([part.sentinel_s for part in parts], "s"),
            flags=Column(self._flags(counters), "count"),
            method=self._method(inner),
            timer_s=float(np.median([times.timer_s for times in overheads])) if overheads else 0.0,
            **counters,
        )
        return Benchmark(
            samples=samples,
            processes=tuple(self._records),
            batched_s=Column(batch_s, "s") if len(batch_s) else None,
            batched_process=Column(np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.batch_s) for part in parts]), "count")
            if len(batch_s)
            else None,
            batch_size=int(np.median(_joined([part.batch_calls for part in parts], np.int64))) if len(batch_s) else 0,
            overhead=_overhead(overheads, wall * inner) if overheads and len(wall) else None,
            settings=self._settings,
            input_names=self.input_names,
            cache=self._cache,
            soaked_s=self.soaked_s,
            seed=self._seed,
            device_s=_column([part.device_s for part in parts], "s"),
            stages={name: tuple(medians) for name, medians in self._stages.items()},
            target=self.target,
            cautions=tuple(self._cautions.values()),
        )

    def _flags(self, counters: dict[str, Column | None]) -> NDArray[np.int32]:
        parts = self._columns
        flags = _joined([np.where(np.arange(len(part.wall_s)) < part.warmup, FLAG_WARMUP, 0) for part in parts], np.int64)
        flags = flags | _joined(self._held_back, np.int64)
        for name, flag in (("involuntary_switches", FLAG_PREEMPTED), ("gc_collections", FLAG_GC)):
            column = counters[name]
            if column is not None:
                flags = flags | np.where(column.values > 0, flag, 0)
        return np.asarray(flags, dtype=np.int32)

    def _method(self, inner: NDArray[Any]) -> str:
        measured, blocks = self.measured, max((part.block for part in self._columns), default=1)
        calls = Counter(inner.tolist()).most_common(1)[0][0] if len(inner) else 1
        read = "around each sample" if blocks == 1 else f"around blocks of up to {blocks} samples, what happened once laid on the slowest of a block"
        return (
            f"{measured} fresh process{'es' if measured != 1 else ''} in random order, {calls} call{'s' if calls != 1 else ''} a sample, "
            f"counters read {read}, outside the timed interval"
        )


def _steal(watch: ThrottleWatch, start_s: float, stop_s: float) -> float | None:
    """Part of that time which the hypervisor took from the CPUs in use; null where it does not tell."""
    if "stolen" in watch.not_seen:
        return None
    taken = sum(stretch.amount for stretch in watch.intervals if stretch.why == "stolen" and start_s <= stretch.start_s and stretch.stop_s <= stop_s)
    seconds = (stop_s - start_s) * len(os.sched_getaffinity(0))
    return min(1.0, taken / seconds) if seconds > 0 else 0.0


def _overhead(times: Sequence[OverheadTimes], spans: NDArray[Any]) -> Overhead:
    def middle(name: str) -> float:
        return float(np.median([getattr(one, name) for one in times]))

    waits = [one.synchronise_s for one in times if one.synchronise_s is not None]
    timer_s = middle("timer_s")
    return Overhead(
        sample_s=middle("sample_s"),
        bare_s=middle("bare_s"),
        batched_iteration_s=middle("batched_iteration_s"),
        timer_s=timer_s,
        timer_share=timer_s / max(float(np.median(spans)), 1e-9),
        synchronise_s=float(np.median(waits)) if waits else None,
    )


def _joined(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)


def _column(parts: Sequence[NDArray[Any] | None], unit: str) -> Column | None:
    known = [part for part in parts if part is not None]
    return Column(np.concatenate(known), unit) if known and len(known) == len(parts) else None
