"""Numbers of a device's description that cannot be end in one line, wherever they stand."""

from __future__ import annotations

import re

import msgspec
import pytest

from ridgeline.core import Device, Quantity, UsageError
from ridgeline.core.device import Cost, MacArray
from ridgeline.device import find
from ridgeline.device.catalogue import catalogue
from ridgeline.model.operators.described import check_description
from ridgeline.model.operators.roofs import roofs


def test_devices_of_the_catalogue_can_be() -> None:
    for device in catalogue():
        check_description(device)


def of(value: float, unit: str) -> Quantity:
    return Quantity.exact(value, unit, source="spec", origin="a file")


H100 = find("h100 sxm")


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (msgspec.structs.replace(find("ethos-u55-128"), clock_hz=of(0.0, "Hz")), "clock_hz (Hz)"),
        (msgspec.structs.replace(H100, power_w=of(0.0, "W")), "power_w (W)"),
        (msgspec.structs.replace(H100, power_w=of(1e300, "W")), "power_w (W)"),
        (msgspec.structs.replace(H100, price_per_hour=of(-1.0, "USD/h")), "price_per_hour"),
        (msgspec.structs.replace(H100, vector_bits=-1), "vector_bits"),
        (msgspec.structs.replace(H100, memory_bytes=-1), "memory_bytes"),
        (msgspec.structs.replace(H100, mac_arrays=(MacArray(rows=0, columns=4, count=1, precision="int8"),)), "mac_arrays rows"),
        (msgspec.structs.replace(H100, costs=(Cost(name="dispatch", seconds=of(-1.0, "s")),)), "the cost dispatch (s)"),
        (msgspec.structs.replace(H100, levels=(msgspec.structs.replace(H100.levels[0], capacity_bytes=-1),)), "capacity_bytes of"),
        (msgspec.structs.replace(H100, ceilings=(msgspec.structs.replace(H100.ceilings[0], rate=of(0.0, "FLOP/s")), *H100.ceilings)), "fma (FLOP/s)"),
    ],
)  # fmt: skip
def test_a_number_that_cannot_be_is_refused_by_name(wrong: Device, name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(name)):
        roofs(wrong)
