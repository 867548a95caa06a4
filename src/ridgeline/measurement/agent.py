"""The side of a measurement that lives in the child process: prepares the target once and answers every instrument's request.

`machine.Worker` calls these functions by name. They keep one session per process in a module variable, since that is what a process is for: the
target is loaded once and measured many times. Nothing here decides what to measure next.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import (
    BackendUnavailable,
    Caution,
    ClockState,
    Device,
    DispatchFit,
    HotSpots,
    OpTable,
    Quantity,
    Samples,
    Sentinels,
    TargetFailed,
    TargetInfo,
    WallSplit,
    quotient,
)
from ridgeline.core.documents import to_builtins
from ridgeline.machine import ClockWatch
from ridgeline.targets import CommandSample, Prepared, ProcessFlavour, PythonFlavour, TargetSpec
from ridgeline.targets import prepare as prepare_target

from . import commands, harness, stacks, wall_split
from .medians import median_of
from .sentinels import SentinelLoop

__all__ = [
    "KEEP",
    "GroundTruthReport",
    "OperatorsReport",
    "PreparedReport",
    "SplitReport",
    "dispatch",
    "ground_truth",
    "hot_spots",
    "operators",
    "prepare",
    "split",
]

Report = Callable[[Any], None]
#: First item of a report that carries the samples so far.
KEEP = "samples so far"
_RATIO_ORIGIN = "instrumented ÷ clean calls of the same minute"
#: Groups of rows that issue nothing to a library.
_NOT_DISPATCHED = ("view", "python", "blocking")


class PreparedReport(msgspec.Struct, frozen=True, kw_only=True):
    """What preparing found: the target as it is, its first call in seconds, and what the reader must know."""

    info: TargetInfo
    first_s: float | None
    load_s: float
    warnings: tuple[Caution, ...] = ()


class GroundTruthReport(msgspec.Struct, frozen=True, kw_only=True):
    """Level 1 with the sentinels and the clock state of the same seconds."""

    samples: Samples
    warmup: int
    steady: bool | None
    batched_s: Quantity | None
    overhead_s: float
    noise_floor: float | None
    sentinels: Sentinels
    clock: ClockState


class SplitReport(msgspec.Struct, frozen=True, kw_only=True):
    """Level 2: the split and the wall of a call while it was taken."""

    split: WallSplit
    wall_s: Quantity


class OperatorsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Level 3 with the clean wall taken between the instrumented calls, and the ratio of the two."""

    table: OpTable
    clean_s: Quantity
    ratio: Quantity


class _Session:
    """The prepared target of this process."""

    current: Prepared | None = None
    runs: tuple[CommandSample, ...] = ()


def _prepared() -> Prepared:
    if _Session.current is None:
        raise TargetFailed("a prepared target", found="none in this process", remedy="call prepare first")
    return _Session.current


def prepare(spec: TargetSpec) -> PreparedReport:
    """Load the target; its first call is part of that and timed apart.

    Raises:
        RidgelineError: whatever is wrong with the target, in one line.
    """
    prepared = prepare_target(spec)
    _Session.current = prepared
    return PreparedReport(info=prepared.info, first_s=prepared.first_s, load_s=prepared.load_s, warnings=tuple(prepared.warnings))


def ground_truth(
    budget_s: float, samples: int, at_least: int, device: Device | None = None, report: Callable[[Any], None] | None = None
) -> GroundTruthReport:
    """Level 1, with sentinels between the samples."""
    prepared = _prepared()
    loop = SentinelLoop(device, _own_cpu())
    watch = ClockWatch()
    watch.start()
    plan = harness.Plan(budget_s=budget_s, samples=samples, at_least=at_least)
    say = (lambda label, fraction: report([label, fraction])) if report else None
    keep = (lambda partial: report([KEEP, to_builtins(partial)])) if report else None
    if isinstance(prepared.flavour, ProcessFlavour):
        found, _Session.runs = commands.measure_command(prepared.call, plan=plan, sentinel=loop.run, report=say, keep=keep)
    else:
        found = harness.measure(prepared.call, synchronise=prepared.synchronise, plan=plan, sentinel=loop.run, report=say, keep=keep)
    seen = watch.stop()
    return GroundTruthReport(
        samples=found.samples,
        warmup=found.warmup,
        steady=found.steady,
        batched_s=found.batched_s,
        overhead_s=found.overhead_s,
        noise_floor=found.noise_floor,
        sentinels=_sentinels(found.samples, loop, seen),
        clock=seen.clock,
    )


def split(seconds: float) -> SplitReport:
    """Level 2: the wall split, over calls of their own."""
    prepared = _prepared()
    if isinstance(prepared.flavour, ProcessFlavour):
        return _split_runs(_inside(prepared), seconds)
    seen = wall_split.observe(prepared.call, synchronise=prepared.synchronise, seconds=seconds)
    return SplitReport(split=wall_split.split(seen), wall_s=median_of(seen.walls, "calls under the samplers"))


def _inside(prepared: Prepared) -> Callable[[], Any] | None:
    """What instruments that look inside this process call: the workload, or a script's source run here; `None` where the target is only ever
    outside."""
    if not isinstance(prepared.flavour, ProcessFlavour):
        return prepared.call
    return prepared.flavour.load(None) if prepared.flavour.load is not None else None


def _split_runs(inside: Callable[[], Any] | None, seconds: float) -> SplitReport:
    seen = None
    if inside is not None:
        inside()  # imports and caches, which the runs from outside have each time
        seen = wall_split.observe(inside, seconds=seconds)
    split = commands.split_command(_Session.runs, (seen.interpreter_samples, seen.cpu_samples) if seen else None)
    return SplitReport(split=split, wall_s=median_of([run.wall_s for run in _Session.runs], "runs of the command"))


def operators(seconds: float, iterations: int = 10) -> OperatorsReport:
    """Level 3: the framework's own operator profile, between bursts of clean calls.

    Raises:
        BackendUnavailable: neither onnxruntime nor torch runs this target.
    """
    prepared = _prepared()
    taken = _framework_profile(prepared, iterations)
    if taken is None:
        raise BackendUnavailable(
            "an operator profile of a framework", found=f"a {prepared.info.kind} target without one", remedy="the call recorder is used instead"
        )
    before = _burst(prepared.call, prepared.synchronise, seconds / 4)
    table = taken()
    clean = median_of([*before, *_burst(prepared.call, prepared.synchronise, seconds / 4)], "clean calls before and after the profile")
    return OperatorsReport(table=table, clean_s=clean, ratio=quotient(table.wall_s, clean, "1", origin=_RATIO_ORIGIN))


def recorded_operators(spec: TargetSpec, seconds: float, report: Callable[[Any], None] | None = None) -> OperatorsReport:
    """Level 3 of a Python program: its own calls recorded, between bursts of clean calls, in a process of its own.

    Raises:
        BackendUnavailable: not a Python target.
        TargetFailed: the program does not run with its calls recorded.
    """
    from .operators.python import profile

    prepared = prepare_target(spec)
    call = _inside(prepared)
    load = prepared.flavour.load if isinstance(prepared.flavour, PythonFlavour | ProcessFlavour) else None
    if load is None or call is None:
        raise BackendUnavailable("a Python program to record", found=f"a {prepared.info.kind} target", remedy="give a Python function or script")
    before = _burst(_warm(call, prepared.synchronise), prepared.synchronise, seconds / 4)
    table = profile(load, budget_s=seconds, synchronise=prepared.synchronise, report=report, user_files=prepared.user_files)
    # The recorder has replaced code inside live functions: clean calls afterwards need the source loaded once more.
    after = _burst(_warm(load(None), prepared.synchronise), prepared.synchronise, seconds / 4)
    clean = median_of([*before, *after], "clean calls before and after the recorded ones")
    return OperatorsReport(table=table, clean_s=clean, ratio=quotient(table.wall_s, clean, "1", origin=_RATIO_ORIGIN))


def _framework_profile(prepared: Prepared, iterations: int) -> Callable[[], OpTable] | None:
    if prepared.info.kind == "onnx":
        from .operators.onnxruntime import profile as profile_onnx

        return lambda: profile_onnx(prepared, iterations)
    if "torch" in sys.modules:
        from .operators.torch import count_operators, profile

        if count_operators(prepared.call):
            return lambda: profile(prepared.call, iterations=iterations, synchronise=prepared.synchronise)
    return None


def _warm(call: Callable[[], Any], synchronise: Callable[[Any], None] | None) -> Callable[[], Any]:
    """The call, made once."""
    result = call()
    if synchronise is not None:
        synchronise(result)
    return call


def _burst(call: Callable[[], Any], synchronise: Callable[[Any], None] | None, seconds: float) -> list[float]:
    """Walls of clean calls for about that long, at least two, at most a thousand."""
    walls: list[float] = []
    while len(walls) < 1000 and (len(walls) < 2 or sum(walls) < seconds):
        before = perf_counter()
        result = call()
        if synchronise is not None:
            synchronise(result)
        walls.append(perf_counter() - before)
    return walls


def dispatch(table: OpTable, device: Device | None = None) -> DispatchFit:
    """Cost of issuing one operator: fitted on the target's own kinds for torch, from the probe's fit for onnxruntime and numpy.

    Raises:
        BackendUnavailable: no fit for this kind of target.
    """
    prepared = _prepared()
    kinds = [row.kind for row in table.rows]
    if any(kind.startswith("aten::") for kind in kinds):
        from .operators.torch import fit_dispatch
        from .operators.torch.profiling import record_or_explain

        recorded, _ = record_or_explain(prepared.call)
        return fit_dispatch(recorded)
    library = "onnxruntime" if prepared.info.kind == "onnx" else "numpy"
    cost = device.cost("dispatch", library) if device else None
    if cost is None:
        raise BackendUnavailable(
            f"the probe's dispatch cost of {library}", found="none", remedy="run ridgeline probe --force with the library installed"
        )
    # onnxruntime runs a Reshape as a kernel like any other, although it moves nothing; numpy makes a view without a loop of its own.
    silent = _NOT_DISPATCHED if library == "numpy" else ("python", "blocking")
    issued = sum(row.calls for row in table.rows if row.group not in silent)
    return DispatchFit(per_operator_s=cost, operators=issued, library=library, how=f"operators × {cost.origin or 'the fitted cost in the probe'}")


def hot_spots(seconds: float) -> HotSpots:
    """Level 5: sampled lines of the calling thread, over calls of their own."""
    prepared = _prepared()
    inside = _inside(prepared)
    if inside is None:
        raise BackendUnavailable(
            "lines of a program that is not Python's", found="no instrument for it yet", remedy="give a Python function or script"
        )
    return stacks.sample_lines(inside, synchronise=prepared.synchronise, seconds=seconds, user_files=prepared.user_files)


def _own_cpu() -> int:
    return min(os.sched_getaffinity(0))


def _sentinels(samples: Samples, loop: SentinelLoop, seen: Any) -> Sentinels:
    wall, queue = float(np.sum(samples.wall_s.values * samples.inner.values)), samples.run_queue_s
    switches = samples.involuntary_switches
    return Sentinels(
        fma_ratio=loop.fma_ratio,
        stream_ratio=loop.stream_ratio,
        run_queue_share=float(queue.values.sum()) / wall if queue is not None and wall else None,
        steal_share=seen.clock.steal,
        involuntary_per_s=float(switches.values.sum()) / wall if switches is not None and wall else None,
        other_load=seen.other_load,
    )
