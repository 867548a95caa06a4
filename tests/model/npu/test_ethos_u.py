"""Ethos-U: multiply-adds by hand, ceilings, what grows with what, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import OutOfRange, UsageError
from ridgeline.model.npu import Blocks, block_cycles, chosen_blocks, ethos_cost, ethos_layers, ethos_u, ethos_u_names

KINDS = ("convolution", "depthwise", "fully-connected", "max-pool", "average-pool", "add", "multiply", "unary")
names = st.sampled_from(ethos_u_names())


def test_eleven_configurations_with_the_multipliers_of_their_name():
    assert len(ethos_u_names()) == 11
    for name in ethos_u_names():
        npu = ethos_u(name)
        assert npu.macs == int(name.rsplit("-", 1)[1])
        # A unit of outputs takes eight input channels a cycle.
        assert all(np.prod(unit) * 8 * npu.cores == npu.macs for unit in npu.units)


def test_multiply_adds_by_hand():
    layers = ethos_layers(
        ["convolution", "depthwise", "fully-connected", "average-pool", "add"],
        height=[25, 25, 1, 1, 16],
        width=[5, 5, 1, 1, 16],
        channels=[64, 64, 12, 64, 16],
        in_channels=[64, 64, 64, 64, 16],
        kernel=([1, 3, 1, 25, 1], [1, 3, 1, 5, 1]),
    )
    assert layers.macs.tolist() == [512000, 72000, 768, 8000, 0]
    assert ethos_cost(ethos_u("ethos-u55-128"), layers).macs.tolist() == [512000, 72000, 768, 8000, 0]


def test_only_the_newest_skip_zeros():
    layers = ethos_layers("convolution", height=25, width=5, channels=64, in_channels=[1, 64, 64], kernel=(10, 4), sparse=[False, True, False])
    whole = [320000, 20480000, 20480000]
    assert ethos_cost(ethos_u("ethos-u65-256"), layers).macs.tolist() == whole
    assert ethos_cost(ethos_u("ethos-u85-256"), layers).macs.tolist() == [160000, 10240000, 20480000]


@settings(max_examples=40)
@given(
    name=names,
    kind=st.sampled_from(KINDS),
    height=st.integers(1, 60),
    width=st.integers(1, 60),
    channels=st.integers(1, 200),
    inputs=st.integers(1, 200),
)
def test_no_layer_beats_the_processor(name, kind, height, width, channels, inputs):
    npu = ethos_u(name)
    mixed = kind in ("convolution", "fully-connected")
    if kind == "fully-connected":
        height = width = 1
    layers = ethos_layers(kind, height=height, width=width, channels=channels, in_channels=inputs if mixed else channels, kernel=(1, 1))
    found = ethos_cost(npu, layers)
    assert np.isfinite(found.cycles).all()
    assert float(found.cycles[0]) > 0
    assert 0 <= float(found.utilisation[0]) <= 1
    assert float(found.cycles[0]) >= max(float(part[0]) for part in (found.compute_cycles, found.sram_cycles, found.off_chip_cycles))


@pytest.mark.parametrize("name", ethos_u_names())
def test_more_rows_take_proportionally_longer_in_the_end(name):
    npu = ethos_u(name)
    layers = ethos_layers("convolution", height=[64, 128, 256], width=64, channels=64, in_channels=64, kernel=(3, 3), weight_bytes=1)
    cycles = ethos_cost(npu, layers).cycles
    assert cycles[1] / cycles[0] == pytest.approx(2, rel=0.05)
    assert cycles[2] / cycles[1] == pytest.approx(2, rel=0.05)


def test_a_large_layer_nears_the_ceiling_of_its_order_of_sums():
    # 32 input channels fill what is summed at a time, so only the edges of the pipeline are lost.
    layers = ethos_layers("convolution", height=64, width=64, channels=64, in_channels=64, kernel=(3, 3), weight_bytes=1)
    for name in ("ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256"):
        assert 0.9 < float(ethos_cost(ethos_u(name), layers).utilisation[0]) <= 1


def test_three_by_three_of_few_channels_wastes_a_quarter():
    # Nine places of the window are taken four at a time: 9 of 12.
    layers = ethos_layers("convolution", height=64, width=64, channels=32, in_channels=16, kernel=(3, 3), weight_bytes=1)
    assert float(ethos_cost(ethos_u("ethos-u55-64"), layers).utilisation[0]) == pytest.approx(0.75, rel=0.05)


def test_twice_the_cores_halve_the_multiplying():
    layers = ethos_layers("convolution", height=64, width=64, channels=64, in_channels=64, kernel=(3, 3), weight_bytes=1)
    one, two = (ethos_cost(ethos_u(name), layers).compute_cycles[0] for name in ("ethos-u65-256", "ethos-u65-512"))
    assert one / two == pytest.approx(2, rel=0.05)


def test_streamed_weights_bind_a_matrix_with_one_row():
    found = ethos_cost(ethos_u("ethos-u55-128"), ethos_layers("fully-connected", height=1, width=1, channels=128, in_channels=1024))
    assert float(found.cycles[0]) == float(found.off_chip_cycles[0]) == 1024 * 128 + 10 * 128


def test_weights_that_compress_are_given():
    less = ethos_layers("fully-connected", height=1, width=1, channels=128, in_channels=1024, weight_bytes=50_000)
    assert float(ethos_cost(ethos_u("ethos-u55-128"), less).off_chip_cycles[0]) == 50_000


def test_layers_together_are_layers_alone():
    npu = ethos_u("ethos-u55-256")
    sizes = {"height": [8, 24, 3], "width": [8, 12, 3], "channels": [16, 64, 128], "in_channels": [16, 32, 128]}
    together = ethos_cost(npu, ethos_layers("convolution", **sizes)).compute_cycles
    for place in range(3):
        alone = ethos_cost(npu, ethos_layers("convolution", **{key: value[place] for key, value in sizes.items()}))
        assert float(alone.compute_cycles[0]) == float(together[place])


@pytest.mark.parametrize("name", ethos_u_names())
def test_blocks_are_whole_units_and_fit(name):
    npu = ethos_u(name)
    layers = ethos_layers("convolution", height=[20, 7, 1], width=[20, 5, 1], channels=[128, 24, 8], in_channels=[64, 3, 256], kernel=(3, 3))
    cut = chosen_blocks(npu, layers)
    for size, unit in zip((cut.height, cut.width, cut.channels), cut.unit, strict=True):
        assert (size % unit == 0).all()
    assert (cut.height * cut.width * cut.channels <= npu.accumulators).all()


def test_windows_that_do_not_meet_are_not_cut_small():
    # The compiler's own: 33272 cycles; blocks of 2 × 2, between which nothing was counted, took four times as many.
    layers = ethos_layers("depthwise", height=15, width=15, channels=213, in_channels=213, kernel=(1, 1), stride=(2, 2))
    assert float(ethos_cost(ethos_u("ethos-u55-256"), layers).cycles[0]) == pytest.approx(33272, rel=0.05)


@pytest.mark.parametrize("name", ethos_u_names())
def test_more_of_a_matrix_never_takes_less(name):
    npu = ethos_u(name)
    for axis in ("width", "channels", "in_channels"):
        sizes = {"height": 2, "width": 3, "channels": 72, "in_channels": 200} | {axis: np.array([8, 9, 16, 17, 31, 33, 64, 65, 129, 256, 257, 600])}
        layers = ethos_layers(["fully-connected"] * 12, **sizes)
        assert (np.diff(ethos_cost(npu, layers).cycles) >= 0).all(), axis


def test_rows_of_a_matrix_take_what_the_compiler_says():
    # ethos-u-vela 5.2: cycles of the core for 256 × 256 weights.
    for name, rows, cycles in (("ethos-u55-128", 1, 9403), ("ethos-u55-128", 32, 18464), ("ethos-u55-256", 64, 19200)):
        layers = ethos_layers("fully-connected", height=min(2, rows), width=-(-rows // 2), channels=256, in_channels=256)
        assert float(ethos_cost(ethos_u(name), layers).compute_cycles[0]) == pytest.approx(cycles, rel=0.15), (name, rows)


def test_a_given_cut_is_used():
    npu, layers = ethos_u("ethos-u55-128"), ethos_layers("convolution", height=8, width=16, channels=16, in_channels=128)
    one = np.array([1])
    cut = Blocks(height=4 * one, width=16 * one, channels=16 * one, unit=(one, 2 * one, 8 * one), window_first=np.array([False]))
    # Two blocks: latency 64, fetch 256, 2 · 64 units · 16 steps, drain and write of 1024 results.
    assert float(block_cycles(npu, layers, cut)[0]) == 64 + 256 + 2 * 1024 + 512 + 128
    assert float(ethos_cost(npu, layers, blocks=cut).compute_cycles[0]) == 3008


@pytest.mark.parametrize("wrong", [0, -3, 0.5, float("nan"), 2**54])
def test_what_is_no_size_is_refused(wrong):
    with pytest.raises(UsageError):
        ethos_layers("convolution", height=wrong, width=8, channels=8)


def test_unknown_names_are_refused():
    with pytest.raises(UsageError, match="ethos-u55-128"):
        ethos_u("ethos-u99")
    with pytest.raises(UsageError, match="convolution"):
        ethos_layers(["softmax"], height=1, width=1, channels=8)
    with pytest.raises(UsageError):
        ethos_layers([], height=1, width=1, channels=8)
    with pytest.raises(UsageError):
        ethos_layers("convolution", height=1, width=1, channels=8, weight_bytes=-1)
    with pytest.raises(UsageError):
        ethos_layers(["add", "add", "add"], height=[1, 2], width=1, channels=8)


def test_counts_past_what_is_exact_are_out_of_range():
    with pytest.raises(OutOfRange):
        ethos_layers("convolution", height=2**20, width=2**20, channels=2**20)
