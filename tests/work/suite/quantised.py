"""Eight bits and less, and sparse operands: the counts of the float twins in the precision executed; of a sparse operand what it keeps."""

from __future__ import annotations

from typing import Any

from .case import F16, F32, I8, I32, I64, Case, f, of, single

S, U8, S8 = f(), of("UINT8"), of("INT8")


def _quantised(module: str, *arguments: Any, source: tuple[int, ...]) -> Any:
    import torch
    import torch.ao.nn.quantized as quantised

    layer = getattr(quantised, module)(*arguments)
    return layer, (torch.quantize_per_tensor(torch.ones(source), 0.1, 0, torch.quint8),)


def _dynamic(layer: Any, kind: Any, source: tuple[int, ...], dtype: str = "qint8") -> Any:
    import torch

    made = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(layer), {kind}, dtype=getattr(torch, dtype))
    return made, (torch.ones(source),)


def _dynamic_linear(dtype: str) -> Any:
    import torch

    return _dynamic(torch.nn.Linear(8, 4), torch.nn.Linear, (3, 8), dtype)


def _dynamic_lstm() -> Any:
    import torch

    made, (source,) = _dynamic(torch.nn.LSTM(8, 4), torch.nn.LSTM, (5, 2, 8))
    state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
    return (lambda x, h, c: made[0](x, (h, c))), (source, *state)


def _added() -> Any:
    import torch

    operands = tuple(torch.quantize_per_tensor(torch.ones(3, 8), 0.1, 0, torch.quint8) for _ in range(2))
    return (lambda a, b: torch.ops.quantized.add(a, b, 0.1, 0)), operands


def _eight(call: Any, *shapes: tuple[int, ...]) -> Any:
    import torch

    return call, tuple(torch.ones(shape, dtype=torch.int8) for shape in shapes)


def _int_mm() -> Any:
    import torch

    return _eight(torch._int_mm, (32, 16), (16, 8))


def _scaled_mm() -> Any:
    import torch

    def call(a: Any, b: Any, one: Any, other: Any) -> Any:
        return torch._scaled_mm(a, b.t(), one, other, out_dtype=torch.bfloat16)

    return call, (*(torch.ones(32, 16).to(torch.float8_e4m3fn) for _ in range(2)), torch.tensor(1.0), torch.tensor(1.0))


def _sparse(layout: str, *, blocks: bool = False) -> Any:
    """The identity of 8 rows: 8 elements kept, or four blocks of 2 × 2."""
    import torch

    dense = torch.eye(8)
    convert = dense.to_sparse if layout == "coo" else getattr(dense, f"to_sparse_{layout}")
    kept = convert((2, 2)) if blocks else convert()
    return (lambda a, b: a @ b), (kept, torch.ones(8, 3))


def _linear_of_sparse() -> Any:
    import torch

    return (lambda x, w: torch.nn.functional.linear(x, w)), (torch.ones(3, 8), torch.eye(8).to_sparse_csr())


def _sampled() -> Any:
    import torch

    return torch.sparse.sampled_addmm, (torch.eye(8).to_sparse_csr(), torch.ones(8, 4), torch.ones(4, 8))


CASES = [
    Case(
        "QLinearConv",
        flop=2 * 3 * 4 * 9 * 6 * 6,
        read=(3 * 8 * 8 + 4 * 3 * 9) * I8 + 3 * F32 + 3 * I8,
        write=4 * 6 * 6 * I8,
        precision="int8",
        onnx=lambda: single("QLinearConv", [of("UINT8", 1, 3, 8, 8), S, U8, of("INT8", 4, 3, 3, 3), S, S8, S, U8], [of("UINT8", 1, 4, 6, 6)]),
    ),
    Case(
        "ConvInteger",
        flop=2 * 3 * 4 * 9 * 6 * 6,
        read=(3 * 8 * 8 + 4 * 3 * 9) * I8,
        write=4 * 6 * 6 * I32,
        precision="int8",
        onnx=lambda: single("ConvInteger", [of("UINT8", 1, 3, 8, 8), of("INT8", 4, 3, 3, 3)], [of("INT32", 1, 4, 6, 6)]),
    ),
    Case(
        "MatMulInteger",
        flop=2 * 32 * 16 * 8,
        read=(32 * 16 + 16 * 8) * I8,
        write=32 * 8 * I32,
        precision="int8",
        torch=_int_mm,
        onnx=lambda: single("MatMulInteger", [of("INT8", 32, 16), of("INT8", 16, 8)], [of("INT32", 32, 8)]),
    ),
    Case(
        "QLinearMatMul",
        flop=2 * 5 * 7 * 3,
        read=(5 * 7 + 7 * 3) * I8 + 3 * F32 + 3 * I8,
        write=5 * 3 * I8,
        precision="int8",
        onnx=lambda: single("QLinearMatMul", [of("UINT8", 5, 7), S, U8, of("UINT8", 7, 3), S, U8, S, U8], [of("UINT8", 5, 3)]),
    ),
    Case(
        "QGemm",
        flop=2 * 5 * 7 * 3,
        read=(5 * 7 + 3 * 7) * I8 + 3 * F32 + 3 * I8 + 3 * I32,
        write=5 * 3 * I8,
        precision="int8",
        onnx=lambda: single(
            "QGemm", [of("UINT8", 5, 7), S, U8, of("UINT8", 3, 7), S, U8, of("INT32", 3), S, U8], [of("UINT8", 5, 3)], "com.microsoft", transB=1
        ),
    ),
    Case(
        "DynamicQuantizeMatMul",
        flop=2 * 5 * 8 * 4,
        read=5 * 8 * F32 + 8 * 4 * I8 + F32,
        write=5 * 4 * F32,
        precision="int8",
        onnx=lambda: single("DynamicQuantizeMatMul", [f(5, 8), of("INT8", 8, 4), f()], [f(5, 4)], "com.microsoft"),
    ),
    Case(
        "MatMulIntegerToFloat",
        flop=2 * 5 * 8 * 4,
        read=(5 * 8 + 8 * 4) * I8 + 2 * F32,
        write=5 * 4 * F32,
        precision="int8",
        onnx=lambda: single("MatMulIntegerToFloat", [of("UINT8", 5, 8), of("INT8", 8, 4), f(), f()], [f(5, 4)], "com.microsoft"),
    ),
    Case(
        "MatMulNBits, four bits in blocks of 32",
        # Each of 64 columns has 128 ÷ 32 blocks of 16 bytes and as many scales.
        flop=2 * 3 * 128 * 64,
        read=3 * 128 * F32 + 64 * 4 * 16 * I8 + 64 * 4 * F32,
        write=3 * 64 * F32,
        onnx=lambda: single(
            "MatMulNBits", [f(3, 128), of("UINT8", 64, 4, 16), f(256)], [f(3, 64)], "com.microsoft", K=128, N=64, bits=4, block_size=32
        ),
    ),
    Case(
        "QAttention",
        # Projection (2·16, 64)·(64, 192) in int8, the larger part; then the two products.
        flop=2 * 2 * 16 * 64 * 192 + 2 * 2 * 16 * 16 * (64 + 64),
        read=(2 * 16 * 64 + 64 * 192) * I8 + 192 * F32 + 2 * F32,
        write=2 * 16 * 64 * F32,
        precision="int8",
        onnx=lambda: single(
            "QAttention", [of("UINT8", 2, 16, 64), of("INT8", 64, 192), f(192), f(), f()], [f(2, 16, 64)], "com.microsoft", num_heads=4
        ),
    ),
    Case(
        "QLinearAdd",
        flop=3 * 8,
        read=2 * 3 * 8 * I8 + 3 * F32 + 3 * I8,
        write=3 * 8 * I8,
        engine="add",
        onnx=lambda: single("QLinearAdd", [of("UINT8", 3, 8), S, U8, of("UINT8", 3, 8), S, U8, S, U8], [of("UINT8", 3, 8)], "com.microsoft"),
    ),
    Case(
        "QuantizeLinear",  # a division an element
        flop=100,
        read=100 * F32 + F32 + I8,
        write=100 * I8,
        engine="divide",
        onnx=lambda: single("QuantizeLinear", [f(100), S, U8], [of("UINT8", 100)]),
    ),
    Case(
        "DequantizeLinear",
        flop=100,
        read=100 * I8 + F32 + I8,
        write=100 * F32,
        engine="add",
        onnx=lambda: single("DequantizeLinear", [of("UINT8", 100), S, U8], [f(100)]),
    ),
    Case(
        "DynamicQuantizeLinear",
        flop=100,
        read=100 * F32,
        write=100 * I8 + F32 + I8,
        engine="divide",
        onnx=lambda: single("DynamicQuantizeLinear", [f(100)], [of("UINT8", 100), S, U8]),
    ),
    Case(
        "DynamicQuantizeLSTM",  # weights lie as (D, I, 4·H) and (D, H, 4·H)
        flop=2 * 5 * 2 * 4 * 4 * (8 + 4),
        read=5 * 2 * 8 * F32 + (8 * 16 + 4 * 16) * I8 + 2 * F32 + 2 * I8,
        write=5 * 2 * 4 * F32,
        precision="int8",
        onnx=lambda: single(
            "DynamicQuantizeLSTM",
            [f(5, 2, 8), of("INT8", 1, 8, 16), of("INT8", 1, 4, 16), None, None, None, None, None, f(1), of("INT8", 1), f(1), of("INT8", 1)],
            [f(5, 1, 2, 4)],
            "com.microsoft",
            hidden_size=4,
        ),
    ),
    Case(
        "quantised linear layer",
        flop=2 * 3 * 8 * 4,
        read=(3 * 8 + 4 * 8) * I8 + 4 * F32,
        write=3 * 4 * I8,
        precision="int8",
        torch=lambda: _quantised("Linear", 8, 4, source=(3, 8)),
    ),
    Case(
        "dynamically quantised linear layer",
        flop=2 * 3 * 8 * 4,
        read=3 * 8 * F32 + 4 * 8 * I8 + 4 * F32,
        write=3 * 4 * F32,
        precision="int8",
        torch=lambda: _dynamic_linear("qint8"),
    ),
    Case(
        "linear layer with weights kept in fp16",  # widened before the product, which is in fp32
        flop=2 * 3 * 8 * 4,
        read=3 * 8 * F32 + 4 * 8 * F16 + 4 * F32,
        write=3 * 4 * F32,
        torch=lambda: _dynamic_linear("float16"),
    ),
    Case(
        "quantised convolution",
        flop=2 * 3 * 4 * 9 * 6 * 6,
        read=(3 * 8 * 8 + 4 * 3 * 9) * I8 + 4 * F32,
        write=4 * 6 * 6 * I8,
        precision="int8",
        torch=lambda: _quantised("Conv2d", 3, 4, 3, source=(1, 3, 8, 8)),
    ),
    Case(
        "quantised transposed convolution",
        flop=2 * 3 * 5 * 5 * 4 * 9,
        read=(3 * 5 * 5 + 3 * 4 * 9) * I8 + 4 * F32,
        write=4 * 7 * 7 * I8,
        precision="int8",
        torch=lambda: _quantised("ConvTranspose2d", 3, 4, 3, source=(1, 3, 5, 5)),
    ),
    Case(
        "dynamically quantised LSTM",
        flop=2 * 5 * 2 * 4 * 4 * (8 + 4),
        # The bias lies beside each half of the cell and, once more, with its packed weight.
        read=5 * 2 * 8 * F32 + 2 * 2 * 4 * F32 + (16 * 8 + 16 * 4) * I8 + 4 * 16 * F32,
        write=(5 * 2 * 4 + 2 * 2 * 4) * F32,
        precision="int8",
        torch=_dynamic_lstm,
    ),
    Case(
        "quantised addition",
        flop=3 * 8,
        read=2 * 3 * 8 * I8,
        write=3 * 8 * I8,
        engine="add",
        precision="int8",
        torch=_added,
    ),
    Case(
        "matrix product in fp8",
        flop=2 * 32 * 16 * 32,
        read=2 * 32 * 16 * I8 + 2 * F32,
        write=32 * 32 * F16,
        precision="fp8",
        torch=_scaled_mm,
        onnx=lambda: single(
            "GemmFloat8",
            [of("FLOAT8E4M3FN", 32, 16), of("FLOAT8E4M3FN", 32, 16), None, f(), f()],
            [of("BFLOAT16", 32, 32)],
            "com.microsoft",
            transB=1,
        ),
    ),
    Case(
        "sparse rows (CSR) by a matrix",  # 8 kept elements for 3 columns; 9 + 8 indices
        flop=2 * 8 * 3,
        read=8 * F32 + (9 + 8) * I64 + 8 * 3 * F32,
        write=8 * 3 * F32,
        torch=lambda: _sparse("csr"),
    ),
    Case(
        "sparse coordinates (COO) by a matrix",  # two indices for each of 8 elements
        flop=2 * 8 * 3,
        read=8 * F32 + 2 * 8 * I64 + 8 * 3 * F32,
        write=8 * 3 * F32,
        torch=lambda: _sparse("coo"),
    ),
    Case(
        "sparse blocks (BSR) by a matrix",  # four blocks of 2 × 2, their zeros included; 5 + 4 indices
        flop=2 * 16 * 3,
        read=16 * F32 + (5 + 4) * I64 + 8 * 3 * F32,
        write=8 * 3 * F32,
        torch=lambda: _sparse("bsr", blocks=True),
    ),
    Case(
        "linear layer with a sparse weight",
        flop=2 * 3 * 8,
        read=8 * F32 + (9 + 8) * I64 + 3 * 8 * F32,
        write=3 * 8 * F32,
        torch=_linear_of_sparse,
    ),
    Case(
        "product at the places of a sparse pattern",  # 8 places of K = 4
        flop=2 * 8 * 4,
        read=8 * F32 + (9 + 8) * I64 + 2 * 8 * 4 * F32,
        write=8 * F32 + (9 + 8) * I64,
        torch=_sampled,
    ),
]
