"""Time over core and memory clocks, the voltage that a clock needs, and the clock that fits a power cap.

Decides how parts of the time and of the power scale. The parts come from a roofline or from a measurement at a reference clock. Sources: S. Eyerman
and L. Eeckhout, "A counter architecture for online DVFS profitability estimation", IEEE TC 59(11), 2010 (time = core part ÷ f + memory part); Q. Wang
and X. Chu, "GPGPU performance estimation with core and memory frequency scaling", IEEE TPDS 31(12), 2020; dynamic power C V² f: T. Mudge, "Power: a
first-class architectural design constraint", Computer 34(4), 2001.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from ._arrays import NON_NEGATIVE, POSITIVE, SHARE, Reals, larger, numbers, outside, smaller
from .overlap import combined

__all__ = ["capped_clock", "clock_power", "clocked_time", "voltage"]


def clocked_time(
    *,
    compute_s: ArrayLike,
    memory_s: ArrayLike,
    fixed_s: ArrayLike = 0.0,
    core_ratio: ArrayLike = 1.0,
    memory_ratio: ArrayLike = 1.0,
    overlap: ArrayLike = 1.0,
) -> Reals:
    """t = fixed + ω max(c/r_c, m/r_m) + (1 − ω)(c/r_c + m/r_m) in s.

    Args:
        compute_s, memory_s: c and m, seconds at the reference clocks, ≥ 0.
        fixed_s: seconds that no clock of the device changes (launch, host), ≥ 0.
        core_ratio, memory_ratio: clock ÷ reference clock, > 0.
        overlap: ω in [0, 1].

    Raises:
        UsageError: a number out of its range.

    Limits: caches in the core's clock domain make part of the memory time scale with the core; give that part as compute.

    >>> clocked_time(compute_s=2.0, memory_s=1.0, core_ratio=[1.0, 2.0, 4.0]).tolist()
    [2.0, 1.0, 1.0]
    """
    c, m, fixed, core, memory, share = numbers(
        compute_s=(compute_s, NON_NEGATIVE),
        memory_s=(memory_s, NON_NEGATIVE),
        fixed_s=(fixed_s, NON_NEGATIVE),
        core_ratio=(core_ratio, POSITIVE),
        memory_ratio=(memory_ratio, POSITIVE),
        overlap=(overlap, SHARE),
    )
    return fixed + combined([c / core, m / memory], share)


def voltage(clock_hz: ArrayLike, *, low_hz: ArrayLike, high_hz: ArrayLike, low_v: ArrayLike, high_v: ArrayLike) -> Reals:
    """V = V_low up to f_low, then linear to V_high at f_high, in V.

    Args:
        clock_hz: f, > 0, at most high_hz: above it nothing is known.
        low_hz, high_hz: ends of the linear part, > 0, low < high; low_v, high_v: voltages there, > 0, low ≤ high.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: a clock above high_hz, or ends in the wrong order.

    Source: X. Mei, Q. Wang, X. Chu, "A survey and measurement study of GPU DVFS on energy conservation", Digital Communications and Networks 3(2),
    2017 (a floor, then near linear). A device's own table is better where there is one.

    >>> voltage([5e8, 1e9, 1.5e9], low_hz=1e9, high_hz=2e9, low_v=0.8, high_v=1.0).tolist()
    [0.8, 0.8, 0.9]
    """
    f, f0, f1, v0, v1 = numbers(
        clock_hz=(clock_hz, POSITIVE), low_hz=(low_hz, POSITIVE), high_hz=(high_hz, POSITIVE), low_v=(low_v, POSITIVE), high_v=(high_v, POSITIVE)
    )
    outside(f0 >= f1, "low_hz", f0, "low_hz below high_hz", "exchange the two")
    outside(v0 > v1, "low_v", v0, "low_v at most high_v", "exchange the two")
    outside(f > f1, "clock_hz", f, "a clock at most high_hz", "extend the curve with a source")
    return _voltage(f, f0, f1, v0, v1)


def _voltage(f: Reals, f0: Reals, f1: Reals, v0: Reals, v1: Reals) -> Reals:
    return v0 + (v1 - v0) * larger(f - f0, 0.0) / (f1 - f0)


def clock_power(
    clock_hz: ArrayLike, *, volts: ArrayLike, reference_hz: ArrayLike, reference_v: ArrayLike, dynamic_w: ArrayLike, static_w: ArrayLike
) -> Reals:
    """P = P_static V/V₀ + P_dyn (V/V₀)² f/f₀ in W.

    Args:
        clock_hz, volts: f and V, > 0; reference_hz, reference_v: f₀ and V₀, > 0.
        dynamic_w, static_w: at the reference and its temperature, ≥ 0.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: volts that cannot be of the same device as the reference.

    Limits: leakage grows faster than linearly in V over a wide range; over the span of one device's table the difference is small.

    >>> round(float(clock_power(0.5e9, volts=0.8, reference_hz=1e9, reference_v=1.0, dynamic_w=100.0, static_w=20.0)), 9)
    48.0
    """
    f, v, f0, v0, dynamic, static = numbers(
        clock_hz=(clock_hz, POSITIVE),
        volts=(volts, POSITIVE),
        reference_hz=(reference_hz, POSITIVE),
        reference_v=(reference_v, POSITIVE),
        dynamic_w=(dynamic_w, NON_NEGATIVE),
        static_w=(static_w, NON_NEGATIVE),
    )
    outside(v > 100 * v0, "volts", v, "volts within a factor of 100 of the reference", "check both units")
    return _power(f, v, f0, v0, dynamic, static)


def _power(f: Reals, v: Reals, f0: Reals, v0: Reals, dynamic: Reals, static: Reals) -> Reals:
    return static * v / v0 + dynamic * (v / v0) ** 2 * f / f0


def capped_clock(
    *,
    cap_w: ArrayLike,
    dynamic_w: ArrayLike,
    static_w: ArrayLike,
    low_hz: ArrayLike,
    high_hz: ArrayLike,
    low_v: ArrayLike,
    high_v: ArrayLike,
    least_hz: ArrayLike,
    other_w: ArrayLike = 0.0,
) -> Reals:
    """The highest clock f ≤ f_high with other + P(f) ≤ cap, by halving (P rises with f), in Hz.

    Args:
        cap_w: power cap of the device, > 0.
        dynamic_w, static_w: of the core at f_high and V_high for this workload, ≥ 0.
        low_hz, high_hz, low_v, high_v: the curve, as `voltage`.
        least_hz: the lowest clock the device runs at, > 0, at most high_hz.
        other_w: memory, links and fans, which this clock does not change, ≥ 0.

    Raises:
        UsageError: a number out of its range.
        OutOfRange: a cap that not even the lowest clock keeps, or ends in the wrong order.

    >>> clock = capped_clock(cap_w=[200, 70], dynamic_w=100, static_w=20, low_hz=1e9, high_hz=2e9, low_v=0.8, high_v=1.0, least_hz=2e8)
    >>> [round(float(f) / 1e9, 3) for f in clock]
    [2.0, 1.373]
    """
    cap, dynamic, static, f0, f1, v0, v1, least, other = numbers(
        cap_w=(cap_w, POSITIVE),
        dynamic_w=(dynamic_w, NON_NEGATIVE),
        static_w=(static_w, NON_NEGATIVE),
        low_hz=(low_hz, POSITIVE),
        high_hz=(high_hz, POSITIVE),
        low_v=(low_v, POSITIVE),
        high_v=(high_v, POSITIVE),
        least_hz=(least_hz, POSITIVE),
        other_w=(other_w, NON_NEGATIVE),
    )
    outside(f0 >= f1, "low_hz", f0, "low_hz below high_hz", "exchange the two")
    outside(v0 > v1, "low_v", v0, "low_v at most high_v", "exchange the two")
    outside(least > f1, "least_hz", least, "least_hz at most high_hz", "exchange the two")

    def needs(clock: Reals) -> Reals:
        return other + _power(clock, _voltage(clock, f0, f1, v0, v1), f1, v1, dynamic, static)

    outside(needs(least) > cap, "cap_w", cap, "a cap that the lowest clock keeps", "raise the cap")
    low, high = least + 0.0 * cap, f1 + 0.0 * cap
    for _ in range(60):
        middle = (low + high) / 2.0
        fits = needs(middle) <= cap
        low, high = low + (middle - low) * fits, high - (high - middle) * ~fits
    whole = needs(f1) <= cap
    return smaller(low + (f1 - low) * whole, f1)
