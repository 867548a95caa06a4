"""Whether the numbers of a device agree with each other, though each has a source of its own.

Two sheets of one device may speak of different clocks, halves of a package, or sparse operands; such a slip is a factor of two in every
prediction. This module only says where numbers contradict each other and by how much: it changes none, and which source is right is left to a
person, who says so in the file's notes.

Source of the identity peak = units × lanes × 2 × clock: S. Williams, A. Waterman, D. Patterson, Roofline, CACM 52(4), 2009, section 3; of the
factor of two: NVIDIA, A100 architecture white paper, 2020 (fine-grained structured sparsity).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core import Ceiling, Device
from ..core.units import format_quantity

__all__ = ["TOLERANCE", "doubts"]

#: Sheets round to three figures and take one of two boost clocks of a bin: what differs by less says the same.
TOLERANCE = 0.03
#: Operations an element between peak and DRAM; outside it a prefix is wrong. The fastest format of a device is not below, none is above.
_RIDGES = (4.0, 2000.0)
_WIDTH_BYTES = {"fp64": 8.0, "fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5, "int4": 0.5}


def doubts(device: Device) -> tuple[str, ...]:
    """What does not fit together, one sentence each; empty where all that can be compared agrees.

    Compared are: peak = execution units × lanes × 2 × clock, per precision and kind of units; the same of arrays of multiply-accumulators;
    sparse peak = 2 × dense; base ≤ boost clock; matrix units no slower than vector lanes; 4 ≤ peak ÷ DRAM bandwidth × bytes an element ≤ 2000.

    Args:
        device: rates in FLOP/s and B/s, clocks in Hz; what is absent is not compared.

    Limits: a lane that starts more than one multiply-add a clock (dual issue) must be counted so in `lanes`.

    >>> from ridgeline.device.testing import fake_device
    >>> doubts(fake_device())
    ()
    """
    return (*_lanes(device), *_arrays(device), *_sparse(device), *_clocks(device), *_matrix(device), *_ridges(device))


def _peaks(device: Device) -> tuple[Ceiling, ...]:
    """Dense multiply-adds of the whole device."""
    return tuple(c for c in device.ceilings if c.engine == "fma" and c.level is None and c.threads == 0)


def _lanes(device: Device) -> Iterator[str]:
    if device.execution_units is None or device.clock_hz is None:
        return
    for lane in device.lanes:
        expected = device.execution_units * lane.per_unit * 2 * device.clock_hz.value
        for peak in _peaks(device):
            if peak.precision == lane.precision and peak.units == lane.units:
                how = f"{device.execution_units} units × {lane.per_unit} × 2 × {format_quantity(device.clock_hz.value, 'Hz')}"
                yield from _unlike(f"{lane.precision} of {lane.units} units", peak.rate.value, expected, how)


def _arrays(device: Device) -> Iterator[str]:
    if device.clock_hz is None:
        return
    for precision in dict.fromkeys(array.precision for array in device.mac_arrays):
        macs = sum(array.rows * array.columns * array.count for array in device.mac_arrays if array.precision == precision)
        for peak in _peaks(device):
            if peak.precision == precision and peak.units != "vector":
                how = f"{macs} multiply-accumulators × 2 × {format_quantity(device.clock_hz.value, 'Hz')}"
                yield from _unlike(f"{precision} of the arrays", peak.rate.value, macs * 2 * device.clock_hz.value, how)


def _sparse(device: Device) -> Iterator[str]:
    dense = {peak.precision: peak.rate.value for peak in _peaks(device) if peak.units == "matrix"}
    for peak in device.sparse:
        if peak.precision in dense:
            yield from _unlike(f"sparse {peak.precision}", peak.rate.value, 2 * dense[peak.precision], "twice the dense rate")


def _clocks(device: Device) -> Iterator[str]:
    base, boost = device.base_clock_hz, device.boost_clock_hz
    if base is not None and boost is not None and base.value > boost.value:
        yield f"the base clock of {format_quantity(base.value, 'Hz')} is above the boost clock of {format_quantity(boost.value, 'Hz')}"


def _matrix(device: Device) -> Iterator[str]:
    vector = {peak.precision: peak.rate.value for peak in _peaks(device) if peak.units == "vector"}
    for peak in _peaks(device):
        if peak.units == "matrix" and peak.rate.value < vector.get(peak.precision, 0.0) * (1 - TOLERANCE):
            yield f"matrix units at {peak.precision} are slower than vector lanes: {format_quantity(peak.rate.value, 'FLOP/s')}"


def _ridges(device: Device) -> Iterator[str]:
    bandwidth = max((c.rate.value for c in device.ceilings if c.engine == "read" and c.level == "DRAM"), default=0.0)
    ridges = {p.precision: p.rate.value / bandwidth * _WIDTH_BYTES[p.precision] for p in _peaks(device) if bandwidth and p.precision in _WIDTH_BYTES}
    fastest = max(ridges.values(), default=0.0)
    for precision, ridge in ridges.items():
        if ridge > _RIDGES[1] or (ridge == fastest and ridge < _RIDGES[0]):
            yield f"{precision}: {ridge:.3g} operations an element between peak and DRAM, outside {_RIDGES[0]:g} to {_RIDGES[1]:g}"


def _unlike(what: str, stated: float, expected: float, how: str) -> Iterator[str]:
    """A sentence where the two differ by more than the tolerance."""
    off = stated / expected - 1
    if abs(off) > TOLERANCE:
        yield f"{what}: {format_quantity(stated, 'FLOP/s')} stated, {how} makes {format_quantity(expected, 'FLOP/s')} ({off:+.0%})"
