"""Split the wall of a call: blocked · waiting for a CPU · system · interpreter · kernels.

Three instruments look at the same calls. The kernel's counters of the calling thread give CPU, run-queue delay and system time. A sampler on the
thread's CPU clock records program counters, which tell interpreter from native code. A second sampler looks at the states of all threads, since
a caller that sleeps while its own workers work is not blocked, and CPU ÷ wall lies where thread pools spin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from typing import Any

import numpy as np

from ridgeline import _native
from ridgeline.core import Quantity, WallSplit
from ridgeline.stats import wilson_interval

from .mappings import interpreter_share, libraries, read_mappings
from .thread_counters import CounterRows

__all__ = ["Observation", "observe", "split"]

_CPU_INTERVAL_S = 1e-3
_STATE_INTERVAL_S = 2e-3
_CONFIDENCE = 0.95
#: System time is charged by the tick (proc(5), `utime`): one tick is the least that can be seen.
_TICK_S = 1.0 / 250


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Sums over the observed calls, seconds and sample counts.

    Attributes:
        wall_s, cpu_s, run_queue_s, system_s: of the calling thread; run_queue_s is `None` where the kernel does not tell.
        interpreter_samples, cpu_samples: program counters in the interpreter, and all.
        awake, served, alone, disk: states of the calling thread; `served` is asleep while another thread of the process runs.
        libraries: samples by library.
        walls: seconds of each observed call.
    """

    wall_s: float
    cpu_s: float
    run_queue_s: float | None
    system_s: float
    interpreter_samples: int
    cpu_samples: int
    awake: int
    served: int
    alone: int
    disk: int
    libraries: dict[str, int]
    walls: tuple[float, ...] = ()


def observe(call: Callable[[], Any], *, synchronise: Callable[[Any], None] | None = None, seconds: float = 2.0, at_least: int = 1) -> Observation:
    """Run the call for about `seconds` under both samplers.

    Args:
        call: the workload, warmed up.
        synchronise: waits for its result.
        seconds: budget; at least `at_least` calls are made.
    """
    rows = CounterRows(2)
    _native.sampler_start(_CPU_INTERVAL_S, 1 << 16)
    try:
        _native.states_start(_STATE_INTERVAL_S)
        try:
            rows.read()
            before = perf_counter()
            ends = [before]
            while len(ends) <= at_least or ends[-1] - before < seconds:
                result = call()
                if synchronise is not None:
                    synchronise(result)
                ends.append(perf_counter())
            wall_s = ends[-1] - before
            rows.read()
        finally:
            awake, served, alone, disk = _native.states_stop()
    finally:
        raw, _missed = _native.sampler_stop()
    counters = np.frombuffer(raw, dtype=np.uint64)
    mappings = read_mappings()
    interpreted, taken = interpreter_share(counters, mappings)
    deltas = rows.deltas()

    def seconds_of(name: str) -> float | None:
        values = deltas[name]
        return None if values is None else float(values[0]) / 1e9

    return Observation(
        wall_s=wall_s,
        cpu_s=seconds_of("thread_cpu_ns") or 0.0,
        run_queue_s=seconds_of("run_queue_ns"),
        system_s=seconds_of("system_ns") or 0.0,
        interpreter_samples=interpreted,
        cpu_samples=taken,
        awake=awake,
        served=served,
        alone=alone,
        disk=disk,
        libraries=libraries(counters, mappings),
        walls=tuple(np.diff(ends).tolist()),
    )


def split(seen: Observation) -> WallSplit:
    """Turn an observation into shares of the wall that sum to 1. Pure arithmetic; intervals from the samplers' counts (Wilson) and the tick (for
    system time)."""
    wall = max(seen.wall_s, 1e-12)
    cpu = min(seen.cpu_s, wall)
    waiting = min(seen.run_queue_s or 0.0, wall - cpu)
    asleep = max(0.0, wall - cpu - waiting)
    sleeping = seen.served + seen.alone + seen.disk
    served = asleep * seen.served / sleeping if sleeping else 0.0
    blocked = asleep - served
    system = min(seen.system_s, cpu)
    user = cpu - system
    share = seen.interpreter_samples / seen.cpu_samples if seen.cpu_samples else 0.0
    interpreted = user * share
    kernels = user - interpreted + served
    python_low, python_high = wilson_interval(seen.interpreter_samples, seen.cpu_samples, confidence=_CONFIDENCE) if seen.cpu_samples else (0.0, 1.0)
    alone_low, alone_high = wilson_interval(seen.alone + seen.disk, sleeping, confidence=_CONFIDENCE) if sleeping else (0.0, 1.0)
    ticks = 2.0 * math.sqrt(max(1.0, system / _TICK_S)) * _TICK_S

    def quantity(value: float, low: float, high: float, origin: str) -> Quantity:
        value, low, high = (min(1.0, max(0.0, x / wall)) for x in (value, low, high))
        return Quantity(value=value, low=min(low, value), high=max(high, value), confidence=_CONFIDENCE, unit="1", source="measured", origin=origin)

    return WallSplit(
        blocked=quantity(blocked, asleep * alone_low, asleep * alone_high, "wall − CPU − run queue, while no thread of the process ran"),
        waiting=quantity(waiting, waiting, waiting, "schedstat" if seen.run_queue_s is not None else "not readable here"),
        system=quantity(system, max(0.0, system - ticks), system + ticks, "getrusage, charged by the tick"),
        interpreter=quantity(interpreted, user * python_low, user * python_high, "program counters in the interpreter"),
        kernels=quantity(kernels, user * (1 - python_high), user * (1 - python_low) + served, "program counters elsewhere, and workers served"),
        python_samples=seen.cpu_samples,
        how=f"{seen.cpu_samples} program counters on the CPU clock, {seen.awake + sleeping} thread states",
    )
