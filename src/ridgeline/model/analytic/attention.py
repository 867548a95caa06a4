"""Work, bytes and memory of attention: prefill and decode, causal and windowed, with as many or fewer heads of keys than of queries.

Decides counts from shapes. Fused attention keeps scores on the chip; materialised attention writes them out. Sources: A. Vaswani et al., "Attention
is all you need", 2017; N. Shazeer, "Fast transformer decoding: one write-head is all you need", arXiv:1911.02150 (one head of keys); J. Ainslie et
al., "GQA", arXiv:2305.13245 (groups); T. Dao et al., "FlashAttention", arXiv:2205.14135, section 3.2 (traffic of blocks); A. Jiang et al.,
"Mistral 7B", arXiv:2310.06825 (window).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import UsageError
from ._arrays import COUNT, NON_NEGATIVE, POSITIVE, Reals, ceil_div, choose, fit, larger, numbers, outside, round_up, smaller

__all__ = ["Attention", "attention", "flash_bytes", "kv_cache_bytes", "materialised_bytes"]


@dataclass(frozen=True, eq=False)
class Attention:
    """Work of one attention layer, without the projections around it; made by `attention`.

    Args:
        batch, heads, kv_heads, key_dim, value_dim, queries, keys, causal: as `attention`; window: the keys where there is none.
        pairs: (query, key) pairs that are not masked, for one head of one sequence.
        visible_keys: keys that at least one query sees.
        flop: of both products over the pairs that are not masked; whole_flop: without skipping what is masked.
        exponentials: elements of the softmax that are not masked.
    """

    batch: Reals
    heads: Reals
    kv_heads: Reals
    key_dim: Reals
    value_dim: Reals
    queries: Reals
    keys: Reals
    pairs: Reals
    visible_keys: Reals
    flop: Reals
    whole_flop: Reals
    exponentials: Reals
    window: Reals
    causal: bool


def attention(
    *,
    batch: ArrayLike,
    heads: ArrayLike,
    queries: ArrayLike,
    keys: ArrayLike,
    key_dim: ArrayLike,
    kv_heads: ArrayLike | None = None,
    value_dim: ArrayLike | None = None,
    causal: bool = True,
    window: ArrayLike | None = None,
) -> Attention:
    """2 B H (d_k + d_v) × pairs FLOP; causal pairs are Σ over queries of min(window, keys up to and including its own position).

    Args:
        batch: B sequences, heads: H heads of queries, whole, ≥ 1.
        queries: new positions of a sequence: all of them in prefill, 1 in decode (more when speculating); whole, ≥ 1.
        keys: positions to look at, the new ones included; whole, ≥ 1.
        key_dim, value_dim: d_k and d_v of one head; d_v is d_k if not given.
        kv_heads: heads of keys and values; H if not given, 1 for multi-query; must divide H. They change bytes, not FLOP.
        causal: whether a query sees only positions up to its own; the queries are the last of the keys.
        window: positions a query sees at most, its own included; only with `causal`.

    Raises:
        UsageError: a number out of its range, or a window without `causal`.
        OutOfRange: fewer keys than queries in causal attention, or heads that kv_heads does not divide.

    >>> prefill = attention(batch=1, heads=32, queries=4, keys=4, key_dim=128)
    >>> float(prefill.pairs), float(prefill.flop) == 4 * 32 * 128 * 10
    (10.0, True)
    >>> float(attention(batch=1, heads=32, queries=4, keys=4, key_dim=128, window=2).pairs)
    7.0
    """
    b, h, q, k, d, g, v = numbers(
        batch=(batch, COUNT),
        heads=(heads, COUNT),
        queries=(queries, COUNT),
        keys=(keys, COUNT),
        key_dim=(key_dim, COUNT),
        kv_heads=(heads if kv_heads is None else kv_heads, COUNT),
        value_dim=(key_dim if value_dim is None else value_dim, COUNT),
    )
    if window is not None and not causal:
        raise UsageError("a window only with causal attention", found="causal=False", remedy="give the masked pairs as causal")
    outside(h % g != 0, "kv_heads", g, "kv_heads that divide the heads", "give the heads of keys and values")
    if causal:
        outside(k < q, "keys", k, "at least as many keys as queries in causal attention", "count the new positions among the keys")
    w, _ = numbers(window=(keys if window is None else window, COUNT), pairs=(q * k, POSITIVE))
    pairs = _below(k, w) - _below(k - q, w) if causal else q * k
    each = 2.0 * b * h * (d + v)
    return Attention(
        batch=b,
        heads=h,
        kv_heads=g,
        key_dim=d,
        value_dim=v,
        queries=q,
        keys=k,
        pairs=pairs,
        visible_keys=smaller(k, q + w - 1.0) if causal else k + 0.0 * q,
        flop=each * pairs,
        whole_flop=each * q * k,
        exponentials=b * h * pairs,
        window=w,
        causal=causal,
    )


def _below(positions: Reals, window: Reals) -> Reals:
    """Σ over j = 1 … positions of min(window, j)."""
    first = smaller(positions, window)
    return first * (first + 1.0) / 2.0 + (positions - first) * window


def _in_and_out(work: Attention, element_bytes: Reals) -> Reals:
    """Queries read and results written, once each."""
    return work.batch * work.heads * work.queries * (work.key_dim + work.value_dim) * element_bytes


def _seen_by_blocks(work: Attention, block: Reals) -> Reals:
    """Σ over blocks of queries of the keys that some query of the block sees."""
    blocks = ceil_div(work.queries, block)
    if not work.causal:
        return blocks * work.keys
    # All but the last block are full: the first ends at key p, each next one `block` keys further, until the window cuts.
    full, first, most = blocks - 1.0, work.keys - work.queries + block, work.window + block - 1.0
    uncut = smaller(larger(np.floor((most - first) / block) + 1.0, 0.0), full)
    rising = uncut * first + block * uncut * (uncut - 1.0) / 2.0
    last = smaller(work.keys, work.window + work.queries - full * block - 1.0)
    return rising + (full - uncut) * most + last


def flash_bytes(
    work: Attention,
    *,
    element_bytes: ArrayLike = 2.0,
    kv_element_bytes: ArrayLike | None = None,
    block_queries: ArrayLike = 128,
    capacity_bytes: ArrayLike | None = None,
    packed: bool = False,
) -> Reals:
    """Q and O once, K and V once for every block of queries whose keys do not stay in the level; no scores: in B.

    Args:
        work: from `attention`.
        element_bytes: of queries and results, > 0; kv_element_bytes: of keys and values (a cache may be narrower), > 0.
        block_queries: queries that a work-group keeps, whole, ≥ 1.
        capacity_bytes: of the level above the memory in question, > 0; where keys and values of one head of one sequence fit, they are read once.
            Without it they are read once at any size: the compulsory bytes.
        packed: whether the heads of queries that share keys run in one work-group; otherwise each reads the keys for itself.

    Raises:
        UsageError: a number out of its range.

    Where they do not fit, they are read once for each block: Σ over blocks of min(window + b − 1, keys up to the block's last query).

    >>> decode = attention(batch=8, heads=32, kv_heads=8, queries=1, keys=4096, key_dim=128)
    >>> float(flash_bytes(decode)) == 8 * (32 * 2 * 128 + 8 * 4096 * 2 * 128) * 2
    True
    """
    e, kv, block = numbers(
        element_bytes=(element_bytes, POSITIVE),
        kv_element_bytes=(element_bytes if kv_element_bytes is None else kv_element_bytes, POSITIVE),
        block_queries=(block_queries, COUNT),
    )
    fit(work=work.pairs * work.batch, element_bytes=e, kv_element_bytes=kv, block_queries=block)
    one_key = (work.key_dim + work.value_dim) * kv
    once = work.kv_heads * work.visible_keys
    if capacity_bytes is None:
        reads = once
    else:
        (capacity,) = numbers(capacity_bytes=(capacity_bytes, POSITIVE))
        fit(work=work.pairs * work.batch, capacity_bytes=capacity, block_queries=block)
        block = smaller(block, work.queries)
        seen = _seen_by_blocks(work, block)
        reads = choose(work.visible_keys * one_key <= capacity, once, (work.kv_heads if packed else work.heads) * seen)
    return _in_and_out(work, e) + work.batch * reads * one_key


def materialised_bytes(
    work: Attention, *, element_bytes: ArrayLike = 2.0, kv_element_bytes: ArrayLike | None = None, score_bytes: ArrayLike | None = None
) -> Reals:
    """Q, K, V and O once and the whole matrix of scores four times (written, read by softmax, written, read by the second product): in B.

    Args:
        work: from `attention`.
        element_bytes, kv_element_bytes: as `flash_bytes`.
        score_bytes: of one score, > 0; as element_bytes if not given. Masked scores are written too.

    Raises:
        UsageError: a number out of its range.

    >>> work = attention(batch=1, heads=1, queries=1024, keys=1024, key_dim=64)
    >>> float(materialised_bytes(work) - flash_bytes(work)) == 4 * 1024 * 1024 * 2
    True
    """
    (scores,) = numbers(score_bytes=(element_bytes if score_bytes is None else score_bytes, POSITIVE))
    fit(work=work.pairs * work.batch, score_bytes=scores)
    rest = flash_bytes(work, element_bytes=element_bytes, kv_element_bytes=kv_element_bytes)
    return rest + 4.0 * work.batch * work.heads * work.queries * work.keys * scores


def kv_cache_bytes(
    *,
    layers: ArrayLike,
    batch: ArrayLike,
    tokens: ArrayLike,
    kv_heads: ArrayLike,
    key_dim: ArrayLike,
    value_dim: ArrayLike | None = None,
    element_bytes: ArrayLike = 2.0,
    scale_bytes: ArrayLike = 0.0,
    window: ArrayLike | None = None,
    page_tokens: ArrayLike = 1,
) -> Reals:
    """L B ⌈min(tokens, window)⌉_page G ((d_k + d_v) e + s) in B.

    Args:
        layers: L that have a cache; batch: B sequences; tokens: of each sequence so far; whole, ≥ 1.
        kv_heads: G, not the heads of queries.
        key_dim, value_dim: d_k, d_v; d_v is d_k if not given. A latent that keys and values share is G = 1 with d_k its length and d_v = 0.
        element_bytes: e, > 0, such as 1 for 8-bit; scale_bytes: s for each token and head of a quantised cache, ≥ 0.
        window: tokens a layer keeps at most; all if not given.
        page_tokens: tokens of a page, of which only whole ones are taken, whole, ≥ 1.

    Raises:
        UsageError: a number out of its range.

    Source of pages: W. Kwon et al., "Efficient memory management for large language model serving with PagedAttention", SOSP 2023.

    >>> float(kv_cache_bytes(layers=32, batch=1, tokens=4096, kv_heads=8, key_dim=128)) / 2**20
    512.0
    """
    n, b, t, g, d, v, e, s, w, page = numbers(
        layers=(layers, COUNT),
        batch=(batch, COUNT),
        tokens=(tokens, COUNT),
        kv_heads=(kv_heads, COUNT),
        key_dim=(key_dim, COUNT),
        value_dim=(key_dim if value_dim is None else value_dim, NON_NEGATIVE),
        element_bytes=(element_bytes, POSITIVE),
        scale_bytes=(scale_bytes, NON_NEGATIVE),
        window=(tokens if window is None else window, COUNT),
        page_tokens=(page_tokens, COUNT),
    )
    return n * b * round_up(smaller(t, w), page) * g * ((d + v) * e + s)
