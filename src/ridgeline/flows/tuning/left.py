"""What the roofline says is left of a configuration: its work at the ceilings of the probe or of the catalogue, against the time that it took.

Operations are held against multiply-adds on all threads in the format of the arguments; bytes against the fastest read or write of a working set as
large, since what fits into a cache stays there from run to run. It is a lower bound of the time, not a promise.
"""

from __future__ import annotations

from collections.abc import Iterable

from ridgeline.core import Ceiling, Device, RooflineLeft
from ridgeline.core.units import format_quantity

__all__ = ["bandwidth_ceilings", "compute_ceiling", "roofline_left"]

_FORMATS = {"float32": "fp32", "float64": "fp64", "float16": "fp16", "int8": "int8"}
#: Beyond a ceiling by more than this, the ceiling or the work is wrong, and nothing is said.
_ABOVE = 1.1


def roofline_left(device: Device, seconds: float, flop: float | None, traffic_bytes: float | None, dtypes: Iterable[str]) -> RooflineLeft | None:
    """Null where there is no ceiling for the work, or it seems to be exceeded.

    Args:
        device: as probed; seconds: of one run; flop, traffic_bytes: of one run, null where they are not known; dtypes: of the arguments, of numpy.
    """
    found = [each for each in (_compute(device, flop, dtypes), _bandwidth(device, traffic_bytes)) if each is not None]
    if not found:
        return None
    floor_s, bound, ceiling = max(found)
    share = floor_s / seconds
    if share > _ABOVE:
        return None
    return RooflineLeft(floor_s=floor_s, bound="compute" if bound == "compute" else "bandwidth", share=min(1.0, share), ceiling=ceiling)


def compute_ceiling(device: Device, dtypes: Iterable[str]) -> Ceiling | None:
    """The fastest multiply-adds in a format of these dtypes; null where none is known."""
    formats = {_FORMATS[each] for each in dtypes if each in _FORMATS}
    ceilings = [each for each in device.ceilings if each.engine == "fma" and each.precision in formats and each.rate.unit == "FLOP/s"]
    return max(ceilings, key=_rate, default=None)


def bandwidth_ceilings(device: Device) -> list[tuple[float, Ceiling]]:
    """(Largest working set in bytes, the fastest way to move one that large), the smallest first, the last for all that is larger.

    Of a specification, which names levels and no working sets, that of the slowest level: what has to be moved comes from there.
    """
    ceilings = [each for each in device.ceilings if each.rate.unit == "B/s"]
    sizes = sorted({each.working_set_bytes for each in ceilings if each.working_set_bytes})
    if sizes:
        return [(float(size), max((each for each in ceilings if each.working_set_bytes == size), key=_rate)) for size in sizes]
    levels = {each.level for each in ceilings}
    fastest = [max((each for each in ceilings if each.level == level), key=_rate) for level in levels]
    return [(float("inf"), min(fastest, key=_rate))] if fastest else []


def _compute(device: Device, flop: float | None, dtypes: Iterable[str]) -> tuple[float, str, str] | None:
    ceiling = compute_ceiling(device, dtypes)
    return None if not flop or ceiling is None else _floor(flop, ceiling, "compute")


def _bandwidth(device: Device, traffic_bytes: float | None) -> tuple[float, str, str] | None:
    ceilings = bandwidth_ceilings(device)
    if not traffic_bytes or not ceilings:
        return None
    return _floor(traffic_bytes, next((each for size, each in ceilings if size >= traffic_bytes), ceilings[-1][1]), "bandwidth")


def _floor(amount: float, ceiling: Ceiling, bound: str) -> tuple[float, str, str]:
    what = f"{ceiling.engine} {ceiling.precision}" if bound == "compute" else f"{ceiling.engine} in {ceiling.level or 'memory'}"
    return amount / ceiling.rate.value, bound, f"{what}, {format_quantity(ceiling.rate.value, ceiling.rate.unit)}"


def _rate(ceiling: Ceiling) -> float:
    return ceiling.rate.value
