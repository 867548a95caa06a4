"""A benchmark's side of the child: one target, prepared once and sampled once. Every process imports this: what it does not need is elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ridgeline.core import Caution, plugins
from ridgeline.core.documents import to_builtins
from ridgeline.targets import Prepared, TargetSpec, leave_out_digests, prepare

from ..bench.plan import ProcessPlan
from ..bench.process import measure_process
from ..bench.report import Piece, ProcessReport

if TYPE_CHECKING:
    from ridgeline.targets import DeviceTimer

__all__ = ["measured", "run_process"]

#: Part of the time of a process that goes to calls whose stages are recorded, on top of it.
_STAGES_PART = 0.1


def run_process(
    spec: TargetSpec,
    plan: ProcessPlan,
    points: dict[str, dict[str, list[list[str]]]],
    described: bool = False,
    report: Callable[[Any], None] | None = None,
) -> ProcessReport:
    """Load the target, make its first call, and measure the following.

    Args:
        points: entry points as the parent found them.
        described: whether another process has described the target, so that its files need not be read for that again.
        report: given pieces of samples in plain form as they come.

    Raises:
        RidgelineError: whatever is wrong with the target, in one line.
    """
    plugins.take(points)
    if described:
        leave_out_digests()
    return measured(prepare(spec), plan, None if report is None else (lambda piece: report(to_builtins(piece))))


def measured(prepared: Prepared, plan: ProcessPlan, hand_over: Callable[[Piece], None] | None = None) -> ProcessReport:
    """Measure a prepared target in this process."""
    inputs = prepared.inputs if prepared.inputs is not None and len(prepared.inputs.names) > 1 else None
    timer = prepared.timer() if prepared.timer is not None else None
    input_of = inputs.order(plan.seed) if inputs is not None else None
    steps: list[Callable[[int], Any]] = []
    if inputs is not None and input_of is not None:
        select, number_of = inputs.select, input_of
        steps.append(lambda index: select(number_of(index)))
    if plan.cache == "cold":
        from ridgeline.machine.control import CacheEmptier  # late: it brings numpy, which a target may not need

        empty = CacheEmptier()
        steps.append(lambda index: empty())
    if timer is not None:
        begin = timer.begin
        steps.append(lambda index: begin())
    left = _left_over(prepared)  # before calls that nobody waits for pile up
    found = measure_process(
        prepared.call,
        plan,
        synchronise=_ending(timer, prepared.synchronise),
        before=_all(steps),
        before_batch=_all([*steps[: int(inputs is not None)], *([lambda index: timer.close()] if timer is not None else [])]),
        input_of=input_of,
        hand_over=hand_over,
    )
    device = timer.read() if timer is not None else None
    return ProcessReport(
        info=prepared.info,
        first_s=prepared.first_s,
        load_s=prepared.load_s,
        pieces=tuple(found.pieces),
        batches=found.batches.tobytes(),
        overhead=found.overhead,
        warnings=(*prepared.warnings, *_device_cautions(timer), *left),
        input_names=inputs.names if inputs is not None else (),
        stages=_stages(prepared, plan),
        device=b"" if device is None else device.tobytes(),
    )


def _ending(timer: DeviceTimer | None, wait: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """What is done with a result: the device's clock is told that the call has returned, then the result is waited for."""
    if timer is None or wait is None:
        return wait
    end, waits = timer.end, wait

    def ended(result: Any) -> None:
        end(result)
        waits(result)

    return ended


def _all(steps: list[Callable[[int], Any]]) -> Callable[[int], Any] | None:
    if len(steps) < 2:
        return steps[0] if steps else None

    def each(index: int) -> None:
        for step in steps:
            step(index)

    return each


def _device_cautions(timer: DeviceTimer | None) -> tuple[Caution, ...]:
    if timer is None or not timer.problem:
        return ()
    return (Caution(code="no-device-time", message=timer.problem, effect="only the host's clock timed the calls"),)


def _stages(prepared: Prepared, plan: ProcessPlan) -> dict[str, float]:
    # Looked up before the import: a process without stages does not pay for what measures them.
    if "ridgeline.measurement.stages.stage" not in sys.modules:
        return {}
    from ..bench.staged import stage_medians

    return stage_medians(prepared.call, prepared.synchronise, _STAGES_PART * plan.seconds)


def _left_over(prepared: Prepared) -> tuple[Caution, ...]:
    if prepared.check is None:
        return ()
    from ..bench.pending import left_over, left_over_caution

    left = left_over(prepared.call, prepared.synchronise, prepared.check)
    return (left_over_caution(prepared.synchronise is not None),) if left else ()
