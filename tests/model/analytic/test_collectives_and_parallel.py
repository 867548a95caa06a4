"""Collectives and parallel steps: the closed forms, the limits, and a ring that is simulated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.analytic.patient import patient
from ridgeline.core import UsageError
from ridgeline.model.analytic import collectives, parallel
from support.numbers import from_zero

sizes = st.just(0.0) | st.floats(1e-3, 1e12)
devices = st.integers(1, 512)
bandwidths = st.floats(1e8, 1e12)
latencies = st.just(0.0) | st.floats(1e-9, 1e-3)
times = from_zero(10)
KINDS = ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all"]
PAIRS = [(kind, way) for kind in KINDS for way in ("ring", "tree", "halving")]
KNOWN = [pair for pair in PAIRS if pair not in {("all-gather", "tree"), ("reduce-scatter", "tree"), ("all-to-all", "tree"), ("broadcast", "halving")}]


@patient
@given(size=sizes, n=devices, bandwidth=bandwidths)
def test_a_large_ring_all_reduce_is_its_bandwidth_term(size, n, bandwidth):
    found = collectives.collective_time("all-reduce", size, devices=n, bandwidth=bandwidth, latency_s=0)
    assert float(found) == pytest.approx(2 * (n - 1) / n * size / bandwidth)


@patient
@given(size=sizes, n=devices, bandwidth=bandwidths, latency=latencies)
def test_all_reduce_is_reduce_scatter_and_all_gather(size, n, bandwidth, latency):
    link = {"devices": n, "bandwidth": bandwidth, "latency_s": latency}
    for way in ("ring", "halving"):
        whole, first, second = (
            float(collectives.collective_time(kind, size, **link, algorithm=way)) for kind in ("all-reduce", "reduce-scatter", "all-gather")
        )
        assert whole == pytest.approx(first + second)


@pytest.mark.parametrize(("kind", "way"), KNOWN)
@patient
@given(size=sizes, n=devices, bandwidth=bandwidths, latency=latencies, more=st.floats(1, 10))
def test_laws_of_every_collective(kind, way, size, n, bandwidth, latency, more):
    link = {"devices": n, "bandwidth": bandwidth, "latency_s": latency, "algorithm": way}
    base = float(collectives.collective_time(kind, size, **link))
    assert base >= 0
    assert collectives.collective_time(kind, size, **{**link, "devices": 1}) == 0
    assert collectives.collective_time(kind, size * more, **link) >= base * (1 - 1e-12)
    assert collectives.collective_time(kind, size, **{**link, "devices": n + 1}) >= base * (1 - 1e-12)
    assert collectives.collective_time(kind, size, **link, reduce_rate=1e9) >= base
    if base > 0 and size > 0 and n > 1:  # no algorithm moves more on the bus than the link gives
        assert collectives.bus_bandwidth(kind, size, seconds=base, devices=n) <= bandwidth * (1 + 1e-9)


@pytest.mark.parametrize(("kind", "way"), sorted(set(PAIRS) - set(KNOWN)))
def test_what_is_not_there_is_said(kind, way):
    with pytest.raises(UsageError, match=f"{kind} by {way}"):
        collectives.collective_time(kind, 1, devices=2, bandwidth=1, latency_s=0, algorithm=way)


def simulated_ring(n, size, bandwidth, latency, rate):
    """Steps of a ring all-reduce: everyone sends a piece to the right at once, and adds in the first half."""
    pieces = np.eye(n)[:, :, None] * np.arange(1.0, n + 1)[None, :, None]
    own = np.ones((n, n))  # device × piece: contributions summed so far
    time = 0.0
    for step in range(n - 1):
        before = own.copy()
        for device in range(n):
            piece = (device - step) % n
            own[(device + 1) % n, piece] += before[device, piece]
        time += latency + size / n / bandwidth + size / n / rate
    for step in range(n - 1):
        before = own.copy()
        for device in range(n):
            piece = (device + 1 - step) % n
            own[(device + 1) % n, piece] = before[device, piece]
        time += latency + size / n / bandwidth
    assert (own == n).all(), "every device has every sum"
    assert pieces.shape == (n, n, 1)
    return time


@patient
@given(n=st.integers(2, 9), size=st.floats(1, 1e9), latency=latencies)
def test_a_ring_takes_as_many_steps_as_its_simulation(n, size, latency):
    found = collectives.collective_time("all-reduce", size, devices=n, bandwidth=1e9, latency_s=latency, reduce_rate=5e9)
    assert float(found) == pytest.approx(simulated_ring(n, size, 1e9, latency, 5e9))


@patient
@given(size=sizes, n=devices, bandwidth=bandwidths, latency=latencies)
def test_one_level_of_a_hierarchy_is_a_flat_ring(size, n, bandwidth, latency):
    flat = float(collectives.collective_time("all-reduce", size, devices=n, bandwidth=bandwidth, latency_s=latency))
    near = {"local_bandwidth": bandwidth, "local_latency_s": latency, "bandwidth": bandwidth, "latency_s": latency}
    assert float(collectives.hierarchical_all_reduce_time(size, local=n, nodes=1, **near)) == pytest.approx(flat)
    assert float(collectives.hierarchical_all_reduce_time(size, local=1, nodes=n, **near)) == pytest.approx(flat)


def test_bus_factors_of_nccl_tests():
    # nccl-tests, doc/PERFORMANCE.md: all-reduce 2 (n − 1)/n; reduce-scatter, all-gather and all-to-all (n − 1)/n; broadcast 1.
    found = [float(collectives.bus_bandwidth(kind, 8e9, seconds=1.0, devices=8)) / 8e9 for kind in KINDS]
    assert found == [1.75, 0.875, 0.875, 1.0, 0.875]
    with pytest.raises(UsageError, match="kind"):
        collectives.bus_bandwidth("scan", 1, seconds=1, devices=2)


@patient
@given(compute=times, n=devices, one=from_zero(0.01), count=st.integers(0, 100), serial=from_zero(1), hidden=from_zero(1))
def test_tensor_parallelism_obeys_amdahl(compute, n, one, count, serial, hidden):
    found = parallel.tensor_parallel_time(compute, devices=n, collective_s=one, collectives=count, serial_share=serial, overlap=hidden)
    assert found >= compute * (serial + (1 - serial) / n) * (1 - 1e-12)
    assert parallel.tensor_parallel_time(compute, devices=1, collective_s=one, collectives=count, serial_share=serial) == pytest.approx(compute)


def test_data_parallelism_hides_what_it_can():
    hidden, shown, none = (
        float(parallel.data_parallel_time(0.3, backward_s=0.2, collective_s=c, overlap=o)) for c, o in ((0.1, 1.0), (0.25, 1.0), (0.1, 0.0))
    )
    assert (hidden, shown, none) == (0.3, pytest.approx(0.35), pytest.approx(0.4))


def simulated_stages(stages, batches):
    free = [0.0] * stages
    for _ in range(batches):
        at = 0.0
        for place in range(stages):
            at = max(at, free[place]) + 1.0
            free[place] = at
    return at


@patient
@given(stages=st.integers(1, 12), batches=st.integers(1, 40))
def test_a_pipeline_of_stages_is_its_simulation(stages, batches):
    found = parallel.pipeline_parallel(1.0, stages=stages, micro_batches=batches)
    assert float(found.time_s) == simulated_stages(stages, batches)
    assert float(found.bubble_share) == pytest.approx((stages - 1) / (batches + stages - 1))
    # Narayanan et al. 2021: interleaving divides the bubble by the pieces a device has.
    assert parallel.pipeline_parallel(1.0, stages=stages, micro_batches=batches, interleaved=2).bubble_share <= found.bubble_share


def test_experts_over_devices():
    alone = parallel.expert_parallel_time(1e-3, experts_s=8e-3, devices=1, all_to_all_s=1e-4, fullest=2.0)
    assert float(alone) == pytest.approx(9e-3)
    spread = parallel.expert_parallel_time(1e-3, experts_s=8e-3, devices=8, all_to_all_s=1e-4, fullest=2.0)
    assert float(spread) == pytest.approx(1e-3 + 2e-3 + 2e-4)
