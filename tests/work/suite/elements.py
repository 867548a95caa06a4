"""Elements: pointwise, normalisations, reductions and sorting, each on the engine that limits it."""

from __future__ import annotations

import math
from typing import Any

from .case import F32, I64, Case, f, of, single


def _t(call: Any, *shapes: tuple[int, ...]) -> Any:
    import torch

    return call, tuple(torch.ones(shape) for shape in shapes)


def _nn(name: str, *arguments: Any, source: tuple[int, ...], **options: Any) -> Any:
    import torch

    return getattr(torch.nn, name)(*arguments, **options).eval(), (torch.ones(source),)


def _torch(name: str, *arguments: Any) -> Any:
    import torch

    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part)
    return lambda *tensors: found(*tensors, *arguments)


def _complex(call: Any, length: int) -> Any:
    import torch

    return call, (torch.ones(length, dtype=torch.complex64),)


def _j(jax: Any, call: Any, *shapes: tuple[int, ...]) -> Any:
    return call, tuple(jax.numpy.ones(shape, "float32") for shape in shapes)


def _pointwise(name: str, engine: str, call: str, kind: str) -> Case:
    return Case(
        name,
        flop=400,
        read=400 * F32,
        write=400 * F32,
        engine=engine,
        torch=lambda: _t(_torch(call), (4, 100)),
        onnx=lambda: single(kind, [f(4, 100)], [f(4, 100)]),
    )


CASES = [
    Case(
        "[2, 3, 4] times [4]",  # 24 results
        flop=2 * 3 * 4,
        read=(2 * 3 * 4 + 4) * F32,
        write=2 * 3 * 4 * F32,
        engine="add",
        torch=lambda: _t(lambda a, b: a * b, (2, 3, 4), (4,)),
        onnx=lambda: single("Mul", [f(2, 3, 4), f(4)], [f(2, 3, 4)]),
        jax=lambda jax: _j(jax, lambda a, b: a * b, (2, 3, 4), (4,)),
    ),
    Case(
        "addition in place",  # reads both, writes into the first: no third array
        flop=100,
        read=2 * 100 * F32,
        write=100 * F32,
        engine="add",
        torch=lambda: _t(lambda a, b: a.add_(b), (100,), (100,)),
        onnx=lambda: single("Add", [f(100), f(100)], [f(100)]),
    ),
    Case(
        "a square, one operand read once",
        flop=100,
        read=100 * F32,
        write=100 * F32,
        engine="add",
        torch=lambda: _t(lambda a: a * a, (100,)),
    ),
    # 400 elements: as many operations on the engine of the function, read once and written once.
    *(
        _pointwise(name, engine, call, kind)
        for name, engine, call, kind in [
            ("relu", "add", "relu", "Relu"),
            ("sigmoid", "exp", "sigmoid", "Sigmoid"),
            ("tanh", "tanh", "tanh", "Tanh"),
            ("gelu", "erf", "nn.functional.gelu", "Gelu"),
        ]
    ),
    Case(
        "gelu with its bias",
        flop=400,
        read=(400 + 100) * F32,
        write=400 * F32,
        engine="erf",
        onnx=lambda: single("BiasGelu", [f(4, 100), f(100)], [f(4, 100)], "com.microsoft"),
    ),
    Case(
        "gelu by tanh with its bias",
        flop=400,
        read=(400 + 100) * F32,
        write=400 * F32,
        engine="tanh",
        onnx=lambda: single("FastGelu", [f(4, 100), f(100)], [f(4, 100)], "com.microsoft"),
    ),
    Case(
        "division",
        flop=400,
        read=2 * 400 * F32,
        write=400 * F32,
        engine="divide",
        torch=lambda: _t(lambda a, b: a / b, (4, 100), (4, 100)),
        onnx=lambda: single("Div", [f(4, 100), f(4, 100)], [f(4, 100)]),
    ),
    Case(
        "softmax",
        flop=400,
        read=400 * F32,
        write=400 * F32,
        engine="exp",
        torch=lambda: _t(_torch("softmax", -1), (4, 100)),
        onnx=lambda: single("Softmax", [f(4, 100)], [f(4, 100)]),
        jax=lambda jax: _j(jax, jax.nn.softmax, (4, 100)),
    ),
    Case(
        "layer norm",
        flop=400,
        read=(400 + 2 * 100) * F32,
        write=400 * F32,
        engine="reduce",
        torch=lambda: _nn("LayerNorm", 100, source=(4, 100)),
        torch_bytes=((400 + 2 * 100) * F32, (400 + 2 * 4) * F32),
        why="torch also writes the mean and the deviation of each row",
        onnx=lambda: single("LayerNormalization", [f(4, 100), f(100), f(100)], [f(4, 100)]),
    ),
    Case(
        "layer norm of a sum",
        flop=2 * 8 * 64,
        read=(2 * 2 * 8 * 64 + 2 * 64) * F32,
        write=2 * 8 * 64 * F32,
        engine="reduce",
        onnx=lambda: single("SkipLayerNormalization", [f(2, 8, 64), f(2, 8, 64), f(64), f(64)], [f(2, 8, 64)], "com.microsoft"),
    ),
    Case(
        "layer norm of embeddings",  # 2·8 rows of each of three tables, and not the tables
        flop=2 * 8 * 64,
        # Of two segments no more than the two rows there are.
        read=2 * (2 * 8) * 4 + (16 + 16 + 2) * 64 * F32 + 2 * 64 * F32,
        write=2 * 8 * 64 * F32 + 2 * 4,
        engine="reduce",
        onnx=lambda: single(
            "EmbedLayerNormalization",
            [of("INT32", 2, 8), of("INT32", 2, 8), f(1000, 64), f(512, 64), f(2, 64), f(64), f(64)],
            [f(2, 8, 64), of("INT32", 2)],
            "com.microsoft",
        ),
    ),
    Case(
        "batch norm in use",
        flop=2 * 4 * 25,
        read=(2 * 4 * 25 + 4 * 4) * F32,
        write=2 * 4 * 25 * F32,
        engine="add",
        torch=lambda: _nn("BatchNorm2d", 4, source=(2, 4, 5, 5)),
        onnx=lambda: single("BatchNormalization", [f(2, 4, 5, 5), f(4), f(4), f(4), f(4)], [f(2, 4, 5, 5)]),
    ),
    Case(
        "sum of everything",
        flop=400,
        read=400 * F32,
        write=1 * F32,
        engine="reduce",
        torch=lambda: _t(_torch("sum"), (4, 100)),
        onnx=lambda: single("ReduceSum", [f(4, 100)], [f()], keepdims=0),
        jax=lambda jax: _j(jax, jax.numpy.sum, (4, 100)),
    ),
    Case(
        "max pool, 3x3 windows",
        flop=2 * 6 * 6 * 9,
        read=2 * 8 * 8 * F32,
        write=2 * 6 * 6 * F32,
        engine="reduce",
        torch=lambda: _nn("MaxPool2d", 3, 1, source=(1, 2, 8, 8)),
        torch_bytes=(2 * 8 * 8 * F32, 2 * 6 * 6 * (F32 + I64)),
        why="torch also writes where each maximum was",
        onnx=lambda: single("MaxPool", [f(1, 2, 8, 8)], [f(1, 2, 6, 6)], kernel_shape=[3, 3]),
    ),
    Case(
        "global average pool",
        flop=64 * 49,
        read=64 * 49 * F32,
        write=64 * F32,
        engine="reduce",
        torch=lambda: _nn("AdaptiveAvgPool2d", 1, source=(1, 64, 7, 7)),
        onnx=lambda: single("GlobalAveragePool", [f(1, 64, 7, 7)], [f(1, 64, 1, 1)]),
    ),
    Case(
        "the three largest",
        flop=400,
        read=400 * F32,
        write=4 * 3 * (F32 + I64),
        engine="sort",
        torch=lambda: _t(_torch("topk", 3), (4, 100)),
    ),
    Case(
        "cumulative sum",
        flop=400,
        read=400 * F32,
        write=400 * F32,
        engine="reduce",
        torch=lambda: _t(_torch("cumsum", 0), (4, 100)),
    ),
    Case(
        "Fourier transform of 1024 complex numbers, nominal",  # 5·N·log2 N
        flop=5 * 1024 * 10,
        read=1024 * 2 * F32,
        write=1024 * 2 * F32,
        torch=lambda: _complex(_torch("fft.fft"), 1024),
        onnx=lambda: single("DFT", [f(1, 1024, 2)], [f(1, 1024, 2)], opset=17),
    ),
    Case(
        "short-time Fourier transform, nominal",  # 1 + (1000 − 200) ÷ 100 = 9 frames of 200 real numbers: half of 5·N·log2 N
        flop=9 * 5 * 200 * math.log2(200) / 2,
        read=1000 * F32 + 200 * F32 + I64,
        write=9 * 101 * 2 * F32,
        onnx=lambda: single("STFT", [f(1, 1000, 1), _step(), f(200)], [f(1, 9, 101, 2)], opset=17, onesided=1),
    ),
]


def _step() -> Any:
    from .case import Spec

    return Spec((), "INT64", [100])
