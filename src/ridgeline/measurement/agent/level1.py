"""Level 1 in the child: the ground truth, with sentinels between the samples."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from ridgeline.core import ClockState, Device, Quantity, Samples, Sentinels
from ridgeline.core.documents import to_builtins
from ridgeline.machine import ClockWatch
from ridgeline.targets import ProcessFlavour

from .. import commands, harness
from ..core_to_core import CoreToCoreWatch
from ..sentinels import SentinelLoop
from .target import Session, held

__all__ = ["KEEP", "GroundTruthReport", "ground_truth"]

#: First item of a report that carries the samples so far.
KEEP = "samples so far"
#: Samples of a call that alone takes longer than the budget: one would say nothing about how it varies.
_LEAST_OF_LONG = 2


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


def ground_truth(
    budget_s: float, samples: int, at_least: int, device: Device | None = None, report: Callable[[Any], None] | None = None
) -> GroundTruthReport:
    """Level 1, with sentinels between the samples."""
    prepared = held()
    loop, apart = SentinelLoop(device, _own_cpu()), CoreToCoreWatch()
    watch = ClockWatch()
    watch.start()
    apart.look()

    def sentinel() -> None:
        loop.run()
        apart.look()

    long = (prepared.first_s or 0.0) > budget_s
    plan = harness.Plan(budget_s=budget_s, samples=samples, at_least=min(at_least, _LEAST_OF_LONG) if long else at_least)
    say = (lambda label, fraction: report([label, fraction])) if report else None
    keep = (lambda partial: report([KEEP, to_builtins(partial)])) if report else None
    if isinstance(prepared.flavour, ProcessFlavour):
        found, Session.runs = commands.measure_command(prepared.call, plan=plan, sentinel=sentinel, report=say, keep=keep)
    else:
        found = harness.measure(prepared.call, synchronise=prepared.synchronise, plan=plan, sentinel=sentinel, report=say, keep=keep)
    apart.look()
    seen = watch.stop()
    return GroundTruthReport(
        samples=found.samples,
        warmup=found.warmup,
        steady=found.steady,
        batched_s=found.batched_s,
        overhead_s=found.overhead_s,
        noise_floor=found.noise_floor,
        sentinels=_sentinels(found.samples, loop, seen),
        clock=msgspec.structs.replace(seen.clock, core_to_core=apart.taken()),
    )


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
