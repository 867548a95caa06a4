"""A plan on a device in a state of the machine as a `Prediction`: every indicator with its interval and origin, or why it is not known.

This module decides what is asked of whom and how the answer is put together: roofs of the device, prices of its tasks, their sum, and what follows.
It measures nothing and reads no file: the plan comes from `tasks`, devices from the catalogue or a probe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, KernelParameters, OperatorPrediction, OutOfRange, Precision, Prediction, Quantity, SystemState, Workload
from ridgeline.core.quantity import Source
from ridgeline.core.units import format_quantity

from ..doubts import coded
from ..gpu.model import GpuModel
from ..operators.asked import PRODUCTS
from ..operators.assumed import assumed
from ..operators.pricing import Corrector, Priced, priced
from ..operators.roofs import Roofs, roofs
from .indicators import Prices, Teller, cost, energy, peak_memory, power
from .summing import Summed, summed
from .tasks import Plan

__all__ = ["Answered", "Knowledge", "Question", "answered", "predicted", "version_of"]

Floats = NDArray[np.float64]
#: More operators than this share without a time would make the sum a number of something else.
_MOST_MISSING = 0.1
#: Formats that a device may have instead of the one asked for, in the order in which they are taken.
_INSTEAD: tuple[Precision, ...] = ("bf16", "fp16", "fp8", "int8")


class Knowledge(NamedTuple):
    """Trained models, if there are any: `operators` of this or other machines, `gpus` of GPU operators."""

    operators: Corrector | None = None
    gpus: GpuModel | None = None


class Question(NamedTuple):
    """What is asked beside plan and device; null is whatever the plan or the device has."""

    batch: int | None = None
    precision: Precision | None = None
    state: SystemState | None = None
    kernel: KernelParameters | None = None
    prices: Prices = Prices()


class Answered(NamedTuple):
    """Operators of a plan on a device.

    `plan`: as it is executed; `under`: roofs of the device; `works`, `repeats` (N,), `prices`: of the tasks that have a workload, in their order;
    `reasons`: why the whole may be wrong.
    """

    plan: Plan
    under: Roofs
    works: tuple[Workload, ...]
    repeats: Floats
    prices: Priced
    reasons: tuple[str, ...]


def predicted(plan: Plan, device: Device, question: Question | None = None, known: Knowledge | None = None) -> Prediction:
    """What one call of a plan takes on a device.

    Args:
        plan: for its own batch and precision.
        device: of the catalogue, a file or a probe.
        question: batch, precision, state, kernels, prices.
        known: trained models; without them all numbers are analytical.

    Raises:
        OutOfRange: a device without ceilings, or without any precision that the plan could be converted to; a plan of which nothing is known.
        UsageError: a state or kernel that cannot be.
    """
    asked, trained = question or Question(), known or Knowledge()
    found = answered(plan, device, asked, trained)
    count, of = len(found.works), len(found.plan.tasks)
    if count < (1 - _MOST_MISSING) * of:
        first = next(task for task in found.plan.tasks if task.work is None)
        said = f"{of - count} of {of} without, the first {first.name}: {first.reason}"
        raise OutOfRange("a model of whose operators nearly all are known", found=said, remedy="bind its shapes with --shape")
    call = summed(found.plan, found.prices, found.repeats, found.under, asked.state)
    return coded(_prediction(found.plan, found.under, asked, trained, found.prices, call, [*found.reasons, *_missing(found.plan, call)]))


def answered(plan: Plan, device: Device, asked: Question, known: Knowledge) -> Answered:
    """What each operator of a plan takes on a device, as far as it is known.

    Raises:
        OutOfRange: as `predicted`, where no operator at all is known. UsageError: a state or kernel that cannot be.
    """
    if asked.batch is not None:
        plan = plan.batched(asked.batch)
    under = roofs(device, asked.state, plan.runtime)
    plan, reasons = _executed(plan, under, asked.precision)
    works = [task.work for task in plan.tasks if task.work is not None]
    if not works:
        raise OutOfRange("a model of which at least one operator is known", found=f"{plan.name}: none is", remedy="bind its shapes with --shape")
    touched = _touched(plan, works)
    if touched:
        works = [msgspec.structs.replace(work, reuse_bytes=touched) for work in works]
    prices = priced(works, under, asked.state, asked.kernel, corrector=known.operators, gpus=known.gpus)
    repeats = np.array([task.repeats for task in plan.tasks if task.work is not None])
    return Answered(plan, under, tuple(works), repeats, prices, tuple(reasons))


def _executed(plan: Plan, under: Roofs, wanted: Precision | None) -> tuple[Plan, list[str]]:
    """The plan in the precision that is asked for, or that the device has if it has not that of the plan."""
    reasons = list(plan.reasons)
    if wanted is not None and wanted != plan.precision:
        plan = plan.converted(wanted)
        reasons.append(f"taken as converted to {wanted} as a whole: what a converter leaves in another format is not known")
    try:
        under.peak(plan.precision)
    except OutOfRange:
        stated = {each.precision for each in under.device.ceilings if each.engine == "fma"}
        instead = next((each for each in _INSTEAD if each in stated), None)
        if instead is None or wanted is not None:
            raise
        reasons.append(f"{under.device.name} does not compute in {plan.precision}: the model is taken as converted to {instead} as a whole")
        return plan.converted(instead), reasons
    return _without_odd(plan, under), reasons


def _without_odd(plan: Plan, under: Roofs) -> Plan:
    """What is left of other formats in a plan goes along with the rest where the device does not have them."""
    odd = {task.work.precision for task in plan.tasks if task.work is not None} - {plan.precision, "any"}
    for precision in odd:
        try:
            under.peak(precision)
        except OutOfRange:
            return plan.converted(cast(Precision, plan.precision))
    return plan


def _touched(plan: Plan, works: Sequence[Workload]) -> float | None:
    """Bytes that a call touches between two uses of a weight: all weights and the most activations; a list of operators says its own."""
    held = plan.footprint
    if plan.runtime == "operators" and len(works) == 1 and plan.tasks[0].repeats <= 1:
        return None
    return None if held.weight_bytes is None else held.weight_bytes + (held.activation_bytes or 0.0)


def _missing(plan: Plan, call: Summed) -> list[str]:
    """What stands for itself of the operators of no family."""
    by: dict[str, set[str]] = {}
    for task in plan.tasks:
        if task.reason:
            by.setdefault(task.reason, set()).add(task.kind)
    return [f"{reason} ({', '.join(sorted(kinds))})" for reason, kinds in by.items()]


def _prediction(
    plan: Plan, under: Roofs, asked: Question, known: Knowledge, prices: Priced, call: Summed, reasons: list[str]
) -> Prediction:  # fmt: skip
    device, batch = under.device, plan.batch or 1
    tell = _teller(call, under, known)
    memory, watts = peak_memory(plan.footprint), power(call, under, tell, asked.state)
    joules = energy(watts, tell) if isinstance(watts, Quantity) else watts
    price = cost(device, batch, joules if isinstance(joules, Quantity) else None, tell, asked.prices)
    outer = under.levels[-1]
    moved = call.traffic[outer.name]
    unknown: dict[str, str] = {}

    def known_or(name: str, found: Quantity | str) -> Quantity | None:
        if isinstance(found, str):
            unknown[name] = found
            return None
        return found

    if moved > call.seconds * outer.ceiling_byte_per_s * (1 + 1e-9):
        gives, moves = (format_quantity(rate, "B/s") for rate in (outer.ceiling_byte_per_s, moved / call.seconds))
        reasons.append(f"moves {moves} of {outer.name} that gives {gives}: the time is too short or the traffic too high, and the share ends at 1")
    reasons += [said for said in (_contended(asked.state, outer.name, moved), _tensor_float(plan, under)) if said]
    fits = memory.value <= device.memory_bytes if isinstance(memory, Quantity) and device.memory_bytes is not None else None
    if fits is False and isinstance(memory, Quantity) and device.memory_bytes is not None:
        needs, has = format_quantity(memory.value, "B"), format_quantity(device.memory_bytes, "B")
        reasons.append(f"needs {needs} of a device that has {has}: it does not run there as a whole")
    if device.memory_bytes is None and device.kind != "cpu":
        reasons.append(f"the memory of {device.name} is not known: whether the model fits is not checked")
    return Prediction(
        device=device.name, latency_s=tell.made(call.seconds, call.low, call.high, "s"), batch=plan.batch, precision=plan.precision,
        state=_stated(asked.state, under), kernel=asked.kernel, compute_s=tell.part(call.compute_s),
        memory_s={name: tell.part(seconds) for name, seconds in call.memory_s.items()}, overhead_s=tell.part(call.overhead_s), split=_split(call),
        communication_s=tell.part(call.communication_s), throughput_per_s=tell.rate(batch, "count/s"),
        achieved_flop_per_s=tell.rate(call.flop, "FLOP/s"), peak_share=tell.share(call.peak_s), achieved_byte_per_s=tell.rate(moved, "B/s"),
        bandwidth_share=tell.share(moved / outer.ceiling_byte_per_s),
        level_share={
            each.name: tell.share(call.traffic[each.name] / each.ceiling_byte_per_s) for each in under.levels if each.ceiling_byte_per_s > 0
        },
        occupancy=known_or("occupancy", _occupancy(call, under, tell)), power_w=known_or("power_w", watts), energy_j=known_or("energy_j", joules),
        peak_memory_bytes=known_or("peak_memory_bytes", memory), fits=fits,
        cost_per_million=known_or("cost_per_million", price), currency="USD",
        price_date="" if asked.prices.hour is not None else device.price_date, basis=call.basis, data_version=version_of(known),
        out_of_range=tuple(dict.fromkeys((*reasons, *call.reasons))), bound=max(call.terms, key=lambda name: call.terms[name]),
        operators=_operators(plan, prices, call, tell), runtime=plan.runtime, unknown=unknown,
    )  # fmt: skip


def _stated(state: SystemState | None, under: Roofs) -> SystemState | None:
    """The state that was asked for, with what a probe has seen of it: another time it may be otherwise."""
    if under.device.cost("core-to-core") is None or under.threads < 2:
        return state
    return msgspec.structs.replace(state or SystemState(), core_to_core_s=under.core_to_core_s)


def _contended(state: SystemState | None, memory: str, moved: float) -> str:
    """What contention of the memory leaves out: neighbours fill caches as well, and what lives there is not slowed by it at all."""
    if state is None or not (state.memory_contention > 0 or any(each.byte_per_s > 0 for each in state.neighbours)):
        return ""
    if any(each.cache_bytes > 0 for each in state.neighbours):
        return "" if moved else f"nothing of a call comes from {memory}: contention there changes nothing"
    left_out = "how much neighbours fill of a shared cache is not given (a neighbour's fourth part, such as db:2:10GB/s:8MiB)"
    if moved:
        return f"contention is of {memory} alone: {left_out}"
    return f"nothing of a call comes from {memory}, all of it lives in caches: contention there changes nothing, and {left_out}"


def _tensor_float(plan: Plan, under: Roofs) -> str:
    """Libraries may multiply fp32 in TF32 where the device has it: a time several times shorter, for another precision."""
    stated = {each.precision for each in under.device.ceilings if each.engine == "fma"}
    products = any(task.work is not None and task.work.kind in PRODUCTS and task.work.precision == "fp32" for task in plan.tasks)
    if not products or not {"fp32", "tf32"} <= stated:
        return ""
    ratio = under.peak("tf32").matrix / under.peak("fp32").matrix
    return (
        f"products are in fp32 as it is: in TF32, with ten bits of mantissa, their peak on {under.device.name} is {ratio:.3g} times as high, "
        "and some libraries take it by themselves (--precision tf32)"
    )


def _split(call: Summed) -> dict[str, float]:
    total = sum(call.terms.values())
    return {name: seconds / total for name, seconds in sorted(call.terms.items(), key=lambda item: -item[1])}


def _occupancy(call: Summed, under: Roofs, tell: Teller) -> Quantity | str:
    if not under.units and under.kind == "gpu":
        return f"no source at hand for the execution units of {under.device.name}"
    return tell.even(min(1.0, call.occupancy), "1")


def _teller(call: Summed, under: Roofs, known: Knowledge) -> Teller:
    level = known.operators.level if known.operators is not None and call.basis != "analytic" else assumed().spread["level"]
    source: Source = "analytic" if call.basis == "analytic" else "learned"
    rests = "ceilings that were measured" if any(each.rate.source == "measured" for each in under.device.ceilings) else "its data sheet"
    origin = f"ridgeline formulas {assumed().version} on {rests}"
    if call.basis != "analytic":
        origin += f", corrected by {version_of(known)}"
    return Teller(call.seconds, call.low, call.high, level, source, origin)


def version_of(known: Knowledge) -> str:
    """Of the formulas, and of the data of what was trained."""
    trained = [each.data_version for each in (known.operators, known.gpus) if each is not None]
    return " + ".join((f"formulas {assumed().version}", *(text for text in trained if text)))


def _operators(plan: Plan, prices: Priced, call: Summed, tell: Teller) -> tuple[OperatorPrediction, ...]:
    found: list[OperatorPrediction] = []
    parts, place = prices.parts, 0
    moved = parts.read_bytes + parts.weight_bytes + parts.write_bytes
    for task in plan.tasks:
        if task.work is None:
            found.append(OperatorPrediction(name=task.name, kind=task.kind, latency_s=None, out_of_range=(task.reason,)))
            continue
        seconds, low, high = (float(values[place]) * task.repeats for values in (prices.seconds, prices.low, prices.high))
        basis = prices.basis[place]
        latency = Quantity(
            value=seconds, low=low, high=high, confidence=tell.level, unit="s", source="analytic" if basis == "analytic" else "learned",
            origin=tell.origin,
        )  # fmt: skip
        found.append(
            OperatorPrediction(
                name=task.name, kind=task.kind, latency_s=latency, share=min(1.0, seconds / call.seconds), bound=parts.bounds[parts.bound[place]],
                flop=float(parts.flop[place]) * task.repeats, bytes=float(moved[place]) * task.repeats, basis=basis,
                out_of_range=(task.reason,) if task.reason else (),
            )
        )  # fmt: skip
        found += [OperatorPrediction(name=name, kind="", latency_s=None, fused_into=task.name) for name in task.members]
        place += 1
    return tuple(found)
