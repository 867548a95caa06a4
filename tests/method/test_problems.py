"""The five problems, worked out. The method prints no answers; each docstring gives one, and the test computes it from the inputs."""

from __future__ import annotations

import pytest

from ridgeline import diagnosis, laws
from ridgeline.core import Diagnosis, OutOfRange, Quantity
from ridgeline.diagnosis.judge import bound_of
from support.facts_by_hand import buffer, facts, row
from support.method_device import CLOCK_HZ, CORE_PEAK, CORE_STREAM, FRAME_30, PEAK, STREAM
from support.printed import is_printed

ELEMENTS = 64 * 112 * 112


def test_problem_1_a_scalar_depthwise_convolution():
    """IPC 2.352 ÷ 1.960 = 1.2. Work 2 · 9 · 802,816 · 200 = 2.890 GFLOP in 0.98 s: 2.949 GFLOP/s, f_c = 9.2 % of a core's 32.
    Traffic 2.10e7 · 64 = 1.344 GB: 1.371 GB/s, f_b = 22.9 % of a thread's 6 (10.5 % of all cores' 13). Neither ceiling is near: latency bound.
    FLOPs per instruction 2.890 ÷ 2.352 = 1.23, under the 3 of a vectorised loop and far under the 8 of a 128-bit multiply-add: scalar code.
    Its traffic is 4.6 % above compulsory, so that no blocking helps: the fix is to vectorise. Were it vectorised fully, the thread's bandwidth
    would bind at 1.344 ÷ 6 = 0.224 s, 4.4 times faster. The cycles are 2.0 GHz × 0.98 s: the core never idled."""
    flop = 2 * 9 * ELEMENTS * 200
    moved = laws.bytes_from_misses(misses=2.10e7, line_bytes=64)
    f_c = flop / 0.98 / CORE_PEAK
    f_b = laws.achieved_bandwidth(bytes=moved, seconds=0.98) / CORE_STREAM
    assert laws.instructions_per_cycle(instructions=2.352e9, cycles=1.960e9) == pytest.approx(1.2)
    assert is_printed(CLOCK_HZ * 0.98 / 1e9, "1.960")
    assert is_printed(flop / 0.98 / 1e9, "2.949")
    assert is_printed(100 * f_c, "9.2")
    assert is_printed(moved / 0.98 / 1e9, "1.371")
    assert is_printed(100 * f_b, "22.9")
    assert is_printed(100 * moved / 0.98 / STREAM, "10.5")
    assert is_printed(laws.flop_per_instruction(flop=flop, instructions=2.352e9), "1.23")
    assert bound_of(*(Quantity.exact(value, "1", source="measured") for value in (f_c, f_b))) == "latency"
    ideal = laws.ideal_time(flop=flop, bytes=moved, peak=CORE_PEAK, bandwidth=CORE_STREAM)
    assert is_printed(ideal, "0.224")
    assert is_printed(0.98 / ideal, "4.4")


def test_problem_2_two_proposals_and_both():
    """Intensity 1 FLOP/B against a ridge of 9.85: 13 GFLOP/s attainable, 2.58 ms ideal, 56 % efficiency. int8 halves the bytes: 2.3 ms, 2.0 times.
    85 % of 13 GB/s: 3.04 ms, 1.51 times. Quantising is worth more; both give 1.52 ms, 3.03 times, since the gains multiply. That int8 keeps the
    56 % is an assumption of this answer."""
    flop = bytes = 2.0 * 4096 * 4096
    measured = 4.6e-3
    ceilings = {"peak": PEAK, "bandwidth": STREAM}
    assert laws.arithmetic_intensity(flop=flop, bytes=bytes) == 1.0
    assert is_printed(laws.ridge_point(**ceilings), "9.85")
    assert laws.attainable(intensity=1.0, **ceilings) == 13e9
    assert is_printed(laws.ideal_time(flop=flop, bytes=bytes, **ceilings) * 1e3, "2.58")
    assert is_printed(100 * laws.efficiency(flop=flop, bytes=bytes, seconds=measured, **ceilings), "56")
    assert laws.limiting_resource(flop=flop, bytes=bytes, **ceilings) == "bandwidth"

    ratio = laws.quantised_traffic_ratio(old_bits=16, new_bits=8)
    quantised = laws.quantised_time(seconds=measured, traffic_ratio=ratio)
    mended = bytes / (0.85 * STREAM)
    both = laws.quantised_time(seconds=mended, traffic_ratio=ratio)
    assert is_printed(quantised * 1e3, "2.3")
    assert is_printed(mended * 1e3, "3.04")
    assert is_printed(both * 1e3, "1.52")
    assert measured / quantised == 2.0
    assert is_printed(measured / mended, "1.51")
    assert is_printed(measured / both, "3.03")
    assert measured / both == pytest.approx(measured / quantised * measured / mended)


def test_problem_2_as_facts_names_the_weights():
    """The rules see one product whose weights are read once per call, and put quantising them first."""
    weights = buffer(1, 4096 * 4096 * 2, persistent=True)
    product = row(
        "projection", 4.6e-3, kind="MatMul", group="matmul", precision="fp16", flop=2.0 * 4096 * 4096, engine="fma",
        reads=(weights, buffer(2, 8192)), writes=(buffer(3, 8192),),
    )  # fmt: skip
    found = diagnosis.next(facts([product], wall_s=4.6e-3))
    assert isinstance(found, Diagnosis)
    assert found.bottleneck is not None
    assert (found.bottleneck.cause, found.bottleneck.bound) == ("weight-traffic", "bandwidth")
    assert found.actions[0].action == "quantise-weights"


def test_problem_3_the_detector():
    """(a) 40 ms are left: 25 frames a second. (b) 61 ÷ 50.5 = 1.21 times. (c) 33.3 − 21 = 12.3 ms may remain of 40: 3.24 times less."""
    assert laws.speedup_bound(share=21 / 61) / 61e-3 == pytest.approx(25.0)
    assert is_printed(laws.speedup(share=21 / 61, local_speedup=2), "1.21")
    assert is_printed(laws.required_shrink(total=61e-3, fixed=21e-3, target=FRAME_30), "3.24")
    assert is_printed((FRAME_30 - 21e-3) * 1e3, "12.3")
    # The same question asked of the other side of Amdahl's law.
    assert is_printed(laws.required_local_speedup(share=40 / 61, target_speedup=61e-3 / FRAME_30), "3.243")


def test_problem_4_sampling():
    """(a) The kernel holds 180 µs · 500 = 9 % of each second: 360 of 4000 samples. (b) 400 samples for 5 %, 10,000 for 1 %: 1.11 s and 27.8 s.
    (With the binomial factor 1 − p, 1.01 s and 25.3 s.) (c) 1.5 µs · 4 kHz = 0.6 %; at 100 kHz 15 %."""
    share = laws.kernel_share(kernel_seconds=180e-6, calls_per_second=500)
    seconds = {error: laws.seconds_to_record(share=share, rate=4000, relative_error=error) for error in (0.05, 0.01)}
    exact = {error: laws.seconds_to_record(share=share, rate=4000, relative_error=error, careful=False) for error in (0.05, 0.01)}
    assert laws.samples_per_second(share=share, rate=4000) == pytest.approx(360)
    assert [laws.samples_needed(relative_error=error) for error in (0.05, 0.01)] == [400, 10_000]
    assert (is_printed(seconds[0.05], "1.11"), is_printed(seconds[0.01], "27.8")) == (True, True)
    assert (is_printed(exact[0.05], "1.01"), is_printed(exact[0.01], "25.3")) == (True, True)
    assert is_printed(100 * laws.overhead_share(handler_seconds=1.5e-6, rate=4e3), "0.6")
    assert is_printed(100 * laws.overhead_share(handler_seconds=1.5e-6, rate=100e3), "15")


def test_problem_5_first_call():
    """(a) (340 + 12 (n − 1)) ÷ n < 15 as soon as n > 328 ÷ 3 = 109.3: after 110 calls. (b) Each session is one first call, so that its p99 is at
    least 340 ms, and no average nor a faster steady state brings it to 20: the first call must happen before the user's, that is pre-warm."""
    assert laws.calls_until_below(first=0.340, steady=0.012, below=0.015) == 110
    assert laws.average_time(first=0.340, steady=0.012, calls=109) > 0.015 > laws.average_time(first=0.340, steady=0.012, calls=110)
    assert laws.average_time(first=0.340, steady=0.012, calls=1) == 0.340
    # Pre-warmed, the call is a steady one and meets the 20 ms; a steady state that itself lies above can never average below.
    assert laws.average_time(first=0.012, steady=0.012, calls=1) < 0.020
    with pytest.raises(OutOfRange):
        laws.calls_until_below(first=0.340, steady=0.021, below=0.020)
