"""The same network in torch, ONNX and TFLite: convolutions and matrix products agree exactly."""

from __future__ import annotations

import pytest

pytest.importorskip("ai_edge_litert", reason="TFLite models need ai-edge-litert")
pytest.importorskip("onnx", reason="the same network in ONNX needs onnx")
pytest.importorskip("torch", reason="torch's own counter needs torch")

import torch
from onnx import helper
from torch.utils.flop_counter import FlopCounterMode

from ridgeline.work.onnx import graph as onnx_graph
from ridgeline.work.tflite import graph as tflite_graph
from ridgeline.work.tflite import load
from support.onnx_models import model, tensor, zeros
from support.tflite_models import lite
from support.tflite_models import zeros as arrays

SIDE, CLASSES = 16, 10


def in_tflite() -> float:
    made = lite()
    image = made.tensor("x", 1, SIDE, SIDE, 3)
    same = {"padding": 0, "strideW": 1, "strideH": 1}
    first = made.operator(
        "CONV_2D", [image, made.tensor("w1", 8, 3, 3, 3, data=arrays(8, 3, 3, 3)), made.tensor("b1", 8, data=arrays(8))],
        made.tensor("a", 1, SIDE, SIDE, 8), "Conv2DOptions", **same,
    )  # fmt: skip
    second = made.operator(
        "DEPTHWISE_CONV_2D", [first, made.tensor("w2", 1, 3, 3, 8, data=arrays(1, 3, 3, 8)), made.tensor("b2", 8, data=arrays(8))],
        made.tensor("b", 1, SIDE // 2, SIDE // 2, 8), "DepthwiseConv2DOptions", padding=0, strideW=2, strideH=2, depthMultiplier=1,
    )  # fmt: skip
    flat = made.operator(
        "RESHAPE", [second, made.tensor("s", 2, data=arrays(2, dtype="int32"))], made.tensor("c", 1, SIDE * SIDE * 2), "ReshapeOptions"
    )
    weights = made.tensor("w3", CLASSES, SIDE * SIDE * 2, data=arrays(CLASSES, SIDE * SIDE * 2))
    result = made.operator("FULLY_CONNECTED", [flat, weights, made.tensor("b3", CLASSES, data=arrays(CLASSES))], made.tensor("y", 1, CLASSES))
    return tflite_graph(load(made.finished(image, result))).flop


def in_onnx() -> float:
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "w2"], ["b"], pads=[0, 0, 1, 1], strides=[2, 2], group=8),
        helper.make_node("Flatten", ["b"], ["c"]),
        helper.make_node("Gemm", ["c", "w3"], ["y"], transB=1),
    ]
    weights = {"w1": zeros(8, 3, 3, 3), "w2": zeros(8, 1, 3, 3), "w3": zeros(CLASSES, SIDE * SIDE * 2)}
    return onnx_graph(model(nodes, [tensor("x", 1, 3, SIDE, SIDE)], ["y"], weights)).flop


def in_torch() -> float:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 8, 3, stride=2, groups=8)
            self.third = torch.nn.Linear(SIDE * SIDE * 2, CLASSES)

        def forward(self, x):
            return self.third(self.second(torch.nn.functional.pad(self.first(x), (0, 1, 0, 1))).flatten(1))

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        Net()(torch.zeros(1, 3, SIDE, SIDE))
    return float(counter.get_total_flops())


def test_three_frameworks_and_the_hand_agree() -> None:
    by_hand = 2 * (SIDE * SIDE * 8 * 27 + (SIDE // 2) ** 2 * 8 * 9 + SIDE * SIDE * 2 * CLASSES)
    assert in_tflite() == in_onnx() == in_torch() == by_hand
