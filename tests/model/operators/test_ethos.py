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


def test_a_batch_of_images_is_as_many_passes() -> None:
    device = find("ethos-u85-1024")
    layers = [
        {"c": 16, "h": 28, "w": 28, "k": 32, "p": 28, "q": 28, "r": 3, "s": 3},
        {"c": 32, "h": 28, "w": 28, "k": 64, "p": 14, "q": 14, "r": 1, "s": 1},
    ]
    one, three = (
        ethos_times([Workload(kind="convolution", sizes=sizes | {"n": count}, precision="int8") for sizes in layers], device) for count in (1, 3)
    )
    assert one is not None
    assert three is not None
    assert three[0] == pytest.approx(3 * one[0])
    assert three[3] == pytest.approx(3 * one[3])


@pytest.mark.parametrize("name", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256", "ethos-u85-1024", "ethos-u85-2048"])
def test_a_network_of_a_larger_batch_takes_no_less(name: str) -> None:
    """A matrix of two rows was taken for a convolution, which is not kept waiting for its weights: batch 2 took less than batch 1."""
    before = 0.0
    for batch in (1, 2, 3, 4, 6, 8, 16, 24, 32, 48, 64):
        layers = [
            Workload(kind="convolution", sizes={"n": batch, "c": 16, "h": 8, "w": 8, "k": 32, "p": 8, "q": 8, "r": 3, "s": 3}, precision="int8")
        ]
        layers += [Workload(kind="gemm", sizes={"m": batch, "n": n, "k": k}, precision="int8") for n, k in ((512, 2048), (512, 512), (10, 512))]
        times = ethos_times(layers, find(name))
        assert times is not None
        assert float(times[0].sum()) >= before
        before = float(times[0].sum())


def test_all_products_of_a_batch_are_counted() -> None:
    times = ethos_times([
        Workload(kind="gemm", sizes=sizes, precision="int8") for sizes in ({"m": 16, "n": 256, "k": 256, "batch": 16}, {"m": 256, "n": 256, "k": 256})
    ], find("ethos-u55-128"))  # fmt: skip
    assert times is not None
    assert times[0][0] == times[0][1]


def test_a_lower_clock_leaves_the_memory_as_it_is() -> None:
    work = [Workload(kind="gemm", sizes={"m": 1, "n": 512, "k": 512}, precision="int8")]
    deep = [Workload(kind="convolution", sizes={"c": 64, "h": 64, "w": 64, "k": 64, "p": 64, "q": 64, "r": 3, "s": 3}, precision="int8")]
    device = find("ethos-u55-128")
    for works, clock, memory in ((work, 1.0, 2.0), (deep, 2.0, 1.0)):
        usual, slow, beside = ethos_times(works, device), ethos_times(works, device, clock_ratio=0.5), ethos_times(works, device, memory_left=0.5)
        assert usual is not None
        assert slow is not None
        assert beside is not None
        assert slow[0][0] / usual[0][0] == pytest.approx(clock, rel=0.01)
        assert beside[0][0] / usual[0][0] == pytest.approx(memory, rel=0.01)


def test_more_rows_are_never_faster() -> None:
    seconds = []
    for rows in (2, 4, 8, 16, 24, 32, 48, 64, 128):
        times = ethos_times([Workload(kind="gemm", sizes={"m": rows, "n": 512, "k": 512}, precision="int8")] * 12, find("ethos-u55-128"))
        assert times is not None
        seconds.append(float(times[0].sum()))
    assert seconds == sorted(seconds)
