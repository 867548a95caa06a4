"""`Prediction`: what a model says about an op or a graph on a device, split the way a measurement is."""

from __future__ import annotations

import msgspec

from .quantity import Quantity

__all__ = ["Prediction"]


class Prediction(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.prediction/1"):
    """Predicted indicators as Quantities; null where the model does not say.

    Args:
        latency_s: seconds of one call.
        compute_s, overhead_s, communication_s: its parts; `memory_s` by memory level.
        achieved_flop_per_s, peak_share, achieved_byte_per_s, bandwidth_share, occupancy: rates and shares of ceilings.
        power_w, energy_j, peak_memory_bytes, cost_per_million: the other indicators.
        out_of_range: reasons why the query lies outside what the model knows; empty when inside.
    """

    device: str
    latency_s: Quantity
    compute_s: Quantity | None = None
    memory_s: dict[str, Quantity] = {}
    overhead_s: Quantity | None = None
    communication_s: Quantity | None = None
    achieved_flop_per_s: Quantity | None = None
    peak_share: Quantity | None = None
    achieved_byte_per_s: Quantity | None = None
    bandwidth_share: Quantity | None = None
    occupancy: Quantity | None = None
    power_w: Quantity | None = None
    energy_j: Quantity | None = None
    peak_memory_bytes: Quantity | None = None
    cost_per_million: Quantity | None = None
    out_of_range: tuple[str, ...] = ()
