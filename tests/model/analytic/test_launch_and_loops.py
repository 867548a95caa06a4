"""Queues, barriers, CPU loops and streams: simulated, worked by hand, and as laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.analytic.patient import patient
from ridgeline import laws
from ridgeline.core import OutOfRange, UsageError
from ridgeline.model.analytic import ecm, launch, streams
from support.numbers import from_zero

times = from_zero(1)
some = st.floats(1, 1e12)


def simulated_queue(kernels, launch_s, gap):
    """When the last kernel is done: submitted one after the other, run in order."""
    done = None
    for place, seconds in enumerate(kernels, start=1):
        start = place * launch_s if done is None else max(place * launch_s, done + gap)
        done = start + seconds
    return done


@patient
@given(kernels=st.lists(times, min_size=1, max_size=20), launch_s=times, gap=times)
def test_a_sequence_is_what_its_simulation_says(kernels, launch_s, gap):
    found = launch.sequence_time(kernels, launch_s=launch_s, gap_s=gap)
    assert float(found) == pytest.approx(simulated_queue(kernels, launch_s, gap))


@patient
@given(kernel=times, kernels=st.integers(1, 50), launch_s=times, gap=times)
def test_like_kernels_are_a_sequence(kernel, kernels, launch_s, gap):
    found = launch.queue_time(kernel, kernels=kernels, launch_s=launch_s, gap_s=gap)
    assert float(found.time_s) == pytest.approx(simulated_queue([kernel] * kernels, launch_s, gap))
    assert float(found.device_idle_s) == pytest.approx(float(found.time_s) - kernels * kernel)
    assert bool(found.host_bound) == (launch_s > kernel + gap)


def test_sequences_of_several_models_at_once():
    kernels = np.array([[1.0, 1.0, 10.0, 1.0], [5.0, 5.0, 5.0, 5.0]])
    assert launch.sequence_time(kernels, launch_s=np.array([2.0, 1.0])).tolist() == [17.0, 21.0]
    with pytest.raises(UsageError, match=r"kernels_s\[1, 2\] = -1"):
        launch.sequence_time([[1, 1, 1], [1, 1, -1]], launch_s=1.0)
    with pytest.raises(UsageError, match="last axis"):
        launch.sequence_time(3.0, launch_s=1.0)


@patient
@given(kernel=times, kernels=st.integers(2, 50), launch_s=times)
def test_a_graph_that_costs_nothing_a_node_is_never_slower(kernel, kernels, launch_s):
    queue = launch.queue_time(kernel, kernels=kernels, launch_s=launch_s).time_s
    assert launch.graph_replay_time(kernel * kernels, nodes=kernels, launch_s=launch_s, node_s=0.0) <= queue * (1 + 1e-12)


def test_dispatch_agrees_with_the_scalar_law():
    found = launch.dispatched_time(8e-3, operators=300, dispatch_s=10e-6)
    assert float(found) - 8e-3 == pytest.approx(laws.per_operator_cost(operators=300, cost=10e-6))


def test_barriers_grow_with_the_threads():
    tree = launch.barrier_time(np.arange(1, 100), hop_s=1e-7)
    assert tree[0] == 0
    assert (np.diff(tree) >= 0).all()
    assert launch.barrier_time(100, hop_s=1e-7, kind="central") > tree[-1]
    with pytest.raises(UsageError, match="kind"):
        launch.barrier_time(2, hop_s=1e-7, kind="flag")


def test_the_slowest_of_normal_threads_stays_under_the_bound():
    drawn = np.random.default_rng(5).normal(10.0, 1.0, (20_000, 32)).max(axis=1).mean()
    assert 10.0 < drawn <= launch.imbalanced_time(10.0, deviation_s=1.0, threads=32)


@patient
@given(core=times, loads=times, l2=times, l3=times, dram=times)
def test_ecm_laws(core, loads, l2, l3, dram):
    lines = {"L2": l2, "L3": l3, "DRAM": dram}
    serial = ecm.ecm_cycles(overlapping=core, non_overlapping=loads, transfers=lines)
    free = ecm.ecm_cycles(overlapping=core, non_overlapping=loads, transfers=lines, serial=False)
    values = [float(value) for value in serial.values()]
    assert values == sorted(values)
    assert all(max(core, loads) <= free[level] <= serial[level] for level in serial)


@patient
@given(cycles=st.floats(1, 100), share=st.floats(0.01, 1), cores=st.integers(1, 64))
def test_cores_scale_until_they_saturate(cycles, share, cores):
    memory = max(cycles * share, 1e-3)
    found = ecm.saturation(cycles=cycles, memory_cycles=min(memory, cycles), cores=cores)
    assert found.speedup <= cores
    if cores >= found.cores:
        assert float(found.cycles) == pytest.approx(min(memory, cycles))
    else:
        assert float(found.speedup) == cores


def test_ecm_by_hand():
    # A copy of doubles, one line of work = 8 elements: 2 load and 2 store instructions of 32 B at one a cycle; L1–L2 64 B/cycle, three lines with the
    # write-allocate; memory 20 GB/s at 2 GHz.
    lines = {
        "L2": float(ecm.transfer_cycles(moved_bytes=3 * 64, bytes_per_cycle=64)),
        "DRAM": float(ecm.transfer_cycles(moved_bytes=3 * 64, bandwidth=20e9, clock_hz=2e9)),
    }
    assert lines == {"L2": 3.0, "DRAM": 19.2}
    found = ecm.ecm_cycles(overlapping=0.0, non_overlapping=4.0, transfers=lines)
    assert {level: round(float(value), 6) for level, value in found.items()} == {"L1": 4.0, "L2": 7.0, "DRAM": 26.2}
    assert float(ecm.saturation(cycles=26.2, memory_cycles=19.2).cores) == 2.0
    with pytest.raises(OutOfRange, match=r"memory_cycles\[1\] = 20"):
        ecm.saturation(cycles=16.0, memory_cycles=[1.0, 20.0])
    with pytest.raises(UsageError, match="L1"):
        ecm.ecm_cycles(overlapping=1, non_overlapping=1, transfers={"L1": 1})
    with pytest.raises(UsageError, match="both or neither"):
        ecm.transfer_cycles(moved_bytes=1)


@patient
@given(n=some, mix=st.sampled_from(["read", "copy", "triad", "fill"]))
def test_moved_bytes_are_named_bytes_and_the_allocated_lines(n, mix):
    named, moved = streams.named_bytes(n, mix=mix), streams.moved_bytes(n, mix=mix)
    written = {"read": 0.0, "copy": n, "triad": n, "fill": n}[mix]
    assert float(moved) == pytest.approx(float(named) + written)
    assert streams.moved_bytes(n, mix=mix, write_allocate=0.0) == named
    read = float(named) - written
    if mix != "read":  # the scalar law counts the reads of a cache that allocates on write
        assert float(moved) == pytest.approx(laws.write_allocate_reads(read_bytes=read, written_bytes=written) + written)


def test_half_of_the_bandwidth_at_the_half_size():
    size = streams.half_size_bytes(bandwidth=20e9, latency_s=1e-6)
    assert float(size / streams.stream_time(size, bandwidth=20e9, latency_s=1e-6)) == pytest.approx(10e9)


@patient
@given(single=some, factor=st.floats(0.1, 100), knee=st.floats(1, 1e5))
def test_threads_never_pass_either_ceiling_and_never_fall(single, factor, knee):
    full = single * factor
    found = streams.threads_bandwidth(np.arange(1, 40), single=single, full=full, knee=knee)
    assert (found <= full * (1 + 1e-12)).all()
    assert (found <= single * np.arange(1, 40) * (1 + 1e-12)).all()
    assert (np.diff(found) >= -1e-9 * full).all()


def test_distinct_lines_against_drawing():
    generator = np.random.default_rng(3)
    drawn = np.mean([len(np.unique(generator.integers(0, 500, 700))) for _ in range(400)])
    assert float(streams.distinct_lines(700, lines=500)) == pytest.approx(drawn, rel=0.01)
    assert streams.distinct_lines([0, 1, 5], lines=1).tolist() == [0.0, 1.0, 1.0]


@patient
@given(a=st.integers(0, 10**7), table=st.floats(64, 1e10), capacity=st.floats(64, 1e10))
def test_gathers_move_between_distinct_and_all(a, table, capacity):
    moved = streams.gather_bytes(a, element_bytes=4, table_bytes=table, capacity_bytes=capacity)
    assert streams.distinct_lines(a, lines=max(np.ceil(table / 64), 1)) * 64 * (1 - 1e-9) <= moved + 1e-9
    assert moved <= a * 64 * (1 + 1e-9)


def test_a_gather_from_a_simulated_cache():
    # Random lines through a cache with least recent use: misses are the share that does not fit.
    generator = np.random.default_rng(9)
    lines, kept, accesses = 400, 100, 20_000
    recent: dict[int, None] = {}
    misses = 0
    for line in generator.integers(0, lines, accesses):
        if line in recent:
            del recent[line]
        else:
            misses += 1
            if len(recent) == kept:
                del recent[next(iter(recent))]
        recent[line] = None
    moved = streams.gather_bytes(accesses, element_bytes=64, table_bytes=lines * 64, capacity_bytes=kept * 64)
    assert float(moved) == pytest.approx(misses * 64, rel=0.02)


def test_strides_and_transposes():
    assert streams.strided_bytes(100, stride_bytes=[4, 8, 64, 128], element_bytes=4).tolist() == [400, 800, 6400, 6400]
    with pytest.raises(OutOfRange, match="stride_bytes = 2"):
        streams.strided_bytes(100, stride_bytes=2, element_bytes=4)
    with pytest.raises(OutOfRange, match="element_bytes = 128"):
        streams.transpose_bytes(10, 10, element_bytes=128, capacity_bytes=32768)
    narrow, wide = streams.transpose_bytes(1000, [512, 513], element_bytes=8, capacity_bytes=32768)
    assert float(narrow) == 1000 * 512 * 8 * 3
    assert float(wide) == 1000 * 513 * (8 + 2 * 64)
