"""Neighbours, clocks, caps, heat and price: fair shares, inverse functions that agree, and worked numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.analytic.patient import patient
from ridgeline.core import OutOfRange, UsageError
from ridgeline.model.analytic import contention, cost, dvfs, power
from support.numbers import from_zero

demands = st.lists(from_zero(1e3), min_size=1, max_size=8)
capacities = st.floats(1e-3, 1e4)
shares = from_zero(1)


@patient
@given(demands=demands, capacity=capacities)
def test_fair_shares_sum_to_the_capacity_or_to_all_demands(demands, capacity):
    found = contention.max_min_shares(demands, capacity=capacity)
    assert float(found.sum()) == pytest.approx(min(capacity, sum(demands)), rel=1e-9, abs=1e-9)
    assert (found <= np.array(demands) * (1 + 1e-12)).all()
    assert (found >= 0).all()


@patient
@given(demands=demands, capacity=capacities)
def test_whoever_gets_less_than_asked_gets_as_much_as_anybody(demands, capacity):
    found = contention.max_min_shares(demands, capacity=capacity)
    short = found < np.array(demands) * (1 - 1e-9)
    if short.any():
        assert found[short].min() >= found.max() * (1 - 1e-9)


@patient
@given(demands=demands, capacity=capacities, weights=st.lists(st.floats(0.1, 10), min_size=8, max_size=8))
def test_weights_count_like_that_many_equals(demands, capacity, weights):
    weight = np.array(weights[: len(demands)])
    found = contention.max_min_shares(demands, capacity=capacity, weights=weight)
    assert float(found.sum()) == pytest.approx(min(capacity, sum(demands)), rel=1e-9, abs=1e-9)
    short = found < np.array(demands) * (1 - 1e-9)
    if short.any():
        assert (found / weight)[short].min() >= (found / weight).max() * (1 - 1e-9)


@patient
@given(rows=st.lists(st.lists(from_zero(1e3), min_size=3, max_size=3), min_size=1, max_size=6), capacity=capacities)
def test_rows_do_not_know_each_other(rows, capacity):
    together = contention.max_min_shares(rows, capacity=capacity)
    assert np.array_equal(together, np.stack([contention.max_min_shares(row, capacity=capacity) for row in rows]))


@patient
@given(m=shares, demand=st.floats(0.1, 100), part=st.floats(0.01, 1), overlap=shares)
def test_a_stretch_lies_between_none_and_the_whole_slowdown(m, demand, part, overlap):
    found = contention.stretch(m, demand=demand, share=demand * part, overlap=overlap)
    assert 1 - 1e-12 <= found <= 1 / part * (1 + 1e-9)
    assert contention.stretch(m, demand=demand, share=demand, overlap=overlap) == pytest.approx(1.0)
    with pytest.raises(OutOfRange, match="share = 0"):
        contention.stretch(0.5, demand=1.0, share=0.0)


@patient
@given(
    tasks=st.lists(st.tuples(st.just(0.0) | st.floats(1e-6, 1), st.just(0.0) | st.floats(1.0, 1e10)), min_size=1, max_size=6),
    single=st.floats(1e9, 2e10),
    capacity=st.floats(1e9, 5e10),
)
def test_contended_tasks_take_no_more_than_there_is(tasks, single, capacity):
    compute, traffic = (np.array(column) for column in zip(*tasks, strict=True))
    found = contention.contended_time(compute, traffic_bytes=traffic, single=single, capacity=capacity)
    alone = compute + traffic / single
    assert (found >= alone * (1 - 1e-9)).all()
    busy = found > 0
    assert (traffic[busy] / found[busy]).sum() <= capacity * (1 + 1e-6)
    more = contention.contended_time(compute, traffic_bytes=traffic, single=single, capacity=capacity * 2)
    assert (more <= found * (1 + 1e-6)).all()


def test_contention_against_a_simulation_of_turns():
    # Two tasks of many small steps: compute, then move at a fair share of what is free at that moment.
    rng = np.random.default_rng(1)
    compute, traffic, single, capacity, step = np.array([1.0, 0.5]), np.array([8.0, 10.0]), 10.0, 12.0, 1e-3
    alone = compute + traffic / single
    phase = [rng.exponential(1.0) for _ in range(2)]
    moving, done = [False, True], np.zeros(2)
    pieces = 40.0  # phases of each kind in one run
    for _ in range(400_000):
        rates = contention_shares(moving, single, capacity)
        for task in range(2):
            phase[task] -= step * (rates[task] * pieces / traffic[task] if moving[task] else pieces / compute[task])
            if phase[task] <= 0:
                phase[task] = rng.exponential(1.0)
                done[task] += 0.5 / pieces
                moving[task] = not moving[task]
    simulated = 400_000 * step / done
    found = contention.contended_time(compute, traffic_bytes=traffic, single=single, capacity=capacity)
    assert (simulated > alone).all()
    assert found == pytest.approx(simulated, rel=0.1)


def contention_shares(moving, single, capacity):
    count = sum(moving)
    return [min(single, capacity / count) if one else 0.0 for one in moving]


@patient
@given(compute=from_zero(10), memory=from_zero(10), fixed=from_zero(1), core=st.floats(0.2, 3), mem=st.floats(0.2, 3), overlap=shares)
def test_time_over_clocks(compute, memory, fixed, core, mem, overlap):
    def at(c, m):
        return float(dvfs.clocked_time(compute_s=compute, memory_s=memory, fixed_s=fixed, core_ratio=c, memory_ratio=m, overlap=overlap))

    assert at(core * 1.5, mem) <= at(core, mem) * (1 + 1e-12)
    assert at(core, mem * 1.5) <= at(core, mem) * (1 + 1e-12)
    assert at(core * 2, mem * 2) - fixed == pytest.approx((at(core, mem) - fixed) / 2, abs=1e-12)


CURVE = {"low_hz": 1e9, "high_hz": 2e9, "low_v": 0.7, "high_v": 1.1}


@patient
@given(cap=st.floats(40, 300), dynamic=st.floats(1, 200), static=from_zero(20), other=from_zero(10))
def test_the_capped_clock_uses_the_cap(cap, dynamic, static, other):
    clock = dvfs.capped_clock(cap_w=cap, dynamic_w=dynamic, static_w=static, other_w=other, **CURVE, least_hz=1e8)
    volts = dvfs.voltage(clock, **CURVE)
    drawn = other + float(dvfs.clock_power(clock, volts=volts, reference_hz=2e9, reference_v=1.1, dynamic_w=dynamic, static_w=static))
    if clock < 2e9:
        assert drawn == pytest.approx(cap)
    else:
        assert drawn <= cap * (1 + 1e-9)
        assert other + dynamic + static <= cap * (1 + 1e-9)


def test_a_clock_or_cap_that_is_not_there():
    with pytest.raises(OutOfRange, match="clock_hz = 3"):
        dvfs.voltage(3e9, **CURVE)
    with pytest.raises(OutOfRange, match=r"cap_w\[1\] = 10"):
        dvfs.capped_clock(cap_w=[100, 10], dynamic_w=100, static_w=20, **CURVE, least_hz=1e8)
    with pytest.raises(OutOfRange, match="low_hz"):
        dvfs.voltage(1e9, low_hz=2e9, high_hz=1e9, low_v=0.7, high_v=1.0)


@patient
@given(time=st.floats(1e-6, 1), static=from_zero(100), flop=from_zero(1e12), moved=from_zero(1e10))
def test_energy_is_the_sum_of_its_parts(time, static, flop, moved):
    spent = power.energy(
        time_s=time,
        static_w=static,
        work={"fma": flop},
        joules_per_op={"fma": 1e-12},
        traffic_bytes={"L2": moved, "DRAM": moved},
        joules_per_byte={"L2": 1e-11, "DRAM": 1e-10},
    )
    parts = float(spent.static_j) + float(spent.by_engine_j["fma"]) + float(spent.by_level_j["L2"]) + float(spent.by_level_j["DRAM"])
    assert float(spent.energy_j) == pytest.approx(parts)
    assert float(spent.power_w) == pytest.approx(parts / time)
    # The static share shrinks when the same work takes less time: race to idle.
    assert float(spent.power_w) >= static * (1 - 1e-12)


@patient
@given(time=st.floats(1e-3, 1), dynamic=from_zero(1000), static=from_zero(99), cap=st.floats(100, 500))
def test_the_average_power_stays_under_the_cap(time, dynamic, static, cap):
    found = float(power.capped_time(time, dynamic_j=dynamic, static_w=static, cap_w=cap))
    assert static + dynamic / found <= cap * (1 + 1e-9)
    assert found >= time
    with pytest.raises(OutOfRange, match="cap_w"):
        power.capped_time(time, dynamic_j=dynamic, static_w=cap, cap_w=cap)


@patient
@given(ambient=st.floats(250, 320), resistance=st.floats(0.01, 1), dynamic=from_zero(300), leak=from_zero(50), growth=from_zero(0.015))
def test_a_steady_temperature_is_a_fixed_point(ambient, resistance, dynamic, leak, growth):
    found = float(
        power.steady_temperature(
            ambient_k=ambient, resistance_k_per_w=resistance, dynamic_w=dynamic, leakage_w=leak, leakage_per_k=growth, at_k=300.0
        )
    )
    assert found == pytest.approx(ambient + resistance * (dynamic + leak * (1 + growth * (found - 300))))


def test_heat_that_runs_away_or_never_arrives():
    with pytest.raises(OutOfRange, match="cool better"):
        power.steady_temperature(ambient_k=300, resistance_k_per_w=1, dynamic_w=10, leakage_w=100, leakage_per_k=0.01)
    with pytest.raises(OutOfRange, match="at_k = 300"):
        power.steady_temperature(ambient_k=7, resistance_k_per_w=0.2, dynamic_w=3, leakage_w=50, leakage_per_k=0.01, at_k=300)
    waits = power.time_to_temperature([310, 290, 400, 500], start_k=300, steady_k=400, time_constant_s=10)
    assert waits.tolist() == [pytest.approx(10 * np.log(100 / 90)), 0.0, np.inf, np.inf]
    assert power.time_to_temperature(310, start_k=320, steady_k=250, time_constant_s=10) == 0.0


@patient
@given(price=from_zero(100), latency=st.floats(1e-6, 10), batch=st.integers(1, 1000), use=st.floats(0.01, 1))
def test_a_million_at_a_price(price, latency, batch, use):
    found = float(cost.cost_per_million(price, latency_s=latency, batch=batch, utilisation=use))
    served_in_an_hour = 3600 * use * batch / latency
    assert found == pytest.approx(price * 1e6 / served_in_an_hour)
    assert float(cost.cost_per_million(price, latency_s=latency, batch=batch, devices=2, utilisation=use)) == pytest.approx(2 * found)
    with pytest.raises(UsageError, match="utilisation = 0"):
        cost.cost_per_million(price, latency_s=latency, utilisation=0)
