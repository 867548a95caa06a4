"""What must hold of every law for any numbers a machine can have, and what each refuses."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ridgeline import laws
from ridgeline.core import OutOfRange, Quantity, UsageError

sizes = st.floats(1, 1e15)
rates = st.floats(1e6, 1e15)
times = st.floats(1e-9, 1e4)
shares = st.floats(0, 1)
gains = st.floats(0.01, 1e4)


@given(flop=sizes, bytes=sizes, peak=rates, bandwidth=rates)
def test_roofline_two_forms_agree(flop, bytes, peak, bandwidth):
    ideal = laws.ideal_time(flop=flop, bytes=bytes, peak=peak, bandwidth=bandwidth)
    rate = laws.attainable(intensity=laws.arithmetic_intensity(flop=flop, bytes=bytes), peak=peak, bandwidth=bandwidth)
    assert rate <= peak
    assert flop / ideal == pytest.approx(rate)
    assert laws.efficiency(flop=flop, bytes=bytes, seconds=ideal, peak=peak, bandwidth=bandwidth) == pytest.approx(1)


@given(flop=sizes, bytes=sizes, peak=rates, bandwidth=rates, factor=st.floats(0.01, 100))
def test_ideal_time_scales_with_the_work_and_the_limit_does_not_move(flop, bytes, peak, bandwidth, factor):
    ceilings = {"peak": peak, "bandwidth": bandwidth}
    assume(abs(flop / peak * bandwidth / bytes - 1) > 1e-9)
    scaled = laws.ideal_time(flop=flop * factor, bytes=bytes * factor, **ceilings)
    assert scaled == pytest.approx(factor * laws.ideal_time(flop=flop, bytes=bytes, **ceilings))
    assert laws.limiting_resource(flop=flop, bytes=bytes, **ceilings) == laws.limiting_resource(flop=flop * factor, bytes=bytes * factor, **ceilings)


@given(peak=rates, bandwidth=rates, side=st.floats(0.01, 100))
def test_the_ridge_divides_the_limits(peak, bandwidth, side):
    assume(abs(side - 1) > 1e-6)
    intensity = laws.ridge_point(peak=peak, bandwidth=bandwidth) * side
    limit = laws.limiting_resource(flop=intensity * 1e6, bytes=1e6, peak=peak, bandwidth=bandwidth)
    assert limit == ("compute" if side > 1 else "bandwidth")


@given(seconds=times, ceiling=rates, widen=st.floats(0, 0.5))
def test_fractions_hold_the_extremes(seconds, ceiling, widen):
    measured = Quantity(value=seconds, low=seconds * (1 - widen), high=seconds * (1 + widen), confidence=0.95, unit="s", source="measured")
    fraction = laws.bandwidth_fraction(bytes=Quantity.exact(1e6, "B"), seconds=measured, bandwidth=Quantity.exact(ceiling, "B/s"))
    assert fraction.low == pytest.approx(1e6 / measured.high / ceiling)
    assert fraction.high == pytest.approx(1e6 / measured.low / ceiling)
    assert fraction.unit == "1"


@given(share=shares, gain=gains)
def test_amdahl_forwards_and_backwards(share, gain):
    whole = laws.speedup(share=share, local_speedup=gain)
    assert whole <= laws.speedup_bound(share=share)
    assert min(1, gain) * (1 - 1e-9) <= whole <= max(1, gain) * (1 + 1e-9)
    assume(share > 1e-3)
    needed = laws.required_local_speedup(share=share, target_speedup=whole)
    assert laws.speedup(share=share, local_speedup=needed) == pytest.approx(whole)


@given(shares=st.lists(st.floats(0, 0.3), min_size=1, max_size=3), gain=st.floats(1, 100), order=st.randoms())
def test_combined_gain(shares, gain, order):
    parts = [(share, gain) for share in shares]
    together = laws.combined_speedup(parts=parts)
    # Disjoint parts with one gain are one part; the order is of no consequence; more parts are never worse than one.
    assert together == pytest.approx(laws.speedup(share=sum(shares), local_speedup=gain))
    shuffled = list(parts)
    order.shuffle(shuffled)
    assert laws.combined_speedup(parts=shuffled) == pytest.approx(together)
    assert together >= max(laws.speedup(share=share, local_speedup=gain) for share in shares) * (1 - 1e-12)


@given(data=st.data())
def test_speedup_interval_contains_every_point_of_its_box(data):
    share = sorted([data.draw(shares), data.draw(shares)])
    gain = sorted([data.draw(gains), data.draw(gains)])
    low, high = laws.speedup_interval(share=(share[0], share[1]), local_speedup=(gain[0], gain[1]))
    inside = laws.speedup(share=data.draw(st.floats(*share)), local_speedup=data.draw(st.floats(*gain)))
    assert low * (1 - 1e-12) <= inside <= high * (1 + 1e-12)


@given(total=times, part=shares, target=shares)
def test_shrink_is_amdahl_seen_from_the_rest(total, part, target):
    fixed = total * part
    goal = fixed + (total - fixed) * target
    assume(goal > fixed and total > fixed)
    factor = laws.required_shrink(total=total, fixed=fixed, target=goal)
    assert fixed + (total - fixed) / factor == pytest.approx(goal)


def test_amdahl_at_its_ends():
    assert laws.speedup(share=0, local_speedup=math.inf) == 1
    assert laws.speedup(share=1, local_speedup=math.inf) == math.inf
    assert laws.required_local_speedup(share=0.5, target_speedup=2) == math.inf
    assert laws.required_local_speedup(share=0, target_speedup=1) == 1
    with pytest.raises(OutOfRange):
        laws.required_local_speedup(share=0.5, target_speedup=2.1)
    with pytest.raises(OutOfRange):
        laws.required_local_speedup(share=0, target_speedup=1.1)
    assert laws.required_shrink(total=1, fixed=0.5, target=0.5) == math.inf
    assert laws.required_shrink(total=1, fixed=1, target=2) == 1
    with pytest.raises(OutOfRange):
        laws.required_shrink(total=1, fixed=0.5, target=0.4)
    with pytest.raises(UsageError):
        laws.combined_speedup(parts=[(0.6, 2), (0.6, 2)])
    assert laws.combined_speedup(parts=[]) == 1


@given(k=st.integers(1, 500), n=sizes, m=st.integers(0, 50), data=st.data())
def test_fusion_adds_up_operation_by_operation(k, n, m, data):
    distinct = data.draw(st.integers(0, m))
    one_by_one = sum(laws.chain_traffic(operations=1, tensor_bytes=n) for _ in range(k)) + m * n
    before = laws.chain_traffic(operations=k, tensor_bytes=n, extra_reads=m)
    after = laws.fused_traffic(tensor_bytes=n, extra_reads=m, distinct_extra=distinct)
    saved = laws.fusion_saving(operations=k, tensor_bytes=n, extra_reads=m, distinct_extra=distinct)
    assert before == pytest.approx(one_by_one)
    assert saved == pytest.approx((2 * (k - 1) + (m - distinct)) * n)
    assert 0 <= saved < before
    assert after + saved == pytest.approx(before)


@given(first=st.integers(1, 10**6), steady=st.integers(1, 10**5), below=st.integers(1, 10**6))
def test_calls_until_below_is_the_first_in_exact_arithmetic(first, steady, below):
    assume(steady < below or first < below)
    n = laws.calls_until_below(first=first / 1000, steady=steady / 1000, below=below / 1000)

    def average(calls):
        return Fraction(first + (calls - 1) * steady, calls)

    assert average(n) < below
    assert n == 1 or average(n - 1) >= below


def test_calls_until_below_where_the_ratio_is_whole():
    # (340 − 12) ÷ (20 − 12) = 41: after 41 calls the average is 20 ms exactly, so it takes one more.
    assert laws.calls_until_below(first=0.340, steady=0.012, below=0.020) == 42
    assert laws.calls_until_below(first=0.01, steady=0.012, below=0.011) == 1
    assert laws.calls_until_below(first=1e6, steady=1.0, below=1.0000000001) > 10**15


@given(error=st.floats(1e-4, 1), share=st.floats(1e-6, 1), rate=st.floats(1, 1e6))
def test_sampling_error_and_samples_are_inverse(error, share, rate):
    n = laws.samples_needed(relative_error=error)
    assert laws.relative_error(samples=n) <= error * (1 + 1e-6)
    assert n == 1 or laws.relative_error(samples=n - 1) > error * (1 - 1e-6)
    careful = laws.seconds_to_record(share=share, rate=rate, relative_error=error)
    assert laws.seconds_to_record(share=share, rate=rate, relative_error=error, careful=False) <= careful
    assert careful * share * rate == pytest.approx(n)


@given(confidence=st.floats(0.5, 1, exclude_max=True))
def test_more_confidence_needs_more_samples(confidence):
    assert laws.samples_needed(relative_error=0.05, confidence=confidence) >= laws.samples_needed(relative_error=0.05, confidence=0.5)


@given(old=st.floats(1, 64), new=st.floats(1, 64), group=st.integers(1, 4096), seconds=times, weights=shares)
def test_quantised_time_interpolates(old, new, group, seconds, weights):
    ratio = laws.quantised_traffic_ratio(old_bits=old, new_bits=new, group_size=group)
    assert ratio >= laws.quantised_traffic_ratio(old_bits=old, new_bits=new)
    after = laws.quantised_time(seconds=seconds, traffic_ratio=ratio, weight_share=weights)
    assert min(1, ratio) * seconds <= after * (1 + 1e-9)
    assert after <= max(1, ratio) * seconds * (1 + 1e-9)


BAD = [math.nan, math.inf, -math.inf, -1.0]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: laws.arithmetic_intensity(flop=x, bytes=1),
        lambda x: laws.arithmetic_intensity(flop=1, bytes=x),
        lambda x: laws.ridge_point(peak=x, bandwidth=1),
        lambda x: laws.attainable(intensity=x, peak=1, bandwidth=1),
        lambda x: laws.ideal_time(flop=x, bytes=1, peak=1, bandwidth=1),
        lambda x: laws.efficiency(flop=1, bytes=1, seconds=x, peak=1, bandwidth=1),
        lambda x: laws.speedup(share=x, local_speedup=2),
        lambda x: laws.required_local_speedup(share=0.5, target_speedup=x),
        lambda x: laws.required_shrink(total=x, fixed=0, target=1),
        lambda x: laws.chain_traffic(operations=2, tensor_bytes=x),
        lambda x: laws.kernel_share(kernel_seconds=x, calls_per_second=1),
        lambda x: laws.samples_needed(relative_error=x),
        lambda x: laws.overhead_share(handler_seconds=x, rate=1),
        lambda x: laws.average_time(first=x, steady=1, calls=1),
        lambda x: laws.calls_until_below(first=x, steady=1, below=2),
        lambda x: laws.bytes_from_misses(misses=x),
        lambda x: laws.achieved_bandwidth(bytes=1, seconds=x),
        lambda x: laws.traffic_ratio(moved_bytes=1, compulsory_bytes=x),
        lambda x: laws.quantised_traffic_ratio(old_bits=x, new_bits=8),
        lambda x: laws.quantised_time(seconds=1, traffic_ratio=x),
        lambda x: laws.instructions_per_cycle(instructions=1, cycles=x),
        lambda x: laws.gap(wall=x, operators=1),
        lambda x: laws.per_operator_cost(operators=1, cost=x),
    ],
)
def test_numbers_out_of_range_are_refused(call, bad):
    with pytest.raises(UsageError):
        call(bad)


@pytest.mark.parametrize("bad", [math.nan, 0.0, -2.0])
def test_a_gain_must_be_positive(bad):
    with pytest.raises(UsageError):
        laws.speedup(share=0.5, local_speedup=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, 2**70])
def test_counts_are_whole(bad):
    with pytest.raises(UsageError):
        laws.chain_traffic(operations=bad, tensor_bytes=1)
    with pytest.raises(UsageError):
        laws.average_time(first=1, steady=1, calls=bad)


def test_overlapping_calls_have_no_share():
    with pytest.raises(UsageError):
        laws.kernel_share(kernel_seconds=0.01, calls_per_second=200)
