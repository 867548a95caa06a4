"""Equal networks counted by torch's own FLOP counter; where the two differ, the test says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from onnx import helper
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from ridgeline.work.onnx import graph, op_work
from support.onnx_models import model, node, tensor, value, zeros


def counted(call: Callable[[], Any]) -> int:
    with FlopCounterMode(display=False) as counter:
        call()
    return int(counter.get_total_flops())


CONVOLUTIONS = [
    {"cin": 3, "cout": 8, "k": 3, "groups": 1, "stride": 1, "dilation": 1, "pads": (0, 0, 0, 0)},
    {"cin": 8, "cout": 8, "k": 3, "groups": 8, "stride": 2, "dilation": 1, "pads": (1, 1, 1, 1)},
    {"cin": 8, "cout": 12, "k": 5, "groups": 4, "stride": 1, "dilation": 2, "pads": (4, 4, 4, 4)},
    {"cin": 4, "cout": 6, "k": 3, "groups": 2, "stride": 3, "dilation": 1, "pads": (0, 1, 2, 3)},
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolution(case: dict[str, Any]) -> None:
    weight = (case["cout"], case["cin"] // case["groups"], case["k"], case["k"])
    attributes = {"group": case["groups"], "strides": [case["stride"]] * 2, "dilations": [case["dilation"]] * 2, "pads": case["pads"]}
    conv = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    ours = graph(model([conv], [tensor("x", 2, case["cin"], 17, 19)], ["y"], {"w": zeros(*weight)}))
    top, left, bottom, right = case["pads"]

    def call() -> None:
        x = functional.pad(torch.zeros(2, case["cin"], 17, 19), (left, right, top, bottom))
        functional.conv2d(x, torch.zeros(weight), stride=case["stride"], dilation=case["dilation"], groups=case["groups"])

    assert ours.flop == counted(call)


@pytest.mark.parametrize(("auto_pad", "padding"), [("SAME_UPPER", "same"), ("VALID", "valid")])
def test_convolution_with_automatic_padding(auto_pad: str, padding: str) -> None:
    conv = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad=auto_pad)
    ours = graph(model([conv], [tensor("x", 1, 3, 16, 16)], ["y"], {"w": zeros(4, 3, 4, 4)}))
    assert ours.flop == counted(lambda: functional.conv2d(torch.zeros(1, 3, 16, 16), torch.zeros(4, 3, 4, 4), padding=padding))


@pytest.mark.parametrize(("groups", "stride", "pad", "extra"), [(1, 2, 0, 0), (2, 2, 1, 1), (4, 3, 1, 2)])
def test_transposed_convolution(groups: int, stride: int, pad: int, extra: int) -> None:
    attributes = {"group": groups, "strides": [stride] * 2, "pads": [pad] * 4, "output_padding": [extra] * 2}
    conv = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **attributes)
    ours = graph(model([conv], [tensor("x", 2, 8, 9, 11)], ["y"], {"w": zeros(8, 3, 3, 3)}))

    def call() -> None:
        functional.conv_transpose2d(torch.zeros(2, 8, 9, 11), torch.zeros(8, 3, 3, 3), None, stride, pad, extra, groups)

    assert ours.flop == counted(call)


def test_matmul_with_broadcasting() -> None:
    ours = graph(model([helper.make_node("MatMul", ["a", "b"], ["y"])], [tensor("a", 4, 1, 5, 7), tensor("b", 3, 7, 2)], ["y"]))
    assert ours.flop == counted(lambda: torch.matmul(torch.zeros(4, 1, 5, 7), torch.zeros(3, 7, 2)))


def test_gemm_with_bias() -> None:
    gemm = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)
    ours = graph(model([gemm], [tensor("x", 5, 7)], ["y"], {"w": zeros(3, 7), "b": zeros(3)}))
    assert ours.flop == counted(lambda: functional.linear(torch.zeros(5, 7), torch.zeros(3, 7), torch.zeros(3)))


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_recurrent(kind: str, gates: int, direction: str) -> None:
    directions = 2 if direction == "bidirectional" else 1
    weights = {"w": zeros(directions, gates * 12, 7), "r": zeros(directions, gates * 12, 12)}
    layer = helper.make_node(kind, ["x", "w", "r"], ["y"], hidden_size=12, direction=direction)
    ours = graph(model([layer], [tensor("x", 5, 3, 7)], ["y"], weights))

    # torch runs the layer as one operator that its counter does not know: the products of each step are written out here.
    def call() -> None:
        for _ in range(directions):
            for _ in range(5):
                torch.mm(torch.zeros(3, 7), torch.zeros(7, gates * 12))
                torch.mm(torch.zeros(3, 12), torch.zeros(12, gates * 12))

    assert ours.flop == counted(call)


def test_attention() -> None:
    work = op_work(node("Attention", [value("q", 2, 4, 16, 8), value("k", 2, 4, 20, 8), value("v", 2, 4, 20, 6)], [value("y", 2, 4, 16, 6)]))

    def call() -> None:
        weights = torch.zeros(2, 4, 16, 8) @ torch.zeros(2, 4, 20, 8).transpose(2, 3)
        weights @ torch.zeros(2, 4, 20, 6)

    assert work.flop == counted(call)


def test_causal_attention_differs_because_torch_counts_masked_pairs() -> None:
    shapes = [value(name, 2, 4, 16, 8) for name in "qkv"]
    work = op_work(node("Attention", shapes, [value("y", 2, 4, 16, 8)], is_causal=1))
    q = torch.zeros(2, 4, 16, 8, device="meta")
    theirs = counted(lambda: functional.scaled_dot_product_attention(q, q, q, is_causal=True))
    # n (n + 1) ÷ 2 of n² pairs are useful; torch counts all of them.
    assert work.flop == theirs * (16 + 1) / (2 * 16)
