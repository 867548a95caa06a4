"""Seconds of a kernel from its workload, a device and the state of the machine: what the forms, the constants and the host's floor make together.

This module decides which form a family has here, the interval, and what lies out of range. A kernel that takes less than hosts are known to need for
one launch may wait for its host: with `SystemState.dispatch_s` time = (dispatch⁴ + kernel⁴)^(1/4), without it the answer says that it is the device's
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Device, OutOfRange, Precision, SystemState, Workload

from ..analytic.attention import attention
from ..families import demand, sizes_of
from .attention import attention_cost, attention_seconds
from .calibrated import GemmRows, log_constants, log_time
from .constants import constants
from .experts import expert_cost
from .gemm import Weights, gemm_cost
from .sheet import kernel_sheet

__all__ = ["FAMILIES", "KernelTimes", "kernel_times", "workload_times"]

Floats = NDArray[np.float64]
Sizes = Mapping[str, Floats]

#: Families that have a form here.
FAMILIES = ("gemm", "attention", "moe", "normalisation", "elementwise", "gather", "copy", "collective")
#: 95 % quantile of a normal distribution: half-width at 90 %.
_NORMAL_90 = 1.645
_BYTES = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5625, "int4": 0.5}
_LINK = "NVLink"


class KernelTimes(NamedTuple):
    """N kernels, (N,) each.

    `seconds`, with `low` and `high` at 90 %; `compute`, `memory`: at sustained rates, s; `flop`, `bytes`: at the least; `out_of_range`: reason →
    which.
    """

    seconds: Floats
    low: Floats
    high: Floats
    compute: Floats
    memory: Floats
    flop: Floats
    bytes: Floats
    out_of_range: dict[str, NDArray[np.bool_]]


class _Form(NamedTuple):
    """Without the host, and not yet with intervals; `floor_s`: of hosts that were recorded."""

    seconds: Floats
    compute: Floats
    memory: Floats
    flop: Floats
    bytes: Floats
    spread: float
    floor_s: float


_Maker = Callable[[Sizes, Device, Precision, str, SystemState], _Form]


def workload_times(workload: Workload, device: Device, state: SystemState | None = None) -> KernelTimes:
    """`kernel_times` of one workload; raises as it, and `OutOfRange` for weights that are stored in another format than they are multiplied in."""
    stored = workload.weight_precision
    if workload.kind in ("gemm", "moe") and stored not in (None, workload.precision):
        raise OutOfRange("weights in the format of the arithmetic", found=f"{stored} for {workload.precision}", remedy="measure such kernels")
    if workload.sparsity is not None:
        raise OutOfRange("dense operands", found=f"sparsity {workload.sparsity.pattern}", remedy="measure such kernels")
    return kernel_times(workload.kind, workload.sizes, device, workload.precision, variant=workload.variant, state=state)


def kernel_times(
    kind: str, sizes: Mapping[str, object], device: Device, precision: Precision, *, variant: str = "", state: SystemState | None = None
) -> KernelTimes:
    """Seconds of many kernels of one family.

    Args:
        kind: one of `FAMILIES`; sizes: of `ridgeline.model.families`, numbers or arrays that broadcast.
        precision: of the arithmetic.
        variant: `block` in it for products with a scale by block; `cache fp8` for attention over such a cache.
        state: with `dispatch_s` where the host's floor is known.

    Raises:
        OutOfRange: another family, groups of products, no constants for the precision, or a data sheet that lacks a number. UsageError: as
            `sizes_of`.
    """
    form = _FORMS.get(kind)
    if form is None:
        raise OutOfRange(f"an operator of {', '.join(FAMILIES)}", found=repr(kind), remedy="measure it")
    state = state or SystemState()
    full = {name: np.atleast_1d(values).astype(np.float64) for name, values in sizes_of(kind, sizes).items()}
    found = form(full, device, precision, variant, state)
    reasons = _beyond(kind, full)
    seconds = found.seconds
    if state.dispatch_s:
        large, small = np.maximum(seconds, state.dispatch_s), np.minimum(seconds, state.dispatch_s)
        seconds = np.asarray(large * (1.0 + (small / large) ** 4) ** 0.25)
    elif state.dispatch_s is None:
        waits = seconds < found.floor_s
        if waits.any():
            reasons[f"host floor unknown: hosts are known to need up to {found.floor_s * 1e6:.3g} µs for one launch; give dispatch_s"] = waits
    factor = np.exp(_NORMAL_90 * found.spread)
    return KernelTimes(seconds, seconds / factor, seconds * factor, found.compute, found.memory, found.flop, found.bytes, reasons)


def _beyond(kind: str, sizes: Sizes) -> dict[str, NDArray[np.bool_]]:
    """Sizes further than four times beyond what was recorded."""
    found: dict[str, NDArray[np.bool_]] = {}
    for seen in constants().seen:
        if seen.kind == kind:
            for name, (least, most) in seen.sizes.items():
                outside = (sizes[name] * 4 < least) | (sizes[name] > 4 * most)
                if outside.any():
                    found[f"{name} of {kind} outside of {least:g} to {most:g}, which were recorded"] = outside
    return found


def _quantised(variant: str) -> str:
    return "block" if "block" in variant.split() else ""


def _unknown(what: str, precision: str, variant: str) -> OutOfRange:
    found = f"{precision} {variant}".strip()
    return OutOfRange(f"{what} in a precision that was recorded", found=found, remedy="measure a few and fit its constants")


def _gemm(sizes: Sizes, device: Device, precision: Precision, variant: str, state: SystemState) -> _Form:
    known = constants().product_of(precision, _quantised(variant))
    if known is None:
        raise _unknown("products", precision, variant)
    if (sizes["groups"] > 1).any():
        raise OutOfRange("products with one right operand", found="groups of them", remedy="measure them")
    sheet = kernel_sheet(device, precision, state)
    m, n, k = sizes["batch"] * sizes["m"], sizes["n"], sizes["k"]
    weights = Weights(known.compute, known.memory, known.wave_s)
    cost = gemm_cost(m, n, k, sheet, in_bytes=known.in_bytes, out_bytes=2.0, weights=weights)
    rows = GemmRows(m, k, cost, np.full_like(m, sheet.units), np.full_like(m, sheet.byte_per_s))
    seconds = np.exp(log_time(rows, log_constants(known)))
    moved = known.in_bytes * k * (m + n) + 2.0 * m * n
    return _Form(seconds, known.compute * cost.compute, known.memory * cost.memory, 2.0 * m * n * k, moved, known.spread, known.floor_seen_s)


def _attention(sizes: Sizes, device: Device, precision: Precision, variant: str, state: SystemState) -> _Form:
    if not (sizes["causal"] > 0).all():
        raise OutOfRange("causal attention", found="attention of all pairs", remedy="measure it")
    if precision not in ("bf16", "fp16", "fp8"):
        raise _unknown("attention", precision, variant)
    cache = variant.rpartition("cache ")[2].split(" ")[0] if "cache " in variant else precision
    window = np.where(sizes["window"] > 0, np.minimum(sizes["window"], sizes["keys"]), sizes["keys"])
    work = attention(
        batch=sizes["batch"], heads=sizes["heads"], kv_heads=sizes["kv_heads"], queries=sizes["queries"], keys=sizes["keys"],
        key_dim=sizes["head_size"], window=window,
    )  # fmt: skip
    sheet, element, kept = kernel_sheet(device, precision, state), _BYTES[precision], _BYTES.get(cache, 2.0)
    cost = attention_cost(work, sheet, element_bytes=element, kv_element_bytes=kept)
    prefill, decode = constants().attention_of("prefill"), constants().attention_of("decode")
    whole = cost
    if (sizes["queries"] <= 1).any():
        whole = attention_cost(work, sheet, element_bytes=element, kv_element_bytes=kept, split=False)
    seconds = attention_seconds(whole, prefill)
    # The kernel of many queries answers one as well, where that is faster.
    seconds = np.where(sizes["queries"] <= 1, np.minimum(seconds, attention_seconds(cost, decode)), seconds)
    floor = (constants().product_of("bf16") or constants().product[0]).floor_seen_s
    return _Form(seconds, cost.compute, cost.memory, cost.flop, cost.bytes, max(prefill.spread, decode.spread), floor)


def _moe(sizes: Sizes, device: Device, precision: Precision, variant: str, state: SystemState) -> _Form:
    known = constants().experts_of(precision, _quantised(variant))
    if known is None:
        raise _unknown("experts", precision, variant)
    if (sizes["shared"] > 0).any():
        raise OutOfRange("routed experts alone", found="shared ones among them", remedy="ask for the shared ones as products")
    sheet = kernel_sheet(device, precision, state)
    cost = expert_cost(sizes["tokens"], sizes["hidden"], sizes["inner"], sizes["experts"], sizes["active"], sheet, in_bytes=_BYTES[precision])
    compute, memory = known.compute * cost.compute, known.memory * cost.memory
    return _Form(known.launch_s + np.hypot(compute, memory), compute, memory, cost.flop, cost.bytes, known.spread, 0.0)


def _passing(kind: str) -> _Maker:
    """Operators that pass over their operands once."""

    def form(sizes: Sizes, device: Device, precision: Precision, variant: str, state: SystemState) -> _Form:
        rows = constants().rows
        asked = demand(kind, sizes)
        moved = (asked.inputs + asked.weights + asked.outputs) * _BYTES.get(precision, 4.0)
        memory = moved / (_rate(device, state) * rows.share)
        floor = (constants().product_of("bf16") or constants().product[0]).floor_seen_s
        return _Form(rows.launch_s + memory, np.zeros_like(memory), memory, asked.flop, moved, rows.spread, floor)

    return form


def _rate(device: Device, state: SystemState) -> float:
    return kernel_sheet(device, "bf16", state).byte_per_s


def _collective(sizes: Sizes, device: Device, precision: Precision, variant: str, state: SystemState) -> _Form:
    """A ring: 2 (n − 1) steps and 2 (n − 1) ÷ n of the vector over the link."""
    link = next((port.bandwidth.value for port in device.ports if port.name == _LINK), None)
    if link is None:
        raise OutOfRange("a device with NVLink", found=device.name, remedy="give the time of the collectives from `analytic.collectives`")
    known, ranks = constants().collective, sizes["ranks"]
    moved = sizes["elements"] * _BYTES.get(precision, 4.0) * 2.0 * (ranks - 1.0) / ranks
    memory = moved / (link * known.share)
    seconds = known.start_s + 2.0 * (ranks - 1.0) * known.step_s + memory
    return _Form(seconds, np.zeros_like(memory), memory, np.zeros_like(memory), moved, known.spread, 2e-5)


_FORMS: Mapping[str, _Maker] = {
    "gemm": _gemm, "attention": _attention, "moe": _moe, "collective": _collective,
    **{kind: _passing(kind) for kind in ("normalisation", "elementwise", "gather", "copy")},
}  # fmt: skip
