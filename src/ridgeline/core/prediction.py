"""`Prediction`: what a model says about an op or a graph on a device, split the way a measurement is."""

from __future__ import annotations

from typing import Literal

import msgspec

from .caution import Caution
from .quantity import Quantity
from .query import KernelParameters, SystemState

__all__ = ["Basis", "Explanation", "OperatorPrediction", "Prediction", "PredictionReport", "Sensitivity"]

#: How a number came about: seen itself, between what was seen, from first principles, or by a trained model.
Basis = Literal["measured", "interpolated", "analytic", "learned"]


class OperatorPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """One operator of a graph.

    Args:
        name, kind: as in the graph.
        latency_s: of all of its executions in one call; null where the model does not know it.
        share: of the predicted latency.
        bound: what its time is: `compute`, a memory level, `overhead` or `communication`.
        basis: how its time came about; out_of_range: why it may be wrong.
        fused_into: the operator that does it along, whose time holds both; empty where it stands for itself.
    """

    name: str
    kind: str
    latency_s: Quantity | None
    share: float | None = None
    bound: str = ""
    flop: float | None = None
    bytes: float | None = None
    basis: Basis = "analytic"
    out_of_range: tuple[str, ...] = ()
    fused_into: str = ""


class Sensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """How the latency answers to one input.

    Args:
        input: `core clock`, `arithmetic`, a memory level's bandwidth, `dispatch`, `batch`, `precision`.
        elasticity: relative change of the latency of a call ÷ relative change of the input, from ±10 %; null where the input has no amount.
        change: what was changed, such as `±10 %` or `fp32 → fp16`.
        speedup: latency now ÷ latency after the change to the better.
    """

    input: str
    elasticity: float | None
    change: str
    speedup: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a prediction is what it is.

    Args:
        dominant: the term that takes most of the latency: `compute`, a memory level, `overhead`, `communication`.
        shares: by term, of the latency; an operator counts for the term that binds it.
        next_ceiling: the term that would take most if the dominant one cost nothing.
        headroom: latency now ÷ latency then: the most that attacking the dominant term can give.
        sensitivities: the strongest first.
        sentences: the same in words.
    """

    dominant: str
    shares: dict[str, float]
    next_ceiling: str
    headroom: float
    sensitivities: tuple[Sensitivity, ...] = ()
    sentences: tuple[str, ...] = ()


class Prediction(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.prediction/1"):
    """Predicted indicators as Quantities; null where the model does not say.

    Args:
        device: name of the device; batch, precision, state, kernel: what was asked.
        latency_s: seconds of one call.
        compute_s, overhead_s, communication_s: its parts, which overlap; `memory_s` by memory level.
        split: shares of the latency by what takes it, which add up to 1: `compute`, a memory level, `overhead`, `communication`.
        throughput_per_s: items (of the batch) in a second.
        achieved_flop_per_s, peak_share: rate and share of the peak of engine and precision.
        achieved_byte_per_s, bandwidth_share: of the memory; `level_share` of each level.
        occupancy: share of the execution units that has work.
        power_w, energy_j: mean power during the call, and energy of one call.
        peak_memory_bytes: weights, activations and what the runtime needs at the worst moment; fits: whether the device has as much, null
            where either is not known.
        cost_per_million: price of a million items, in `currency` at the prices of `price_date`.
        basis: how the latency came about.
        data_version: of the measurements that the model was trained or calibrated on, and of the model.
        out_of_range: reasons why the query lies outside what the model knows; empty when inside. `out_of_range_codes`: a code of each,
            in that order, which stays the same when its words get better.
        bound: what limits the latency; operators: its parts.
        runtime: that is taken to run it; unknown: field → why it is null.
        explanation: where it was asked for.
    """

    device: str
    latency_s: Quantity
    batch: int | None = None
    precision: str = ""
    state: SystemState | None = None
    kernel: KernelParameters | None = None
    compute_s: Quantity | None = None
    memory_s: dict[str, Quantity] = {}
    split: dict[str, float] = {}
    overhead_s: Quantity | None = None
    communication_s: Quantity | None = None
    throughput_per_s: Quantity | None = None
    achieved_flop_per_s: Quantity | None = None
    peak_share: Quantity | None = None
    achieved_byte_per_s: Quantity | None = None
    bandwidth_share: Quantity | None = None
    level_share: dict[str, Quantity] = {}
    occupancy: Quantity | None = None
    power_w: Quantity | None = None
    energy_j: Quantity | None = None
    peak_memory_bytes: Quantity | None = None
    fits: bool | None = None
    cost_per_million: Quantity | None = None
    currency: str = ""
    price_date: str = ""
    basis: Basis = "analytic"
    data_version: str = ""
    out_of_range: tuple[str, ...] = ()
    out_of_range_codes: tuple[str, ...] = ()
    bound: str = ""
    operators: tuple[OperatorPrediction, ...] = ()
    runtime: str = ""
    unknown: dict[str, str] = {}
    explanation: Explanation | None = None


class PredictionReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.predict/1"):
    """One model on several devices, batches, precisions or states.

    Args:
        model: what was asked about.
        predictions: one for each case, in the order asked.
        warnings: what could change how the numbers are read.
    """

    model: str
    predictions: tuple[Prediction, ...]
    warnings: tuple[Caution, ...] = ()
