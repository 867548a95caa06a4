"""Attention: the two products around the softmax, over the pairs of query and key that the mask rule leaves.

Forward: 2·pairs·E + 2·pairs·Ev FLOPs, with E the width of query and key and Ev that of value, summed over batch and heads. `is_causal` leaves
Σ min(i + 1, keys) over the query positions i (mask aligned at the top left, as torch has it): only that much is useful work. A mask given as a tensor
is taken to leave every pair, since its values are not looked at. Backward: five products of that size (scores again, and the gradients of value,
weights, query and key). The softmax itself is not counted.
Source: torch.nn.functional.scaled_dot_product_attention (definition in its documentation); the five products: Dao et al. 2022,
FlashAttention, appendix B.
"""

from __future__ import annotations

import math

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp, TensorUse

__all__: list[str] = []

_FORWARD = (
    "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_fused_attention_overrideable", "_scaled_dot_product_attention_math",
    "_scaled_dot_product_attention_math_for_mps", "scaled_dot_product_attention",
)  # fmt: skip


def _work(op: RecordedOp, flop: float, reason: str = "") -> Work:
    return Work(group="attention", flop=flop, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)


def _pairs(queries: int, keys: int, causal: bool) -> int:
    """Pairs (i, j) with j ≤ i if causal, else all."""
    if not causal:
        return queries * keys
    square = min(queries, keys)
    return square * (square + 1) // 2 + (queries - square) * keys


def _products(query: TensorUse, key: TensorUse, value: TensorUse, causal: bool) -> tuple[float, float]:
    """FLOPs of query·keyᵀ and of weights·value."""
    heads = math.prod(query.shape[:-2])  # with grouped heads there are fewer key heads, each used by several query heads
    pairs = heads * _pairs(query.shape[-2], key.shape[-2], causal)
    return 2.0 * pairs * query.shape[-1], 2.0 * pairs * value.shape[-1]


@formula(*_FORWARD)
def _forward(op: RecordedOp) -> Work:
    query, key, value = op.inputs[:3]
    scores, weighted = _products(query, key, value, op.flag("is_causal"))
    return _work(op, scores + weighted, "causal half counted" if op.flag("is_causal") else "")


@formula("_flash_attention_forward _efficient_attention_forward")
def _steps_before_heads(op: RecordedOp) -> Work:
    """Operands (B, S, H, E); with sequences packed behind each other their lengths are data."""
    query, key, value = op.inputs[:3]
    packed = any(op.tensor(name) is not None for name in ("cum_seq_q", "cu_seqlens_q", "seqlen_k", "seqused_k"))
    if packed or len(query.shape) != 4:
        reads, writes = traffic.reads(op), traffic.writes(op)
        return Work(group="attention", flop=None, engine="fma", reads=reads, writes=writes, reason="the lengths of packed sequences are data")
    causal = op.flag("is_causal") or op.number("custom_mask_type") > 0
    pairs = query.shape[0] * query.shape[2] * _pairs(query.shape[1], key.shape[1], causal)
    return _work(op, 2.0 * pairs * (query.shape[-1] + value.shape[-1]), "causal half counted" if causal else "")


@formula(*(f"{name}_backward" for name in _FORWARD[:5]))
def _backward(op: RecordedOp) -> Work:
    query, key, value = op.inputs[1:4]
    scores, weighted = _products(query, key, value, op.flag("is_causal"))
    return _work(op, 3 * scores + 2 * weighted, "the scores are computed again")


@formula("_native_multi_head_attention")
def _multi_head(op: RecordedOp) -> Work:
    query, key = op.inputs[0], op.inputs[1]
    return _work(op, _block(query.shape, key.shape[-2], int(op.number("embed_dim", query.shape[-1]))))


def _block(shape: tuple[int, ...], keys: int, width: int) -> float:
    """Projection to query, key and value, the two products, and the projection out: 2·T·(3E² + 2·keys·E + E²) for T tokens."""
    tokens = math.prod(shape[:-1])
    return 2.0 * tokens * (4.0 * width * width + 2.0 * keys * width)


@formula("_transformer_encoder_layer_fwd")
def _encoder_layer(op: RecordedOp) -> Work:
    """The attention block, and two linear layers of the hidden width F: 2·T·2·E·F more."""
    source, hidden = op.inputs[0], op.tensor("ffn_weight_1")
    if len(source.shape) < 3 or hidden is None:
        reason = "a nested tensor hides its lengths"
        return Work(group="attention", flop=None, engine="fma", reads=traffic.reads(op), writes=traffic.writes(op), reason=reason)
    width = source.shape[-1]
    tokens = math.prod(source.shape[:-1])
    return _work(op, _block(source.shape, source.shape[-2], width) + 4.0 * tokens * width * hidden.shape[0])


@formula("_fused_sdp_choice")
def _choice(op: RecordedOp) -> Work:
    return Work(group="other", reason="chooses a kernel, touches no data")
