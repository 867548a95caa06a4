"""The clock that a device runs at in a state: one that is set, or the highest under a power cap.

This module decides ratios to the clock at which the device's ceilings hold; what they do to time is decided in `roofs` and `estimates`. Under a cap
the voltage curve is assumed (`data/assumed.toml`), which is a reason.
"""

from __future__ import annotations

from ridgeline.core import Device, OutOfRange, SystemState

from ..analytic.dvfs import capped_clock
from .assumed import assumed

__all__ = ["clock_ratio"]

#: A clock beyond the boost clock by more than this was not stated by anybody.
_ROUNDING = 1.001
_LEAST = 0.1


def clock_ratio(device: Device, state: SystemState, reasons: list[str]) -> tuple[float, float]:
    """(Clock ÷ the clock of the ceilings, most power ÷ design power); what is not known is added to the reasons.

    Raises:
        OutOfRange: a cap that not even a tenth of the clock keeps.
    """
    ratio = _set_clock(device, state, reasons)
    if state.power_cap_w is None:
        return ratio, 1.0
    if device.power_w is None:
        reasons.append(f"the power of {device.name} is not known: the power cap changes nothing here")
        return ratio, 1.0
    share = min(1.0, state.power_cap_w / device.power_w.value)
    if share >= 1.0:
        return ratio, 1.0
    held = assumed().power
    still = held.static_share + held.memory_share
    # Below half of the clock the voltage does not fall any more.
    least = still + (1.0 - still) * _LEAST * held.low_voltage**2
    if share <= least * _ROUNDING:
        found = f"{state.power_cap_w:g} W, and {least * device.power_w.value:.4g} W are taken to be drawn at a tenth of the clock"
        raise OutOfRange("a power cap that leaves power for work, by the shares of power that are assumed", found=found, remedy="raise the cap")
    clock = capped_clock(
        cap_w=share, dynamic_w=1.0 - still, static_w=0.0, other_w=still, low_hz=0.5, high_hz=1.0, low_v=held.low_voltage, high_v=1.0, least_hz=_LEAST
    )
    reasons.append(f"the clock under {state.power_cap_w:g} W rests on an assumed curve of voltage: {float(clock):.2f} of the full clock at full load")
    return min(ratio, float(clock)), share


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
