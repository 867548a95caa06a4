"""The two case studies, from their inputs; what their lost tables said is not guessed."""

from __future__ import annotations

import pytest

from ridgeline import diagnosis, laws
from ridgeline.core import Diagnosis
from support.facts_by_hand import buffer, facts, row
from support.method_device import FRAME_30, PEAK, STREAM
from support.printed import is_printed

TENSOR = 64 * 128 * 128 * 4
BLOCKS = 4


def test_one_tensor_of_the_segmentation_network():
    assert TENSOR == 4_194_304
    assert is_printed(TENSOR / 1e6, "4.194")


def test_traffic_of_the_elementwise_chain():
    """Normalisation 2, ReLU 2, an addition of two tensors 3 times the tensor; four such blocks a frame."""
    one_by_one = [laws.chain_traffic(operations=1, tensor_bytes=TENSOR, extra_reads=extra) / 1e6 for extra in (0, 0, 1)]
    assert [is_printed(mb, text) for mb, text in zip(one_by_one, ("8.39", "8.39", "12.58"), strict=True)] == [True] * 3
    block = laws.chain_traffic(operations=3, tensor_bytes=TENSOR, extra_reads=1)
    assert block == 7 * TENSOR
    assert is_printed(block / 1e6, "29.4")
    assert is_printed(BLOCKS * block / 1e6, "117.4")
    achieved = laws.achieved_bandwidth(bytes=BLOCKS * block, seconds=9.3e-3)
    assert is_printed(achieved / 1e9, "12.6")
    assert is_printed(100 * achieved / STREAM, "97")


def test_what_fusing_the_chain_deletes():
    """In one pass a block reads its two tensors and writes one: 3 of 7 tensors stay. The four blocks lose 67.1 MB, 5.2 ms at stream speed."""
    saved = BLOCKS * laws.fusion_saving(operations=3, tensor_bytes=TENSOR, extra_reads=1)
    assert saved == BLOCKS * 4 * TENSOR
    assert is_printed(saved / 1e6, "67.1")
    assert is_printed(saved / STREAM * 1e3, "5.2")


def test_layout_conversions():
    moved = 6 * 2 * TENSOR
    assert is_printed(moved / 1e6, "50.3")
    assert is_printed(moved / STREAM * 1e3, "3.9")
    assert is_printed(laws.achieved_bandwidth(bytes=moved, seconds=5.2e-3) / 1e9, "9.7")


@pytest.mark.parametrize(("seconds", "rate", "percent"), [(25.4e-3, "74.8", "58"), (20.1e-3, "94.5", "74")])
def test_convolutions_before_and_after(seconds: float, rate: str, percent: str):
    assert is_printed(1.9e9 / seconds / 1e9, rate)
    assert is_printed(100 * 1.9e9 / seconds / PEAK, percent)


def test_the_rest_of_the_peak_and_of_the_frame():
    """After the change 26 % of the peak is left. Of the 41.7 ms before it, convolutions, chain and conversions explain 39.9: 1.8 ms are other work,
    so that without conversions, with the faster convolutions and the chain in one pass the frame takes 25.8 ms, and under the budget of 25 only
    if part of that pass goes into the convolutions. How the text's table ends is not to be had."""
    assert is_printed(100 * (1 - 1.9e9 / 20.1e-3 / PEAK), "26")
    rest = laws.gap(wall=41.7e-3, operators=25.4e-3 + 9.3e-3 + 5.2e-3)
    assert is_printed(rest * 1e3, "1.8")
    one_pass = BLOCKS * laws.fused_traffic(tensor_bytes=TENSOR, extra_reads=1) / STREAM
    assert is_printed((20.1e-3 + one_pass + rest) * 1e3, "25.8")
    assert 20.1e-3 + rest < 25e-3 < 20.1e-3 + rest + one_pass


def test_the_rules_find_the_chain_and_promise_what_it_saves():
    """The same numbers as facts: a frame of nothing but the chain runs at 0.97 of stream and is told to fuse, 7 ÷ 3 at most."""
    rows = []
    for block in range(BLOCKS):
        one, two, three, four, skip = (10 * block + part for part in range(5))
        uses = [((one,), two, "BatchNormalization"), ((two,), three, "Relu"), ((three, skip), four, "Add")]
        for step, (reads, write, kind) in enumerate(uses):
            seconds = 9.3e-3 * (len(reads) + 1) / (7 * BLOCKS)
            operands = tuple(buffer(identity, TENSOR) for identity in reads)
            after = (len(rows) - 1,) if step else ()
            made = {"reads": operands, "writes": (buffer(write, TENSOR),), "after": after, "flop": TENSOR / 4}
            rows.append(row(f"{kind}_{block}", seconds, kind=kind, group="elementwise", **made))
    found = diagnosis.next(facts(rows, wall_s=9.3e-3))
    assert isinstance(found, Diagnosis)
    assert found.bottleneck is not None
    assert (found.bottleneck.cause, found.bottleneck.bound) == ("elementwise-chain", "bandwidth")
    fuse = next(action for action in found.actions if action.action == "fuse")
    assert fuse.speedup[0] <= 7 / 3 * 1.001
    assert fuse.speedup[1] >= 1.5


def test_frame_rates_of_the_detector():
    assert is_printed(1 / 61e-3, "16")
    assert FRAME_30 < 61e-3


def test_hand_offs_of_the_detector():
    """Six hand-offs lie between the 8 ms of the accelerated segments and the 21 ms of the model: 2.2 ms each, the operators between included."""
    handoffs = 21e-3 - 8e-3
    assert is_printed(handoffs * 1e3, "13")
    assert is_printed(handoffs / 6 * 1e3, "2.2")
    assert laws.per_operator_cost(operators=6, cost=handoffs / 6) == pytest.approx(handoffs)


def test_preprocessing_of_the_detector():
    assert is_printed(100 * 26.5 / 61, "43")
    pixels = 1920 * 1080
    assert is_printed(pixels / 1e6, "2.07")
    conversion = laws.per_operator_cost(operators=pixels, cost=7e-9)
    assert is_printed(conversion * 1e3, "14.5")
    # What was measured, 14 ms, is a little less than that: 6.75 ns a pixel, although 7 is given as the least.
    assert is_printed(14e-3 / pixels * 1e9, "6.75")


def test_the_two_findings_of_the_detector_alone_miss_the_rate_by_a_hair():
    """61 − 13 − 14 = 34.0 ms is 29.4 frames a second: more was done than the text tells, or it stayed a little short. The table is lost."""
    after = 61e-3 - 13e-3 - 14e-3
    assert is_printed(1 / after, "29.4")
    assert after > FRAME_30
    # However good the model gets alone, the rest keeps the frame from 30 a second.
    assert 61e-3 / laws.speedup_bound(share=21 / 61) > FRAME_30
