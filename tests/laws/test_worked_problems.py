"""The five worked problems and the two case studies of the method, with their numbers, on its illustrative device."""

import math

import pytest

from ridgeline import laws
from ridgeline.core import OutOfRange, Quantity

PEAK, CORE_PEAK = 128e9, 32e9
STREAM, CORE_STREAM = 13e9, 6e9


def test_problem_1_a_scalar_depthwise_convolution():
    elements = 64 * 112 * 112
    flop = 2 * 9 * elements * 200
    moved = laws.bytes_from_misses(misses=2.10e7, line_bytes=64)
    expected = laws.write_allocate_reads(read_bytes=elements * 4 * 200, written_bytes=elements * 4 * 200)

    assert laws.instructions_per_cycle(instructions=2.352e9, cycles=1.960e9) == pytest.approx(1.2)
    assert flop / 0.98 == pytest.approx(2.949e9, rel=1e-3)
    assert flop / 0.98 / CORE_PEAK == pytest.approx(0.092, abs=5e-4)
    assert moved == pytest.approx(1.344e9)
    assert laws.achieved_bandwidth(bytes=moved, seconds=0.98) == pytest.approx(1.371e9, rel=1e-3)
    assert laws.achieved_bandwidth(bytes=moved, seconds=0.98) / CORE_STREAM == pytest.approx(0.229, abs=1e-3)
    assert laws.traffic_ratio(moved_bytes=moved, compulsory_bytes=expected) == pytest.approx(1.047, abs=1e-3)
    # 1.23 where a full 128-bit multiply-add does 8 and a vectorised loop at least 3: the loop is scalar.
    assert laws.flop_per_instruction(flop=flop, instructions=2.352e9) == pytest.approx(1.229, abs=1e-3)
    assert laws.vector_flop_per_instruction(vector_bits=128, element_bits=32) == 8


def test_problem_2_matrix_vector_product_two_proposals_and_both():
    flop = bytes = 2.0 * 4096 * 4096
    measured = 4.6e-3
    ideal = laws.ideal_time(flop=flop, bytes=bytes, peak=PEAK, bandwidth=STREAM)

    assert laws.arithmetic_intensity(flop=flop, bytes=bytes) == 1.0
    assert laws.ridge_point(peak=PEAK, bandwidth=STREAM) == pytest.approx(9.85, abs=5e-3)
    assert laws.attainable(intensity=1.0, peak=PEAK, bandwidth=STREAM) == 13e9
    assert ideal == pytest.approx(2.58e-3, rel=2e-3)
    assert laws.efficiency(flop=flop, bytes=bytes, seconds=measured, peak=PEAK, bandwidth=STREAM) == pytest.approx(0.561, abs=1e-3)
    assert laws.limiting_resource(flop=flop, bytes=bytes, peak=PEAK, bandwidth=STREAM) == "bandwidth"

    ratio = laws.quantised_traffic_ratio(old_bits=16, new_bits=8)
    quantised = laws.quantised_time(seconds=measured, traffic_ratio=ratio)
    mended = bytes / (0.85 * STREAM)
    both = laws.quantised_time(seconds=mended, traffic_ratio=ratio)
    assert measured / quantised == 2.0
    assert measured / mended == pytest.approx(1.515, abs=2e-3)
    assert measured / both == pytest.approx(3.03, abs=5e-3)


def test_problem_3_the_detector():
    assert 1 / 0.061 * laws.speedup_bound(share=21 / 61) == pytest.approx(25.0)
    assert laws.speedup(share=21 / 61, local_speedup=2) == pytest.approx(61 / 50.5)
    assert laws.required_shrink(total=61e-3, fixed=21e-3, target=1 / 30) == pytest.approx(40 / (1000 / 30 - 21))
    assert laws.required_shrink(total=61e-3, fixed=21e-3, target=1 / 30) == pytest.approx(3.24, abs=5e-3)
    # The same question asked of the other side of Amdahl's law.
    assert laws.required_local_speedup(share=40 / 61, target_speedup=61 * 30 / 1000) == pytest.approx(3.2432, abs=1e-4)


def test_problem_4_sampling():
    share = laws.kernel_share(kernel_seconds=180e-6, calls_per_second=500)
    assert share == pytest.approx(0.09)
    assert laws.samples_per_second(share=share, rate=4000) == pytest.approx(360)
    assert laws.seconds_to_record(share=share, rate=4000, relative_error=0.05) == pytest.approx(1.11, abs=5e-3)
    assert laws.seconds_to_record(share=share, rate=4000, relative_error=0.01) == pytest.approx(27.8, abs=5e-2)
    assert laws.seconds_to_record(share=share, rate=4000, relative_error=0.05, careful=False) == pytest.approx(364 / 360)
    assert laws.overhead_share(handler_seconds=1.5e-6, rate=4e3) == pytest.approx(0.006)
    assert laws.overhead_share(handler_seconds=1.5e-6, rate=100e3) == pytest.approx(0.15)


def test_problem_5_first_call():
    assert laws.calls_until_below(first=0.340, steady=0.012, below=0.015) == 110
    assert laws.average_time(first=0.340, steady=0.012, calls=109) > 0.015 > laws.average_time(first=0.340, steady=0.012, calls=110)
    # One call a session: the first call is the latency, and no average makes it 20 ms.
    assert laws.average_time(first=0.340, steady=0.012, calls=1) == 0.340
    with pytest.raises(OutOfRange):
        laws.calls_until_below(first=0.340, steady=0.021, below=0.020)


def test_case_one_fusion_and_layout():
    tensor = 64 * 128 * 128 * 4
    assert tensor == pytest.approx(4.194e6, rel=1e-4)
    # Normalisation, ReLU and an add of two tensors: 2 + 2 + 3 times the tensor.
    block = laws.chain_traffic(operations=3, tensor_bytes=tensor, extra_reads=1)
    assert block == 7 * tensor
    assert block == pytest.approx(29.4e6, rel=2e-3)
    assert 4 * block == pytest.approx(117.4e6, rel=1e-3)
    achieved = laws.achieved_bandwidth(bytes=4 * block, seconds=9.3e-3)
    assert achieved == pytest.approx(12.6e9, rel=3e-3)
    assert achieved / STREAM == pytest.approx(0.97, abs=5e-3)
    assert laws.fusion_saving(operations=3, tensor_bytes=tensor, extra_reads=1) == 4 * tensor

    conversions = 6 * 2 * tensor
    assert conversions == pytest.approx(50.3e6, rel=1e-3)
    assert conversions / STREAM == pytest.approx(3.9e-3, abs=5e-5)
    assert laws.achieved_bandwidth(bytes=conversions, seconds=5.2e-3) == pytest.approx(9.7e9, rel=5e-3)

    for seconds, rate, share in ((25.4e-3, 74.8e9, 0.58), (20.1e-3, 94.5e9, 0.74)):
        f_c = laws.compute_fraction(
            flop=Quantity.exact(1.9e9, "FLOP"), seconds=Quantity.exact(seconds, "s", source="measured"), peak=Quantity.exact(PEAK, "FLOP/s")
        )
        assert 1.9e9 / seconds == pytest.approx(rate, rel=1e-3)
        assert f_c.value == pytest.approx(share, abs=5e-3)


def test_case_two_the_model_was_fine():
    # Six hand-offs between seven partitions cost what lies between the segments' 8 ms and the 21 ms of reality.
    assert laws.per_operator_cost(operators=6, cost=13e-3 / 6) == pytest.approx(13e-3)
    preprocessing = laws.gap_share(wall=61e-3, operators=34.5e-3)
    assert preprocessing == pytest.approx(0.43, abs=5e-3)
    assert laws.per_operator_cost(operators=1920 * 1080, cost=7e-9) == pytest.approx(14.5e-3, rel=2e-3)
    # However good the model gets, the preprocessing keeps the frame from 30 a second.
    assert 1 / (0.061 / laws.speedup_bound(share=21 / 61)) < 30


def test_numbers_of_the_overhead_chapter():
    assert laws.gap(wall=11.4e-3, operators=6.2e-3) == pytest.approx(5.2e-3)
    assert laws.gap_share(wall=11.4e-3, operators=6.2e-3) == pytest.approx(0.456, abs=1e-3)
    assert laws.per_operator_cost(operators=300, cost=20e-6) == pytest.approx(6e-3)
    assert laws.per_operator_share(operators=300, cost=1e-6, wall=8e-3) == pytest.approx(0.0375)
    assert laws.per_operator_share(operators=300, cost=10e-6, wall=8e-3) == pytest.approx(0.375)
    assert laws.fusion_speedup(operations=4) == 4.0
    assert math.isclose(laws.quantised_traffic_ratio(old_bits=16, new_bits=4, group_size=32), 4.5 / 16)
