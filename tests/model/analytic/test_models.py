"""Attention, experts and compressed weights: counted element by element, drawn at random, worked by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.analytic.patient import patient
from ridgeline import laws
from ridgeline.core import OutOfRange, UsageError
from ridgeline.model.analytic import attention, compressed, moe
from support.numbers import from_zero

lengths = st.integers(1, 40)


def mask(queries, keys, window):
    """Which keys each query sees: the queries are the last positions."""
    place = np.arange(keys)[None, :]
    own = np.arange(keys - queries, keys)[:, None]
    return (place <= own) & (place > own - window)


@patient
@given(keys=lengths, queries=lengths, window=st.integers(1, 50))
def test_pairs_are_what_the_mask_says(keys, queries, window):
    queries = min(queries, keys)
    seen = mask(queries, keys, window)
    found = attention.attention(batch=1, heads=1, queries=queries, keys=keys, key_dim=8, window=window)
    assert found.pairs == seen.sum()
    assert found.visible_keys == seen.any(axis=0).sum()
    assert found.flop == 4 * 8 * seen.sum()


@patient
@given(queries=lengths, block=st.integers(1, 50), before=lengths, window=st.integers(1, 60))
def test_blocks_read_what_the_mask_says(queries, block, before, window):
    seen = mask(queries, queries + before, window)
    reads = sum(seen[low : low + block].any(axis=0).sum() for low in range(0, queries, block))
    work = attention.attention(batch=1, heads=1, queries=queries, keys=queries + before, key_dim=8, window=window)
    moved = attention.flash_bytes(work, element_bytes=1, block_queries=block, capacity_bytes=1e-3)
    assert float(moved) == queries * 16 + reads * 16


@patient
@given(
    queries=lengths,
    keys=lengths,
    heads=st.sampled_from([1, 2, 4, 8]),
    window=st.integers(1, 50),
    block=st.integers(1, 64),
    capacity=st.floats(1, 1e6),
)
def test_flash_lies_between_compulsory_and_materialised_reads(queries, keys, heads, window, block, capacity):
    keys = max(keys, queries)
    work = attention.attention(batch=2, heads=8, kv_heads=heads, queries=queries, keys=keys, key_dim=16, window=window)
    least = attention.flash_bytes(work)
    packed = attention.flash_bytes(work, block_queries=block, capacity_bytes=capacity, packed=True)
    apart = attention.flash_bytes(work, block_queries=block, capacity_bytes=capacity)
    assert least <= packed * (1 + 1e-12)
    assert packed <= apart
    assert least <= attention.materialised_bytes(work)


@patient
@given(heads=st.sampled_from([1, 2, 4, 8, 16, 32]), tokens=st.integers(1, 10_000))
def test_fewer_heads_of_keys_change_bytes_and_not_work(heads, tokens):
    full = attention.attention(batch=1, heads=32, queries=1, keys=tokens, key_dim=128)
    grouped = attention.attention(batch=1, heads=32, kv_heads=heads, queries=1, keys=tokens, key_dim=128)
    assert grouped.flop == full.flop
    kept = attention.kv_cache_bytes(layers=2, batch=3, tokens=tokens, kv_heads=heads, key_dim=128)
    assert kept * 32 == attention.kv_cache_bytes(layers=2, batch=3, tokens=tokens, kv_heads=32, key_dim=128) * heads


def test_prefill_is_the_sum_of_its_decodes():
    whole = attention.attention(batch=1, heads=4, queries=100, keys=100, key_dim=32, window=30)
    steps = attention.attention(batch=1, heads=4, queries=1, keys=np.arange(1, 101), key_dim=32, window=30)
    assert whole.flop == steps.flop.sum()


def test_known_caches():
    # Llama 2 7B: 32 layers, 32 heads of 128, fp16: 0.5 MiB a token. Llama 3 8B and Mistral 7B with 8 heads of keys: 128 KiB a token.
    one = {"layers": 32, "batch": 1, "tokens": 1, "key_dim": 128}
    assert float(attention.kv_cache_bytes(**one, kv_heads=32)) == 512 * 1024
    assert float(attention.kv_cache_bytes(**one, kv_heads=8)) == 128 * 1024
    # DeepSeek-V2 (arXiv:2405.04434): a latent of 512 and a rotary key of 64 a layer and token.
    latent = attention.kv_cache_bytes(layers=60, batch=1, tokens=1, kv_heads=1, key_dim=576, value_dim=0)
    assert float(latent) == 60 * 576 * 2
    paged = attention.kv_cache_bytes(layers=1, batch=1, tokens=[1, 16, 17], kv_heads=1, key_dim=1, element_bytes=0.5, page_tokens=16)
    assert paged.tolist() == [16, 16, 32]


def test_impossible_attention():
    with pytest.raises(OutOfRange, match="kv_heads = 3"):
        attention.attention(batch=1, heads=8, kv_heads=3, queries=1, keys=1, key_dim=8)
    with pytest.raises(OutOfRange, match=r"keys\[1\] = 2"):
        attention.attention(batch=1, heads=8, queries=3, keys=[3, 2], key_dim=8)
    with pytest.raises(UsageError, match="window"):
        attention.attention(batch=1, heads=8, queries=3, keys=3, key_dim=8, causal=False, window=2)


@patient
@given(tokens=st.integers(0, 10_000), experts=st.integers(1, 512), share=from_zero(1))
def test_distinct_experts_lie_between_one_choice_and_all(tokens, experts, share):
    chosen = max(1, round(experts * share))
    found = float(moe.distinct_experts(tokens, experts=experts, chosen=chosen))
    assert found <= min(experts, tokens * chosen) * (1 + 1e-9)
    assert found >= (chosen * (1 - 1e-9) if tokens else 0)
    assert moe.distinct_experts(tokens + 1, experts=experts, chosen=chosen) >= found * (1 - 1e-12)


@settings(patient, max_examples=10)
@given(seed=st.integers(0, 1000))
def test_experts_against_drawing(seed):
    generator = np.random.default_rng(seed)
    tokens, experts, chosen = 24, 32, 4
    draws = [np.argsort(generator.random((tokens, experts)), axis=1)[:, :chosen] for _ in range(300)]
    distinct = np.mean([len(np.unique(draw)) for draw in draws])
    assert float(moe.distinct_experts(tokens, experts=experts, chosen=chosen)) == pytest.approx(distinct, rel=0.02)
    fullest = np.mean([np.bincount(draw.ravel(), minlength=experts).max() for draw in draws])
    bound = float(moe.fullest_load(tokens, experts=experts, chosen=chosen)) * tokens * chosen / experts
    assert fullest <= bound <= 2 * fullest


def test_total_for_memory_active_for_time():
    # Mixtral 8x7B: 32 layers, h 4096, f 14336, 8 experts, 2 chosen: 45.1e9 parameters in experts of 46.7e9, 11.3e9 of them active.
    layer = moe.experts(tokens=1, hidden=4096, inner=14336, experts=8, chosen=2)
    assert round(32 * float(layer.total_parameters) / 1e9, 1) == 45.1
    assert round(32 * float(layer.active_parameters) / 1e9, 1) == 11.3
    assert layer.memory_bytes == 2 * layer.total_parameters
    assert float(layer.weight_bytes) == pytest.approx(2 * float(layer.active_parameters))
    many = moe.experts(tokens=4096, hidden=4096, inner=14336, experts=8, chosen=2)
    assert float(many.weight_bytes) == pytest.approx(float(many.memory_bytes))
    assert many.flop == 4096 * layer.flop
    with pytest.raises(OutOfRange, match="chosen"):
        moe.distinct_experts(1, experts=2, chosen=3)


@patient
@given(rows=st.integers(1, 500), groups=st.integers(1, 50), bits=st.sampled_from([2, 3, 4, 8]), group=st.sampled_from([32, 64, 128]))
def test_quantised_bytes_agree_with_the_scalar_ratio(rows, groups, bits, group):
    columns = groups * group
    found = compressed.quantised_bytes(rows, columns, bits=bits, group=group, zero_point_bits=4)
    ratio = laws.quantised_traffic_ratio(old_bits=16, new_bits=bits, group_size=group, scale_bits=16, zero_point_bits=4)
    assert float(found) == pytest.approx(rows * columns * 2 * ratio)
    # The last group of a row may be short and has a scale all the same.
    assert compressed.quantised_bytes(rows, columns + 1, bits=bits, group=group) > compressed.quantised_bytes(rows, columns, bits=bits, group=group)


def test_structured_zeros():
    # A. Mishra et al. 2021: 2:4 of 16-bit values needs 2 bits of index for each kept value: 9/16 of the dense bytes.
    pruned = compressed.structured(1024)
    assert float(pruned.bytes) == 1024 * 2 * 9 / 16
    assert float(pruned.work_share) == 0.5
    dense = compressed.structured(1024, kept=4)
    assert (float(dense.bytes), float(dense.work_share)) == (2048.0, 1.0)
    assert float(compressed.structured(1024, efficiency=0.6).work_share) == pytest.approx(0.7)
    with pytest.raises(OutOfRange, match="kept"):
        compressed.structured(1024, kept=5)


@patient
@given(density=from_zero(1), efficiency=st.floats(0.01, 1))
def test_a_sparse_kernel_pays_below_its_break_even(density, efficiency):
    work = float(compressed.unstructured(100, 100, density=density, skips=True, efficiency=efficiency).work_share)
    point = float(compressed.break_even_density(efficiency=efficiency))
    assert (work < 1) == (density < point) or work == pytest.approx(1)
    assert float(compressed.unstructured(100, 100, density=density).work_share) == 1.0


def test_sparse_layouts():
    csr = compressed.unstructured(10, 100, density=0.25, element_bytes=2, index_bytes=2)
    assert float(csr.bytes) == 250 * 4 + 11 * 2
    bitmap = compressed.unstructured(10, 100, density=0.25, element_bytes=2, layout="bitmap")
    assert float(bitmap.bytes) == 500 + 125
    with pytest.raises(UsageError, match="layout"):
        compressed.unstructured(10, 100, density=0.25, layout="coo")
