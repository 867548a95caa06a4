"""One operator on a GPU as a `Prediction`, with where each number is from and why it may be wrong.

This module decides what is refused and what is flagged: another kind of device and a family without a form are refused; a precision that was never
measured, a GPU unlike all known ones, shapes beyond what they have seen, and states that the model does not know are flagged.
"""

from __future__ import annotations

from collections.abc import Collection

from ridgeline.core import Device, KernelParameters, OutOfRange, Prediction, Quantity, SystemState, Workload

from ..learned.unseen import NEAR_FLOOR
from .constants import constants
from .model import Answer, GpuModel, answer
from .sheet import GpuSheet, node_energy, sheet
from .training import LEVEL

__all__ = ["predicted"]

_ORIGIN = "ridgeline GPU model"
_ANY_CLOCK = "a memory clock that is set: the data sheet's bandwidth is taken"


def predicted(
    model: GpuModel, work: Workload, device: Device, state: SystemState | None = None, kernel: KernelParameters | None = None, *,
    in_network: bool = False, without: Collection[str] = (),
) -> Prediction:  # fmt: skip
    """How long one operator takes on a GPU, and why.

    Args:
        model: as trained.
        work: fp32; device: a GPU with a data sheet; state: see `sheet`.
        kernel: tiles and work-groups: the library chooses them, so that they are only kept.
        in_network: in the middle of a long run: without the host's launch, at the clock that the board can hold.
        without: known devices that are not asked.

    Raises:
        OutOfRange: no GPU, one whose kernels are not known, or a family or precision that has no form. UsageError: sizes that cannot be.
    """
    if work.precision not in ("fp32", "any") or (work.weight_precision or work.precision) != work.precision:
        found = f"{work.precision} with weights in {work.weight_precision or work.precision}"
        raise OutOfRange("a precision that GPUs were measured in: fp32", found=found, remedy="measure it, or ask in fp32")
    if work.sparsity is not None:
        raise OutOfRange("dense operands", found=f"{work.sparsity.pattern} sparsity", remedy="ask for the dense operator")
    gpu = sheet(device, state)
    given = answer(model, work.kind, work.variant, work.sizes, gpu, layout=work.layout, heat=1.0 if in_network else None, without=without)
    seconds = float(given.seconds[0])
    kernel_s = seconds if in_network else max(seconds, given.floor_s)
    # The bounds are of what one call after the other takes, so that they hold about the launch where that is longer.
    ends = (kernel_s * float(given.low_s[0]) / seconds, kernel_s * float(given.high_s[0]) / seconds)
    made = given.kernels
    flop, moved = float(made.flop[0]), float(made.bytes[0])
    latency = _learned(kernel_s, *ends, "s")
    peak = gpu.matrix_flop_per_s if work.kind == "gemm" else gpu.vector_flop_per_s
    compute, memory = float(made.compute[0]), float(made.memory[0])
    power, energy = _power(given, gpu, kernel_s)
    rate = _rate(flop, latency, "FLOP/s") if flop else None
    return Prediction(
        device=device.name, latency_s=latency, precision=work.precision, state=state, kernel=kernel,
        compute_s=_analytic(compute, "s"), memory_s={"DRAM": _analytic(memory, "s")},
        overhead_s=_analytic(max(0.0, kernel_s - max(compute, memory)), "s"),
        achieved_flop_per_s=rate, peak_share=_share(rate, peak) if rate else None,
        achieved_byte_per_s=_rate(moved, latency, "B/s"), bandwidth_share=_share(_rate(moved, latency, "B/s"), gpu.dram_byte_per_s),
        occupancy=_analytic(float(made.occupancy[0]), "1"), power_w=power, energy_j=energy, basis="analytic" if given.unlike else "learned",
        data_version=model.data_version, out_of_range=_reasons(given, work, device, gpu, state), bound=_bound(given, kernel_s),
    )  # fmt: skip


def _reasons(found: Answer, work: Workload, device: Device, gpu: GpuSheet, state: SystemState | None) -> tuple[str, ...]:
    reasons = []
    if found.unlike:
        reasons.append(f"no measured GPU is like {device.name}: the analytical form answers alone")
    elif bool(found.outside[0]):
        sizes = ", ".join(f"{name} {size}" for name, size in work.sizes.items())
        reasons.append(f"{work.kind} with {sizes} lies beyond all operators that were measured")
    if gpu.name in constants().dies:
        reasons.append(f"one of the {constants().dies[gpu.name]} dies of {gpu.name}: a program sees each as a device of its own")
    if gpu.generation.compared:
        reasons.append(
            f"no {gpu.architecture} with {gpu.generation.lanes} lanes was measured; its share of the peak is from {gpu.generation.compared}"
        )
    if state is not None:
        unknown = {"memory_clock_hz": _ANY_CLOCK, "temperature_k": "a temperature", "threads": "host threads", "neighbours": "neighbours by name"}
        reasons += [f"the model does not know {text}" for name, text in unknown.items() if getattr(state, name)]
    return tuple(reasons)


def _bound(found: Answer, kernel_s: float) -> str:
    if kernel_s > float(found.seconds[0]) or found.floor_s > NEAR_FLOOR * float(found.kernels.seconds[0]):
        return "overhead"
    return "compute" if found.kernels.compute[0] >= found.kernels.memory[0] else "DRAM"


def _power(found: Answer, gpu: GpuSheet, seconds: float) -> tuple[Quantity, Quantity]:
    """Between what the arithmetic and the operands draw and what the board may: no power was measured, so that the middle is all that can be said."""
    energy = constants().energy
    scale = node_energy(gpu.node_nm) * (energy.matrix_share if gpu.amd else 1.0)
    drawn_j = (float(found.kernels.flop[0]) * energy.flop_j + float(found.kernels.bytes[0]) * energy.near_byte_j) * scale
    least = min(gpu.power_w, drawn_j / seconds)
    origin = f"{_ORIGIN}: between {energy.flop_j * 1e12:g} pJ a FLOP at 12 nm and the power of the board; no power was measured"
    watts = (least + gpu.power_w) / 2
    power = Quantity(value=watts, low=least, high=gpu.power_w, confidence=LEVEL, unit="W", source="assumed", origin=origin)
    return power, _over(power, seconds)


def _over(power: Quantity, seconds: float) -> Quantity:
    """What a power comes to over so many seconds, J."""
    ends = (power.value * seconds, power.low * seconds, power.high * seconds)
    return Quantity(value=ends[0], low=ends[1], high=ends[2], confidence=power.confidence, unit="J", source=power.source, origin=power.origin)


def _learned(value: float, low: float, high: float, unit: str) -> Quantity:
    ends = (min(low, value), max(high, value))
    return Quantity(value=value, low=ends[0], high=ends[1], confidence=LEVEL, unit=unit, source="learned", origin=_ORIGIN)


def _analytic(value: float, unit: str) -> Quantity:
    return Quantity.exact(value, unit, source="analytic", origin=_ORIGIN)


def _rate(amount: float, latency: Quantity, unit: str) -> Quantity:
    return Quantity(
        value=amount / latency.value, low=amount / latency.high, high=amount / latency.low, confidence=latency.confidence, unit=unit,
        source="learned", origin=_ORIGIN,
    )  # fmt: skip


def _share(rate: Quantity, peak: float) -> Quantity:
    """Of a ceiling: an end above it cannot be, and is the ceiling."""
    value = min(1.0, rate.value / peak)
    return Quantity(
        value=value, low=min(value, rate.low / peak), high=max(value, min(1.0, rate.high / peak)), confidence=rate.confidence, unit="1",
        source="learned", origin=_ORIGIN,
    )  # fmt: skip
