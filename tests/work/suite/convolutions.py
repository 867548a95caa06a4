"""Convolutions: 2 for every tap of every result, padding taps included; transposed: for every tap of every element of the input."""

from __future__ import annotations

from typing import Any

from .case import F32, Case, f, single


def _layer(name: str, *arguments: Any, source: tuple[int, ...], **options: Any) -> Any:
    import torch

    return getattr(torch.nn, name)(*arguments, **options), (torch.ones(source),)


def _jax(jax: Any, source: tuple[int, ...], weight: tuple[int, ...], stride: int, pad: int, groups: int = 1) -> Any:
    rank = len(source) - 2

    def call(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (stride,) * rank, ((pad, pad),) * rank, feature_group_count=groups)

    return call, (jax.numpy.ones(source, "float32"), jax.numpy.ones(weight, "float32"))


CASES = [
    Case(
        "conv2d, first layer of resnet",  # 112 = (224 + 6 − 7) ÷ 2 + 1
        flop=2 * 3 * 64 * 7 * 7 * 112 * 112,
        read=(3 * 224 * 224 + 64 * 3 * 7 * 7) * F32,
        write=64 * 112 * 112 * F32,
        torch=lambda: _layer("Conv2d", 3, 64, 7, stride=2, padding=3, bias=False, source=(1, 3, 224, 224)),
        onnx=lambda: single("Conv", [f(1, 3, 224, 224), f(64, 3, 7, 7)], [f(1, 64, 112, 112)], strides=[2, 2], pads=[3, 3, 3, 3]),
        jax=lambda jax: _jax(jax, (1, 3, 224, 224), (64, 3, 7, 7), 2, 3),
    ),
    Case(
        "conv2d with bias, no padding",
        flop=2 * 2 * 3 * 4 * 3 * 3 * 6 * 6,
        read=(2 * 3 * 8 * 8 + 4 * 3 * 3 * 3 + 4) * F32,
        write=2 * 4 * 6 * 6 * F32,
        torch=lambda: _layer("Conv2d", 3, 4, 3, source=(2, 3, 8, 8)),
        onnx=lambda: single("Conv", [f(2, 3, 8, 8), f(4, 3, 3, 3), f(4)], [f(2, 4, 6, 6)]),
    ),
    Case(
        "conv2d of one pixel with padding taps",  # 9 taps, of which 8 fall on the padding: all 9 are counted
        flop=2 * 3 * 3 * 1 * 1,
        read=(1 + 9) * F32,
        write=1 * F32,
        torch=lambda: _layer("Conv2d", 1, 1, 3, padding=1, bias=False, source=(1, 1, 1, 1)),
        onnx=lambda: single("Conv", [f(1, 1, 1, 1), f(1, 1, 3, 3)], [f(1, 1, 1, 1)], pads=[1, 1, 1, 1]),
        jax=lambda jax: _jax(jax, (1, 1, 1, 1), (1, 1, 3, 3), 1, 1),
    ),
    Case(
        "conv2d 1x1 is a matrix product",
        flop=2 * 16 * 8 * 5 * 5,
        read=(16 * 5 * 5 + 8 * 16) * F32,
        write=8 * 5 * 5 * F32,
        torch=lambda: _layer("Conv2d", 16, 8, 1, bias=False, source=(1, 16, 5, 5)),
        onnx=lambda: single("Conv", [f(1, 16, 5, 5), f(8, 16, 1, 1)], [f(1, 8, 5, 5)]),
    ),
    Case(
        "conv2d depthwise",
        flop=2 * 64 * 1 * 3 * 3 * 14 * 14,
        read=(64 * 14 * 14 + 64 * 9) * F32,
        write=64 * 14 * 14 * F32,
        torch=lambda: _layer("Conv2d", 64, 64, 3, padding=1, groups=64, bias=False, source=(1, 64, 14, 14)),
        onnx=lambda: single("Conv", [f(1, 64, 14, 14), f(64, 1, 3, 3)], [f(1, 64, 14, 14)], group=64, pads=[1, 1, 1, 1]),
        jax=lambda jax: _jax(jax, (1, 64, 14, 14), (64, 1, 3, 3), 1, 1, 64),
    ),
    Case(
        "conv2d in four groups",  # each result has 16 ÷ 4 input channels
        flop=2 * 2 * 32 * (16 // 4) * 3 * 3 * 6 * 6,
        read=(2 * 16 * 8 * 8 + 32 * 4 * 9) * F32,
        write=2 * 32 * 6 * 6 * F32,
        torch=lambda: _layer("Conv2d", 16, 32, 3, groups=4, bias=False, source=(2, 16, 8, 8)),
        onnx=lambda: single("Conv", [f(2, 16, 8, 8), f(32, 4, 3, 3)], [f(2, 32, 6, 6)], group=4),
        jax=lambda jax: _jax(jax, (2, 16, 8, 8), (32, 4, 3, 3), 1, 0, 4),
    ),
    Case(
        "conv2d dilated",  # a 3×3 kernel spread over 5×5: 12 − 4 = 8 results along each side, 9 taps each
        flop=2 * 3 * 4 * 9 * 8 * 8,
        read=(3 * 12 * 12 + 4 * 3 * 9) * F32,
        write=4 * 8 * 8 * F32,
        torch=lambda: _layer("Conv2d", 3, 4, 3, dilation=2, bias=False, source=(1, 3, 12, 12)),
        onnx=lambda: single("Conv", [f(1, 3, 12, 12), f(4, 3, 3, 3)], [f(1, 4, 8, 8)], dilations=[2, 2]),
    ),
    Case(
        "conv2d, same padding by name",
        flop=2 * 3 * 4 * 25 * 10 * 10,
        read=(3 * 10 * 10 + 4 * 3 * 25) * F32,
        write=4 * 10 * 10 * F32,
        torch=lambda: _layer("Conv2d", 3, 4, 5, padding="same", bias=False, source=(1, 3, 10, 10)),
        onnx=lambda: single("Conv", [f(1, 3, 10, 10), f(4, 3, 5, 5)], [f(1, 4, 10, 10)], auto_pad="SAME_UPPER"),
    ),
    Case(
        "conv1d without a batch, 205,824 multiply-adds",
        # (128 + 2·4 − 3) ÷ 2 + 1 = 67 results of 32·3 taps for 32 channels; 67·32·32·3 = 205,824 counts the taps on the padding.
        flop=2 * 67 * 32 * 32 * 3,
        read=(32 * 128 + 32 * 32 * 3) * F32,
        write=32 * 67 * F32,
        torch=lambda: _layer("Conv1d", 32, 32, 3, padding=4, stride=2, bias=False, source=(32, 128)),
        onnx=lambda: single("Conv", [f(1, 32, 128), f(32, 32, 3)], [f(1, 32, 67)], strides=[2], pads=[4, 4]),
        jax=lambda jax: _jax(jax, (1, 32, 128), (32, 32, 3), 2, 4),
    ),
    Case(
        "conv3d",
        flop=2 * 2 * 5 * (1 * 2 * 3) * (4 * 3 * 2),
        read=(2 * 4 * 4 * 4 + 5 * 2 * 6) * F32,
        write=5 * 4 * 3 * 2 * F32,
        torch=lambda: _layer("Conv3d", 2, 5, (1, 2, 3), bias=False, source=(1, 2, 4, 4, 4)),
        onnx=lambda: single("Conv", [f(1, 2, 4, 4, 4), f(5, 2, 1, 2, 3)], [f(1, 5, 4, 3, 2)]),
    ),
    Case(
        "conv_transpose2d(32, 1, 3) of one pixel, 288 multiply-adds",
        flop=2 * 32 * 1 * 1 * 1 * 3 * 3,  # 2 × 288
        read=(32 * 1 * 1 + 32 * 1 * 9) * F32,
        write=1 * 3 * 3 * F32,
        torch=lambda: _layer("ConvTranspose2d", 32, 1, 3, bias=False, source=(1, 32, 1, 1)),
        onnx=lambda: single("ConvTranspose", [f(1, 32, 1, 1), f(32, 1, 3, 3)], [f(1, 1, 3, 3)]),
    ),
    Case(
        "conv_transpose2d(3, 1, 2, stride 2) on 2x2, 48 multiply-adds",
        flop=2 * 3 * 2 * 2 * 1 * 2 * 2,  # 2 × 48
        read=(3 * 2 * 2 + 3 * 1 * 4) * F32,
        write=1 * 4 * 4 * F32,
        torch=lambda: _layer("ConvTranspose2d", 3, 1, 2, stride=2, bias=False, source=(1, 3, 2, 2)),
        onnx=lambda: single("ConvTranspose", [f(1, 3, 2, 2), f(3, 1, 2, 2)], [f(1, 1, 4, 4)], strides=[2, 2]),
    ),
    Case(
        "conv_transpose2d, groups, padding and output padding",
        # Every one of 8·9·11 elements meets (6 ÷ 2)·9 taps, those that padding crops included. (9 − 1)·3 − 2·1 + 3 + 1 = 26; (11 − 1)·3 − 2 + 4 = 32.
        flop=2 * 8 * 9 * 11 * (6 // 2) * 9,
        read=(8 * 9 * 11 + 8 * 3 * 9) * F32,
        write=6 * 26 * 32 * F32,
        torch=lambda: _layer("ConvTranspose2d", 8, 6, 3, stride=3, padding=1, output_padding=1, groups=2, bias=False, source=(1, 8, 9, 11)),
        onnx=lambda: single(
            "ConvTranspose", [f(1, 8, 9, 11), f(8, 3, 3, 3)], [f(1, 6, 26, 32)], strides=[3, 3], pads=[1, 1, 1, 1], output_padding=[1, 1], group=2
        ),
    ),
    Case(
        "conv_transpose with an output shape",  # (5 − 1)·2 + 3 = 11 is cropped to 10 along each side: the taps stay
        flop=2 * 4 * 5 * 5 * 2 * 9,
        read=(4 * 5 * 5 + 4 * 2 * 9) * F32,
        write=2 * 10 * 10 * F32,
        onnx=lambda: single("ConvTranspose", [f(1, 4, 5, 5), f(4, 2, 3, 3)], [f(1, 2, 10, 10)], strides=[2, 2], output_shape=[10, 10]),
    ),
    Case(
        "conv_transpose1d",
        flop=2 * 4 * 10 * 6 * 5,
        read=(4 * 10 + 4 * 6 * 5) * F32,
        write=6 * 14 * F32,
        torch=lambda: _layer("ConvTranspose1d", 4, 6, 5, bias=False, source=(1, 4, 10)),
        onnx=lambda: single("ConvTranspose", [f(1, 4, 10), f(4, 6, 5)], [f(1, 6, 14)]),
    ),
    Case(
        "deformable convolution",  # the products; sampling the taps is not counted
        flop=2 * 4 * 2 * 9 * 6 * 6,
        read=(2 * 8 * 8 + 4 * 2 * 9 + 2 * 9 * 6 * 6) * F32,
        write=4 * 6 * 6 * F32,
        onnx=lambda: single("DeformConv", [f(1, 2, 8, 8), f(4, 2, 3, 3), f(1, 18, 6, 6)], [f(1, 4, 6, 6)], kernel_shape=[3, 3]),
    ),
    Case(
        "convolution with its sum and activation fused in",
        flop=2 * 3 * 4 * 9 * 6 * 6,
        read=(3 * 8 * 8 + 4 * 3 * 9 + 4 + 4 * 6 * 6) * F32,
        write=4 * 6 * 6 * F32,
        onnx=lambda: single(
            "FusedConv", [f(1, 3, 8, 8), f(4, 3, 3, 3), f(4), f(1, 4, 6, 6)], [f(1, 4, 6, 6)], "com.microsoft", activation="Relu", kernel_shape=[3, 3]
        ),
    ),
]
