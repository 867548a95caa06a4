"""Matrix products, linear layers, einsum: 2·M·K·N."""

from __future__ import annotations

from typing import Any

from .case import F16, F32, F64, Case, build, f, of, single


def _shared_linear() -> Any:
    """One layer called three times."""
    import torch
    from torch import nn

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8, bias=False)

        def forward(self, x: Any) -> Any:
            return self.layer(self.layer(self.layer(x)))

    return Shared(), (torch.ones(4, 8),)


def _t(call: Any, *shapes: tuple[int, ...], dtype: str = "float32") -> Any:
    import torch

    return call, tuple(torch.ones(shape, dtype=getattr(torch, dtype)) for shape in shapes)


def _j(jax: Any, call: Any, *shapes: tuple[int, ...]) -> Any:
    return call, tuple(jax.numpy.ones(shape, dtype="float32") for shape in shapes)


def _linear(inputs: int, outputs: int, *shape: int, bias: bool = True) -> Any:
    import torch

    return torch.nn.Linear(inputs, outputs, bias=bias), (torch.ones(*shape),)


def _named(name: str, *shapes: tuple[int, ...]) -> Any:
    import torch

    return _t(getattr(torch, name), *shapes)


def _bilinear() -> Any:
    import torch

    return _t(torch.nn.Bilinear(4, 5, 6, bias=False), (3, 4), (3, 5))


def _einsum(equation: str, *shapes: tuple[int, ...]) -> Any:
    import torch

    return _t(lambda *operands: torch.einsum(equation, *operands), *shapes)


def _chain_of_gemms() -> Any:
    from onnx import helper

    nodes = [helper.make_node("MatMul", [before, "w"], [after], name=after) for before, after in (("x", "a"), ("a", "b"), ("b", "y"))]
    return build(nodes, [("x", f(4, 8)), ("w", f(8, 8))], [("y", f(4, 8))])


CASES = [
    Case(
        "matmul 5x7x3",
        flop=2 * 5 * 7 * 3,
        read=(5 * 7 + 7 * 3) * F32,
        write=5 * 3 * F32,
        torch=lambda: _t(lambda a, b: a @ b, (5, 7), (7, 3)),
        onnx=lambda: single("MatMul", [f(5, 7), f(7, 3)], [f(5, 3)]),
        jax=lambda jax: _j(jax, lambda a, b: a @ b, (5, 7), (7, 3)),
    ),
    Case(
        "matmul of twelve heads, 50,331,648 multiply-adds",
        flop=2 * 12 * 256 * 64 * 256,  # 2 × 50,331,648
        read=2 * 12 * 256 * 64 * F32,
        write=12 * 256 * 256 * F32,
        torch=lambda: _t(lambda a, b: a @ b, (1, 12, 256, 64), (1, 12, 64, 256)),
        onnx=lambda: single("MatMul", [f(1, 12, 256, 64), f(1, 12, 64, 256)], [f(1, 12, 256, 256)]),
        jax=lambda jax: _j(jax, lambda a, b: a @ b, (1, 12, 256, 64), (1, 12, 64, 256)),
    ),
    Case(
        "batch broadcast on one side",
        flop=2 * 4 * 2 * 5 * 7 * 3,
        read=(4 * 5 * 7 + 2 * 7 * 3) * F32,
        write=4 * 2 * 5 * 3 * F32,
        torch=lambda: _t(lambda a, b: a @ b, (4, 1, 5, 7), (2, 7, 3)),
        torch_bytes=((4 * 5 * 7 + 2 * 7 * 3 + 8 * 5 * 7 + 8 * 7 * 3) * F32, (8 * 5 * 7 + 8 * 7 * 3 + 8 * 5 * 3) * F32),
        why="torch writes both broadcast operands out (clone reads the distinct elements) before bmm reads them",
        onnx=lambda: single("MatMul", [f(4, 1, 5, 7), f(2, 7, 3)], [f(4, 2, 5, 3)]),
    ),
    Case(
        "matrix times vector",
        flop=2 * 64 * 32,
        read=(64 * 32 + 32) * F32,
        write=64 * F32,
        torch=lambda: _t(lambda a, b: a @ b, (64, 32), (32,)),
        onnx=lambda: single("MatMul", [f(64, 32), f(32)], [f(64)]),
        jax=lambda jax: _j(jax, lambda a, b: a @ b, (64, 32), (32,)),
    ),
    Case(
        "dot product",
        flop=2 * 100,
        read=2 * 100 * F32,
        write=1 * F32,
        torch=lambda: _t(lambda a, b: a @ b, (100,), (100,)),
        onnx=lambda: single("MatMul", [f(100), f(100)], [f()]),
    ),
    Case(
        "matmul in fp64",
        flop=2 * 4 * 8 * 16,
        read=(4 * 8 + 8 * 16) * F64,
        write=4 * 16 * F64,
        precision="fp64",
        torch=lambda: _t(lambda a, b: a @ b, (4, 8), (8, 16), dtype="float64"),
        onnx=lambda: single("MatMul", [of("DOUBLE", 4, 8), of("DOUBLE", 8, 16)], [of("DOUBLE", 4, 16)]),
    ),
    Case(
        "matmul in bf16",
        flop=2 * 4 * 8 * 16,
        read=(4 * 8 + 8 * 16) * F16,
        write=4 * 16 * F16,
        precision="bf16",
        torch=lambda: _t(lambda a, b: a @ b, (4, 8), (8, 16), dtype="bfloat16"),
        onnx=lambda: single("MatMul", [of("BFLOAT16", 4, 8), of("BFLOAT16", 8, 16)], [of("BFLOAT16", 4, 16)]),
    ),
    Case(
        "matmul in fp16",
        flop=2 * 4 * 8 * 16,
        read=(4 * 8 + 8 * 16) * F16,
        write=4 * 16 * F16,
        precision="fp16",
        torch=lambda: _t(lambda a, b: a @ b, (4, 8), (8, 16), dtype="float16"),
        onnx=lambda: single("MatMul", [of("FLOAT16", 4, 8), of("FLOAT16", 8, 16)], [of("FLOAT16", 4, 16)]),
    ),
    Case(
        "linear layer with bias",  # the bias, one addition a result, is not counted; its bytes are
        flop=2 * 16 * 32 * 10,
        read=(16 * 32 + 10 * 32 + 10) * F32,
        write=16 * 10 * F32,
        torch=lambda: _linear(32, 10, 16, 32),
        onnx=lambda: single("Gemm", [f(16, 32), f(10, 32), f(10)], [f(16, 10)], transB=1),
        jax=lambda jax: _j(jax, lambda x, w, b: x @ w.T + b, (16, 32), (10, 32), (10,)),
    ),
    Case(
        "linear layer over three dimensions",
        flop=2 * (2 * 5) * 8 * 6,
        read=(2 * 5 * 8 + 6 * 8) * F32,
        write=2 * 5 * 6 * F32,
        torch=lambda: _linear(8, 6, 2, 5, 8, bias=False),
        onnx=lambda: single("MatMul", [f(2, 5, 8), f(8, 6)], [f(2, 5, 6)]),
    ),
    Case(
        "one linear layer called three times",
        flop=3 * 2 * 4 * 8 * 8,
        read=3 * (4 * 8 + 8 * 8) * F32,
        write=3 * 4 * 8 * F32,
        torch=_shared_linear,
        onnx=_chain_of_gemms,
        jax=lambda jax: _j(jax, lambda x, w: x @ w @ w @ w, (4, 8), (8, 8)),
    ),
    Case(
        "gemm with a transposed first operand",
        flop=2 * 5 * 7 * 3,
        read=(7 * 5 + 7 * 3) * F32,
        write=5 * 3 * F32,
        torch=lambda: _t(lambda a, b: a.t() @ b, (7, 5), (7, 3)),
        onnx=lambda: single("Gemm", [f(7, 5), f(7, 3)], [f(5, 3)], transA=1),
    ),
    Case(
        "fused matmul, batch transposed with K",  # (K, batch, M) by (batch, K, N)
        flop=2 * 2 * 5 * 7 * 3,
        read=(7 * 2 * 5 + 2 * 7 * 3) * F32,
        write=2 * 5 * 3 * F32,
        onnx=lambda: single("FusedMatMul", [f(7, 2, 5), f(2, 7, 3)], [f(2, 5, 3)], "com.microsoft", transA=1, transBatchA=1),
    ),
    Case(
        "fused gemm with its activation",
        flop=2 * 16 * 32 * 10,
        read=(16 * 32 + 32 * 10 + 10) * F32,
        write=16 * 10 * F32,
        onnx=lambda: single("FusedGemm", [f(16, 32), f(32, 10), f(10)], [f(16, 10)], "com.microsoft", activation="Relu"),
    ),
    Case(
        "einsum of a batch of matrices",
        flop=2 * 2 * 3 * 4 * 5,
        read=(2 * 3 * 4 + 2 * 4 * 5) * F32,
        write=2 * 3 * 5 * F32,
        torch=lambda: _einsum("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        onnx=lambda: single("Einsum", [f(2, 3, 4), f(2, 4, 5)], [f(2, 3, 5)], equation="bij,bjk->bik"),
        jax=lambda jax: _j(jax, lambda a, b: jax.numpy.einsum("bij,bjk->bik", a, b), (2, 3, 4), (2, 4, 5)),
    ),
    Case(
        "einsum of three matrices, left to right",
        flop=2 * 2 * 3 * 4 + 2 * 2 * 4 * 5,  # (2,3)·(3,4), then (2,4)·(4,5)
        read=(2 * 3 + 3 * 4 + 4 * 5) * F32,
        write=2 * 5 * F32,
        torch=lambda: _einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
        torch_bytes=((2 * 3 + 3 * 4 + 2 * 4 + 4 * 5) * F32, (2 * 4 + 2 * 5) * F32),
        why="torch writes the (2, 4) in between and reads it again",
        onnx=lambda: single("Einsum", [f(2, 3), f(3, 4), f(4, 5)], [f(2, 5)], equation="ij,jk,kl->il"),
    ),
    Case(
        "einsum of an outer product",  # nothing is summed: one multiplication a result
        flop=2 * 3,
        read=(2 + 3) * F32,
        write=2 * 3 * F32,
        engine="add",
        torch=lambda: _einsum("i,j->ij", (2,), (3,)),
        onnx=lambda: single("Einsum", [f(2), f(3)], [f(2, 3)], equation="i,j->ij"),
    ),
    Case(
        "einsum with an ellipsis and no arrow",  # ... (2), i, k stay, j is summed
        flop=2 * 2 * 3 * 4 * 5,
        read=(2 * 3 * 4 + 4 * 5) * F32,
        write=2 * 3 * 5 * F32,
        onnx=lambda: single("Einsum", [f(2, 3, 4), f(4, 5)], [f(2, 3, 5)], equation="...ij,jk"),
    ),
    Case(
        "einsum of a trace",  # the diagonal alone is read by an einsum; compulsory is the whole operand as the graph shows it
        flop=3 * 3,
        read=3 * 3 * F32,
        write=1 * F32,
        engine="reduce",
        onnx=lambda: single("Einsum", [f(3, 3)], [f()], equation="ij->"),
    ),
    Case(
        "outer product with a sum",
        flop=2 * 4 * 6,
        read=(4 * 6 + 4 + 6) * F32,
        write=4 * 6 * F32,
        torch=lambda: _named("addr", (4, 6), (4,), (6,)),
    ),
    Case(
        "batch of products with a sum",
        flop=2 * 3 * 4 * 5 * 6,
        read=3 * (4 * 6 + 4 * 5 + 5 * 6) * F32,
        write=3 * 4 * 6 * F32,
        torch=lambda: _named("baddbmm", (3, 4, 6), (3, 4, 5), (3, 5, 6)),
    ),
    Case(
        "bilinear layer",  # x1ᵀ·W·x2 for each of 6 results: 2 × rows 3 × 6 × 4 × 5, in one loop nest
        flop=2 * 3 * 6 * 4 * 5,
        read=(3 * 4 + 3 * 5 + 6 * 4 * 5) * F32,
        write=3 * 6 * F32,
        torch=_bilinear,
    ),
]
