"""Reductions, scans, pooling and sorting.

A reduction or scan does one operation an element of its input; pooling one for every element under every window; `sort` counts elements of its
input on the `sort` engine, whose ceiling is in sorted elements per second.
"""

from __future__ import annotations

import math

from ridgeline.core import Engine

from .. import traffic
from ..formula import Work, formula
from ..recorded import RecordedOp

__all__: list[str] = []


def _work(op: RecordedOp, flop: float, engine: Engine = "reduce", group: str = "reduction") -> Work:
    return Work(group=group, flop=flop, engine=engine, reads=traffic.reads(op), writes=traffic.writes(op))


def _elements(op: RecordedOp) -> float:
    return float(max((use.numel for use in op.inputs), default=0))


@formula(
    """
    sum nansum mean prod amax amin max min aminmax _aminmax argmax argmin any all var std var_mean std_mean norm linalg_vector_norm
    count_nonzero cumsum cumprod cummax cummin _cummax_helper _cummin_helper renorm trace equal is_nonzero nll_loss_forward
    nll_loss2d_forward dist _cdist_backward linalg_cross
    """
)
def _reduce(op: RecordedOp) -> Work:
    if op.kind.startswith("aten::_foreach_"):
        return _work(op, float(sum(use.numel for use in op.inputs)))
    # max(x, y) of two tensors is pointwise; the overload tells.
    if op.overload == "other":
        return _work(op, float(op.outputs[0].numel), "add", "elementwise")
    return _work(op, _elements(op))


@formula("logsumexp logcumsumexp")
def _exponentials(op: RecordedOp) -> Work:
    return _work(op, _elements(op), "exp")


@formula("nll_loss_backward nll_loss2d_backward")
def _scattered_gradient(op: RecordedOp) -> Work:
    return _work(op, float(op.outputs[0].numel), "add", "elementwise")


_POOLS = ("avg_pool2d", "avg_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices", "mkldnn_max_pool2d", "mkldnn_max_pool3d", "max_pool2d")


@formula(*_POOLS)
def _pool(op: RecordedOp) -> Work:
    """Results × elements of the window."""
    rank = 3 if "3d" in op.kind else 2
    kernel = op.arguments.get("kernel_size")
    sizes = tuple(kernel) if isinstance(kernel, tuple) else (int(op.number("kernel_size", 1)),)
    window = math.prod(sizes) if len(sizes) > 1 else sizes[0] ** rank
    return _work(op, float(op.outputs[0].numel * window))


@formula(
    """
    _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d adaptive_avg_pool2d
    """
)
def _adaptive_pool(op: RecordedOp) -> Work:
    return _work(op, max(_elements(op), float(op.outputs[0].numel)))


@formula(
    """
    avg_pool2d_backward avg_pool3d_backward max_pool2d_with_indices_backward max_pool3d_with_indices_backward _adaptive_avg_pool2d_backward
    _adaptive_avg_pool3d_backward adaptive_max_pool2d_backward
    """
)
def _pool_backward(op: RecordedOp) -> Work:
    return _work(op, float(max(op.outputs[0].numel, op.inputs[0].numel)))


@formula("sort argsort topk kthvalue median nanmedian mode msort _unique2 _unique unique_dim unique_consecutive histc bincount")
def _sort(op: RecordedOp) -> Work:
    return _work(op, float(op.inputs[0].numel) if op.inputs else 0.0, "sort", "sort")


@formula("searchsorted bucketize")
def _search(op: RecordedOp) -> Work:
    """A dependent chain of look-ups for each value: log2 of the table's length."""
    table = op.tensor("sorted_sequence") or op.tensor("boundaries") or op.inputs[0]
    steps = max(1.0, math.log2(max(2, table.shape[-1] if table.shape else 1)))
    return _work(op, float(op.outputs[0].numel) * steps, "gather", "gather")


@formula("_fft_r2c _fft_c2r _fft_c2c")
def _fourier(op: RecordedOp) -> Work:
    """5·N·log2 N for a complex transform, half of that for a real one: the usual nominal count, not what an algorithm really does."""
    signal = max(op.inputs[0], op.outputs[0], key=lambda use: use.numel) if op.kind != "aten::_fft_c2r" else op.outputs[0]
    dims = op.arguments.get("dim")
    length = math.prod(signal.shape[dim] for dim in dims) if isinstance(dims, tuple) else signal.numel
    nominal = 5.0 * signal.numel * math.log2(max(2, length))
    return Work(
        group="other",
        flop=nominal if op.kind.endswith("c2c") else nominal / 2,
        engine="fma",
        reads=traffic.reads(op),
        writes=traffic.writes(op),
        reason="nominal 5·N·log2 N",
    )
