"""Ceilings of a device that is known by its specification: one figure a level, no working sets."""

from __future__ import annotations

from ridgeline.device import find
from ridgeline.diagnosis.ceilings import arithmetic_ceiling, bandwidth_ceiling, lower_precisions


def test_the_bandwidth_of_a_specification_is_that_of_dram_and_not_of_its_fastest_level() -> None:
    device = find("NVIDIA A100 SXM 40GB")
    assert {c.level for c in device.ceilings if c.engine == "read"} == {"DRAM", "L2"}
    found = bandwidth_ceiling(device, "read", 1, 1e9)
    assert found is not None
    assert found.value == 1555e9


def test_without_dram_the_level_there_is() -> None:
    found = bandwidth_ceiling(find("Arm Ethos-U55-256"), "copy", 1, 1e3)
    assert found is not None
    assert found.value == 4e9


def test_a_precision_is_judged_by_the_faster_units_and_never_by_the_sparse_peak() -> None:
    device = find("NVIDIA H100 SXM 80GB")
    found = arithmetic_ceiling(device, "fma", "bf16", 1)
    assert found is not None
    assert found.value == 989e12
    assert lower_precisions(device, "bf16", 1) == {"int8": 2.0}
