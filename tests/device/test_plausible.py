"""Numbers of one device held against each other: what agrees is silent, a slip of any size above the tolerance is said with its size."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Ceiling, Device, Lanes, MacArray, Quantity
from ridgeline.core.device import MEMORY_MIXES
from ridgeline.device.plausible import TOLERANCE, doubts


def hertz(value: float) -> Quantity:
    return Quantity.exact(value, "Hz", source="spec", origin="sheet")


def peak(value: float, precision: str = "fp32", units: str | None = "vector") -> Ceiling:
    rate = Quantity.exact(value, "FLOP/s", source="spec", origin="sheet")
    return Ceiling(engine="fma", precision=precision, threads=0, rate=rate, library="spec", units=units)


def memory(value: float) -> tuple[Ceiling, ...]:
    rate = Quantity.exact(value, "B/s", source="spec", origin="sheet")
    return tuple(Ceiling(engine=mix, precision="any", threads=0, rate=rate, level="DRAM", library="spec") for mix in MEMORY_MIXES)


def gpu(fp32: float = 19.49e12, **changes: object) -> Device:
    """An A100 as its sheet has it: 108 units × 64 lanes × 2 × 1.41 GHz = 19.49 TFLOP/s."""
    device = Device(
        name="A100",
        kind="gpu",
        ceilings=(peak(fp32), peak(312e12, "bf16", "matrix"), *memory(1.555e12)),
        sparse=(peak(624e12, "bf16", "matrix"),),
        execution_units=108,
        lanes=(Lanes(precision="fp32", units="vector", per_unit=64),),
        clock_hz=hertz(1.41e9),
        base_clock_hz=hertz(1.095e9),
        boost_clock_hz=hertz(1.41e9),
        probed_at="2026-11",
    )
    return msgspec.structs.replace(device, **changes)


def test_a_sheet_that_agrees_is_silent() -> None:
    assert doubts(gpu()) == ()


def test_the_peak_of_another_clock_is_said_with_its_size() -> None:
    (doubt,) = doubts(gpu(fp32=108 * 64 * 2 * 1.095e9))
    assert doubt == "fp32 of vector units: 15.1 TFLOP/s stated, 108 units × 64 × 2 × 1.41 GHz makes 19.5 TFLOP/s (-22%)"


def test_a_lane_count_of_twice_as_many_units_is_said() -> None:
    (doubt,) = doubts(gpu(execution_units=216))
    assert "(-50%)" in doubt


@given(st.floats(0.2, 5))
def test_it_speaks_just_where_the_tolerance_is_passed(factor: float) -> None:
    exact = 108 * 64 * 2 * 1.41e9
    assert bool(doubts(gpu(fp32=exact * factor))) == (abs(exact * factor / exact - 1) > TOLERANCE)


def test_a_peak_of_other_units_is_not_compared() -> None:
    assert doubts(gpu(lanes=(Lanes(precision="fp32", units="matrix", per_unit=7),))) == ()


def test_a_sparse_peak_that_is_no_double() -> None:
    (doubt,) = doubts(gpu(sparse=(peak(312e12, "bf16", "matrix"),)))
    assert "sparse bf16" in doubt
    assert "(-50%)" in doubt


def test_a_base_clock_above_the_boost_clock() -> None:
    (doubt,) = doubts(gpu(base_clock_hz=hertz(1.5e9)))
    assert "1.50 GHz is above" in doubt


def test_matrix_units_slower_than_vector_lanes() -> None:
    ceilings = (peak(20e12, "fp16"), peak(10e12, "fp16", "matrix"), *memory(1e12))
    (doubt,) = doubts(gpu(ceilings=ceilings, sparse=(), lanes=()))
    assert "slower than vector lanes" in doubt


@pytest.mark.parametrize("bandwidth", [1.555e9, 1.555e15])
def test_a_prefix_that_is_off(bandwidth: float) -> None:
    ceilings = (peak(19.49e12), *memory(bandwidth))
    assert "between peak and DRAM" in " ".join(doubts(gpu(ceilings=ceilings, sparse=())))


def test_the_arrays_of_an_npu() -> None:
    arrays = (MacArray(rows=32, columns=8, count=2, precision="int8"),)
    npu = Device(name="U65-512", kind="npu", ceilings=(peak(1.024e12, "int8", "matrix"),), mac_arrays=arrays, clock_hz=hertz(1e9))
    assert doubts(npu) == ()
    (doubt,) = doubts(msgspec.structs.replace(npu, clock_hz=hertz(0.5e9)))
    assert "512 multiply-accumulators × 2 × 500 MHz" in doubt
    assert "(+100%)" in doubt


def test_what_is_absent_is_not_compared() -> None:
    assert doubts(Device(name="", kind="npu")) == ()
    assert doubts(gpu(clock_hz=None, base_clock_hz=None)) == ()
