"""Whole tiles, waves and vectors, and resident work-groups: published examples, counting by hand, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.analytic.patient import patient
from ridgeline.core import Device, UsageError
from ridgeline.model.analytic import occupancy, quantisation
from support.numbers import from_zero

sides = st.integers(1, 10_000)
tiles = st.integers(1, 512)
counts = st.integers(1, 100_000)
units = st.integers(1, 256)
few = st.integers(1, 16)


@patient
@given(m=sides, n=sides, k=sides, tile=st.tuples(tiles, tiles, tiles), batch=few)
def test_padded_work_covers_the_useful(m, n, k, tile, batch):
    found = quantisation.tile_quantisation(m, n, k, tile=tile, batch=batch)
    useful = 2.0 * m * n * k * batch
    assert found.padded_flop >= useful
    assert 0 < found.utilisation <= 1
    assert float(found.utilisation * found.padded_flop) == pytest.approx(useful)
    assert found.count == batch * -(-m // tile[0]) * -(-n // tile[1])


def test_nvidia_example_of_waves():
    # Matrix Multiplication Background User's Guide, chapter 3.2: A100 has 108 SMs, tiles of 256×128. 1792² is 7 × 14 = 98 tiles and one wave; 1793 in
    # each direction is 8 × 15 = 120 tiles and a second wave that is nearly empty.
    tiles_ = quantisation.tile_quantisation([1792, 1793], [1792, 1793], 4096, tile=(256, 128, 32))
    assert tiles_.count.tolist() == [98, 120]
    waves = quantisation.wave_quantisation(tiles_.count, units=108)
    assert waves.waves.tolist() == [1, 2]
    assert waves.tail.tolist() == [98, 12]
    assert quantisation.wave_time(tiles_.count, units=108, group_s=1.0).tolist() == [1.0, 2.0]


@patient
@given(groups=counts, u=units, r=few)
def test_waves_by_counting(groups, u, r):
    found = quantisation.wave_quantisation(groups, units=u, groups_per_unit=r)
    assert found.waves == -(-groups // (u * r))
    assert found.full * found.slots + found.tail == groups
    assert 0 < found.utilisation <= 1
    assert found.busy_units == min(groups, u)


@patient
@given(groups=counts, u=units, r=few, share=from_zero(1), more=st.integers(1, 1000))
def test_more_groups_never_take_less_time(groups, u, r, share, more):
    base = quantisation.wave_time(groups, units=u, groups_per_unit=r, group_s=1.0, sharing=share)
    assert quantisation.wave_time(groups + more, units=u, groups_per_unit=r, group_s=1.0, sharing=share) >= base * (1 - 1e-12)
    assert groups / u <= quantisation.wave_time(groups, units=u, groups_per_unit=r, group_s=1.0) * (1 + 1e-12)


@patient
@given(groups=counts, u=units, r=few)
def test_the_two_ends_of_sharing(groups, u, r):
    shared = quantisation.wave_time(groups, units=u, groups_per_unit=r, group_s=1.0, sharing=1.0)
    assert float(shared) == pytest.approx(-(-groups // u))
    hidden = quantisation.wave_time(groups, units=u, groups_per_unit=r, group_s=1.0, sharing=0.0)
    assert hidden == -(-groups // (u * r))


@patient
@given(length=sides, unit=tiles)
def test_aligned_share(length, unit):
    share = quantisation.aligned_share(length, unit=unit)
    assert float(share) == length / (-(-length // unit) * unit)
    assert quantisation.aligned_share(length * unit, unit=unit) == 1.0


@patient
@given(groups=few, steps=st.integers(1, 200), parts=st.integers(1, 64))
def test_split_k_keeps_all_steps(groups, steps, parts):
    found = quantisation.split_k(64, 64, groups=groups, steps=steps, parts=parts)
    assert found.parts == min(parts, steps)
    assert found.parts * found.steps >= steps
    assert (found.extra_bytes == 0) == (min(parts, steps) == 1)


@patient
@given(groups=st.integers(1, 300), steps=st.integers(1, 200), slots=units, extra=from_zero(1e-5))
def test_the_best_split_is_the_best_of_all(groups, steps, slots, extra):
    def time(s):
        return -(-(s * groups) // slots) * -(-steps // s) * 1e-6 + (s * extra if s > 1 else 0.0)

    best = int(quantisation.best_split_k(groups=groups, steps=steps, slots=slots, step_s=1e-6, extra_s=extra))
    assert time(best) <= min(time(s) for s in range(1, min(32, steps) + 1)) * (1 + 1e-12)


@patient
@given(groups=st.integers(1, 3000), steps=st.integers(1, 200), u=units)
def test_stream_k_wastes_less_than_a_step_a_unit(groups, steps, u):
    share = quantisation.stream_k_share(groups=groups, steps=steps, units=u)
    waves = quantisation.wave_quantisation(groups, units=u).utilisation
    assert waves * (1 - 1e-12) <= share <= 1


# Limits from NVIDIA's tables of compute capabilities, as the cited examples state them.
VOLTA = occupancy.UnitLimits(  # Best Practices Guide: 65,536 registers, 2048 threads = 64 warps, 256 registers a warp at a time
    subgroup_width=32,
    subgroups=64,
    work_groups=32,
    work_group_threads=1024,
    registers=65536,
    register_unit=256,
    partitions=4,
    thread_registers=255,
    shared_bytes=98304,
)
AMPERE_86 = occupancy.UnitLimits(  # S. Boehm, "How to optimize a CUDA matmul kernel", 2022, printed by the device: 48 warps, 100 KB, 1 KB a block
    subgroup_width=32,
    subgroups=48,
    work_groups=16,
    work_group_threads=1024,
    registers=65536,
    register_unit=256,
    partitions=4,
    thread_registers=255,
    shared_bytes=102400,
    group_shared_bytes=101376,
    reserved_bytes=1024,
)


def test_nvidia_best_practices_example():
    # "Calculating Occupancy": 37 registers; 128 threads: 75 % with 12 blocks; 320 threads: 63 %, only four blocks.
    found = occupancy.resident_groups(threads=[128, 320], registers=37, limits=VOLTA)
    assert found.groups.tolist() == [12, 4]
    assert found.share.tolist() == [0.75, 0.625]
    assert [occupancy.LIMITS[i] for i in found.binding] == ["registers", "registers"]
    # The same section: 100 % needs at most 32 registers a thread.
    full = occupancy.resident_groups(threads=256, registers=[32, 33], limits=VOLTA)
    assert full.share[0] == 1.0
    assert full.share[1] < 1.0


def test_a_published_kernel_on_ampere():
    # S. Boehm's kernel 3 on an A6000: 1024 threads, 37 registers, 8192 B and 1024 B reserved: one block, 32 of 48 warps; 11 by shared memory.
    found = occupancy.resident_groups(threads=1024, registers=37, shared_bytes=8192, limits=AMPERE_86)
    assert (float(found.groups), round(float(found.share), 2)) == (1.0, 0.67)
    assert float(found.by_limit["shared memory"]) == 11.0
    assert float(found.by_limit["registers"]) == 1.0


def test_amd_table_of_waves_by_vector_registers():
    # LLVM, AMDGPUSubtarget before D65010 (GCN and Vega): at most 10 waves a SIMD; 24, 28, 32, 36, 40, 48, 64, 84, 128 registers allow 10 … 2.
    simd = occupancy.UnitLimits(
        subgroup_width=64,
        subgroups=10,
        work_groups=40,
        work_group_threads=1024,
        registers=256 * 64,
        register_unit=4 * 64,
        thread_registers=256,
        shared_bytes=65536,
    )
    table = {24: 10, 28: 9, 32: 8, 36: 7, 40: 6, 48: 5, 64: 4, 84: 3, 128: 2, 256: 1}
    found = occupancy.resident_groups(threads=64, registers=list(table), limits=simd)
    assert found.subgroups.tolist() == list(table.values())


def test_a_kernel_that_cannot_start_has_no_groups():
    found = occupancy.resident_groups(threads=[2048, 1024, 64], registers=[32, 128, 256], shared_bytes=0, limits=VOLTA)
    assert found.groups.tolist() == [0, 0, 0]
    assert [occupancy.LIMITS[i] for i in found.binding] == ["work-group slots", "registers", "registers"]
    large = occupancy.resident_groups(threads=64, registers=32, shared_bytes=98305, limits=VOLTA)
    assert occupancy.LIMITS[int(large.binding)] == "shared memory"
    assert float(large.groups) == 0


@patient
@given(threads=st.integers(1, 1024), registers=st.integers(1, 255), shared=st.integers(0, 98304))
def test_resident_groups_never_use_more_than_there_is(threads, registers, shared):
    found = occupancy.resident_groups(threads=threads, registers=registers, shared_bytes=shared, limits=VOLTA)
    groups, width = int(found.groups), -(-threads // 32)
    assert groups * width <= 64
    assert groups * shared <= 98304
    assert groups * width * registers * 32 <= 65536
    assert 0 <= found.share <= 1


@patient
@given(threads=st.integers(1, 1024), registers=st.integers(1, 255), shared=st.integers(0, 98304), more=st.integers(0, 50))
def test_needing_more_never_fits_more(threads, registers, shared, more):
    base = occupancy.resident_groups(threads=threads, registers=registers, shared_bytes=shared, limits=VOLTA).groups
    assert occupancy.resident_groups(threads=threads, registers=registers + more, shared_bytes=shared, limits=VOLTA).groups <= base
    assert occupancy.resident_groups(threads=threads, registers=registers, shared_bytes=shared + more, limits=VOLTA).groups <= base


def test_limits_from_a_device():
    rest = {"subgroup_width": 32, "subgroups": 64, "work_groups": 32, "work_group_threads": 1024, "register_unit": 256, "thread_registers": 255}
    device = Device(name="a device", kind="gpu", registers_bytes=262144, shared_memory_bytes=98304)
    assert occupancy.limits_of(device, **rest, partitions=4) == VOLTA
    with pytest.raises(UsageError, match="shared_memory_bytes"):
        occupancy.limits_of(Device(name="a device", kind="gpu", registers_bytes=262144), **rest)
    with pytest.raises(UsageError, match="partitions"):
        occupancy.limits_of(device, **rest, partitions=3)


def test_latency_is_hidden_by_bytes_in_flight():
    needed = occupancy.bytes_in_flight_needed(latency_s=500e-9, bandwidth=2e12)
    reached = occupancy.latency_bound_bandwidth(in_flight_bytes=np.array([0.5, 1.0, 2.0]) * needed, latency_s=500e-9, bandwidth=2e12)
    assert reached.tolist() == [1e12, 2e12, 2e12]
