"""What every change of precision must be told before it is tried: that the person allows it, and that the machine has something to give.

Pure. Which precision the diagnosis proposes is decided there.
"""

from __future__ import annotations

from ridgeline.core import Device, Precision

from .base import Situation

__all__ = ["INT8", "not_allowed", "nothing_to_gain"]

#: Largest difference of an output, relative to its largest value, that an int8 copy may have: a step of an 8-bit range is 0.4 % of it, and errors of
#: a few layers add up.
INT8 = 5e-2
#: A ceiling this little above the one of fp32 pays for no conversion.
_LEAST_RATIO = 1.1


def not_allowed(precision: Precision, situation: Situation) -> str:
    """Why the person does not allow it; empty if they do."""
    return "" if precision in situation.precisions else f"it changes results; allow it with --allow-precision {precision}"


def nothing_to_gain(precision: Precision, device: Device | None) -> str:
    """Why multiply-adds of that precision are no faster than those of fp32 on this machine; empty where they are, or nothing is known."""
    if device is None:
        return ""
    now, then = _peak(device, "fp32"), _peak(device, precision)
    if now is None:
        return ""
    if then is None:
        return f"no {precision} ceiling of this machine is known: the probe found no instruction for it"
    if then <= _LEAST_RATIO * now:
        return f"the {precision} ceiling of this machine is {then / now:.1f}× the fp32 one"
    return ""


def _peak(device: Device, precision: Precision) -> float | None:
    rates = [point.rate.value for point in device.ceilings if point.engine == "fma" and point.precision == precision and point.level is None]
    return max(rates, default=None)
