"""Which ceiling a kernel is judged against: like with like in engine, precision, threads, access mix and working set.

The device's table holds measured points; between working sets and thread counts this module interpolates, and near a capacity it says both ends.
It decides nothing about causes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ridgeline.core import Ceiling, Device, Engine, OperatorRow, Precision, Quantity

__all__ = ["arithmetic_ceiling", "bandwidth_ceiling", "computes_in", "lower_precisions", "mix_of", "smallest_precision"]

#: A working set is known to about this factor (allocator padding, shared caches, what else ran): the ceiling's interval spans it.
_WORKING_SET_DOUBT = 1.5
#: Precisions one may fall to, in order; what is already at the last has nothing below.
_LOWER: dict[Precision, tuple[Precision, ...]] = {
    "fp64": ("fp32",),
    "fp32": ("bf16", "fp16", "int8"),
    "bf16": ("int8",),
    "fp16": ("int8",),
}
#: Under this ratio of two ceilings the lower precision is not known to be faster.
_FASTER = 1.1
_ONE_INSTRUCTION: tuple[Engine, ...] = ("add", "reduce")


def arithmetic_ceiling(device: Device, engine: Engine, precision: Precision, threads: int, library: str = "") -> Quantity | None:
    """The best rate of an arithmetic engine at a precision and a thread count, FLOP/s or op/s.

    The same library is preferred, since a tanh is judged by the best tanh that the same stack has shown; else the fastest library. Between one
    thread and all the rate is interpolated linearly.

    Args:
        threads: threads that did the work, ≥ 1.
        library: `numpy`, `torch`, … or empty for the best.

    Returns:
        The ceiling, or `None` if the device was never measured on that engine and precision.
    """
    if engine in _ONE_INSTRUCTION:
        # An addition, a maximum or a step of a sum is one vector instruction an element, issued as fast as multiply-adds, which count as two. What a
        # library's own loop reaches is the bandwidth of the cache it was measured in, and that is the business of f_b.
        peak = arithmetic_ceiling(device, "fma", precision, threads)
        if peak is not None:
            return peak.scaled(0.5)
    points = [c for c in device.ceilings if c.engine == engine and c.precision == precision and c.level is None]
    own = [c for c in points if c.library == library]
    return _at_threads(own or points, threads)


def lower_precisions(device: Device, precision: Precision, threads: int) -> dict[Precision, float]:
    """Lower precisions whose multiply-adds are faster on this device, each with the ratio of its ceiling to the present one."""
    now = arithmetic_ceiling(device, "fma", precision, threads)
    if now is None:
        return {}
    found = {lower: arithmetic_ceiling(device, "fma", lower, threads) for lower in _LOWER.get(precision, ())}
    return {lower: rate.value / now.value for lower, rate in found.items() if rate is not None and rate.value > _FASTER * now.value}


def computes_in(row: OperatorRow, precision: Precision) -> bool:
    """Whether the operator's library has fast arithmetic of a precision.

    numpy has none narrower than fp32: it converts its float16 number by number, and its integer products are plain loops.
    """
    return precision in ("fp32", "fp64") or not row.kind.startswith(("numpy.", "scipy.")) or row.placement.device != "cpu"


def bandwidth_ceiling(device: Device, mix: Engine, threads: int, working_set_bytes: float) -> Quantity | None:
    """Achievable bandwidth in B/s for an access mix, threads and a working set, interpolated over the logarithm of the working set.

    The interval spans working sets from ÷1.5 to ×1.5, so that a kernel near a cache's capacity sees the warm and the cold ceiling.

    Returns:
        The ceiling, or `None` if no point of that mix is known.
    """
    points = [c for c in device.ceilings if c.engine == mix and c.working_set_bytes]
    by_threads: dict[int, list[Ceiling]] = {}
    for point in points:
        by_threads.setdefault(point.threads, []).append(point)
    curves = {n: sorted(curve, key=lambda c: c.working_set_bytes or 0) for n, curve in by_threads.items()}
    if not curves:
        # A specification: of its levels, DRAM alone holds whatever the working set is.
        levels = [c for c in device.ceilings if c.engine == mix]
        return _at_threads([c for c in levels if c.level == "DRAM"] or levels, threads)
    rates = {n: _span(curve, working_set_bytes) for n, curve in curves.items()}
    return _between(rates, threads)


def mix_of(read_bytes: float, write_bytes: float) -> Engine:
    """The access mix nearest to a kernel's reads and writes.

    >>> mix_of(100, 0), mix_of(100, 100), mix_of(200, 100), mix_of(0, 5)
    ('read', 'copy', 'triad', 'fill')
    """
    moved = read_bytes + write_bytes
    written = write_bytes / moved if moved else 0.0
    # Midpoints between the pure mixes: read 0, triad 1/3, copy 1/2, fill 1.
    if written < 1 / 6:
        return "read"
    if written < 5 / 12:
        return "triad"
    return "copy" if written < 3 / 4 else "fill"


def smallest_precision(device: Device) -> dict[Precision, float]:
    """Peak of the `fma` engine by precision at most threads, FLOP/s: what lowering the precision could buy on this device."""
    peaks: dict[Precision, float] = {}
    for point in device.ceilings:
        if point.engine == "fma" and point.level is None:
            peaks[point.precision] = max(peaks.get(point.precision, 0.0), point.rate.value)
    return peaks


def _at_threads(points: Iterable[Ceiling], threads: int) -> Quantity | None:
    best: dict[int, Quantity] = {}
    for point in points:
        if point.threads not in best or point.rate.value > best[point.threads].value:
            best[point.threads] = point.rate
    return _between(best, threads) if best else None


def _between(rates: dict[int, Quantity], threads: int) -> Quantity:
    """Interpolate linearly between the nearest thread counts; outside the known range the nearest one counts."""
    known = sorted(rates)
    if threads in rates:
        return rates[threads]
    below = max((n for n in known if n < threads), default=known[0])
    above = min((n for n in known if n > threads), default=known[-1])
    if below >= above:
        return rates[above if threads < known[0] else below]
    weight = (threads - below) / (above - below)
    return _blend(rates[below], rates[above], weight)


def _blend(first: Quantity, second: Quantity, weight: float) -> Quantity:
    def mixed(a: float, b: float) -> float:
        return a + (b - a) * weight

    return Quantity(
        value=mixed(first.value, second.value),
        low=mixed(first.low, second.low),
        high=mixed(first.high, second.high),
        confidence=min(first.confidence, second.confidence),
        unit=first.unit,
        source=first.source,
        origin=first.origin,
    )


def _span(curve: list[Ceiling], working_set_bytes: float) -> Quantity:
    centre = _on_curve(curve, working_set_bytes)
    warm = _on_curve(curve, working_set_bytes / _WORKING_SET_DOUBT)
    cold = _on_curve(curve, working_set_bytes * _WORKING_SET_DOUBT)
    return Quantity(
        value=centre.value,
        low=min(centre.low, warm.low, cold.low),
        high=max(centre.high, warm.high, cold.high),
        confidence=centre.confidence,
        unit=centre.unit,
        source=centre.source,
        origin=centre.origin,
    )


def _on_curve(curve: list[Ceiling], working_set_bytes: float) -> Quantity:
    sizes = [float(c.working_set_bytes or 0) for c in curve]
    if working_set_bytes <= sizes[0]:
        return curve[0].rate
    for left, right, a, b in zip(sizes, sizes[1:], curve, curve[1:], strict=False):
        if working_set_bytes <= right:
            return _blend(a.rate, b.rate, math.log(working_set_bytes / left) / math.log(right / left))
    return curve[-1].rate
