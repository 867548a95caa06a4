"""Attention: 2·B·H·pairs·(E + Ev); recurrent layers: 2·steps·G·H·(I + H) a direction."""

from __future__ import annotations

from typing import Any

from .case import F32, I32, I64, Case, const, f, of, single


def _sdpa(query: tuple[int, ...], key: tuple[int, ...], *, steps_first: bool = False, **options: Any) -> Any:
    """Three distinct operands of (B, H, S, E), or of (B, S, H, E) turned by a view."""
    import torch

    def call(q: Any, k: Any, v: Any) -> Any:
        turned = [operand.transpose(1, 2) for operand in (q, k, v)] if steps_first else (q, k, v)
        return torch.nn.functional.scaled_dot_product_attention(*turned, **options)

    return call, (torch.ones(query), torch.ones(key), torch.ones(key))


def _jax_sdpa(jax: Any, *shape: int) -> Any:
    def call(q: Any, k: Any, v: Any) -> Any:
        weights = jax.nn.softmax(q @ k.swapaxes(-1, -2), axis=-1)
        return weights @ v

    return call, tuple(jax.numpy.ones(shape, "float32") for _ in range(3))


def _recurrent(name: str, *arguments: int, lengths: tuple[int, ...] = (), shape: tuple[int, ...], **options: Any) -> Any:
    import torch

    layer, source = getattr(torch.nn, name)(*arguments, **options), torch.ones(shape)
    if not lengths:
        return layer, (source,)
    return layer, (torch.nn.utils.rnn.pack_padded_sequence(source, list(lengths)),)


# What CPU attention writes beside its result: one fp32 number for each query (the logarithm of the softmax's sum).
_SUMS = 12 * 64 * F32

ATTENTION = [
    Case(
        "attention (1, 12, 64, 64), 12,582,912 FLOP",
        flop=2 * 12 * 64 * 64 * (64 + 64),  # 12,582,912
        read=3 * 12 * 64 * 64 * F32,
        write=12 * 64 * 64 * F32,
        torch=lambda: _sdpa((1, 12, 64, 64), (1, 12, 64, 64)),
        torch_bytes=(3 * 12 * 64 * 64 * F32, 12 * 64 * 64 * F32 + _SUMS),
        why="the kernel also writes the sum of each query's softmax",
        onnx=lambda: single("Attention", [f(1, 12, 64, 64)] * 3, [f(1, 12, 64, 64)], opset=23),
        jax=lambda jax: _jax_sdpa(jax, 1, 12, 64, 64),
    ),
    Case(
        "attention with steps before heads",  # the same work, whatever the layout
        flop=2 * 12 * 64 * 64 * (64 + 64),
        read=3 * 12 * 64 * 64 * F32,
        write=12 * 64 * 64 * F32,
        torch=lambda: _sdpa((1, 64, 12, 64), (1, 64, 12, 64), steps_first=True),
        torch_bytes=(3 * 12 * 64 * 64 * F32, 12 * 64 * 64 * F32 + _SUMS),
        why="the kernel also writes the sum of each query's softmax",
        onnx=lambda: single("Attention", [f(1, 64, 768)] * 3, [f(1, 64, 768)], opset=23, q_num_heads=12, kv_num_heads=12),
    ),
    Case(
        "attention, causal",  # query i sees i + 1 keys: 64·65 ÷ 2 pairs
        flop=2 * 12 * (64 * 65 // 2) * (64 + 64),
        read=3 * 12 * 64 * 64 * F32,
        write=12 * 64 * 64 * F32,
        torch=lambda: _sdpa((1, 12, 64, 64), (1, 12, 64, 64), is_causal=True),
        torch_bytes=(3 * 12 * 64 * 64 * F32, 12 * 64 * 64 * F32 + _SUMS),
        why="the kernel also writes the sum of each query's softmax",
        onnx=lambda: single("Attention", [f(1, 12, 64, 64)] * 3, [f(1, 12, 64, 64)], opset=23, is_causal=1),
    ),
    Case(
        "attention, causal, fewer queries than keys and no past",  # the first query sees one key: 1 + 2 + 3 pairs
        flop=2 * 2 * (1 + 2 + 3) * (8 + 8),
        read=2 * (3 * 8 + 2 * 5 * 8) * F32,
        write=2 * 3 * 8 * F32,
        torch=lambda: _sdpa((1, 2, 3, 8), (1, 2, 5, 8), is_causal=True),
        torch_bytes=(2 * (3 * 8 + 2 * 5 * 8) * F32, 2 * 3 * 8 * F32 + 2 * 3 * F32),
        why="the kernel also writes the sum of each query's softmax",
        onnx=lambda: single("Attention", [f(1, 2, 3, 8), f(1, 2, 5, 8), f(1, 2, 5, 8)], [f(1, 2, 3, 8)], opset=23, is_causal=1),
    ),
    Case(
        "attention, causal, after ten past keys",  # the two queries see 11 and 12 keys
        flop=2 * 2 * (11 + 12) * (8 + 8),
        read=2 * (3 * 2 * 8 + 2 * 10 * 8) * F32,
        write=2 * 2 * 8 * F32 + 2 * 2 * 12 * 8 * F32,
        onnx=lambda: single(
            "Attention",
            [f(1, 2, 2, 8), f(1, 2, 2, 8), f(1, 2, 2, 8), None, f(1, 2, 10, 8), f(1, 2, 10, 8)],
            [f(1, 2, 2, 8), f(1, 2, 12, 8), f(1, 2, 12, 8)],
            opset=23,
            is_causal=1,
        ),
    ),
    Case(
        "attention with a mask given as a tensor",  # its values are not looked at: every pair counts
        flop=2 * 2 * 16 * 16 * (8 + 8),
        read=(3 * 2 * 16 * 8 + 16 * 16) * F32,
        write=2 * 16 * 8 * F32,
        torch=lambda: _masked(),
        torch_bytes=((3 * 2 * 16 * 8 + 16 * 16) * F32, 2 * 16 * 8 * F32 + 2 * 16 * F32),
        why="the kernel also writes the sum of each query's softmax",
        onnx=lambda: single("Attention", [f(1, 2, 16, 8)] * 3 + [f(16, 16)], [f(1, 2, 16, 8)], opset=23),
    ),
    Case(
        "attention, two key heads for eight query heads",
        flop=2 * 8 * 16 * 16 * (4 + 4),
        read=(8 * 16 * 4 + 2 * 2 * 16 * 4) * F32,
        write=8 * 16 * 4 * F32,
        torch=lambda: _sdpa((1, 8, 16, 4), (1, 2, 16, 4), enable_gqa=True),
        torch_bytes=((8 * 16 * 4 + 2 * 2 * 16 * 4) * F32, 8 * 16 * 4 * F32 + 8 * 16 * F32),
        why="the kernel also writes the sum of each query's softmax",
        onnx=lambda: single("Attention", [f(1, 8, 16, 4), f(1, 2, 16, 4), f(1, 2, 16, 4)], [f(1, 8, 16, 4)], opset=23),
    ),
    Case(
        "attention over a window of two keys before",  # 1 + 2 + 3·6 pairs of 8 × 8
        flop=2 * 1 * (1 + 2 + 6 * 3) * (4 + 4),
        read=3 * 8 * 4 * F32,
        write=8 * 4 * F32,
        onnx=lambda: single("Attention", [f(1, 1, 8, 4)] * 3, [f(1, 1, 8, 4)], opset=25, is_causal=1, left_window_size=2),
    ),
    Case(
        "attention of BERT with its projection",  # (2·16, 64)·(64, 192), then the two products
        flop=2 * 2 * 16 * 64 * 192 + 2 * 2 * 16 * 16 * (64 + 64),
        read=(2 * 16 * 64 + 64 * 192 + 192) * F32,
        write=2 * 16 * 64 * F32,
        onnx=lambda: single("Attention", [f(2, 16, 64), f(64, 192), f(192)], [f(2, 16, 64)], "com.microsoft", num_heads=4),
    ),
    Case(
        "multi-head attention, packed keys and values",  # key (B, L, H, 2, E)
        flop=2 * 2 * 16 * 20 * (64 + 64),
        read=(2 * 16 * 64 + 2 * 20 * 4 * 2 * 16) * F32,
        write=2 * 16 * 64 * F32,
        onnx=lambda: single("MultiHeadAttention", [f(2, 16, 64), f(2, 20, 4, 2, 16)], [f(2, 16, 64)], "com.microsoft", num_heads=4),
    ),
    Case(
        "grouped-query attention, one new token after 31",  # 32 keys, 8 query heads of width 16
        flop=2 * 8 * 1 * 32 * (16 + 16),
        read=(8 * 16 + 2 * 2 * 16 + 2 * 2 * 31 * 16) * F32 + 2 * I32,
        write=(8 * 16 + 2 * 2 * 32 * 16) * F32,
        onnx=lambda: single(
            "GroupQueryAttention",
            [f(1, 1, 128), f(1, 1, 32), f(1, 1, 32), f(1, 2, 31, 16), f(1, 2, 31, 16), const("INT32", 31), const("INT32", 32)],
            [f(1, 1, 128), f(1, 2, 32, 16), f(1, 2, 32, 16)],
            "com.microsoft",
            num_heads=8,
            kv_num_heads=2,
        ),
    ),
    Case(
        "rotary embedding",  # one element at a time on the streaming engine
        flop=2 * 4 * 6 * 8,
        read=(2 * 4 * 6 * 8 + 2 * 6 * 4) * F32 + 2 * 6 * I64,
        write=2 * 4 * 6 * 8 * F32,
        engine="add",
        onnx=lambda: single("RotaryEmbedding", [f(2, 4, 6, 8), f(6, 4), f(6, 4), of("INT64", 2, 6)], [f(2, 4, 6, 8)], opset=23),
    ),
]


def _masked() -> Any:
    import torch

    call = torch.nn.functional.scaled_dot_product_attention
    return (lambda q, k, v, mask: call(q, k, v, mask)), (*(torch.ones(1, 2, 16, 8) for _ in range(3)), torch.ones(16, 16))


RECURRENT = [
    Case(
        "LSTM over five steps",  # 4 gates of (8 → 16) and (16 → 16) for 5·3 rows
        flop=2 * 5 * 3 * 4 * 16 * (8 + 16),
        read=(5 * 3 * 8 + 64 * 8 + 64 * 16 + 128) * F32,
        write=(5 * 3 * 16 + 2 * 3 * 16) * F32,
        torch=lambda: _recurrent("LSTM", 8, 16, shape=(5, 3, 8)),
        torch_products=((15 * 8 + 64 * 8 + 64 * 16 + 2 * 64 + 2 * 3 * 16) * F32, (15 * 16 + 2 * 3 * 16) * F32),
        why="torch makes the initial state and gathers the last one in operators of their own",
        onnx=lambda: single("LSTM", [f(5, 3, 8), f(1, 64, 8), f(1, 64, 16), f(1, 128)], [f(5, 1, 3, 16), f(1, 3, 16), f(1, 3, 16)], hidden_size=16),
    ),
    Case(
        "LSTM of two layers and two directions",
        # The second layer's input is both directions of the first: 2·16 wide.
        flop=2 * 2 * 5 * 3 * 4 * 16 * ((8 + 16) + (32 + 16)),
        # Each layer and direction: input, both weights, both biases, both states; two directions of each.
        read=2 * ((15 * 8 + 64 * 8) + (15 * 32 + 64 * 32) + 2 * (64 * 16 + 2 * 64 + 2 * 3 * 16)) * F32,
        write=2 * 2 * (15 * 16 + 2 * 3 * 16) * F32,
        torch_products=(
            2 * ((15 * 8 + 64 * 8) + (15 * 32 + 64 * 32) + 2 * (64 * 16 + 2 * 64 + 2 * 3 * 16)) * F32,
            2 * 2 * (15 * 16 + 2 * 3 * 16) * F32,
        ),
        why="torch joins the directions and the states in operators of their own",
        torch=lambda: _recurrent("LSTM", 8, 16, 2, bidirectional=True, shape=(5, 3, 8)),
    ),
    Case(
        "LSTM over packed sequences of 5, 3 and 2 steps",  # 10 steps, not 15
        flop=2 * (5 + 3 + 2) * 4 * 16 * (8 + 16),
        read=(5 * 3 * 8 + 64 * 8 + 64 * 16) * F32 + 3 * 4,
        write=5 * 3 * 16 * F32,
        torch=lambda: _recurrent("LSTM", 8, 16, lengths=(5, 3, 2), shape=(5, 3, 8)),
        # The input of all 10 steps at once; then 3, 3, 2, 1 and 1 sequences by the recurrent weight, each with a bias of 64.
        torch_products=(
            (64 + 10 * 8 + 8 * 64 + 5 * (64 + 16 * 64) + 10 * 16) * F32,
            (10 * 64 + 10 * 64) * F32,
        ),
        why="torch takes packed sequences apart into products and pointwise operators step by step",
        onnx=lambda: single("LSTM", [f(5, 3, 8), f(1, 64, 8), f(1, 64, 16), None, const("INT32", 5, 3, 2)], [f(5, 1, 3, 16)], hidden_size=16),
    ),
    Case(
        "GRU over five steps",
        flop=2 * 5 * 3 * 3 * 16 * (8 + 16),
        read=(5 * 3 * 8 + 48 * 8 + 48 * 16) * F32,
        write=5 * 3 * 16 * F32,
        torch=lambda: _recurrent("GRU", 8, 16, bias=False, shape=(5, 3, 8)),
        # The input of all 15 rows at once, then 3 rows five times.
        torch_products=((15 * 8 + 8 * 48 + 5 * (3 * 16 + 16 * 48)) * F32, (15 * 48 + 5 * 3 * 48) * F32),
        why="torch runs it as products and pointwise operators",
        onnx=lambda: single("GRU", [f(5, 3, 8), f(1, 48, 8), f(1, 48, 16)], [f(5, 1, 3, 16)], hidden_size=16),
    ),
    Case(
        "GRU with the batch first, both directions",
        flop=2 * 2 * 5 * 3 * 3 * 16 * (8 + 16),
        read=(3 * 5 * 8 + 2 * 48 * 8 + 2 * 48 * 16) * F32,
        write=3 * 5 * 2 * 16 * F32,
        torch=lambda: _recurrent("GRU", 8, 16, bias=False, batch_first=True, bidirectional=True, shape=(3, 5, 8)),
        torch_products=(2 * (15 * 8 + 8 * 48 + 5 * (3 * 16 + 16 * 48)) * F32, 2 * (15 * 48 + 5 * 3 * 48) * F32),
        why="torch runs it as products and pointwise operators",
        onnx=lambda: single("GRU", [f(3, 5, 8), f(2, 48, 8), f(2, 48, 16)], [f(3, 5, 2, 16)], hidden_size=16, layout=1, direction="bidirectional"),
    ),
    Case(
        "plain recurrent layer",
        flop=2 * 5 * 3 * 16 * (8 + 16),
        read=(5 * 3 * 8 + 16 * 8 + 16 * 16) * F32,
        write=5 * 3 * 16 * F32,
        torch=lambda: _recurrent("RNN", 8, 16, bias=False, shape=(5, 3, 8)),
        torch_products=((15 * 8 + 8 * 16 + 5 * (3 * 16 + 16 * 16)) * F32, (15 * 16 + 5 * 3 * 16) * F32),
        why="torch runs it as products and pointwise operators",
        onnx=lambda: single("RNN", [f(5, 3, 8), f(1, 16, 8), f(1, 16, 16)], [f(5, 1, 3, 16)], hidden_size=16),
    ),
]

CASES = ATTENTION + RECURRENT
