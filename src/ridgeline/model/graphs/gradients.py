"""What the gradient of an operator runs: which products and passes follow from the forward one when a network is trained.

This module decides the structure, from the derivatives that PyTorch's autograd calls (tools/autograd/derivatives.yaml, 2.1): of C = A B they are
dA = dC Bᵀ and dB = Aᵀ dC; functions of one element read their gradient and what they kept and write one result. Bytes an element, fp32. How long that
takes is decided in the rooms of the devices.
"""

from __future__ import annotations

from typing import NamedTuple

from ridgeline.core import Workload

__all__ = ["TRANSPOSED", "Gradients", "gradients"]

#: `Workload.layout` of products of which an operand is read across its rows.
TRANSPOSED = "transposed"
_COPIED = 8
#: Bytes an element of the result that the gradient of an elementwise function moves; with two operands it has two results and sums over none.
_SCALAR = {"mul": 8, "div": 8, "power": 29, "tanh": 12, "gelu": 12, "relu": 12}
_TWO = {"mul": 24, "div": 24}
_SOFTMAX = 22
#: Of copies by their variant: bytes that their gradient moves ÷ bytes that they do.
_COPIES = {"where": 8 / 9, "dropout": 25 / 10}
_ADDED = 12


class Gradients(NamedTuple):
    """Kernels of the backward half, and those that add a gradient to what an earlier step left (12 bytes a weight)."""

    backward: tuple[Workload, ...]
    accumulation: tuple[Workload, ...] = ()


def gradients(forward: Workload) -> Gradients:
    """The kernels that follow from one forward operator; none where a gradient is only handed on.

    >>> [each.sizes["k"] for each in gradients(Workload(kind="gemm", variant="matmul", sizes={"m": 2, "n": 3, "k": 4})).backward]
    [3, 2]
    """
    sizes = forward.sizes
    if forward.kind == "gemm":
        return _products(forward)
    if forward.kind == "softmax":
        return Gradients((_copy(_SOFTMAX * sizes["rows"] * sizes["columns"]),))
    if forward.kind == "normalisation":
        # One pass for the operand, one for scale and shift; and the residual's gradient is added.
        return Gradients((forward, forward), (_copy(_ADDED * sizes["rows"] * sizes["columns"]),))
    if forward.kind == "elementwise":
        table = _TWO if sizes.get("inputs", 1) > 1 else _SCALAR
        moved = table.get(forward.variant, 0) * sizes["elements"]
        return Gradients((_copy(moved),) if moved else ())
    moved = round(_COPIES.get(forward.variant, 0.0) * _COPIED * sizes["elements"]) if forward.kind == "copy" else 0
    return Gradients((_copy(moved),) if moved else ())


def _products(forward: Workload) -> Gradients:
    m, n, k = (forward.sizes[name] for name in ("m", "n", "k"))
    rest = {name: size for name, size in forward.sizes.items() if name in ("batch", "groups")}
    left, right = ({"m": m, "n": k, "k": n} | rest, {"m": k, "n": n, "k": m} | rest)
    backward = tuple(
        Workload(kind="gemm", variant=forward.variant, layout=TRANSPOSED, precision=forward.precision, sizes=each) for each in (left, right)
    )
    if forward.variant != "linear":
        return Gradients(backward)
    return Gradients((*backward, _copy(4 * m * n)), (_copy(_ADDED * k * n),))


def _copy(moved_bytes: int) -> Workload:
    return Workload(kind="copy", sizes={"elements": max(1, round(moved_bytes / _COPIED))})
