"""`Benchmark`: what a benchmark measured, process by process and call by call, nothing concluded; `BenchReport`: what is concluded from it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from .column import Column
from .display import shown_inline
from .facts import Caution, ClockState, Sentinels, TargetInfo
from .samples import FLAG_WARMUP, Samples
from .verdict import GroundTruth

__all__ = [
    "BenchReport",
    "Benchmark",
    "InputLatency",
    "Mode",
    "Overhead",
    "ProcessRecord",
    "ProcessState",
    "QuantileReport",
    "Setting",
    "Steadiness",
    "TailReport",
]

SteadyState = Literal["steady", "never steady", "too few calls"]


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that decides speed and that can be read or set.

    Args:
        name: such as `affinity`, `threads`, `governor`, `turbo`, `smt`, `priority`, `swap`, `quota`, `gpu-clock`.
        found: its value before, as text; null where it cannot be seen.
        wanted: what measuring wants; null where nothing is wanted.
        used: what it was while measuring; null where it cannot be seen.
        state: `fine` as found, `set` for the measurement and put back, `not asked` (it could be set with --tune), `cannot`.
        reason: of `cannot`, in one sentence.
    """

    name: str
    found: str | None = None
    wanted: str | None = None
    used: str | None = None
    state: Literal["fine", "set", "not asked", "cannot"] = "fine"
    reason: str = ""


class Overhead(msgspec.Struct, frozen=True, kw_only=True):
    """What measuring costs, measured in the same process as the samples.

    Args:
        sample_s: of one kept sample of an empty call, beyond that call.
        bare_s: the same of a bare pair of timer readings and an append to a list.
        batched_iteration_s: of one iteration in a batch, beyond the call.
        timer_s: of one pair of timer readings, which lies inside a sample.
        timer_share: timer_s ÷ (median of a sample); over 0.01 it is said.
        synchronise_s: of one synchronisation with nothing to wait for; null without one.
    """

    sample_s: float
    bare_s: float
    batched_iteration_s: float
    timer_s: float
    timer_share: float
    synchronise_s: float | None = None


class ProcessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a benchmark.

    Args:
        index: as in `Samples.process`.
        at_s: when it was started, seconds after the first.
        first_s: its first call, null if there is none to tell apart.
        load_s: loading the target.
        clock, sentinels: while it was measured; null where not looked at.
        failure: why it ended early, in one line; its samples so far are kept.
    """

    index: int
    at_s: float
    first_s: float | None = None
    load_s: float | None = None
    clock: ClockState | None = None
    sentinels: Sentinels | None = None
    failure: str = ""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """Every call of every process, in order.

    Args:
        samples: per-call latency; calls of the warm-up among them, flagged `FLAG_WARMUP`; `start_s` counts from the start of the first process.
        processes: one record each.
        batched_s: seconds a call where many are issued and waited for once, one value a batch, shape (m,); null where no batch fits.
        batched_process: process of each batch, shape (m,).
        batch_size: calls in a batch.
        overhead: of measuring; null where every call is a process of its own.
        settings: what decides speed, and what was done about it.
        input_names: names by `samples.input_id`, empty where there is one input.
        cache: `warm`, or `cold` where the caches are emptied before every call.
        soaked_s: seconds of load before the first sample until temperature, clock and time had levelled off; null if not asked for.
        seed: of the order of the processes.
        device_s: seconds of each sample by the device's own clock, shape (n,); null without one.
        stages: marked stage → median seconds of a call in each process, from calls with the recorder on, which are not among the samples.
        target: what was measured; cautions: what its reader must know.
    """

    samples: Samples
    processes: tuple[ProcessRecord, ...]
    batched_s: Column | None = None
    batched_process: Column | None = None
    batch_size: int = 0
    overhead: Overhead | None = None
    settings: tuple[Setting, ...] = ()
    input_names: tuple[str, ...] = ()
    cache: Literal["warm", "cold"] = "warm"
    soaked_s: float | None = None
    seed: int = 0
    device_s: Column | None = None
    stages: dict[str, tuple[float, ...]] = {}
    target: TargetInfo | None = None
    cautions: tuple[Caution, ...] = ()

    def steady(self) -> NDArray[np.bool_]:
        """Which samples are not warm-up, shape (n,)."""
        flags = self.samples.flags
        if flags is None:
            return np.ones(len(self.samples), np.bool_)
        kept: NDArray[Any] = (flags.values & FLAG_WARMUP) == 0
        return kept


class ProcessState(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the calls of a process settled: from which call on (from 0, the first call apart), and at which level in seconds.

    Args:
        left_out: calls that were disturbed from outside, and so were not asked.
    """

    process: int
    state: SteadyState
    start: int | None = None
    level_s: float | None = None
    left_out: int = 0


class Steadiness(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a benchmark has one steady state.

    Args:
        state: `steady` where at least nine processes in ten settled, at one level; `never steady` where none did; `inconsistent` where some settled
            and more than one in ten did not, or they settled at different levels; `too few calls`; `does not apply` where every call is a
            process of its own.
        processes: each.
        settled: processes that did.
        levels_s: the different levels, in seconds, where there are several.
        because: one sentence.
    """

    state: Literal["steady", "never steady", "inconsistent", "too few calls", "does not apply"]
    processes: tuple[ProcessState, ...] = ()
    settled: int = 0
    levels_s: tuple[float, ...] = ()
    because: str = ""


class QuantileReport(msgspec.Struct, frozen=True, kw_only=True):
    """A quantile of the latency with its distribution-free interval, or how many samples are missing for one.

    Args:
        q: such as 0.99; 0 for the minimum.
        value_s, interval_s: null where there are too few samples.
        confidence: of the interval.
        samples: there are.
        needed: the fewest that allow one.
    """

    q: float
    value_s: float | None
    interval_s: tuple[float, float] | None
    confidence: float
    samples: int
    needed: int


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """One of several levels at which values gather: its median, and the part of the values in it."""

    value: float
    share: float


class TailReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the slowest calls have in common.

    Args:
        slowest: calls looked at, the slowest 1 %.
        threshold_s: from which time on a call is one of them.
        explained: reason (`input`, `preempted`, `run queue`, `blocked`, `faults`, `collected`, `stolen`, `throttled`) → calls among the slowest
            that it explains; a call may have several.
        usual: reason → part of all other calls in which the same was seen.
        unexplained: calls of which nothing was seen.
        not_seen: reasons that cannot be looked for here, and why.
    """

    slowest: int
    threshold_s: float
    explained: dict[str, int] = {}
    usual: dict[str, float] = {}
    unexplained: int = 0
    not_seen: dict[str, str] = {}


class InputLatency(msgspec.Struct, frozen=True, kw_only=True):
    """Latency with one of several inputs."""

    name: str
    samples: int
    median_s: float
    p90_s: float | None = None


class BenchReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.bench/1"):
    """The page of `ridgeline bench` as data.

    Args:
        target, machine, software, method, commit, threads, clock, command, run: as in a diagnosis.
        ground_truth: latency of one call once steady; the interval of its median is over processes.
        throughput_per_s: (low, middle, high) calls a second when many are issued and waited for once; null where no batch fits. Never 1 ÷ latency.
        batched_s: (low, middle, high) seconds a call of the same.
        device_s: (low, middle, high) seconds of a call by the device's own clock, over processes; null without one.
        first_s: (low, middle, high) of the first calls of the processes.
        steadiness: whether there is one steady state.
        quantiles: minimum, median, p90, p99, p99.9.
        process_medians_s: of each process that settled.
        modes_between: levels that processes gather at; empty where there is one.
        modes_within: levels that calls gather at within processes; empty where there is one.
        drift_per_s: relative change of the medians a second over the run; null where there is none beyond noise.
        tail: what the slowest calls have in common; null under 100 samples.
        inputs: latency by input, where there are several.
        stages: marked stage → (low, median, high) seconds of a call over processes, from calls with the recorder on.
        overhead, settings, cache, soaked_s: as in `Benchmark`.
        throttled_samples: calls in which the machine was throttled.
        detectable_ratio: a slowdown by this ratio would be found by nine of ten comparisons of this size; null where none would.
        noise_floor: relative spread of the process medians (1.4826 MAD).
        warnings: what could change the numbers.
    """

    target: str
    machine: str
    software: dict[str, str]
    method: str
    commit: str | None
    threads: int
    clock: ClockState
    ground_truth: GroundTruth
    throughput_per_s: tuple[float, float, float] | None
    batched_s: tuple[float, float, float] | None
    first_s: tuple[float, float, float] | None
    steadiness: Steadiness
    quantiles: tuple[QuantileReport, ...]
    process_medians_s: tuple[float, ...]
    device_s: tuple[float, float, float] | None = None
    modes_between: tuple[Mode, ...] = ()
    modes_within: tuple[Mode, ...] = ()
    drift_per_s: float | None = None
    tail: TailReport | None = None
    inputs: tuple[InputLatency, ...] = ()
    stages: dict[str, tuple[float, float, float]] = {}
    overhead: Overhead | None = None
    settings: tuple[Setting, ...] = ()
    cache: Literal["warm", "cold"] = "warm"
    soaked_s: float | None = None
    throttled_samples: int = 0
    detectable_ratio: float | None = None
    noise_floor: float | None = None
    warnings: tuple[Caution, ...] = ()
    run: str | None = None
    command: str = ""

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)
