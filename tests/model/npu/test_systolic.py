"""Arrays of multipliers: closed forms by hand, a count cycle by cycle, laws, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import OutOfRange, UsageError
from ridgeline.model.npu import (
    AccessEnergy,
    Buffers,
    MacArray,
    SystolicArray,
    convolution,
    dram_traffic,
    folds,
    gemm,
    mac_array_cost,
    stalled,
    systolic_cycles,
)

FLOWS = ("output", "weight", "input")
small = st.integers(1, 40)
sides = st.integers(1, 9)
flows = st.sampled_from(FLOWS)
ROOMY = Buffers(activation_bytes=1e9, weight_bytes=1e9, result_bytes=1e9, dram_bytes_per_cycle=1e9)


def counted(dataflow: str, rows: int, columns: int, m: int, n: int, k: int) -> int:
    """Number of the last cycle, pass by pass: the unit in the far corner sees the last operand R − 1 + C − 1 cycles after it enters."""
    down, across, stream = {"output": (m, n, k), "weight": (k, n, m), "input": (k, m, n)}[dataflow]
    cycle = 0
    for _ in range(0, down, rows):
        for _ in range(0, across, columns):
            if dataflow != "output":
                cycle += rows
            cycle += stream + (rows - 1) + (columns - 1)
    return cycle - 1


@given(flow=flows, rows=sides, columns=sides, m=small, n=small, k=small)
def test_the_closed_form_is_the_count(flow, rows, columns, m, n, k):
    array = SystolicArray(rows=rows, columns=columns, dataflow=flow)
    assert int(systolic_cycles(array, gemm(m, n, k)).cycles) == counted(flow, rows, columns, m, n, k)


def test_worked_examples():
    square = [SystolicArray(rows=8, columns=8, dataflow=flow) for flow in FLOWS]
    assert [int(systolic_cycles(array, gemm(1, 1, 1)).cycles) for array in square] == [14, 22, 22]
    assert [int(systolic_cycles(array, gemm(8, 16, 24)).cycles) for array in square] == [75, 179, 113]


def test_arrays_give_what_single_shapes_give():
    draw = np.random.default_rng(3)
    shapes = draw.integers(1, 100, (3, 50))
    for flow in FLOWS:
        array = SystolicArray(rows=4, columns=6, dataflow=flow)
        together = systolic_cycles(array, gemm(*shapes))
        assert together.cycles.tolist() == [int(systolic_cycles(array, gemm(*map(int, each))).cycles) for each in shapes.T]


@given(flow=flows, rows=sides, columns=sides, m=small, n=small, k=small)
def test_no_array_does_more_than_it_can(flow, rows, columns, m, n, k):
    found = systolic_cycles(SystolicArray(rows=rows, columns=columns, dataflow=flow), gemm(m, n, k))
    assert 0 < float(found.utilisation) <= float(found.mapped) <= 1


@given(rows=sides, columns=sides, m=small, n=small, k=small)
def test_rows_and_columns_may_be_exchanged_with_the_operands(rows, columns, m, n, k):
    one = systolic_cycles(SystolicArray(rows=rows, columns=columns, dataflow="output"), gemm(m, n, k))
    other = systolic_cycles(SystolicArray(rows=columns, columns=rows, dataflow="output"), gemm(n, m, k))
    assert int(one.cycles) == int(other.cycles)


def test_a_convolution_is_its_product():
    made = convolution(28, 28, 8, 16, kernel=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1))
    assert (int(made.m), int(made.n), int(made.k)) == (14 * 14, 16, 72)
    assert int(made.macs) == 14 * 14 * 16 * 72
    assert int(made.activations) == 28 * 28 * 8


def test_a_depthwise_convolution_has_one_channel_a_group():
    made = convolution(10, 10, 32, 32, kernel=(3, 3), padding=(1, 1, 1, 1), groups=32)
    assert (int(made.n), int(made.k), int(made.groups)) == (1, 9, 32)
    assert int(made.macs) == 100 * 9 * 32


def test_a_window_that_hangs_over_the_edge_counts_only_if_asked():
    assert int(convolution(10, 10, 1, 1, kernel=(3, 3), stride=(2, 2)).m) == 16
    assert int(convolution(10, 10, 1, 1, kernel=(3, 3), stride=(2, 2), last_window="partial").m) == 25


@pytest.mark.parametrize("wrong", [0, -1, 1.5, float("nan"), float("inf"), 2**53 + 2, "8", [], True])
def test_what_is_no_count_is_refused(wrong):
    with pytest.raises(UsageError):
        gemm(wrong, 4, 4)
    with pytest.raises(UsageError):
        SystolicArray(rows=wrong, columns=4, dataflow="output")
    with pytest.raises(UsageError):
        convolution(8, 8, wrong, 4, kernel=(1, 1))


def test_shapes_that_do_not_fit_each_other_are_refused():
    with pytest.raises(UsageError, match="one shape"):
        gemm([1, 2, 3], [1, 2], 1)
    with pytest.raises(UsageError, match="no larger"):
        convolution(2, 2, 1, 1, kernel=(3, 3))
    with pytest.raises(UsageError, match="groups that divide"):
        convolution(8, 8, 6, 6, kernel=(1, 1), groups=4)


def test_a_count_that_would_wrap_round_is_out_of_range():
    with pytest.raises(OutOfRange):
        gemm(2**30, 2**30, 2**30)
    with pytest.raises(OutOfRange):
        systolic_cycles(SystolicArray(rows=1, columns=1, dataflow="output"), gemm(2**20, 2**20, 2**20))


@given(flow=flows, rows=sides, columns=sides, m=small, n=small, k=small, room=st.integers(8, 4096))
def test_dram_moves_at_least_each_operand_once_and_once_if_there_is_room(flow, rows, columns, m, n, k, room):
    array, product = SystolicArray(rows=rows, columns=columns, dataflow=flow), gemm(m, n, k)
    tight = dram_traffic(array, product, Buffers(activation_bytes=room, weight_bytes=room, result_bytes=room, dram_bytes_per_cycle=1))
    once = dram_traffic(array, product, ROOMY)
    assert (float(once.activation_bytes), float(once.weight_bytes), float(once.result_bytes)) == (m * k, k * n, m * n)
    assert float(tight.activation_bytes) >= m * k
    assert float(tight.weight_bytes) >= k * n
    assert float(tight.total_bytes) >= float(once.total_bytes)


@given(flow=flows, m=small, n=small, k=small, rate=st.floats(0.01, 100))
def test_stalls_vanish_with_bandwidth_and_never_help(flow, m, n, k, rate):
    array, product = SystolicArray(rows=4, columns=4, dataflow=flow), gemm(m, n, k)
    computing = systolic_cycles(array, product).cycles
    totals = []
    for bandwidth in (rate, 2 * rate, 1e12):
        buffers = Buffers(activation_bytes=2048, weight_bytes=2048, result_bytes=2048, dram_bytes_per_cycle=bandwidth)
        traffic = dram_traffic(array, product, buffers)
        totals.append(float(stalled(computing, traffic, buffers)))
        assert totals[-1] >= float(traffic.total_bytes) / bandwidth * (1 - 1e-12)
    assert totals[0] >= totals[1] >= totals[2] >= int(computing)
    assert totals[2] == pytest.approx(int(computing), abs=1e-6)


def machine(**more):
    array = SystolicArray(rows=16, columns=16, dataflow=more.pop("dataflow", "weight"))
    buffers = Buffers(activation_bytes=65536, weight_bytes=65536, result_bytes=65536, dram_bytes_per_cycle=16)
    return MacArray(array=array, buffers=buffers, clock_hz=1e9, sram_bytes_per_cycle=256, **more)


@given(flow=flows, m=small, n=small, k=small)
def test_an_abstract_npu_keeps_its_books(flow, m, n, k):
    prices = AccessEnergy(mac_j=1e-12, sram_j_per_byte=2e-12, dram_j_per_byte=3e-11, static_w=0.1)
    found = mac_array_cost(machine(dataflow=flow, energy=prices), gemm(m, n, k))
    assert float(found.energy_j) == pytest.approx(float(found.mac_j + found.sram_j + found.dram_j + found.static_j))
    assert float(found.mac_j) == pytest.approx(m * n * k * 1e-12)
    assert float(found.cycles) >= max(float(found.compute_cycles), float(found.sram_cycles))
    assert float(found.stall_cycles) == pytest.approx(float(found.cycles) - float(found.compute_cycles))
    assert 0 < float(found.utilisation) <= 1


def test_units_that_are_fed_at_once_need_no_more_than_skewed_ones():
    product = gemm([10, 128, 300], [64, 128, 20], [33, 128, 500])
    for flow in FLOWS:
        skewed, fed = (mac_array_cost(machine(dataflow=flow, feeding=how), product).compute_cycles for how in ("systolic", "broadcast"))
        assert (fed <= skewed).all()


def test_no_energy_without_prices():
    assert mac_array_cost(machine(), gemm(8, 8, 8)).energy_j is None


def test_bad_machines_are_refused():
    with pytest.raises(UsageError):
        Buffers(activation_bytes=0, weight_bytes=1, result_bytes=1, dram_bytes_per_cycle=1)
    with pytest.raises(UsageError):
        AccessEnergy(mac_j=float("nan"))
    with pytest.raises(UsageError):
        MacArray(array=machine().array, buffers=ROOMY, clock_hz=-1, sram_bytes_per_cycle=1)


def test_folds_say_what_is_cut():
    cut = folds(SystolicArray(rows=8, columns=8, dataflow="weight"), gemm(31, 17, 9))
    assert (int(cut.down), int(cut.across), int(cut.streamed)) == (2, 3, 31)
    assert float(cut.mapped) == pytest.approx(9 / 16 * 17 / 24)
