"""GPU kernels: closed-form answers, what may not be beaten, and how a data sheet is taken."""

from __future__ import annotations

import contextlib
import re

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ridgeline.core import OutOfRange, SystemState, UsageError
from ridgeline.device import find, select
from ridgeline.model.gpu import kernels, sheet
from ridgeline.model.gpu.constants import constants
from ridgeline.model.gpu.gemm import products
from ridgeline.model.gpu.kernels import features_of, floor_s, group_of
from ridgeline.model.gpu.sheet import GpuSheet, hold_ratio, likeness, node_energy

A100, V100, T4, P4, MI250 = (sheet(find(name)) for name in ("A100 PCIe 40GB", "V100 PCIe", "NVIDIA T4", "NVIDIA P4", "MI250"))
SIZE = st.integers(1, 5000)


def test_every_table_of_constants_names_a_source() -> None:
    known = constants()
    used = {each.source for each in (*known.generations, *known.menus.values(), known.product, known.energy, known.stream)}
    assert used <= set(known.sources)
    assert {each.library for each in known.generations} == set(known.menus)
    assert all(tile in known.efficiency for menu in known.menus.values() for tile in (*menu.batched, *menu.single))
    assert not {"H100", "L4", "A100 80", "MI250"} & {word for each in known.generations for word in [each.compared.split(":")[0]]}


def test_one_full_wave_by_hand() -> None:
    # 108 tiles of 128 × 128 on 108 units: one wave of k + 60 steps.
    one = np.ones(1)
    found = products(one * 108, one * 128, one * 128, one * 512, A100, batched=True)
    steps = 512 + 60
    assert found.waves == pytest.approx([1.0])
    assert found.compute == pytest.approx([2 * 128 * 128 * steps / (A100.matrix_flop_per_s / 108 * 0.93)])
    assert found.fill == pytest.approx([1.0])
    more = products(one * 109, one * 128, one * 128, one * 512, A100, batched=True)
    assert more.compute[0] > 1.8 * found.compute[0]


def test_a_copy_by_hand() -> None:
    found = kernels("copy", "", {"elements": 10**8}, A100)
    assert found.seconds == pytest.approx([3e-6 + 8e8 / (0.8 * A100.dram_byte_per_s)], rel=0.02)
    assert found.bytes.tolist() == [8e8]


@given(b=st.integers(1, 64), m=SIZE, n=SIZE, k=SIZE, variant=st.sampled_from(["linear", "matmul"]), gpu=st.sampled_from([A100, V100, T4, P4, MI250]))
def test_nothing_runs_above_its_peak(b: int, m: int, n: int, k: int, variant: str, gpu: GpuSheet) -> None:
    found = kernels("gemm", variant, {"batch": 1 if variant == "linear" else b, "m": m, "n": n, "k": k}, gpu)
    assert found.flop[0] / found.seconds[0] <= gpu.matrix_flop_per_s
    assert found.throttle[0] >= 1
    assert 0 < found.occupancy[0] <= 1
    assert np.isfinite(found.features).all()
    assert found.features.shape == (1, len(features_of(group_of("gemm", variant))))


@given(m=SIZE, n=SIZE, k=SIZE, more=st.integers(2, 5))
def test_a_deeper_product_never_takes_less(m: int, n: int, k: int, more: int) -> None:
    deep = kernels("gemm", "matmul", {"batch": 4, "m": m, "n": n, "k": k * more}, V100).seconds[0]
    assert deep >= 0.999 * kernels("gemm", "matmul", {"batch": 4, "m": m, "n": n, "k": k}, V100).seconds[0]


def sheets() -> list[GpuSheet]:
    found = []
    for device in select():
        with contextlib.suppress(OutOfRange):
            found.append(sheet(device))
    return found


@pytest.mark.parametrize("gpu", sheets(), ids=lambda gpu: gpu.name)
@pytest.mark.parametrize(("variant", "heat"), [("linear", 1.0), ("linear", None), ("matmul", 1.0)])
def test_a_larger_product_or_a_worse_gpu_never_takes_less(variant: str, heat: float | None, gpu: GpuSheet) -> None:
    draw = np.random.default_rng(0)
    sizes = {name: np.round(np.exp(draw.uniform(0, np.log(most), 500))) for name, most in (("batch", 64), ("m", 5000), ("n", 5000), ("k", 10_000))}
    before = kernels("gemm", variant, sizes, gpu, heat=heat).seconds
    for name, values in sizes.items():
        more = np.round(values * draw.uniform(1.0, 1.6, 500)) + 1
        assert (kernels("gemm", variant, sizes | {name: more}, gpu, heat=heat).seconds >= before * (1 - 1e-12)).all(), name
    for name in ("matrix_flop_per_s", "dram_byte_per_s", "power_w"):
        worse = msgspec.structs.replace(gpu, **{name: getattr(gpu, name) * 0.8})
        assert (kernels("gemm", variant, sizes, worse, heat=heat).seconds >= before * (1 - 1e-12)).all(), name


def test_a_tile_that_draws_more_power_is_not_taken_for_a_higher_clock() -> None:
    """At the full clock of an A10 tiles of less reuse had the least arithmetic and waited for its power: 238 µs, where 0.8 of the clock took 185."""
    sizes, device = {"m": 64, "n": 4096, "k": 4096}, find("NVIDIA A10 24GB")
    assert device.clock_hz is not None
    slower = sheet(device, SystemState(core_clock_hz=0.8 * device.clock_hz.value))
    full = kernels("gemm", "linear", sizes, sheet(device), heat=1.0).seconds[0]
    assert full <= kernels("gemm", "linear", sizes, slower, heat=1.0).seconds[0] < 200e-6


@given(kind=st.sampled_from(["softmax", "normalisation"]), rows=SIZE, columns=SIZE)
def test_streams_keep_to_the_bandwidth(kind: str, rows: int, columns: int) -> None:
    found = kernels(kind, "", {"rows": rows, "columns": columns}, T4)
    assert found.bytes[0] / found.seconds[0] <= T4.dram_byte_per_s
    assert np.isfinite(found.features).all()


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    draw = np.random.default_rng(0)
    sizes = {name: draw.integers(1, 4000, 3000) for name in ("m", "n", "k")}
    whole = kernels("gemm", "linear", sizes, V100)
    for at in (0, 1023, 1024, 2999):
        alone = kernels("gemm", "linear", {name: values[at] for name, values in sizes.items()}, V100)
        assert alone.seconds[0] == whole.seconds[at]
        assert alone.features[0].tolist() == whole.features[at].tolist()


def test_a_reduction_is_split_only_where_tiles_are_few() -> None:
    names = features_of("gemm single")
    split = names.index("split")
    few = kernels("gemm", "linear", {"m": 64, "n": 64, "k": 8192}, V100).features[0, split]
    many = kernels("gemm", "linear", {"m": 4096, "n": 4096, "k": 8192}, V100).features[0, split]
    assert few > 0 == many
    assert kernels("gemm", "matmul", {"m": 64, "n": 64, "k": 8192}, V100).features[0, split] == 0


def test_a_long_run_is_no_faster_than_a_kernel_alone() -> None:
    sizes = {"m": 2048, "n": 2048, "k": 2048}
    assert kernels("gemm", "linear", sizes, T4, heat=1.0).seconds[0] > kernels("gemm", "linear", sizes, T4).seconds[0]
    assert kernels("gemm", "linear", sizes, T4, heat=0.0).throttle[0] == 1


def test_boards_with_little_power_do_not_hold_their_clock() -> None:
    assert hold_ratio(T4) < hold_ratio(P4) < 1 < hold_ratio(V100) < hold_ratio(A100)
    assert node_energy(12) == 1
    assert node_energy(7) < node_energy(12) < node_energy(16)


def test_likeness_falls_with_generations_and_vendor() -> None:
    h100 = sheet(find("H100 SXM"))
    assert likeness(h100, A100, products=True) > likeness(h100, V100, products=True) > likeness(h100, MI250, products=True)
    assert likeness(A100, A100, products=True) == pytest.approx(1.0, abs=1e-3)
    assert likeness(V100, T4, products=False) < likeness(V100, A100, products=False) + likeness(V100, T4, products=True) + 1


def test_a_package_of_two_dies_is_one_of_them() -> None:
    device = find("MI250")
    assert MI250.units == 104
    assert MI250.power_w == 250
    assert MI250.matrix_flop_per_s == pytest.approx(90.5e12 / 2)
    assert device.execution_units == 208


def test_states_change_the_sheet() -> None:
    device = find("V100 PCIe")
    assert device.clock_hz is not None
    half = sheet(device, SystemState(core_clock_hz=device.clock_hz.value / 2, memory_contention=0.25, power_cap_w=100))
    assert half.matrix_flop_per_s == pytest.approx(V100.matrix_flop_per_s / 2)
    assert half.dram_byte_per_s == pytest.approx(V100.dram_byte_per_s * 0.75)
    assert half.power_w == 100


@given(st.sampled_from(select()))
def test_any_device_has_a_sheet_or_is_refused_with_the_reason(device) -> None:  # type: ignore[no-untyped-def]
    known = any(each.architecture == device.architecture for each in constants().generations)
    if device.kind == "gpu" and known and all(level.name != "L2" for level in device.levels):
        known = False
    if device.kind != "gpu" or not known:
        with pytest.raises(OutOfRange, match=re.escape(device.name)):
            sheet(device)
    else:
        assert sheet(device).units > 0


def test_what_the_data_sheet_lacks_is_named() -> None:
    with pytest.raises(OutOfRange, match="power_w"):
        sheet(msgspec.structs.replace(find("V100 PCIe"), power_w=None))


def test_families_without_a_form_and_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(OutOfRange, match="recurrent"):
        kernels("recurrent", "", {"steps": 1, "input": 1, "hidden": 1}, V100)
    for size in (-1, float("nan"), float("inf"), 0):
        with pytest.raises(UsageError):
            kernels("gemm", "", {"m": size, "n": 1, "k": 1}, V100)


@given(kind=st.sampled_from(["elementwise", "softmax", "normalisation", "gemm"]))
def test_launches_are_faster_on_amd_hosts(kind: str) -> None:
    assume(kind != "gemm")
    assert floor_s(kind, "", MI250) < floor_s(kind, "", V100)
