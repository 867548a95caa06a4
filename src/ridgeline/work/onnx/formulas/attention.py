"""Attention: the two products around the softmax, 2·B·H·pairs·(E + Ev) FLOPs, and the projections where the operator has them.

B batch, H query heads, E width of a query and key head, Ev of a value head; the pairs of query and key are Q·K, less those that an attribute masks:
under a causal mask query i sees the keys up to i + offset, where the offset is the number of keys before the first query; a window leaves `left` keys
before and `right` after that place. A mask given as a tensor is taken to leave every pair. The softmax, a scale, a cap and rotary angles that are
fused in are not counted.
Source: ONNX Operators.md, Attention (opsets 23 to 25); ContribOperators.md, Attention, MultiHeadAttention, GroupQueryAttention, QAttention.
"""

from __future__ import annotations

import math

import msgspec

from ridgeline.core import Precision

from ..formula import Work, bytes_read, formula
from ..node import Node, Unknown, Value

__all__: list[str] = []

_UNLIMITED = -1


def _pairs(queries: int, keys: int, offset: int, left: int = _UNLIMITED, right: int = _UNLIMITED) -> float:
    """Pairs that the mask leaves: Σ over i of the keys j with i + offset − left ≤ j ≤ i + offset + right.

    Args:
        queries, keys: lengths.
        offset: keys before the first query.
        left, right: −1 is no limit on that side; `right` 0 is causal.
    """

    def below(limit: int) -> float:
        """Σ over i of the keys j ≤ i + limit, from 0 to all of them."""
        ramp_from, ramp_to = min(max(-limit, 0), queries), min(max(keys - 1 - limit, 0), queries)  # where it grows by one a query
        ramp = max(0, ramp_to - ramp_from)
        return float(keys) * (queries - max(ramp_from, ramp_to)) + ramp * (2 * (ramp_from + limit + 1) + ramp - 1) / 2

    after = float(queries) * keys if right == _UNLIMITED else below(offset + right)
    before = 0.0 if left == _UNLIMITED else below(offset - left - 1)
    return after - before


def _work(flop: float, masked: bool = False, precision: Precision = "any", reason: str = "") -> Work:
    texts = [text for text in ("only pairs that the mask leaves counted" if masked else "", reason) if text]
    return Work(group="attention", flop=flop, engine="fma", precision=precision, reason="; ".join(texts))


def _past(value: Value | None) -> int:
    """Steps of past keys, from (…, H, P, E)."""
    return value.dims[-2] if value is not None and len(value.dims) >= 4 and 0 not in value.dims else 0


@formula("Attention")
def _attention(node: Node) -> Work:
    """Inputs (B, H, S, E), or (B, S, H·E) with q_num_heads."""
    query, key, value = node.input(0).dims, node.input(1).dims, node.input(2).dims
    if len(query) == 4:
        heads, queries, keys, width, value_width = query[1], query[2], key[2], query[3], value[3]
    elif len(query) == 3:
        heads = node.required("q_num_heads")
        queries, keys, width, value_width = query[1], key[1], query[2] // heads, value[2] // node.required("kv_num_heads")
    else:
        raise Unknown("an attention whose query has neither three nor four dimensions")
    past = _past(node.optional(4))
    left, right = node.integer("left_window_size", _UNLIMITED), node.integer("right_window_size", _UNLIMITED)
    right = 0 if node.integer("is_causal", 0) else right
    used = node.optional(6)
    if used is None:
        pairs = query[0] * _pairs(queries, keys + past, past, left, right)
    elif used.content is not None:
        pairs = sum(_pairs(queries, int(length), int(length) - queries, left, right) for length in used.content)
    else:
        raise Unknown("how many of the keys are used is data (nonpad_kv_seqlen)")
    return _work(2.0 * heads * pairs * (width + value_width), (left, right) != (_UNLIMITED, _UNLIMITED))


@formula("ms:Attention ms:QAttention ms:PackedAttention")
def _projected(node: Node) -> Work:
    """Input (B, S, I), weight (I, 3·hidden): the projection and the two products, all heads together.

    QAttention projects in int8 and multiplies in fp32 on a CPU: the larger part names the precision, so that a ceiling fits most of the work.
    """
    if node.kind == "PackedAttention":
        raise Unknown("the lengths of packed sequences")
    batch, steps, width = node.input(0).dims
    projected = node.input(1).dims[-1]
    sizes = node.integers("qkv_hidden_sizes") or (projected // 3,) * 3
    past = _past(node.optional(8 if node.kind == "QAttention" else 4))
    causal = bool(node.integer("unidirectional", 0))
    projection = 2.0 * batch * steps * width * projected
    products = 2.0 * batch * _pairs(steps, steps + past, past, right=0 if causal else _UNLIMITED) * (sizes[0] + sizes[2])
    if node.kind == "Attention":
        return _work(projection + products, causal)
    share = f"{projection:.0f} of the operations in int8, the rest in fp32"
    return _work(projection + products, causal, "int8" if projection >= products else "fp32", share)


@formula("ms:MultiHeadAttention ms:DecoderMaskedMultiHeadAttention")
def _multi_head(node: Node) -> Work:
    """Query (B, S, hidden); key and value (B, L, hidden) or (B, H, L, E), or both in the key (B, L, H, 2, E), or all in the query (B, S, H, 3, E)."""
    query, key, value = node.input(0).dims, node.optional(1), node.optional(2)
    causal = bool(node.integer("unidirectional", 0))
    right = 0 if causal else _UNLIMITED
    if len(query) == 5:
        batch, queries, heads, _, width = query
        return _work(2.0 * batch * heads * _pairs(queries, queries, 0, right=right) * 2 * width, causal)
    batch, queries, hidden = query
    if key is None:
        raise Unknown("keys that are not given")
    keys = key.dims[2] if len(key.dims) == 4 else key.dims[1]
    if value is None:
        value_hidden = math.prod(key.dims[2::2]) if len(key.dims) == 5 else hidden
    else:
        value_hidden = value.dims[1] * value.dims[3] if len(value.dims) == 4 else value.dims[-1]
    past = 0 if len(key.dims) == 4 else _past(node.optional(6) if node.kind == "MultiHeadAttention" else node.optional(5))
    total = keys + past
    return _work(2.0 * batch * _pairs(queries, total, total - queries, right=right) * (hidden + value_hidden), causal)


@formula("ms:GroupQueryAttention")
def _grouped(node: Node) -> Work:
    """Query (B, S, H·E), or with keys and values packed in (B, S, (H + 2·Hkv)·E); past keys (B, Hkv, P, E).

    How much of a shared buffer is used is data: `total_sequence_length` where it is a constant, else the length of the present keys.
    """
    batch, queries, hidden = node.input(0).dims
    heads, kv_heads = node.required("num_heads"), node.required("kv_num_heads")
    packed = node.optional(1) is None
    width = hidden // (heads + 2 * kv_heads) if packed else hidden // heads
    used, present = node.optional(6), node.outputs[1] if len(node.outputs) > 1 else None
    if used is not None and used.content is not None and len(used.content) == 1:
        keys = int(used.content[0])
    else:
        keys = present.dims[2] if present is not None else queries + _past(node.optional(3))
    window = node.integer("local_window_size", _UNLIMITED)
    # A window of n keys holds the query's own: n − 1 before it.
    left = window - 1 if window > 0 else _UNLIMITED
    right = 0 if node.integer("causal", 1) else _UNLIMITED
    work = _work(2.0 * batch * heads * _pairs(queries, keys, keys - queries, left, right) * 2 * width, (left, right) != (_UNLIMITED, _UNLIMITED))
    # Each sequence has rows of its own in the tables of rotary angles.
    return msgspec.structs.replace(work, reads=_with_rows(node, (7, 8), batch * queries))


@formula(
    "LinearAttention ms:LinearAttention preview:FlexAttention ms:SparseAttention ms:PackedMultiHeadAttention ms:LongformerAttention ms:PagedAttention"
)
def _without_formula(node: Node) -> Work:
    raise Unknown(f"{node.kind}: which pairs it visits is decided by its attributes, graphs or data")


@formula("RotaryEmbedding ms:RotaryEmbedding ms:GemmaRotaryEmbedding ms:MRotaryEmbedding")
def _rotary(node: Node) -> Work:
    """Two multiply-adds an element, the angles looked up: it streams. Of the tables of angles only the rows of the positions are read."""
    elements = math.prod(node.input(0).dims)
    ids, tables = (node.optional(3), (1, 2)) if not node.domain else (node.optional(1), (2, 3))
    work = Work(group="elementwise", flop=float(elements), engine="add")
    if node.kind.startswith("Gemma") or ids is None:
        return work
    # One number is the position of the first step; the others follow it.
    rows = ids.numel if ids.numel != 1 else _steps(node)
    return msgspec.structs.replace(work, reads=_with_rows(node, tables, rows))


def _steps(node: Node) -> int:
    """Positions in a sequence: the input is (B, S, hidden) or (B, H, S, E)."""
    return node.input(0).dims[-2]


def _with_rows(node: Node, tables: tuple[int, ...], rows: int) -> tuple[int | None, ...]:
    """Bytes read of each operand where of these tables only so many rows are looked up; a row that is looked up twice counts twice."""
    reads = list(bytes_read(node))
    for index in tables:
        table = node.optional(index)
        if table is not None:
            reads[index] = min(table.size_bytes, math.ceil(rows * table.dims[-1] * table.item_bytes))
    return tuple(reads)
