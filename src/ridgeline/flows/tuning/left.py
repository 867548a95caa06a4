"""What the roofline says is left of a configuration that ran on this CPU: its work at the ceilings of the probe, against the time that it took.

Operations are held against multiply-adds on all threads in the format of the arguments; bytes against the fastest read or write of a working set as
large, since what fits into a cache stays there from run to run. It is a lower bound of the time, not a promise.
"""

from __future__ import annotations

from collections.abc import Iterable

from ridgeline.core import Ceiling, Device, RooflineLeft
from ridgeline.core.units import format_quantity

__all__ = ["roofline_left"]

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


def _compute(device: Device, flop: float | None, dtypes: Iterable[str]) -> tuple[float, str, str] | None:
    formats = {_FORMATS[each] for each in dtypes if each in _FORMATS}
    ceilings = [each for each in device.ceilings if each.engine == "fma" and each.precision in formats and each.rate.unit == "FLOP/s"]
    if not flop or not ceilings:
        return None
    return _floor(flop, max(ceilings, key=_rate), "compute")


def _bandwidth(device: Device, traffic_bytes: float | None) -> tuple[float, str, str] | None:
    ceilings = [each for each in device.ceilings if each.rate.unit == "B/s" and each.working_set_bytes]
    if not traffic_bytes or not ceilings:
        return None
    sizes = sorted({each.working_set_bytes or 0 for each in ceilings})
    size = next((each for each in sizes if each >= traffic_bytes), sizes[-1])
    return _floor(traffic_bytes, max((each for each in ceilings if each.working_set_bytes == size), key=_rate), "bandwidth")


def _floor(amount: float, ceiling: Ceiling, bound: str) -> tuple[float, str, str]:
    what = f"{ceiling.engine} {ceiling.precision}" if bound == "compute" else f"{ceiling.engine} in {ceiling.level or 'memory'}"
    return amount / ceiling.rate.value, bound, f"{what}, {format_quantity(ceiling.rate.value, ceiling.rate.unit)}"


def _rate(ceiling: Ceiling) -> float:
    return ceiling.rate.value
