"""What follows from the seconds, work and traffic of one call: rates, shares, power, energy, memory and cost, each with its interval and origin.

This module decides these figures only. Rates and shares have the interval of the latency, turned round; no end of a share is above 1. Power is the
static share of the design power and the rest by use (`analytic.power`); its shares are assumed, so that it is never surer than idle to design power.
"""

from __future__ import annotations

from typing import NamedTuple

from ridgeline.core import Device, Quantity, SystemState
from ridgeline.core.quantity import Source

from ..analytic.cost import cost_per_million, energy_cost_per_million
from ..analytic.power import unit_power
from ..operators.assumed import assumed
from ..operators.roofs import Roofs
from .summing import Summed
from .tasks import Footprint

__all__ = ["Prices", "Teller", "cost", "energy", "peak_memory", "power"]

_ABOVE = 2.0


class Prices(NamedTuple):
    """`hour`: USD of an hour of the device, null for the catalogue's; `kwh`: USD of a kilowatt-hour, null where energy is not paid for apart."""

    hour: float | None = None
    kwh: float | None = None


class Teller(NamedTuple):
    """Makes Quantities that are as sure as the latency of one call: seconds of it with ends, level, source and origin."""

    value: float
    low: float
    high: float
    level: float
    source: Source
    origin: str

    def part(self, seconds: float) -> Quantity:
        """Seconds that are a part of the latency."""
        return self.made(seconds, seconds * self.low / self.value, seconds * self.high / self.value, "s")

    def rate(self, amount: float, unit: str) -> Quantity:
        """An amount in a call over its latency."""
        return self.made(amount / self.value, amount / self.high, amount / self.low, unit)

    def share(self, seconds: float) -> Quantity:
        """Seconds at a ceiling over the latency: what would be above 1 is 1."""
        value = min(1.0, seconds / self.value)
        return self.made(value, min(value, seconds / self.high), max(value, min(1.0, seconds / self.low)), "1")

    def made(self, value: float, low: float, high: float, unit: str) -> Quantity:
        """A number with ends."""
        return Quantity(
            value=value, low=min(low, value), high=max(high, value), confidence=self.level, unit=unit, source=self.source, origin=self.origin
        )

    def even(self, value: float, unit: str) -> Quantity:
        """A number whose error is not that of the latency and that is known no better than the formulas say."""
        return Quantity.exact(value, unit, source=self.source, origin=self.origin)


def power(call: Summed, under: Roofs, tell: Teller, state: SystemState | None) -> Quantity | str:
    """Mean power in W, or why it is not known."""
    design = under.device.power_w
    if design is None:
        return f"no source at hand for the power of {under.device.name}"
    shares = assumed().power
    most = design.value * under.power_ratio
    if state is not None and state.power_cap_w is not None:
        most = min(most, state.power_cap_w)
    memory_s = call.traffic.get(under.levels[-1].name, 0.0) / under.levels[-1].ceiling_byte_per_s
    use = {"units": min(1.0, call.peak_s / call.seconds), "memory": min(1.0, memory_s / call.seconds)}
    dynamic = {"units": design.value * (1 - shares.static_share - shares.memory_share), "memory": design.value * shares.memory_share}
    still = min(most, design.value * shares.static_share)
    value = min(most, float(unit_power(static_w=still, dynamic_w=dynamic, utilisation=use)))
    origin = f"{shares.static_share:.0%} of the design power idle and the rest by use, which is assumed; between idle and design power"
    return Quantity(value=value, low=still, high=most, confidence=tell.level, unit="W", source="assumed", origin=origin)


def energy(watts: Quantity, tell: Teller) -> Quantity:
    """Energy of one call in J."""
    return Quantity(
        value=watts.value * tell.value, low=watts.low * tell.low, high=watts.high * tell.high, confidence=max(0.01, 2 * tell.level - 1), unit="J",
        source=watts.source, origin=watts.origin,
    )  # fmt: skip


def peak_memory(held: Footprint) -> Quantity | str:
    """Bytes at the worst moment: weights and live activations; a runtime's own needs come on top, up to as much again."""
    if held.weight_bytes is None or held.activation_bytes is None:
        return held.reason or "the sizes of its operands are not known"
    value = held.weight_bytes + held.activation_bytes
    origin = f"weights and live activations by lifetimes; workspaces of the runtime come on top, assumed to be at most as much again (× {_ABOVE:g})"
    return Quantity(value=value, low=value, high=_ABOVE * value, confidence=0.9, unit="B", source="analytic", origin=origin)


def cost(device: Device, batch: int, joules: Quantity | None, tell: Teller, prices: Prices) -> Quantity | str:
    """USD of a million items at the price of the device and of energy, or why it is not known."""
    hour = prices.hour if prices.hour is not None else device.price_per_hour.value if device.price_per_hour is not None else None
    if hour is None:
        # Energy alone would make a device without a price the cheapest of all.
        return "no price at hand: give --price, 0USD/h where only energy is paid for"
    if prices.kwh is not None and joules is None:
        return "energy is to be paid for, and the power is not known"
    ends = []
    for latency, spent in zip((tell.value, tell.low, tell.high), (joules.value, joules.low, joules.high) if joules else (0.0,) * 3, strict=True):
        paid = float(cost_per_million(hour, latency_s=latency, batch=batch)) if hour is not None else 0.0
        ends.append(paid + (float(energy_cost_per_million(spent, price_per_kwh=prices.kwh, batch=batch)) if prices.kwh is not None else 0.0))
    return tell.made(ends[0], ends[1], ends[2], "USD")
