"""What a runtime makes of a graph before it runs it: which operators become one kernel, which are gone, and which it adds.

This module decides which rules a runtime applies and in which order; the rules are in `rules`, `shaping`, `patterns`, `quantised`, `blocked` and
`chains`. Where onnxruntime is at hand it says the same itself, and exactly (`ridgeline.targets.onnx_optimised`); this is for where it is not, and
for runtimes that do not tell. What depends on values that a graph does not hold (equal constants, the numbers of a pattern) is taken as exporters
write it.
Source: onnxruntime/core/optimizer/graph_transformer_utils.cc, release 1.32; for compilers of PyTorch, torch/_inductor/scheduler.py, release 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ridgeline.core import Graph, UsageError

from .blocked import blocked_layout
from .chains import joined, pointwise_chains
from .patterns import bias_gelu, gelu, layer_norm, quick_gelu, skip_layer_norm
from .quantised import quantised
from .rewriting import Net
from .rules import (
    batch_norm,
    common,
    constants,
    conv_activation,
    conv_sum,
    dynamic_products,
    gemm,
    gemm_activation,
    no_operation,
    per_channel,
    scaled_products,
    transposed_products,
)
from .shaping import computed_reshapes, decided_branches, flattened_gemm, reshape_chains, slices

__all__ = ["RUNTIMES", "Fused", "fused"]


class Fused(NamedTuple):
    """A graph as a runtime runs it.

    `graph`: one operator for each kernel; `members`: name of each of its operators → names of the operators of the original graph that are in it,
    none for a reorder.
    """

    graph: Graph
    members: dict[str, tuple[str, ...]]


def fused(graph: Graph, runtime: str = "onnxruntime", *, block: int = 16, fixed: bool = False) -> Fused:
    """The kernels that a runtime makes of a graph.

    Args:
        graph: with shapes bound.
        runtime: a key of `RUNTIMES`.
        block: channels that stand together in onnxruntime's own layout on the CPU in question, 16 with AVX-512, 8 with AVX2; 0 where it has none.
        fixed: whether the shapes are fixed in the model, so that what computes shapes is done before the run.

    Raises:
        UsageError: a runtime that is not known, or a block that cannot be.
    """
    if runtime not in RUNTIMES:
        raise UsageError(f"a runtime: {', '.join(RUNTIMES)}", found=repr(runtime), remedy="name one of them")
    if block < 0 or block % 4:
        raise UsageError("a block of 0, 4, 8, 16 … channels", found=str(block), remedy="give 16 for AVX-512, 8 for AVX2")
    net = Net(graph)
    RUNTIMES[runtime](net, block, fixed)
    return Fused(net.graph(), {part.op.name: tuple(part.members) for part in net.parts})


def _onnxruntime(net: Net, block: int, fixed: bool) -> None:
    common(net)
    constants(net, fixed)
    if fixed:
        decided_branches(net)
    no_operation(net, fixed)
    slices(net)
    computed_reshapes(net)
    for _ in range(3):  # a factor behind a normalisation, and a summand behind that
        batch_norm(net)
        per_channel(net)
    common(net)
    quantised(net)
    gemm(net)
    if fixed:
        flattened_gemm(net)
    reshape_chains(net)
    gelu(net)
    layer_norm(net)
    dynamic_products(net)
    quick_gelu(net)
    gemm_activation(net)
    transposed_products(net)
    scaled_products(net)
    bias_gelu(net)
    skip_layer_norm(net)
    conv_activation(net)
    if block:
        blocked_layout(net, block)
    conv_sum(net)
    conv_activation(net)


def _eager(net: Net, block: int, fixed: bool) -> None:
    """Every operator by itself; constants are there as weights are."""
    constants(net, fixed)
    no_operation(net)


def _compiled(net: Net, block: int, fixed: bool) -> None:
    """Pointwise operators and what they surround in one kernel; products and convolutions by libraries."""
    _eager(net, block, fixed)
    common(net)
    pointwise_chains(net)


def _tflite(net: Net, block: int, fixed: bool) -> None:
    """The converter has joined activations already."""
    constants(net, fixed)


def _npu(net: Net, block: int, fixed: bool) -> None:
    """A convolution or product with all that follows it pointwise, in one pass over its result."""
    constants(net, True)
    no_operation(net)
    common(net)
    for _ in range(3):
        batch_norm(net)
        per_channel(net, either=True)
    gemm(net, matrices_alone=False)
    gelu(net)
    layer_norm(net)
    quick_gelu(net)
    joined(net)


RUNTIMES: Mapping[str, Callable[[Net, int, bool], None]] = {
    "onnxruntime": _onnxruntime, "torch": _eager, "torch.compile": _compiled, "tflite": _tflite, "npu": _npu,
}  # fmt: skip
