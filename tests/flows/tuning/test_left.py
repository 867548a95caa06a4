"""What is left by the roofline, from ceilings that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.core import Ceiling, Device, Quantity
from ridgeline.flows.tuning.left import roofline_left


def ceiling(engine: Any, precision: Any, rate: float, unit: str, threads: int = 2, size: int | None = None) -> Ceiling:
    return Ceiling(engine=engine, precision=precision, threads=threads, rate=Quantity.exact(rate, unit, source="measured"), working_set_bytes=size)


DEVICE = Device(
    name="made", kind="cpu",
    ceilings=(
        ceiling("fma", "fp32", 1e11, "FLOP/s"), ceiling("fma", "fp32", 5e10, "FLOP/s", threads=1), ceiling("fma", "fp64", 5e10, "FLOP/s"),
        ceiling("read", "any", 1e11, "B/s", size=1 << 15), ceiling("read", "any", 2e10, "B/s", size=1 << 28),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("flop", "traffic", "dtype", "bound", "floor"),
    [
        (1e8, None, "float32", "compute", 1e-3), (1e8, None, "float64", "compute", 2e-3), (1e6, 1e8, "float32", "bandwidth", 5e-3),
        (None, 1e4, "float32", "bandwidth", 1e-7), (1e8, 1e4, "float32", "compute", 1e-3),
    ],
)  # fmt: skip
def test_the_ceiling_that_is_met_first(flop: float | None, traffic: float | None, dtype: str, bound: str, floor: float) -> None:
    found = roofline_left(DEVICE, 4 * floor, flop, traffic, [dtype, "int32"])
    assert found is not None
    assert (found.bound, found.floor_s, found.share) == (bound, pytest.approx(floor), pytest.approx(0.25))


@pytest.mark.parametrize(("flop", "dtype", "seconds"), [(None, "float32", 1.0), (1e8, "int32", 1.0), (0.0, "float32", 1.0), (1e8, "float32", 1e-5)])
def test_where_nothing_can_be_said(flop: float | None, dtype: str, seconds: float) -> None:
    assert roofline_left(DEVICE, seconds, flop, None, [dtype]) is None
