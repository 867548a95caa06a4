"""Attention: the two products around the softmax, 2·B·H·Q·K·(E + Ev) FLOPs, and the projections where the operator has them.

B batch, H heads, Q queries, K keys, E width of a query and key head, Ev of a value head. A causal mask leaves the pairs whose key is not after
the query; with past keys the queries are the last ones, so that is Q·K − Q·(Q−1)/2. A mask given as a tensor is taken to leave every pair. The
softmax itself is not counted.
Source: ONNX Operators.md, Attention (opset 23); ContribOperators.md, Attention, MultiHeadAttention, GroupQueryAttention, QAttention.
"""

from __future__ import annotations

import math

from ridgeline.core import Precision

from ..formula import Work, formula
from ..node import Node, Unknown, Value

__all__: list[str] = []


def _pairs(queries: int, keys: int, causal: bool) -> float:
    if not causal:
        return float(queries) * keys
    used = min(queries, keys)
    return float(used) * keys - used * (used - 1) / 2


def _work(flop: float, causal: bool = False, precision: Precision = "any") -> Work:
    return Work(group="attention", flop=flop, engine="fma", precision=precision, reason="causal half counted" if causal else "")


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
    causal = bool(node.integer("is_causal", 0))
    pairs = _pairs(queries, keys + _past(node.optional(4)), causal)
    return _work(2.0 * query[0] * heads * pairs * (width + value_width), causal)


@formula("ms:Attention ms:QAttention ms:PackedAttention")
def _projected(node: Node) -> Work:
    """Input (B, S, I), weight (I, 3·hidden): the projection and the two products, all heads together."""
    if node.kind == "PackedAttention":
        raise Unknown("the lengths of packed sequences")
    batch, steps, width = node.input(0).dims
    projected = node.input(1).dims[-1]
    sizes = node.integers("qkv_hidden_sizes") or (projected // 3,) * 3
    past = node.optional(8 if node.kind == "QAttention" else 4)
    causal = bool(node.integer("unidirectional", 0))
    pairs = _pairs(steps, steps + _past(past), causal)
    flop = 2.0 * batch * steps * width * projected + 2.0 * batch * pairs * (sizes[0] + sizes[2])
    return _work(flop, causal, "int8" if node.kind == "QAttention" else "any")


@formula("ms:MultiHeadAttention ms:DecoderMaskedMultiHeadAttention")
def _multi_head(node: Node) -> Work:
    """Query (B, S, hidden); key and value (B, L, hidden) or (B, H, L, E); or all packed in the query as (B, S, H, 3, E)."""
    query, key, value = node.input(0).dims, node.optional(1), node.optional(2)
    if len(query) == 5:
        batch, queries, heads, _, width = query
        pairs = _pairs(queries, queries, bool(node.integer("unidirectional", 0)))
        return _work(2.0 * batch * heads * pairs * 2 * width)
    batch, queries, hidden = query
    if key is None or key.shape is None or value is None:
        raise Unknown("keys packed with their values")
    keys = key.dims[2] if len(key.dims) == 4 else key.dims[1]
    value_hidden = value.dims[1] * value.dims[3] if len(value.dims) == 4 else value.dims[-1]
    past = 0 if len(key.dims) == 4 else _past(node.optional(6) if node.kind == "MultiHeadAttention" else node.optional(5))
    causal = bool(node.integer("unidirectional", 0))
    return _work(2.0 * batch * _pairs(queries, keys + past, causal) * (hidden + value_hidden), causal)


@formula("ms:GroupQueryAttention")
def _grouped(node: Node) -> Work:
    """Always causal. Query (B, S, H·E); past keys (B, Hkv, P, E), whose used length is data: the length of the present is taken."""
    batch, queries, hidden = node.input(0).dims
    heads, kv_heads = node.required("num_heads"), node.required("kv_num_heads")
    packed = node.optional(1) is None
    width = hidden // (heads + 2 * kv_heads) if packed else hidden // heads
    present = node.outputs[1] if len(node.outputs) > 1 else None
    keys = present.dims[2] if present is not None else queries + _past(node.optional(3))
    return _work(2.0 * batch * heads * _pairs(queries, keys, True) * 2 * width, True)


@formula("LinearAttention ms:LinearAttention preview:FlexAttention")
def _without_formula(node: Node) -> Work:
    raise Unknown(f"{node.kind}: which pairs it visits is decided by its attributes and graphs")


@formula("RotaryEmbedding ms:RotaryEmbedding ms:GemmaRotaryEmbedding ms:MRotaryEmbedding")
def _rotary(node: Node) -> Work:
    """Two multiply-adds an element, the angles looked up: it streams."""
    return Work(group="elementwise", flop=float(math.prod(node.input(0).dims)), engine="add")
