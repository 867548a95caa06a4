"""One network in every framework: convolutions and matrix products agree exactly; what an exporter rewrites explains the rest."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import onnx
import pytest
import torch
from torch import nn

from ridgeline.work import onnx as in_onnx
from ridgeline.work import tflite as in_tflite
from ridgeline.work import torch as in_torch
from support.tflite_models import lite, writer, zeros

Totals = Counter[tuple[str, str]]


def small() -> nn.Module:
    """A stem, a depthwise and a pointwise convolution, and a linear layer: every framework can hold it."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU(), nn.Conv2d(8, 16, 1), nn.ReLU(), nn.Flatten(),
        nn.Linear(16 * 8 * 8, 10),
    ).eval()  # fmt: skip


IMAGE = (1, 3, 8, 8)
#: 2 · Cin ÷ g · Cout · taps · 8 · 8 for each convolution, 2 · inputs · outputs for the layer.
CONVOLUTIONS = 2 * 3 * 8 * 9 * 64 + 2 * 1 * 8 * 9 * 64 + 2 * 8 * 16 * 1 * 64
PRODUCTS = 2 * 16 * 64 * 10


def small_tflite() -> bytes:
    """The same by hand: channels last, a depthwise kernel as (1, height, width, channels)."""
    made = lite("same")
    schema = writer().Lite("").schema
    same = {"strideW": 1, "strideH": 1, "padding": schema.Padding.SAME, "fusedActivationFunction": schema.ActivationFunctionType.RELU}
    image, first, second, third = (made.tensor(name, 1, 8, 8, channels) for name, channels in (("x", 3), ("a", 8), ("b", 8), ("c", 16)))
    flat, result = made.tensor("f", 1, 16 * 64), made.tensor("y", 1, 10)

    def constant(*shape: int) -> int:
        return int(made.tensor(f"w{len(made.graph.tensors)}", *shape, data=zeros(*shape)))

    made.operator("CONV_2D", [image, constant(8, 3, 3, 3), constant(8)], first, "Conv2DOptions", **same)
    made.operator("DEPTHWISE_CONV_2D", [first, constant(1, 3, 3, 8), constant(8)], second, "DepthwiseConv2DOptions", depthMultiplier=1, **same)
    made.operator("CONV_2D", [second, constant(16, 1, 1, 8), constant(16)], third, "Conv2DOptions", **same)
    made.operator("RESHAPE", [third], flat)
    made.operator("FULLY_CONNECTED", [flat, constant(10, 16 * 64), constant(10)], result, "FullyConnectedOptions")
    return bytes(made.finished(image, result))


def of_torch(network: nn.Module, source: torch.Tensor) -> Totals:
    with torch.no_grad():
        works = [in_torch.work_of(op) for op in in_torch.record(lambda: network(source))]
    return _totals((work.group, work.engine, work.flop) for work in works)


def of_onnx(network: nn.Module, source: torch.Tensor) -> Totals:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (source,), file, dynamo=False, opset_version=17)
    found = in_onnx.graph(onnx.load_from_string(file.getvalue()))
    assert found.unknown == ()
    return _totals((op.attributes["group"], op.engine, op.flop * op.trips.count) for op in found.ops if op.flop is not None)


def of_tflite(_: nn.Module, __: torch.Tensor) -> Totals:
    found = in_tflite.graph(small_tflite())
    assert found.unknown == ()
    return _totals((op.attributes["group"], op.engine, op.flop) for op in found.ops if op.flop is not None)


def _totals(counted: Iterable[tuple[str, Any, Any]]) -> Totals:
    totals: Totals = Counter()
    for group, engine, flop in counted:
        if flop:
            totals[group, str(engine)] += flop
    return totals


@pytest.mark.parametrize("count", [of_torch, of_onnx, of_tflite])
def test_every_framework_counts_the_same_convolutions_and_products(count: Callable[[nn.Module, torch.Tensor], Totals]) -> None:
    totals = count(small(), torch.ones(IMAGE))
    assert totals["convolution", "fma"] == CONVOLUTIONS
    assert totals["matmul", "fma"] == PRODUCTS
    assert sum(flop for (_, engine), flop in totals.items() if engine == "fma") == CONVOLUTIONS + PRODUCTS


class Mixed(nn.Module):
    """What an exporter rewrites: batch norm, fused attention, a recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.ConvTranspose2d(8, 8, 2, 2))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.recurrent = nn.LSTM(8, 12, bidirectional=True, batch_first=True)
        self.head = nn.Linear(24, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x).flatten(2).transpose(1, 2)
        x = self.recurrent(x + self.attention(x, x, x)[0])[0]
        return torch.softmax(self.head(x), -1)


def test_what_an_exporter_rewrites_explains_the_rest() -> None:
    network, source = Mixed().eval(), torch.ones(2, 3, 8, 8)
    tokens, heads = 8 * 8, 2  # (2, 64, 8)
    before, after = of_torch(network, source), of_onnx(network, source)
    assert before["convolution", "fma"] == after["convolution", "fma"] == 2 * 2 * (3 * 8 * 9 * 16 + 8 * 16 * 8 * 4)
    # Torch runs attention as one operator, the exporter writes its products out.
    products = before["matmul", "fma"] + before["attention", "fma"]
    assert before["attention", "fma"] > 0
    assert products == after["matmul", "fma"]
    attention = 2 * 2 * tokens * (4 * 8 * 8 + 2 * tokens * 8)
    recurrent = 2 * 2 * 2 * tokens * 4 * 12 * (8 + 12)
    assert products == attention + recurrent + 2 * 2 * tokens * 24 * 5
    # The softmax inside of it becomes an operator of its own.
    assert after["normalisation", "exp"] - before["normalisation", "exp"] == 2 * heads * tokens * tokens
    # Batch norm is folded into the convolution before it.
    assert before["normalisation", "add"] == 2 * 8 * 4 * 4
    assert after["normalisation", "add"] == 0
    # The bias of the projection in and the scale of the queries become pointwise operators. (The bias of the head is one in torch too.)
    written_out = 2 * tokens * 24 + 2 * heads * tokens * 4
    assert after["elementwise", "add"] - before["elementwise", "add"] == written_out
