"""Estimates of operators: closed forms on a device of round numbers, and laws that hold on every device of the catalogue."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from ridgeline.core import Device, KernelParameters, Neighbour, OutOfRange, Quantity, Sparsity, SystemState, UsageError, Workload
from ridgeline.device import find
from ridgeline.device.catalogue import catalogue
from ridgeline.model.operators.asked import held_bytes
from ridgeline.model.operators.assumed import assumed, cost_of
from ridgeline.model.operators.estimates import Estimates, estimates, of_kind
from ridgeline.model.operators.pricing import priced
from ridgeline.model.operators.roofs import roofs
from support.predicted import cpu

REACHED = assumed().reached
WORKS = (
    Workload(kind="gemm", sizes={"m": 512, "n": 512, "k": 512}), Workload(kind="gemm", sizes={"m": 1, "n": 4096, "k": 1024}),
    Workload(kind="convolution", sizes={"c": 64, "h": 56, "w": 56, "k": 64, "p": 56, "q": 56, "r": 3, "s": 3}),
    Workload(kind="convolution", sizes={"c": 96, "h": 28, "w": 28, "k": 96, "p": 28, "q": 28, "r": 3, "s": 3, "groups": 96}),
    Workload(kind="elementwise", sizes={"elements": 100_000}, variant="Relu"), Workload(kind="softmax", sizes={"rows": 64, "columns": 512}),
    Workload(kind="normalisation", sizes={"rows": 64, "columns": 768}), Workload(kind="reduction", sizes={"rows": 64, "columns": 64}),
    Workload(kind="pooling", sizes={"c": 8, "h": 8, "w": 8, "p": 4, "q": 4, "r": 2, "s": 2}), Workload(kind="copy", sizes={"elements": 10_000}),
    Workload(kind="gather", sizes={"rows": 1000, "width": 64, "indices": 32}),
    Workload(kind="attention", sizes={"heads": 8, "queries": 64, "keys": 64, "head_size": 64, "kv_heads": 8}),
    Workload(kind="moe", sizes={"tokens": 16, "hidden": 256, "inner": 512, "experts": 8, "active": 2}),
    Workload(kind="recurrent", sizes={"steps": 10, "input": 64, "hidden": 64}), Workload(kind="collective", sizes={"elements": 1000, "ranks": 4}),
)  # fmt: skip


def one(work: Workload, device: Device | None = None, state: SystemState | None = None, **more: object) -> Estimates:
    return estimates([work], device or cpu(), state, **more)  # type: ignore[arg-type]


def test_a_large_product_is_its_work_over_the_peak_that_is_reached() -> None:
    found = one(Workload(kind="gemm", sizes={"m": 1024, "n": 1024, "k": 1024}))
    assert found.compute_s[0] == pytest.approx(2 * 1024**3 / (1e11 * REACHED["measured_arithmetic"]))
    assert found.bounds[found.bound[0]] == "compute"
    assert found.flop[0] / found.latency_s[0] <= REACHED["measured_arithmetic"] * 1e11


def test_a_stream_beyond_all_caches_is_its_bytes_over_the_memory() -> None:
    found = one(Workload(kind="elementwise", sizes={"elements": 10**8, "inputs": 2}, variant="Add"))
    assert found.memory_s["DRAM"][0] == pytest.approx(3 * 4e8 / (1e10 * REACHED["measured_memory"]))
    assert found.bounds[found.bound[0]] == "DRAM"
    assert found.bandwidth_byte_per_s[0] == 1e10


def test_what_fits_a_cache_never_comes_from_memory() -> None:
    work = Workload(kind="elementwise", sizes={"elements": 50_000}, variant="Relu")
    warm = one(work)
    assert warm.traffic_bytes["DRAM"][0] == 0
    assert warm.traffic_bytes["L2"][0] == 400_000


@pytest.mark.parametrize("sizes", [{"m": 4096, "n": 4096, "k": 4096}, {"m": 1, "n": 1000, "k": 2048}, {"m": 12544, "n": 64, "k": 147}])
def test_a_chip_of_which_no_memory_is_known_reads_each_operand_once(sizes: dict[str, int]) -> None:
    """Its blocks are not those of a CPU's registers: memory moves what the operator has, and no multiple of it."""
    found = one(Workload(kind="gemm", precision="int8", sizes=sizes), find("hexagon x elite"))
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    assert found.traffic_bytes["DRAM"][0] == m * k + k * n + m * n
    assert any("memory Qualcomm Hexagon NPU (Snapdragon X Elite) has on the chip is not known" in reason for reason in found.reasons(0))
    known = one(Workload(kind="gemm", precision="int8", sizes=sizes), find("hexagon 8 gen 3"))
    assert not any("has on the chip" in reason for reason in known.reasons(0))


def test_weights_live_where_all_that_was_touched_since_fits() -> None:
    work = Workload(kind="gemm", sizes={"m": 1, "n": 256, "k": 256})
    near, far = one(work), one(work, reuse_bytes=1e8)
    assert near.traffic_bytes["DRAM"][0] == 0
    assert far.traffic_bytes["DRAM"][0] == 256 * 256 * 4
    assert far.latency_s[0] > near.latency_s[0]


def test_a_tiny_operator_costs_its_start() -> None:
    found = one(Workload(kind="elementwise", sizes={"elements": 4}, variant="Relu"))
    assert found.bounds[found.bound[0]] == "overhead"
    assert found.latency_s[0] == pytest.approx(1e-6, rel=0.01)


@pytest.mark.parametrize("device", [*catalogue(), cpu(), cpu(threads=4)], ids=lambda device: device.name)
def test_nothing_is_above_a_ceiling_on_any_device(device: Device) -> None:
    under = roofs(device)
    precision = next(each for each in ("fp32", "bf16", "int8", "fp8") if any(c.engine == "fma" and c.precision == each for c in device.ceilings))
    works = [msgspec.structs.replace(work, precision=precision) for work in WORKS]
    found = estimates(works, under)
    assert np.isfinite(found.latency_s).all()
    assert (found.latency_s > 0).all()
    assert (found.flop / found.latency_s <= found.peak_flop_per_s).all()
    assert ((found.occupancy > 0) & (found.occupancy <= 1)).all()
    for level in under.levels:
        if level.ceiling_byte_per_s > 0:
            assert (found.traffic_bytes[level.name] / found.latency_s <= level.ceiling_byte_per_s * (1 + 1e-9)).all(), level.name
    for parts in (found.compute_s, *found.memory_s.values(), found.overhead_s, found.communication_s):
        assert (parts <= found.latency_s * (1 + 1e-9)).all()


def test_many_at_once_are_each_alone() -> None:
    together = estimates(WORKS, cpu(threads=2))
    for place, work in enumerate(WORKS):
        alone = one(work, cpu(threads=2))
        assert alone.latency_s[0] == together.latency_s[place]
        assert alone.bounds[alone.bound[0]] == together.bounds[together.bound[place]]
        assert alone.reasons(0) == together.reasons(place)


def test_more_work_never_takes_less() -> None:
    draw = np.random.default_rng(0)
    for device in (cpu(), cpu(threads=4), find("a100 sxm 80gb")):
        under = roofs(device)
        sizes = {name: draw.integers(1, 2000, 200) for name in "mnk"}
        before = of_kind("gemm", sizes, under).latency_s
        for name in "mnk":
            for more in (sizes[name] + 1, sizes[name] * 2):
                after = of_kind("gemm", sizes | {name: more}, under).latency_s
                assert (after >= before * (1 - 1e-12)).all(), name


def test_a_thread_more_is_no_jump() -> None:
    """511 outputs were too few for a second thread, 512 each were enough: twice the work took half of the time."""
    under = roofs(cpu(threads=4))
    counts = np.arange(1, 5000)
    for kind, sizes in (("elementwise", {"elements": counts}), ("softmax", {"rows": counts, "columns": 7}), ("recurrent", {
        "steps": 10, "input": 64, "hidden": counts})):  # fmt: skip
        busy = of_kind(kind, sizes, under, cost=40.0).compute_s
        assert (np.diff(busy) >= -1e-12 * busy[1:]).all(), kind


def test_a_product_is_split_deeper_without_a_jump() -> None:
    """Twice 256 summed elements were split in two, one less was not: the deeper product took half of the time."""
    under, depth = roofs(find("Intel Arc A770")), np.arange(200, 2000)
    busy = of_kind("gemm", {"m": 64, "n": 64, "k": depth}, under).compute_s
    assert (np.diff(busy) >= -1e-12 * busy[1:]).all()


def test_larger_heads_are_no_faster() -> None:
    """The softmax of more elements of a head was spread over more units, though its scores are as many."""
    sizes = {"heads": 32, "kv_heads": 8, "queries": 1, "keys": 4096}
    small, large = (one(Workload(kind="attention", precision="fp8", sizes=sizes | {"head_size": size}), find("MI355X")) for size in (128, 256))
    assert large.latency_s[0] >= small.latency_s[0]


def test_products_with_one_right_operand_are_one_of_all_rows() -> None:
    apart, together = ({"m": 3, "n": 512, "k": 512, "batch": 8}, {"m": 24, "n": 512, "k": 512})
    assert one(Workload(kind="gemm", sizes=apart)).latency_s[0] == one(Workload(kind="gemm", sizes=together)).latency_s[0]


def test_narrow_rows_of_a_table_take_whole_lines() -> None:
    """A line of 64 bytes for 16 that are wanted; indexes and results stand side by side."""
    work = Workload(kind="gather", sizes={"rows": 10**8, "width": 4, "indices": 10**6})
    assert one(work).traffic_bytes["DRAM"][0] == 4 * 10**6 + 4 * 16 * 10**6 + 16 * 10**6


def test_a_faster_clock_memory_or_start_never_makes_it_slower() -> None:
    before = estimates(WORKS, cpu()).latency_s
    for better in (cpu(fma=2e11), cpu(dram=2e10), cpu(dispatch_s=1e-7)):
        assert (estimates(WORKS, better).latency_s <= before).all()


# ── states ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_set_clock_scales_arithmetic_and_not_the_memory() -> None:
    product, stream = Workload(kind="gemm", sizes={"m": 1024, "n": 1024, "k": 1024}), Workload(kind="copy", sizes={"elements": 10**8})
    half = SystemState(core_clock_hz=1e9)
    assert one(product, state=half).compute_s[0] == pytest.approx(2 * one(product).compute_s[0])
    assert one(stream, state=half).memory_s["DRAM"][0] == one(stream).memory_s["DRAM"][0]


def test_contention_and_neighbours_take_bandwidth_and_cores() -> None:
    stream = Workload(kind="copy", sizes={"elements": 10**8})
    alone = one(stream).memory_s["DRAM"][0]
    assert one(stream, state=SystemState(memory_contention=0.5)).memory_s["DRAM"][0] == pytest.approx(2 * alone)
    beside = SystemState(neighbours=(Neighbour(name="db", byte_per_s=1e10),))
    assert one(stream, state=beside).memory_s["DRAM"][0] == pytest.approx(2 * alone)
    crowded = SystemState(neighbours=(Neighbour(name="db", cores=1),))
    assert one(stream, state=crowded).latency_s[0] == pytest.approx(2 * one(stream).latency_s[0], rel=0.01)


def test_neighbours_fill_the_cache() -> None:
    work = Workload(kind="elementwise", sizes={"elements": 50_000}, variant="Relu")
    filled = SystemState(neighbours=(Neighbour(name="db", cache_bytes=2**20),))
    assert one(work, state=filled).traffic_bytes["DRAM"][0] > one(work).traffic_bytes["DRAM"][0]


def test_fewer_threads_have_their_own_ceilings() -> None:
    product = Workload(kind="gemm", sizes={"m": 1024, "n": 1024, "k": 1024})
    whole, half = one(product, cpu(threads=4)), one(product, cpu(threads=4), SystemState(threads=2))
    assert half.compute_s[0] == pytest.approx(2 * whole.compute_s[0])
    assert whole.peak_flop_per_s[0] == 4e11
    many = one(product, cpu(threads=4), SystemState(threads=64))
    assert any("no more than 4" in reason for reason in many.reasons(0))


def test_a_power_cap_lowers_the_clock_or_is_refused() -> None:
    product, device = Workload(kind="gemm", sizes={"m": 1024, "n": 1024, "k": 1024}), cpu()
    assert one(product, device, SystemState(power_cap_w=70)).compute_s[0] > one(product, device).compute_s[0]
    assert any("assumed curve" in reason for reason in one(product, device, SystemState(power_cap_w=70)).reasons(0))
    with pytest.raises(OutOfRange, match="leaves power"):
        one(product, device, SystemState(power_cap_w=10))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (SystemState(memory_clock_hz=1e9), "memory clock"), (SystemState(temperature_k=340), "temperature"),
        (SystemState(core_clock_hz=9e9), "above the highest"),
    ],
)  # fmt: skip
def test_a_state_that_no_formula_knows_is_said(state: SystemState, said: str) -> None:
    assert any(said in reason for reason in one(WORKS[0], state=state).reasons(0))


# ── kernels ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tile_that_is_set_pads_and_waits() -> None:
    gpu, work = find("a100 sxm 80gb"), Workload(kind="gemm", sizes={"m": 129, "n": 129, "k": 1024})
    large = one(work, gpu, kernel=KernelParameters(tile=(256, 256, 32), split=1))
    small = one(work, gpu, kernel=KernelParameters(tile=(32, 32, 32), split=1))
    assert large.compute_s[0] > small.compute_s[0]
    assert small.occupancy[0] == pytest.approx(25 / 108)


def test_work_groups_limit_what_is_resident() -> None:
    gpu, work = find("a100 sxm 80gb"), Workload(kind="elementwise", sizes={"elements": 10**8}, variant="Relu")
    assert gpu.max_threads_per_unit is None or one(work, gpu, kernel=KernelParameters(work_group=(768,))).occupancy[0] <= 1.0
    h100 = find("h100 sxm")
    assert one(work, h100, kernel=KernelParameters(work_group=(768,))).occupancy[0] == pytest.approx(2 * 768 / 2048)
    assert one(work, h100, kernel=KernelParameters(work_group=(128,), registers=128)).occupancy[0] == pytest.approx(4 * 128 / 2048)
    with pytest.raises(OutOfRange, match="fits one execution unit"):
        one(work, h100, kernel=KernelParameters(work_group=(1024, 4)))


def test_what_no_formula_knows_of_a_kernel_is_said() -> None:
    found = one(WORKS[0], kernel=KernelParameters(unroll=8, stages=3))
    assert any("unroll, stages" in reason for reason in found.reasons(0))


# ── forms of operators ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_grouped_heads_share_keys_and_values() -> None:
    sizes = {"heads": 32, "queries": 1, "keys": 8192, "head_size": 128}
    every = one(Workload(kind="attention", sizes=sizes | {"kv_heads": 32}))
    grouped = one(Workload(kind="attention", sizes=sizes | {"kv_heads": 8}))
    assert every.flop[0] == grouped.flop[0] == 4 * 32 * 8192 * 128
    assert grouped.weight_bytes[0] == 2 * 8 * 8192 * 128 * 4
    assert every.weight_bytes[0] == 4 * grouped.weight_bytes[0]
    assert grouped.latency_s[0] < every.latency_s[0]


def test_experts_take_memory_for_all_and_time_for_those_that_are_active() -> None:
    work = Workload(kind="moe", sizes={"tokens": 1, "hidden": 64, "inner": 128, "experts": 8, "active": 2})
    found, matrix = one(work), 3 * 64 * 128
    assert found.flop[0] == 2 * 2 * matrix
    assert found.weight_bytes[0] == pytest.approx(2 * matrix * 4)
    assert held_bytes(work)[0] == 8 * matrix * 4
    more = msgspec.structs.replace(work, sizes=work.sizes | {"experts": 64})
    assert one(more).flop[0] == found.flop[0]
    assert held_bytes(more)[0] == 8 * held_bytes(work)[0]


def test_narrow_weights_are_fewer_bytes() -> None:
    wide = Workload(kind="gemm", sizes={"m": 1, "n": 4096, "k": 4096})
    narrow = msgspec.structs.replace(wide, weight_precision="int4")
    assert one(narrow).weight_bytes[0] == pytest.approx(one(wide).weight_bytes[0] * (0.5 + 2 / 32) / 4)
    assert one(narrow).latency_s[0] < one(wide).latency_s[0]


def test_zeros_save_work_only_where_circuits_skip_them() -> None:
    work = Workload(
        kind="gemm", sizes={"m": 8192, "n": 8192, "k": 8192}, precision="fp16", sparsity=Sparsity(pattern="structured", density=0.5, group=(2, 4))
    )
    dense = msgspec.structs.replace(work, sparsity=None)
    h100, v100 = find("h100 sxm"), find("v100")
    assert one(work, h100).flop[0] == one(dense, h100).flop[0] / 2
    assert one(work, v100).flop[0] == one(dense, v100).flop[0]
    assert any("no circuits" in reason for reason in one(work, v100).reasons(0))
    anywhere = msgspec.structs.replace(work, sparsity=Sparsity(pattern="unstructured", density=0.1))
    assert any("anywhere" in reason for reason in one(anywhere, h100).reasons(0))


def test_functions_cost_more_than_sums() -> None:
    assert cost_of("Relu") == 1.0 < cost_of("Tanh") < cost_of("Gelu")
    work = Workload(kind="elementwise", sizes={"elements": 4096}, variant="Relu")
    assert one(msgspec.structs.replace(work, variant="Gelu")).compute_s[0] > one(work).compute_s[0]


def test_a_systolic_array_wants_its_rows_and_columns_full_and_weights_that_are_used() -> None:
    tpu = find("tpu v6e")  # arrays of 256 × 256
    full = one(Workload(kind="gemm", sizes={"m": 1024, "n": 1024, "k": 1024}, precision="bf16"), tpu)
    narrow = one(Workload(kind="gemm", sizes={"m": 1024, "n": 64, "k": 1024}, precision="bf16"), tpu)
    few = one(Workload(kind="gemm", sizes={"m": 64, "n": 1024, "k": 1024}, precision="bf16"), tpu)
    assert full.occupancy[0] == 1.0
    assert narrow.occupancy[0] == pytest.approx(64 / 256)
    assert few.occupancy[0] == pytest.approx(64 / 256)


# ── what is refused or flagged ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_precision_that_is_not_stated_is_stood_in_for_aloud_or_refused() -> None:
    found = one(msgspec.structs.replace(WORKS[0], precision="fp16"))
    assert any("fp32 is taken" in reason for reason in found.reasons(0))
    with pytest.raises(OutOfRange, match="fp64"):
        one(msgspec.structs.replace(WORKS[0], precision="fp64"))
    with pytest.raises(OutOfRange, match="states int8"):
        one(WORKS[0], find("ethos-u55-128"))


def test_a_device_without_ceilings_or_with_impossible_ones_is_refused() -> None:
    device = cpu()
    with pytest.raises(OutOfRange, match="peak of arithmetic"):
        roofs(msgspec.structs.replace(device, ceilings=()))
    with pytest.raises(OutOfRange, match="rate of its memory"):
        roofs(msgspec.structs.replace(device, ceilings=tuple(each for each in device.ceilings if each.engine == "fma")))
    negative = msgspec.structs.replace(device.ceilings[0], rate=Quantity.exact(-1.0, "FLOP/s"))
    with pytest.raises(UsageError, match="above zero"):
        roofs(msgspec.structs.replace(device, ceilings=(negative, *device.ceilings)))


def test_what_has_no_family_or_no_size_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one operator"):
        estimates([], cpu())
    with pytest.raises(UsageError, match="operator family"):
        one(Workload(kind="sorcery", sizes={"m": 1}))
    with pytest.raises(UsageError, match="no n"):
        one(Workload(kind="gemm", sizes={"m": 1, "k": 1}))
    with pytest.raises(UsageError, match="positive"):
        of_kind("gemm", {"m": [1.0, math.nan], "n": 1, "k": 1}, roofs(cpu()))
    with pytest.raises(UsageError, match="positive"):
        of_kind("gemm", {"m": -1, "n": 1, "k": 1}, roofs(cpu()))


def test_a_device_without_links_says_that_nothing_passes() -> None:
    found = one(WORKS[-1])
    assert found.communication_s[0] == 0
    assert any("no link" in reason for reason in found.reasons(0))
    assert one(WORKS[-1], find("h100 sxm")).communication_s[0] > 0


def without_least_cap(name: str) -> Device:
    return msgspec.structs.replace(find(name), least_cap_w=None)


@pytest.mark.parametrize("cap_w", [1.0, 300.0, 385.0, 400.0, 402.0])
def test_a_cap_that_is_too_low_is_refused_in_watts(cap_w: float) -> None:
    """Of 700 W, 55 % are assumed to be drawn at any clock and 2.5 % more at a tenth of it: 402.7 W."""
    device = without_least_cap("h100 sxm")
    with pytest.raises(OutOfRange, match=f"{cap_w:g} W, and 402.7 W"):
        roofs(device, SystemState(power_cap_w=cap_w))
    assert roofs(device, SystemState(power_cap_w=404.0)).clock_ratio >= 0.1


@pytest.mark.parametrize("name", ["h100 sxm", "h200 sxm"])
def test_a_lower_cap_never_gives_a_higher_clock(name: str) -> None:
    """Of 700 W, 402 gave 0.27 of the clock, for below 403 the shares of power that are assumed cannot hold, and 406 gave 0.12."""
    device = find(name)
    under = [roofs(device, SystemState(power_cap_w=cap)) for cap in np.linspace(200, 720, 105)]
    clocks = np.array([(each.clock_ratio * each.slowest, each.clock_ratio, each.clock_ratio * each.fastest) for each in under])
    assert (np.diff(clocks, axis=0) >= -1e-12).all()
    assert all(each.slowest <= 1 <= each.fastest for each in under)
    assert (under[-1].clock_ratio, under[-1].slowest, under[-1].fastest) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", ["h100 sxm", "h200 sxm"])
def test_a_cap_that_the_board_accepts_is_answered_wide(name: str) -> None:
    """From a tenth of the clock to what 200 of 700 W give where nothing else draws any: half of it at 0.75 of the voltage takes 0.281 of them."""
    work, device = Workload(kind="gemm", precision="bf16", sizes={"m": 4096, "n": 4096, "k": 4096}), find(name)
    capped = roofs(device, SystemState(power_cap_w=200.0))
    assert capped.clock_ratio * capped.slowest == pytest.approx(0.1)
    assert capped.clock_ratio * capped.fastest == pytest.approx(0.51, abs=0.02)
    assert any("under 200 W is not known: the clock may be 0.1 to 0.5" in reason for reason in capped.reasons)
    with pytest.raises(OutOfRange, match=r"150 W, and 402\.7 W .*accepts 200 W"):
        roofs(device, SystemState(power_cap_w=150.0))
    # What is asked of the whole: wider than under a cap whose clock is known, and never below what all of the power gives.
    wide, known = (priced([work], roofs(device, SystemState(power_cap_w=cap)), kernel=KernelParameters(tile=(128, 128))) for cap in (200.0, 600.0))
    assert (wide.high / wide.low)[0] > 3 * (known.high / known.low)[0]
    assert wide.seconds[0] > known.seconds[0]
    stream = Workload(kind="elementwise", precision="fp16", sizes={"elements": 10**8}, variant="Relu")
    capped_stream, free_stream = (priced([stream], roofs(device, state)) for state in (SystemState(power_cap_w=200.0), None))
    assert capped_stream.low[0] >= free_stream.low[0] * 0.999
    slower = roofs(device, SystemState(power_cap_w=200.0, core_clock_hz=0.05 * device.clock_hz.value))  # type: ignore[union-attr]
    assert (slower.clock_ratio, slower.slowest, slower.fastest) == (pytest.approx(0.05), 1.0, 1.0)
