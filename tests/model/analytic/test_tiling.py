"""Traffic of blocked products: against a cache that is simulated touch by touch, against the known lower bound, and within its own bounds."""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.analytic.patient import patient
from ridgeline.core import OutOfRange, UsageError
from ridgeline.model.analytic import convolution, rowwise, tiling

sides = st.integers(1, 5000)
tiles = st.integers(1, 300)
capacities = st.floats(64, 1e8)
widths = st.tuples(*[st.sampled_from([0.5, 1.0, 2.0, 4.0])] * 3)


@patient
@given(m=sides, n=sides, k=sides, tm=tiles, tn=tiles, tk=tiles, capacity=capacities, width=widths)
def test_traffic_lies_between_compulsory_and_untiled(m, n, k, tm, tn, tk, capacity, width):
    moved = tiling.gemm_traffic(m, n, k, tile=(tm, tn, tk), capacity_bytes=capacity, element_bytes=width)
    assert moved.compulsory_bytes <= moved.total_bytes <= moved.untiled_bytes
    assert moved.left_bytes + moved.right_bytes + moved.out_bytes == moved.total_bytes


@patient
@given(m=sides, n=sides, k=sides, tm=tiles, tn=tiles, tk=tiles, small=capacities, large=capacities)
def test_a_larger_level_never_lets_more_through(m, n, k, tm, tn, tk, small, large):
    small, large = sorted((small, large))
    tile = (tm, tn, tk)
    kept = tiling.gemm_traffic(m, n, k, tile=tile, capacity_bytes=large).total_bytes
    assert kept <= tiling.gemm_traffic(m, n, k, tile=tile, capacity_bytes=small).total_bytes


@patient
@given(m=sides, n=sides, k=sides, tm=tiles, tn=tiles, tk=tiles, capacity=capacities, more=st.integers(1, 500))
def test_a_larger_product_never_moves_less(m, n, k, tm, tn, tk, capacity, more):
    def moved(m, n, k):
        return tiling.gemm_traffic(m, n, k, tile=(tm, tn, tk), capacity_bytes=capacity).total_bytes

    base = moved(m, n, k)
    assert base <= moved(m + more, n, k)
    assert base <= moved(m, n + more, k)
    assert base <= moved(m, n, k + more)


@patient
@given(m=sides, n=sides, k=sides, tm=tiles, tn=tiles, tk=tiles, capacity=capacities, width=widths)
def test_the_two_operands_are_alike(m, n, k, tm, tn, tk, capacity, width):
    a, b, c = width
    one = tiling.gemm_traffic(m, n, k, tile=(tm, tn, tk), capacity_bytes=capacity, element_bytes=(a, b, c))
    other = tiling.gemm_traffic(n, m, k, tile=(tn, tm, tk), capacity_bytes=capacity, element_bytes=(b, a, c))
    assert one.total_bytes == other.total_bytes


@patient
@given(m=sides, n=sides, k=sides, capacity=capacities, depth=st.integers(1, 64))
def test_no_tile_beats_the_lower_bound(m, n, k, capacity, depth):
    # T. Smith, B. Lowery, J. Langou, R. van de Geijn, "A tight I/O lower bound for matrix multiplication", arXiv:1702.02017: 2 mnk/√S − 2S elements.
    tile = tiling.choose_gemm_tile(m, n, k, capacity_bytes=capacity, depth=depth)
    moved = tiling.gemm_traffic(m, n, k, tile=tile, capacity_bytes=capacity)
    elements = capacity / 4.0
    assert moved.total_bytes >= 4.0 * (2.0 * m * n * k / np.sqrt(elements) - 2.0 * elements) * (1 - 1e-9)


@patient
@given(m=st.integers(512, 4096), n=st.integers(512, 4096), k=st.integers(512, 4096), elements=st.integers(10_000, 100_000))
def test_the_chosen_tile_comes_near_the_lower_bound(m, n, k, elements):
    tile = tiling.choose_gemm_tile(m, n, k, capacity_bytes=4.0 * elements)
    moved = tiling.gemm_traffic(m, n, k, tile=tile, capacity_bytes=4.0 * elements)
    bound = 2.0 * m * n * k / np.sqrt(elements) + m * n
    assert moved.fits
    # Sides are whole numbers and the last tile is not full.
    assert moved.total_bytes <= 4.0 * bound * 1.6


@patient
@given(m=sides, n=sides, k=sides, capacity=st.floats(256, 1e8), depth=st.integers(1, 8), unit=st.integers(1, 32), width=widths)
def test_the_chosen_tile_fits_and_is_cut_to_the_shape(m, n, k, capacity, depth, unit, width):
    tile = tiling.choose_gemm_tile(m, n, k, capacity_bytes=capacity, depth=depth, multiple=unit, element_bytes=width)
    assert 1 <= tile.rows <= m
    assert 1 <= tile.columns <= n
    assert 1 <= tile.depth <= min(k, depth)
    a, b, c = width
    held = tile.rows * tile.depth * a + tile.columns * tile.depth * b + tile.rows * tile.columns * c
    assert held <= capacity * (1 + 1e-9)


def simulated(m, n, k, tile, capacity, rows_first):
    """Bytes of A and B that miss in a cache of that capacity, blocks replaced by last use; every touch of a product in tiles, element 4 bytes."""
    tm, tn, tk = tile
    cache: OrderedDict[tuple, int] = OrderedDict()
    missed = held = 0

    def touch(key, size, counts):
        nonlocal missed, held
        if key in cache:
            cache.move_to_end(key)
            return
        missed += size if counts else 0
        cache[key] = size
        held += size
        while held > capacity and len(cache) > 1:
            _, gone = cache.popitem(last=False)
            held -= gone

    def length(whole, tile_side, place):
        return min(tile_side, whole - place * tile_side)

    rows, columns, steps = (-(-whole // side) for whole, side in ((m, tm), (n, tn), (k, tk)))
    outer, inner = (rows, columns) if rows_first else (columns, rows)
    for first in range(outer):
        for second in range(inner):
            i, j = (first, second) if rows_first else (second, first)
            for s in range(steps):
                touch(("A", i, s), 4 * length(m, tm, i) * length(k, tk, s), True)
                touch(("B", s, j), 4 * length(k, tk, s) * length(n, tn, j), True)
                touch(("C", i, j), 4 * length(m, tm, i) * length(n, tn, j), False)
    return missed


@settings(patient, max_examples=150)
@given(
    m=st.integers(1, 60),
    n=st.integers(1, 60),
    k=st.integers(1, 60),
    tile=st.tuples(st.integers(1, 16), st.integers(1, 16), st.integers(1, 16)),
    capacity=st.floats(100, 40_000),
)
def test_a_simulated_cache_agrees(m, n, k, tile, capacity):
    tm, tn, tk = min(tile[0], m), min(tile[1], n), min(tile[2], k)
    panels = 4.0 * (tm * k + tn * k + 2 * tm * tn)
    # What the formula calls "fits" may be off by a few panels at the edge, where the real order of touches decides.
    slack = panels + 4.0 * (tm * tk + tk * tn + tm * n + tn * m)
    generous = tiling.gemm_traffic(m, n, k, tile=(tm, tn, tk), capacity_bytes=capacity + slack)
    strict = tiling.gemm_traffic(m, n, k, tile=(tm, tn, tk), capacity_bytes=max(capacity - slack, 1e-3))
    if not strict.fits:
        return
    found = min(simulated(m, n, k, (tm, tn, tk), capacity, rows_first) for rows_first in (True, False))
    assert generous.left_bytes + generous.right_bytes <= found <= strict.left_bytes + strict.right_bytes


def test_regimes_by_hand():
    # 128³ in tiles of 32×32×32, 4 bytes: a panel is 16 KiB, a whole operand 64 KiB, an output tile 4 KiB, a row of outputs 16 KiB.
    def moved(capacity):
        found = tiling.gemm_traffic(128, 128, 128, tile=(32, 32, 32), capacity_bytes=capacity)
        return float(found.left_bytes) / 65536, float(found.right_bytes) / 65536

    assert sorted(moved(12 * 1024)) == [4.0, 4.0]  # tiles alone: each operand once for each of the other's four tiles
    assert sorted(moved(36 * 1024)) == [1.0, 4.0]  # both panels and the output tile: one operand once
    assert sorted(moved(96 * 1024)) == [1.0, 1.0]  # a whole operand, a panel and a row of outputs: both once
    assert sorted(moved(11 * 1024)) == [128.0, 128.0]  # not even the tiles
    beta = tiling.gemm_traffic(128, 128, 128, tile=(32, 32, 32), capacity_bytes=1e6, accumulate=True)
    assert float(beta.out_bytes) == 2 * 65536


@patient
@given(m=sides, n=sides, tile=st.tuples(tiles, tiles, tiles), slots=st.integers(1, 1000), swizzled=st.booleans())
def test_a_wave_is_a_block_of_whole_tiles(m, n, tile, slots, swizzled):
    block = tiling.wave_tile(m, n, tile=tile, slots=slots, swizzled=swizzled)
    down, across = block.rows / tile[0], block.columns / tile[1]
    assert down == int(down) >= 1
    assert across == int(across) >= 1
    assert down * across <= slots
    assert down <= -(-m // tile[0])
    assert across <= -(-n // tile[1])
    # It takes nobody more in, in either direction, unless the matrix ends there.
    assert (down + 1) * across > slots or down == -(-m // tile[0])


def test_work_groups_that_share_a_cache_read_less_than_each_alone():
    # 108 tiles of 128 × 128 at once in a block of 10 × 10 read A and B as a tile of 1280 does; each alone reads them ten times as often.
    alone = tiling.gemm_traffic(12800, 12800, 12800, tile=(128, 128, 32), capacity_bytes=2e5)
    block = tiling.wave_tile(12800, 12800, tile=(128, 128, 32), slots=108)
    shared = tiling.gemm_traffic(12800, 12800, 12800, tile=block, capacity_bytes=1e6, out_held=False)
    assert bool(shared.fits)
    assert float(alone.left_bytes) == 10 * float(shared.left_bytes)
    assert float(alone.right_bytes) == 10 * float(shared.right_bytes)
    held = tiling.gemm_traffic(12800, 12800, 12800, tile=block, capacity_bytes=1e6)
    assert not bool(held.fits)


def test_levels_serve_less_and_less():
    served = tiling.gemm_bytes_by_level(3000, 2000, 1000, holds_bytes={"registers": 1024, "L1": 32768, "L2": 1 << 20, "L3": 1 << 25})
    assert list(served) == ["L1", "L2", "L3", "DRAM"]
    values = [float(value) for value in served.values()]
    assert values == sorted(values, reverse=True)
    assert values[-1] == 4 * (3000 * 1000 + 1000 * 2000 + 3000 * 2000)  # 24 MB and 32 MiB of L3: compulsory
    with pytest.raises(UsageError, match="innermost"):
        tiling.gemm_bytes_by_level(10, 10, 10, holds_bytes={"DRAM": 10})


layers = {
    "batch": st.integers(1, 4),
    "channels": st.integers(1, 64),
    "height": st.integers(8, 64),
    "width": st.integers(8, 64),
    "filters": st.integers(1, 64),
    "kernel_height": st.integers(1, 7),
    "kernel_width": st.integers(1, 7),
    "stride": st.integers(1, 4),
    "padding": st.integers(0, 3),
}


@patient
@given(st.fixed_dictionaries(layers), st.tuples(tiles, tiles, tiles, tiles), capacities)
def test_convolution_traffic_lies_between_compulsory_and_untiled(layer, tile, capacity):
    shape = convolution.convolution(**layer)
    rows, columns, filters, channels = tile
    moved = convolution.convolution_traffic(
        shape, tile=convolution.ConvolutionTile(rows=rows, columns=columns, filters=filters, channels=channels), capacity_bytes=capacity
    )
    assert moved.compulsory_bytes <= moved.total_bytes * (1 + 1e-12)
    assert moved.total_bytes <= moved.untiled_bytes


@patient
@given(st.fixed_dictionaries(layers), capacities)
def test_the_chosen_convolution_tile_is_one(layer, capacity):
    shape = convolution.convolution(**layer)
    tile = convolution.choose_convolution_tile(shape, capacity_bytes=capacity)
    assert 1 <= tile.rows <= shape.out_height
    assert 1 <= tile.columns <= shape.out_width
    assert 1 <= tile.filters <= shape.filters


@patient
@given(m=st.integers(1, 64), channels=st.integers(1, 64), filters=st.integers(1, 64), capacity=capacities, tile=tiles)
def test_a_one_by_one_convolution_is_a_product(m, channels, filters, capacity, tile):
    shape = convolution.convolution(batch=1, channels=channels, height=1, width=m, filters=filters, kernel_height=1, kernel_width=1)
    held = convolution.ConvolutionTile(rows=1, columns=tile, filters=tile, channels=channels)
    moved = convolution.convolution_traffic(shape, tile=held, capacity_bytes=capacity)
    product = tiling.gemm_traffic(m, filters, channels, tile=(tile, tile, channels), capacity_bytes=capacity)
    assert moved.total_bytes == product.total_bytes
    chosen = tiling.choose_gemm_tile(m, filters, channels, capacity_bytes=capacity)
    alone = tiling.gemm_traffic(m, filters, channels, tile=chosen, capacity_bytes=capacity)
    assert convolution.im2col_traffic(shape, capacity_bytes=capacity) == alone.total_bytes


@patient
@given(outputs=st.integers(1, 40), kernel=st.integers(1, 5), stride=st.integers(1, 6), dilation=st.integers(1, 3), tile=st.integers(1, 40))
def test_halo_is_what_counting_rows_says(outputs, kernel, stride, dilation, tile):
    height = (outputs - 1) * stride + dilation * (kernel - 1) + 1
    shape = convolution.convolution(
        batch=1, channels=1, height=height, width=1, filters=1, kernel_height=kernel, kernel_width=1, stride=stride, dilation=dilation
    )
    assert float(shape.out_height) == outputs
    rows = [{p * stride + dilation * r for p in range(low, min(low + tile, outputs)) for r in range(kernel)} for low in range(0, outputs, tile)]
    whole = set().union(*rows)
    held = convolution.ConvolutionTile(rows=tile, columns=1, filters=1, channels=1)
    # Room for a tile and not for the whole input: every row of every tile is read.
    patch = max(len(part) for part in rows)
    capacity = 4.0 * (patch + kernel + min(tile, outputs) + 0.5)
    moved = convolution.convolution_traffic(shape, tile=held, capacity_bytes=capacity)
    counted = sum(len(part) for part in rows)
    if dilation == 1 and stride <= kernel:
        assert float(moved.left_bytes) in (4.0 * counted, 4.0 * len(whole))
        assert float(shape.touched_height) == len(whole)
    else:  # gaps: the model counts rows that are skipped over, never fewer than are used
        assert 4.0 * len(whole) <= float(moved.left_bytes)


def test_depthwise_and_grouped():
    layer = {"batch": 1, "channels": 32, "height": 16, "width": 16, "kernel_height": 3, "kernel_width": 3, "padding": 1}
    depthwise = convolution.convolution(**layer, filters=32, groups=32)
    assert float(depthwise.flop) == 2 * 16 * 16 * 32 * 9
    moved = convolution.convolution_traffic(
        depthwise, tile=convolution.ConvolutionTile(rows=16, columns=16, filters=1, channels=1), capacity_bytes=1 << 20
    )
    assert float(moved.total_bytes) == 4 * (2 * 32 * 16 * 16 + 32 * 9)
    with pytest.raises(OutOfRange, match="groups"):
        convolution.convolution(**layer, filters=33, groups=32)
    with pytest.raises(OutOfRange, match="kernel"):
        convolution.convolution(batch=1, channels=1, height=2, width=2, filters=1, kernel_height=5, kernel_width=1)


@patient
@given(rows=st.integers(1, 100), columns=st.integers(1, 10_000), capacity=capacities, algorithm=st.sampled_from(sorted(rowwise.PASSES)))
def test_row_traffic_lies_between_one_pass_and_all(rows, columns, capacity, algorithm):
    moved = rowwise.rowwise_bytes(rows, columns, algorithm=algorithm, capacity_bytes=capacity)
    written = rows * (1 if algorithm == "reduce" else columns)
    assert 4 * (rows * columns + written) <= moved <= 4 * (rowwise.PASSES[algorithm] * rows * columns + written)


def test_a_level_keeps_all_or_part():
    assert rowwise.beyond(1e6, working_set_bytes=1e6, capacity_bytes=[999_999, 1e6]).tolist() == [1e6, 0.0]
    part = rowwise.beyond(1e6, working_set_bytes=1e6, capacity_bytes=[0.25e6, 1e6, 2e6], policy="part-stays")
    assert part.tolist() == [0.75e6, 0.0, 0.0]
    with pytest.raises(OutOfRange, match=r"outputs\[1\] = 11"):
        rowwise.reduction_bytes(10, outputs=[1, 11])
