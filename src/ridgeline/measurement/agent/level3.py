"""Level 3 in the child: operators by the framework's profile or by the recorder of a program's own calls, and the cost of issuing one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from typing import Any

import msgspec

from ridgeline.core import BackendUnavailable, Device, DispatchFit, OpTable, Quantity, quotient
from ridgeline.targets import Prepared, ProcessFlavour, PythonFlavour, TargetSpec
from ridgeline.targets import prepare as prepare_target

from ..medians import median_of
from .target import held, inside

__all__ = ["OperatorsReport", "burst", "dispatch", "operators", "recorded_operators"]

_RATIO_ORIGIN = "instrumented ÷ clean calls of the same minute"
#: Groups of rows that issue nothing to a library.
_NOT_DISPATCHED = ("view", "python", "blocking")


class OperatorsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Level 3 with the clean wall taken between the instrumented calls, and the ratio of the two."""

    table: OpTable
    clean_s: Quantity
    ratio: Quantity


def operators(seconds: float, iterations: int = 10) -> OperatorsReport:
    """Level 3: the framework's own operator profile, between bursts of clean calls.

    Raises:
        BackendUnavailable: neither onnxruntime, OpenVINO nor torch runs this target.
    """
    prepared = held()
    taken = _framework_profile(prepared, seconds)
    if taken is None:
        raise BackendUnavailable(
            "an operator profile of a framework", found=f"a {prepared.info.kind} target without one", remedy="the call recorder is used instead"
        )
    before = burst(prepared.call, prepared.synchronise, seconds / 4)
    long = min(before) > seconds
    table = taken(1 if long else iterations)
    after = [] if long else burst(prepared.call, prepared.synchronise, seconds / 4)
    clean = median_of([*before, *after], "clean calls before and after the profile")
    return OperatorsReport(table=table, clean_s=clean, ratio=quotient(table.wall_s, clean, "1", origin=_RATIO_ORIGIN))


def recorded_operators(spec: TargetSpec, seconds: float, report: Callable[[Any], None] | None = None) -> OperatorsReport:
    """Level 3 of a Python program: its own calls recorded, between bursts of clean calls, in a process of its own.

    Raises:
        BackendUnavailable: not a Python target.
        TargetFailed: the program does not run with its calls recorded.
    """
    from ..operators.python import profile

    prepared = prepare_target(spec)
    call = inside(prepared)
    load = prepared.flavour.load if isinstance(prepared.flavour, PythonFlavour | ProcessFlavour) else None
    if load is None or call is None:
        raise BackendUnavailable("a Python program to record", found=f"a {prepared.info.kind} target", remedy="give a Python function or script")
    # Preparing has made the first call. One that alone takes longer than all that is allowed is not repeated to be surer.
    long = (prepared.first_s or 0.0) > seconds
    before = burst(call if long else _warm(call, prepared.synchronise), prepared.synchronise, seconds / 4)
    table = profile(load, budget_s=seconds, synchronise=prepared.synchronise, report=report, user_files=prepared.user_files)
    # The recorder has replaced code inside live functions: clean calls afterwards need the source loaded once more.
    after = [] if long else burst(_warm(load(None), prepared.synchronise), prepared.synchronise, seconds / 4)
    clean = median_of([*before, *after], "clean calls before and after the recorded ones")
    return OperatorsReport(table=table, clean_s=clean, ratio=quotient(table.wall_s, clean, "1", origin=_RATIO_ORIGIN))


def _framework_profile(prepared: Prepared, seconds: float) -> Callable[[int], OpTable] | None:
    """What takes a profile of so many iterations, where a framework runs the target."""
    if prepared.info.kind == "onnx":
        from ..operators.onnxruntime import profile as profile_onnx

        return lambda iterations: profile_onnx(prepared, iterations)
    if prepared.info.kind == "openvino":
        from ..operators.openvino import profile as profile_openvino

        return lambda iterations: profile_openvino(prepared, iterations, seconds / 2)
    if "torch" in sys.modules:
        from ..operators.torch import count_operators, profile

        if count_operators(prepared.call):
            return lambda iterations: profile(
                prepared.call, iterations=iterations, synchronise=prepared.synchronise, warmup=2 if iterations > 1 else 1
            )
    return None


def _warm(call: Callable[[], Any], synchronise: Callable[[Any], None] | None) -> Callable[[], Any]:
    """The call, made once."""
    result = call()
    if synchronise is not None:
        synchronise(result)
    return call


def burst(call: Callable[[], Any], synchronise: Callable[[Any], None] | None, seconds: float) -> list[float]:
    """Walls of clean calls for about that long, at least two unless the first alone takes four times as long, at most a thousand."""
    walls: list[float] = []
    while len(walls) < 1000 and (len(walls) < 2 or sum(walls) < seconds) and not (walls and walls[0] > 4 * seconds):
        before = perf_counter()
        result = call()
        if synchronise is not None:
            synchronise(result)
        walls.append(perf_counter() - before)
    return walls


def dispatch(table: OpTable, device: Device | None = None) -> DispatchFit:
    """Cost of issuing one operator: fitted on the target's own kinds for torch, on chains for LiteRT and OpenVINO, else from the probe.

    Raises:
        BackendUnavailable: no fit for this kind of target.
    """
    prepared = held()
    kinds = [row.kind for row in table.rows]
    if any(kind.startswith("aten::") for kind in kinds):
        from ..operators.torch import fit_dispatch
        from ..operators.torch.profiling import record_or_explain

        recorded, _ = record_or_explain(prepared.call)
        return fit_dispatch(recorded)
    if prepared.info.kind == "tflite":
        from ..operators.tflite import fit_dispatch as fit_litert

        return fit_litert(table.rows, prepared.info.threads)
    if prepared.info.kind == "openvino":
        from ..operators.openvino import fit_dispatch as fit_openvino

        return fit_openvino(table.rows, prepared.info.threads)
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
