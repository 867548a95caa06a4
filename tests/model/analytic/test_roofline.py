"""The hierarchical roofline and the overlap of parts: worked by hand, and as laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.analytic.patient import patient
from ridgeline import laws
from ridgeline.core import UsageError
from ridgeline.model.analytic import overlap, roofline
from support.numbers import from_zero

amounts = from_zero(1e15)
some = st.floats(1, 1e15)
rates = st.floats(1e6, 1e15)
times = from_zero(1e6)
shares = from_zero(1)


def one(flop, l2, dram, peak, fast, slow, share=1.0):
    return roofline.roofline(
        work={"fma": flop}, peak={"fma": peak}, traffic_bytes={"L2": l2, "DRAM": dram}, bandwidth={"L2": fast, "DRAM": slow}, overlap=share
    )


@patient
@given(flop=some, bytes=some, peak=rates, bandwidth=rates)
def test_one_level_is_the_scalar_law(flop, bytes, peak, bandwidth):
    found = roofline.roofline(work={"fma": flop}, peak={"fma": peak}, traffic_bytes={"DRAM": bytes}, bandwidth={"DRAM": bandwidth})
    scalars = {"flop": flop, "bytes": bytes, "peak": peak, "bandwidth": bandwidth}
    assert float(found.time_s) == laws.ideal_time(**scalars)
    limit = laws.limiting_resource(**scalars)
    assert found.ceilings[int(found.binding)] == ("fma" if limit == "compute" else "DRAM")
    attainable = roofline.attainable(intensity=flop / bytes, peak=peak, bandwidth=bandwidth)
    assert float(attainable) == laws.attainable(intensity=flop / bytes, peak=peak, bandwidth=bandwidth)


@patient
@given(flop=some, l2=amounts, dram=amounts, peak=rates, fast=rates, slow=rates, share=shares)
def test_rate_never_above_peak_nor_bandwidth(flop, l2, dram, peak, fast, slow, share):
    found = one(flop, l2, dram, peak, fast, slow, share)
    assert found.rate <= peak * (1 + 1e-12)
    assert dram / found.time_s <= slow * (1 + 1e-12)
    assert l2 / found.time_s <= fast * (1 + 1e-12)


@patient
@given(flop=some, l2=amounts, dram=amounts, peak=rates, fast=rates, slow=rates, share=shares, more=st.floats(1, 10))
def test_more_work_never_takes_less_time(flop, l2, dram, peak, fast, slow, share, more):
    base = one(flop, l2, dram, peak, fast, slow, share).time_s
    assert one(flop * more, l2, dram, peak, fast, slow, share).time_s >= base * (1 - 1e-12)
    assert one(flop, l2, dram * more, peak, fast, slow, share).time_s >= base * (1 - 1e-12)
    assert one(flop, l2, dram, peak * more, fast, slow, share).time_s <= base * (1 + 1e-12)


@patient
@given(flop=some, l2=amounts, dram=amounts, peak=rates, fast=rates, slow=rates, share=shares, factor=st.floats(0.01, 100))
def test_time_scales_with_all_work(flop, l2, dram, peak, fast, slow, share, factor):
    scaled = one(flop * factor, l2 * factor, dram * factor, peak, fast, slow, share).time_s
    assert float(scaled) == pytest.approx(factor * float(one(flop, l2, dram, peak, fast, slow, share).time_s))


@patient
@given(flop=some, l2=amounts, dram=amounts, peak=rates, fast=rates, slow=rates)
def test_raising_the_binding_roof_by_the_headroom_reaches_the_next(flop, l2, dram, peak, fast, slow):
    found = one(flop, l2, dram, peak, fast, slow)
    terms = [flop / peak, l2 / fast, dram / slow]
    assert terms[int(found.binding)] == max(terms) == found.time_s
    order = sorted(terms)
    assert terms[int(found.next_ceiling)] == order[-2]
    assert int(found.next_ceiling) != int(found.binding)
    if order[-2] > 0:
        assert float(found.headroom) == pytest.approx(order[-1] / order[-2])
    else:
        assert np.isinf(found.headroom)


def test_binding_by_hand_over_several_queries():
    # 1 TFLOP/s, L2 100 GB/s, DRAM 10 GB/s: ridges at 10 and 100 FLOP/B.
    found = one(np.array([1e9, 1e9, 1e9]), np.array([1e7, 2e8, 1e7]), np.array([1e6, 1e6, 5e7]), 1e12, 1e11, 1e10)
    assert [found.ceilings[i] for i in found.binding] == ["fma", "L2", "DRAM"]
    assert found.time_s.tolist() == [1e-3, 2e-3, 5e-3]
    assert found.memory_s["DRAM"].tolist() == [1e-4, 1e-4, 5e-3]
    ridges = roofline.ridge_points(peak=1e12, bandwidth={"L2": 1e11, "DRAM": 1e10})
    assert {level: float(ridge) for level, ridge in ridges.items()} == {"L2": 10.0, "DRAM": 100.0}


def test_special_functions_have_a_roof_of_their_own():
    found = roofline.roofline(work={"fma": 1e9, "exp": 1e9}, peak={"fma": 1e12, "exp": 1e10}, traffic_bytes={"DRAM": 1e6}, bandwidth={"DRAM": 1e10})
    assert found.ceilings[int(found.binding)] == "exp"
    assert float(found.time_s) == 0.1


def test_no_work_takes_no_time():
    found = one(0.0, 0.0, 0.0, 1e12, 1e11, 1e10)
    assert float(found.time_s) == 0.0
    assert float(found.rate) == 0.0


def test_levels_without_partner_are_named():
    with pytest.raises(UsageError, match="L3"):
        roofline.roofline(work={"fma": 1}, peak={"fma": 1}, traffic_bytes={"L2": 1, "L3": 1}, bandwidth={"L2": 1})
    with pytest.raises(UsageError, match="at least one roof"):
        roofline.roofline(work={}, peak={}, traffic_bytes={}, bandwidth={})
    with pytest.raises(UsageError, match="name of its own"):
        roofline.roofline(work={"x": 1}, peak={"x": 1}, traffic_bytes={"x": 1}, bandwidth={"x": 1})


def test_an_infinite_number_of_a_mapping_is_named_with_its_key():
    with pytest.raises(UsageError, match=r"traffic_bytes\.DRAM\[1\] = inf"):
        roofline.roofline(work={"fma": 1}, peak={"fma": 1}, traffic_bytes={"DRAM": [1.0, np.inf]}, bandwidth={"DRAM": 1})


@patient
@given(parts=st.lists(times, min_size=1, max_size=5), share=shares, p=st.floats(1, 50))
def test_every_combination_lies_between_maximum_and_sum(parts, share, p):
    for time in (overlap.overlapped(parts, overlap=share), overlap.p_norm(parts, p=p)):
        assert max(parts) * (1 - 1e-12) <= time <= sum(parts) * (1 + 1e-12)


@patient
@given(parts=st.lists(times, min_size=1, max_size=5), low=shares, high=shares)
def test_more_overlap_never_takes_longer(parts, low, high):
    low, high = sorted((low, high))
    slow = overlap.overlapped(parts, overlap=low)
    assert overlap.overlapped(parts, overlap=high) <= slow * (1 + 1e-12)


@patient
@given(parts=st.lists(times, min_size=1, max_size=5), low=st.floats(1, 20), high=st.floats(1, 20))
def test_the_norm_falls_with_its_power(parts, low, high):
    low, high = sorted((low, high))
    slow = overlap.p_norm(parts, p=low)
    assert overlap.p_norm(parts, p=high) <= slow * (1 + 1e-9)


def simulated_pipeline(stages, items):
    """Each item enters a stage when it has left the one before and the stage is free."""
    free = [0.0] * len(stages)
    for _ in range(items):
        at = 0.0
        for place, seconds in enumerate(stages):
            at = max(at, free[place]) + seconds
            free[place] = at
    return at


@patient
@given(stages=st.lists(st.floats(0.01, 10), min_size=1, max_size=5), items=st.integers(1, 20))
def test_a_pipeline_is_what_its_simulation_says(stages, items):
    assert float(overlap.pipelined(stages, items=items)) == pytest.approx(simulated_pipeline(stages, items))


@patient
@given(load=times, compute=times, store=times, blocks=st.integers(1, 50))
def test_two_buffers_are_never_slower_than_one_nor_faster_than_the_longest_part(load, compute, store, blocks):
    once = float(overlap.double_buffered(load, compute, store_s=store, blocks=blocks, buffers=1))
    twice = float(overlap.double_buffered(load, compute, store_s=store, blocks=blocks))
    apart = float(overlap.double_buffered(load, compute, store_s=store, blocks=blocks, channels=2))
    assert blocks * max(compute, load, store) <= apart * (1 + 1e-12)
    assert apart <= twice * (1 + 1e-12)
    assert twice <= once * (1 + 1e-12)


@patient
@given(load=st.floats(0.01, 10), compute=st.floats(0.01, 10), store=st.floats(0.01, 10), blocks=st.integers(1, 20))
def test_buffers_with_two_channels_are_a_pipeline_of_three_stages(load, compute, store, blocks):
    apart = overlap.double_buffered(load, compute, store_s=store, blocks=blocks, channels=2)
    assert float(apart) == pytest.approx(simulated_pipeline([load, compute, store], blocks))


@patient
@given(part=times, behind=times, share=shares)
def test_what_is_exposed_lies_between_none_and_all(part, behind, share):
    shown = overlap.exposed(part, behind, overlap=share)
    assert max(0.0, part - behind) - 1e-9 * part <= shown <= part
