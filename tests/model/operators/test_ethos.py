"""Layers of an Ethos-U one after the other: what is fetched before a layer runs is fetched all the same."""

from __future__ import annotations

import pytest

from ridgeline.core import Workload
from ridgeline.device import find
from ridgeline.model.operators.ethos import ethos_times


@pytest.mark.parametrize("rows", [1, 2, 16, 32, 48, 64])
def test_no_row_of_layers_fetches_more_than_the_flash_gives(rows: int) -> None:
    device = find("ethos-u55-128")
    flash = max(each.rate.value for each in device.ceilings if each.level == "flash")
    times = ethos_times([Workload(kind="gemm", sizes={"m": rows, "n": 512, "k": 512}, precision="int8")] * 12, device)
    assert times is not None
    assert times[3].sum() / times[0].sum() <= flash * (1 + 1e-9)


def test_more_rows_are_never_faster() -> None:
    seconds = []
    for rows in (2, 4, 8, 16, 24, 32, 48, 64, 128):
        times = ethos_times([Workload(kind="gemm", sizes={"m": rows, "n": 512, "k": 512}, precision="int8")] * 12, find("ethos-u55-128"))
        assert times is not None
        seconds.append(float(times[0].sum()))
    assert seconds == sorted(seconds)
