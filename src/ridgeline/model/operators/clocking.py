"""The clock that a device runs at in a state: one that is set, or the highest under a power cap.

This module decides ratios to the clock at which the device's ceilings hold; what they do to time is decided in `roofs` and `estimates`. Under a cap
the voltage curve is assumed (`data/assumed.toml`), which is a reason. Of a board that accepts a cap below what is assumed to be drawn at a tenth
of the clock too much is assumed: under any cap its clock is only known to lie between that curve, at the least a tenth, and what the whole cap would
give the execution units; the middle is taken, so that a lower cap never gives a higher clock, and intervals span both.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ridgeline.core import Device, OutOfRange, SystemState

from ..analytic.dvfs import capped_clock
from .assumed import assumed

__all__ = ["Clock", "clock_ratio"]

#: A clock beyond the boost clock by more than this was not stated by anybody.
_ROUNDING = 1.001
_LEAST = 0.1


class Clock(NamedTuple):
    """`ratio`: clock ÷ the clock of the ceilings; `power`: most power ÷ design power; `slowest`, `fastest`: what the ratio may be, ÷ the ratio."""

    ratio: float
    power: float = 1.0
    slowest: float = 1.0
    fastest: float = 1.0


def clock_ratio(device: Device, state: SystemState, reasons: list[str]) -> Clock:
    """The clock in a state; what is not known is added to the reasons.

    Raises:
        OutOfRange: a cap that not even a tenth of the clock keeps, and that the board is not known to accept.
    """
    ratio = _set_clock(device, state, reasons)
    if state.power_cap_w is None:
        return Clock(ratio)
    if device.power_w is None:
        reasons.append(f"the power of {device.name} is not known: the power cap changes nothing here")
        return Clock(ratio)
    share = min(1.0, state.power_cap_w / device.power_w.value)
    if share >= 1.0:
        return Clock(ratio)
    held = assumed().power
    still = held.static_share + held.memory_share
    # Below half of the clock the voltage does not fall any more.
    least = still + (1.0 - still) * _LEAST * held.low_voltage**2
    least_w, lowest_w = least * device.power_w.value, math.inf if device.least_cap_w is None else device.least_cap_w.value
    keeps = share > least * _ROUNDING
    if not keeps and state.power_cap_w < lowest_w / _ROUNDING:
        found = f"{state.power_cap_w:g} W, and {least_w:.4g} W are taken to be drawn at a tenth of the clock"
        found += f"; {device.name} accepts {lowest_w:g} W" if lowest_w < math.inf else ""
        raise OutOfRange("a power cap that leaves power for work, by the shares of power that are assumed", found=found, remedy="raise the cap")
    slow = _highest(share, still) if keeps else _LEAST
    if lowest_w > least_w:
        reasons.append(f"the clock under {state.power_cap_w:g} W rests on an assumed curve of voltage: {slow:.2f} of the full clock at full load")
        return Clock(min(ratio, slow), share)
    fast = _highest(share, 0.0)
    drawn = f"what {device.name} draws beside its units under {state.power_cap_w:g} W is not known"
    reasons.append(f"{drawn}: the clock may be {slow:.2g} to {fast:.2f} of the full one")
    slow, fast, middle = (min(ratio, each) for each in (slow, fast, math.sqrt(slow * fast)))
    return Clock(middle, share, slow / middle, fast / middle)


def _highest(share: float, still: float) -> float:
    """The highest clock ÷ the full one under a share of the design power, of which `still` is drawn at any clock."""
    curve = assumed().power
    return float(
        capped_clock(
            cap_w=share, dynamic_w=1.0 - still, static_w=0.0, other_w=still, low_hz=0.5, high_hz=1.0, low_v=curve.low_voltage, high_v=1.0,
            least_hz=_LEAST,
        )
    )  # fmt: skip


def _set_clock(device: Device, state: SystemState, reasons: list[str]) -> float:
    if state.core_clock_hz is None:
        return 1.0
    if device.clock_hz is None:
        reasons.append(f"the clock of {device.name} is not known: the core clock that is set changes nothing here")
        return 1.0
    highest = max(each.value for each in (device.clock_hz, device.boost_clock_hz) if each is not None)
    if state.core_clock_hz > highest * _ROUNDING:
        reasons.append(f"a core clock of {state.core_clock_hz / 1e9:.3g} GHz is above the highest known of {device.name}, {highest / 1e9:.3g} GHz")
    return state.core_clock_hz / device.clock_hz.value
