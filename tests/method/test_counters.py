"""The chapter on counters and the roofline: multiplexing, bytes from misses, FLOPs from shapes, and the projection of a decoder."""

from __future__ import annotations

import math

import pytest

from ridgeline import laws
from ridgeline.core import Quantity
from ridgeline.diagnosis.judge import BOUND_HIGH, BOUND_LOW, bound_of
from ridgeline.work.numpy import ArrayFacts, work_of
from support.method_device import CLOCK_HZ, CORE_PEAK, CORE_STREAM, CORES, PEAK, STREAM, THEORETICAL
from support.printed import is_printed

ELEMENTS = 64 * 112 * 112
TENSOR = ELEMENTS * 4
RUNS = 200


def fraction(value: float) -> Quantity:
    return Quantity.exact(value, "1", source="measured")


def test_twelve_events_on_four_to_eight_counters():
    """Each counter sees its event only part of the time: two thirds on eight counters, a third on four; two or three passes cure both."""
    assert is_printed(100 * 8 / 12, "66.67")
    assert [math.ceil(12 / counters) for counters in (8, 4)] == [2, 3]
    assert 8 / 12 < 0.9


def test_flop_per_instruction_of_a_vectorised_loop():
    """128 bits hold 4 fp32: 8 FLOPs a multiply-add, 4 an addition. A limit of 3 lies under both and over the 2 of a scalar multiply-add."""
    full = laws.vector_flop_per_instruction(vector_bits=128, element_bits=32)
    plain = laws.vector_flop_per_instruction(vector_bits=128, element_bits=32, fused=False)
    scalar = laws.vector_flop_per_instruction(vector_bits=32, element_bits=32)
    assert (full, plain, scalar) == (8, 4, 2)
    assert scalar < 3 < plain


def test_bytes_of_the_depthwise_convolution():
    assert ELEMENTS == 802_816
    assert is_printed(TENSOR / 1e6, "3.211")
    compulsory = laws.write_allocate_reads(read_bytes=TENSOR * RUNS, written_bytes=TENSOR * RUNS)
    assert is_printed(compulsory / 1e9, "1.284")
    assert is_printed(laws.bytes_from_misses(misses=2.10e7, line_bytes=64) / 1e9, "1.344")


def test_traffic_above_compulsory():
    """The text divides by 1.284, which it had rounded: 4.67 %. From the inputs it is 1.344 ÷ 1.2845 = 4.63 %, which prints as 4.6."""
    moved = laws.bytes_from_misses(misses=2.10e7)
    exact = laws.traffic_ratio(moved_bytes=moved, compulsory_bytes=2 * TENSOR * RUNS)
    assert is_printed(100 * (exact - 1), "4.7")
    assert f"{100 * (exact - 1):.1f}" == "4.6"
    assert f"{100 * (1.344 / 1.284 - 1):.1f}" == "4.7"


def test_achieved_bandwidth_of_the_depthwise_convolution():
    """The display is lost; from its inputs 1.344 GB ÷ 0.98 s = 1.37 GB/s, 23 % of one thread's 6 GB/s."""
    achieved = laws.achieved_bandwidth(bytes=laws.bytes_from_misses(misses=2.10e7), seconds=0.98)
    assert is_printed(achieved / 1e9, "1.37")
    assert is_printed(100 * achieved / CORE_STREAM, "23")


@pytest.mark.parametrize("error", [-0.2, -0.1, 0.1, 0.2])
def test_an_estimate_off_by_a_fifth_still_tells_15_from_85_percent(error: float):
    low, high = (bound_of(None, fraction(share * (1 + error))) for share in (0.15, 0.85))
    assert (low, high) == ("latency", "bandwidth")
    assert 0.15 * 1.2 < BOUND_LOW < BOUND_HIGH < 0.85 * 0.8


@pytest.mark.parametrize(("m", "k", "n"), [(4096, 4096, 1), (3, 5, 7), (128, 64, 32)])
def test_flop_of_a_product_is_2mkn(m: int, k: int, n: int):
    left, right, out = (
        ArrayFacts(shape=shape, dtype="float32", item_bytes=4, buffer=number) for number, shape in enumerate([(m, k), (k, n), (m, n)])
    )
    assert work_of("numpy.matmul", [left, right], [out]).flop == 2 * m * k * n


def test_the_device_is_consistent_with_itself():
    """16 FLOPs a cycle and core, such as two 128-bit multiply-adds; three quarters of the theoretical bandwidth; one thread cannot fill it."""
    assert 2 * laws.vector_flop_per_instruction(vector_bits=128, element_bits=32) == CORE_PEAK / CLOCK_HZ
    assert CORES * CORE_PEAK == PEAK
    assert is_printed(100 * STREAM / THEORETICAL, "76")
    assert CORE_STREAM < STREAM < CORES * CORE_STREAM


def test_the_projection_of_a_decoder():
    flop = 2.0 * 4096 * 4096
    bytes = 4096.0 * 4096 * 2
    measured = 4.6e-3
    ceilings = {"peak": PEAK, "bandwidth": STREAM}
    intensity = laws.arithmetic_intensity(flop=flop, bytes=bytes)
    ideal = laws.ideal_time(flop=flop, bytes=bytes, **ceilings)
    assert is_printed(flop / 1e6, "33.55")
    assert is_printed(bytes / 1e6, "33.55")
    assert intensity == 1
    assert is_printed(laws.ridge_point(**ceilings) / intensity, "9.8")
    assert is_printed(laws.attainable(intensity=intensity, **ceilings) / 1e9, "13")
    assert is_printed(100 * laws.attainable(intensity=intensity, **ceilings) / PEAK, "10")
    assert is_printed(ideal * 1e3, "2.58")
    assert is_printed(laws.achieved_bandwidth(bytes=bytes, seconds=measured) / 1e9, "7.29")
    assert is_printed(100 * laws.efficiency(flop=flop, bytes=bytes, seconds=measured, **ceilings), "56")
    assert is_printed(measured / ideal, "1.8")


def test_the_decision_tree():
    assert bound_of(fraction(0.61), fraction(0.2)) == "compute"
    assert bound_of(fraction(0.2), fraction(0.61)) == "bandwidth"
    assert bound_of(fraction(0.39), fraction(0.39)) == "latency"
    assert bound_of(fraction(0.5), fraction(0.5)) == "mixed"
    # The example of the third branch: 9 % of compute and 20 % of bandwidth.
    assert bound_of(fraction(0.09), fraction(0.20)) == "latency"


def test_one_fraction_between_the_thresholds_goes_beyond_the_printed_tree():
    """The tree names no branch for exactly one fraction in 0.4–0.6, and two of the text's own examples lie there: the projection (0.56 of
    bandwidth) and the convolutions of the first case (0.58 of compute). ridgeline takes that ceiling, as the text does in both."""
    assert bound_of(fraction(0.057), fraction(0.56)) == "bandwidth"
    assert bound_of(fraction(0.58), None) == "compute"


@pytest.mark.parametrize("operations", range(1, 9))
def test_fusing_a_chain(operations: int):
    before = laws.chain_traffic(operations=operations, tensor_bytes=1e6)
    assert before == 2 * operations * 1e6
    assert before - laws.fused_traffic(tensor_bytes=1e6) == 2 * (operations - 1) * 1e6
    assert laws.fusion_speedup(operations=operations) == operations


def test_fusing_four_operations_quarters_the_traffic_and_int8_halves_that_of_fp16_weights():
    assert laws.fusion_speedup(operations=4) == 4
    assert laws.quantised_traffic_ratio(old_bits=16, new_bits=8) == 0.5


def test_dispatch_of_a_frame():
    """300 operators at 20 µs are 6 ms; five times the arithmetic then means that this takes 1.2 ms."""
    dispatch = laws.per_operator_cost(operators=300, cost=20e-6)
    assert is_printed(dispatch * 1e3, "6")
    assert is_printed(dispatch / 5 * 1e3, "1.2")
