"""From record and profiled calls to the table: invented calls with known times."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Site, UsageError
from ridgeline.measurement.operators.torch.events import Event
from ridgeline.measurement.operators.torch.rows import group_rows, threads_of
from ridgeline.measurement.operators.torch.table import median_seconds, tabulate, union_ns
from ridgeline.measurement.operators.torch.trace import Iteration
from ridgeline.work.torch import RecordedOp, TensorUse, Work, work_of


def use(buffer, *shape, fresh=False):
    strides = [math.prod(shape[index + 1 :]) for index in range(len(shape))]
    return TensorUse(buffer=buffer, shape=shape, dtype="float32", stride=tuple(strides), storage_bytes=4 * math.prod(shape), fresh=fresh)


def op(kind, inputs, output, line=1):
    return RecordedOp(kind=f"aten::{kind}", inputs=inputs, outputs=(output,), site=Site(file="/home/me/model.py", line=line, function="f"))


def call(*spans, lane=1, wall=1000):
    return Iteration([Event(name, start, end, on) for name, start, end, on in spans], lane, wall, wall * 1e-9)


X, Y, Z, W = use(0, 8, 8), use(1, 8, 8, fresh=True), use(2, 8, 8, fresh=True), use(3, 8, 8, fresh=True)
OPS = [op("relu", (X,), Y, 1), op("exp", (Y,), Z, 2), op("mm", (Z, Y), W, 3)]


def profiled(shift=0):
    return call(("aten::relu", 0, 100 + shift, 1), ("aten::exp", 200, 300, 1), ("aten::mm", 400, 800, 1))


def test_rows_carry_time_work_and_edges():
    table = tabulate(OPS, [profiled(shift) for shift in range(10)], threads=4)
    relu, exp, product = table.rows
    assert (relu.name, relu.kind, relu.calls, relu.shapes) == ("aten::relu@model.py:1", "aten::relu", 1.0, "f32[8,8] → f32[8,8]")
    assert (relu.total_s.low, relu.total_s.value, relu.total_s.high) == pytest.approx((101e-9, 104.5e-9, 108e-9))
    assert [row.after for row in table.rows] == [(), (0,), (0, 1)]
    assert (exp.engine, exp.flop, product.engine, product.flop) == ("exp", 64.0, "fma", 1024.0)
    assert (relu.placement.precision, relu.placement.threads) == ("fp32", 1)
    assert table.operators_s.value == pytest.approx(604.5e-9)
    assert table.iterations == 10
    assert table.check_wall_s == pytest.approx(1e-6)


def test_executions_of_one_site_are_one_row():
    ops = [op("relu", (X,), Y), op("relu", (Y,), Z), op("relu", (Z,), W)]
    table = tabulate(ops, [call(*(("aten::relu", 100 * index, 100 * index + 10, 1) for index in range(3)))])
    (row,) = table.rows
    assert (row.calls, row.flop, row.after) == (3.0, 192.0, ())
    assert row.total_s.value == pytest.approx(30e-9)


def test_an_operator_that_ran_in_half_of_the_calls_counts_half():
    ops = [*OPS, op("sin", (W,), use(4, 8, 8), 4), op("cos", (W,), use(5, 8, 8), 5), op("tanh", (W,), use(6, 8, 8), 6)]
    always = call(*((each.kind, 100 * index, 100 * index + 10, 1) for index, each in enumerate(ops[:-1])))
    sometimes = Iteration([*always.events, Event("aten::tanh", 900, 950, 1)], 1, 1000, 1e-6)
    row = tabulate(ops, [always, sometimes] * 2).rows[-1]
    assert (row.kind, row.calls, row.flop) == ("aten::tanh", 0.5, 32.0)


def test_a_profile_that_disagrees_goes_by_name_and_says_so():
    table = tabulate(OPS, [call(("aten::sin", 0, 10, 1), ("aten::cos", 20, 50, 1), ("aten::cos", 60, 90, 1))] * 3)
    assert "times are by name" in table.instrument
    assert [(row.kind, row.calls, row.flop) for row in table.rows] == [("aten::sin", 1.0, None), ("aten::cos", 2.0, None)]
    assert all(row.reason for row in table.rows)


def test_other_threads_are_included_by_union():
    other = Iteration([*profiled().events, Event("aten::sort", 50, 450, 2), Event("aten::inner", 60, 70, 2)], 1, 1000, 1e-6)
    table = tabulate(OPS, [other])
    assert "other threads" in table.instrument
    assert table.operators_s.value == pytest.approx(800e-9)  # 0–800 without a gap
    assert [row.kind for row in table.rows if row.flop is None] == ["aten::sort"]


def test_left_over_rows_stand_where_they_ran_and_edges_follow():
    calls = call(("aten::odd", 0, 5, 1), *((event.name, event.start_ns + 10, event.end_ns + 10, 1) for event in profiled().events))
    table = tabulate(OPS, [calls])
    assert [row.kind for row in table.rows] == ["aten::odd", "aten::relu", "aten::exp", "aten::mm"]
    assert [row.after for row in table.rows] == [(), (), (1,), (1, 2)]


def test_no_calls_are_refused():
    with pytest.raises(UsageError, match="profiled call"):
        tabulate(OPS, [])


def test_too_many_sites_keep_their_kinds():
    ops = [op("relu", (X,), Y, line) for line in range(50)]
    groups = group_rows(ops, 10)
    assert len(groups) == 11
    assert (groups[-1].kind, len(groups[-1].members), groups[-1].site) == ("aten::relu", 40, None)


def test_threads_follow_the_grain():
    small, large, huge = (op("relu", (use(0, size),), use(1, size)) for size in (1000, 40_000, 10**7))
    assert [threads_of(each, work_of(each), 8) for each in (small, large, huge)] == [1, 2, 8]
    random = RecordedOp(kind="aten::normal_", inputs=(use(0, 10**7),), outputs=(use(0, 10**7),), mutated=("self",), arguments={"self": use(0, 10**7)})
    assert threads_of(random, work_of(random), 8) == 1
    assert threads_of(small, Work(group="matmul", flop=1e9, writes=work_of(small).writes), 8) == 8


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40))
def test_the_interval_of_the_median_holds_it(values):
    found = median_seconds(values, "test")
    assert found.low <= found.value <= found.high
    assert found.low >= min(values) * 1e-9
    assert found.high <= max(values) * 1e-9


def test_ten_values_give_the_second_and_the_ninth():
    found = median_seconds(range(10), "test")
    assert (found.low, found.high) == pytest.approx((1e-9, 8e-9))
    assert found.confidence == pytest.approx(1 - 2 * 11 / 1024)


SPANS = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 20)).map(lambda pair: Event("aten::x", pair[0], sum(pair), 1)), max_size=20)


@given(SPANS, st.randoms())
def test_a_union_is_what_marking_every_nanosecond_gives(spans, random):
    marked = {moment for span in spans for moment in range(span.start_ns, span.end_ns)}
    assert union_ns(spans) == len(marked)
    random.shuffle(spans)
    assert union_ns(spans) == len(marked)
