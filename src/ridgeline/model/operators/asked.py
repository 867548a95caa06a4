"""What operators of one family ask for: FLOPs, operations of vector lanes, bytes by operand, and the matrix product that they are, if they are one.

This module decides bytes from elements, precision and zeros, and which families are products. How they run is decided in `arithmetic` and `traffic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ridgeline.core import Sparsity, Workload

from ..analytic.compressed import structured, unstructured
from ..families import FAMILIES, Demand, sizes_of
from .assumed import assumed

__all__ = ["BY_ROW", "PRODUCTS", "WIDTH", "Asked", "Product", "asked", "held_bytes"]

Floats = NDArray[np.float64]

#: Bytes of one element by precision.
WIDTH: Mapping[str, float] = {
    "fp64": 8.0, "fp32": 4.0, "tf32": 4.0, "any": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5, "int4": 0.5,
}  # fmt: skip
#: Families whose rows are worked on one by one.
BY_ROW = frozenset(("softmax", "normalisation", "reduction"))
#: Families that are matrix products.
PRODUCTS = frozenset(("gemm", "convolution", "attention", "moe"))
#: A scale of 16 bits for every 32 weights of four bits.
_SCALES = 2.0 / 32.0


class Product(NamedTuple):
    """`batch` products of (m, k) with (k, n), (N,) each.

    `vector`: with little reuse in registers, as of depthwise convolutions; `sees`: columns of a row at most where each row has one less than the row
    after it and the last one has all, infinite where all rows have all.
    """

    m: Floats
    n: Floats
    k: Floats
    batch: Floats
    vector: NDArray[np.bool_]
    sees: Floats


class Asked(NamedTuple):
    """N operators of one family, (N,) each.

    `flop`: useful multiply-adds × 2 that are done, else elements; `lane_ops`: operations of vector lanes beside them; `read_bytes`, `weight_bytes`,
    `write_bytes`: compulsory; `run_bytes`: that stand side by side where operands are strided, else infinite; `passes`: how often the operand that
    changes is read, in pieces of `row_bytes`; `repeats`: how often weights are used one after the other; `items`: of work that can be done at once;
    `kept`: share of a product's multiply-adds that are done, below 1 where circuits skip zeros; `width`, `held`: bytes of an element of what
    changes, and of a weight.
    """

    kind: str
    flop: Floats
    lane_ops: Floats
    read_bytes: Floats
    weight_bytes: Floats
    write_bytes: Floats
    run_bytes: Floats
    passes: Floats
    repeats: Floats
    items: Floats
    row_bytes: Floats
    product: Product | None
    kept: Floats
    width: float
    held: float
    sizes: Mapping[str, Floats]
    reasons: tuple[str, ...] = ()


def asked(
    kind: str, sizes: Mapping[str, ArrayLike], *, precision: str = "fp32", weight_precision: str | None = None, cost: ArrayLike = 1.0,
    sparsity: Sparsity | None = None, skips: bool = False,
) -> Asked:  # fmt: skip
    """Work and bytes of operators of one family.

    Args:
        kind: a key of `families.FAMILIES`; sizes: of it, numbers or arrays that broadcast.
        precision: of the arithmetic and of what changes from call to call; weight_precision: of the weights where that differs.
        cost: operations of one element, for functions.
        sparsity: of the weights; skips: whether the device has circuits for its pattern.

    Raises:
        UsageError: as `families.sizes_of`.

    >>> work = asked("gemm", {"m": 2, "n": 3, "k": 4})
    >>> work.flop.tolist(), work.read_bytes.tolist(), work.weight_bytes.tolist()
    ([48.0], [32.0], [48.0])
    """
    full = {name: np.atleast_1d(values) for name, values in sizes_of(kind, sizes).items()}
    need = FAMILIES[kind].demand(full)
    width, held = WIDTH[precision], _held(precision, weight_precision)
    flop, weights, reasons = _without_zeros(need.flop, need.weights * held, held, sparsity, skips)
    one = np.ones_like(flop)
    product = _product(kind, full)
    lanes = _lane_ops(kind, full, np.broadcast_to(np.asarray(cost, np.float64), flop.shape), need.flop)
    return Asked(
        kind=kind, flop=flop, lane_ops=lanes, read_bytes=need.inputs * width, weight_bytes=weights, write_bytes=need.outputs * width,
        run_bytes=_runs(kind, full, one) * width,
        passes=_passes(kind, one), repeats=full["steps"] if kind == "recurrent" else one, items=_items(kind, full, need),
        row_bytes=full["columns"] * width if kind in BY_ROW else need.inputs * width, product=product,
        kept=flop / np.maximum(need.flop, 1.0), width=width, held=held, sizes=full, reasons=reasons,
    )  # fmt: skip


def held_bytes(work: Workload) -> tuple[float, float]:
    """(Bytes of all weights of an operator, of its operands and results): of experts all that there are, not those that a batch reaches."""
    need = asked(work.kind, dict(work.sizes), precision=work.precision, weight_precision=work.weight_precision, sparsity=work.sparsity)
    weights = float(need.weight_bytes[0])
    if work.kind == "moe":
        sizes = {name: float(values[0]) for name, values in need.sizes.items()}
        weights = 3.0 * sizes["hidden"] * sizes["inner"] * (sizes["experts"] + sizes["shared"]) * _held(work.precision, work.weight_precision)
    return weights, float(need.read_bytes[0] + need.write_bytes[0])


def _held(precision: str, weights: str | None) -> float:
    stored = weights or precision
    return WIDTH[stored] + (_SCALES if weights in ("int4", "fp4") else 0.0)


def _without_zeros(flop: Floats, weights: Floats, width: float, sparsity: Sparsity | None, skips: bool) -> tuple[Floats, Floats, tuple[str, ...]]:
    """(FLOP that are done, bytes of the weights, reasons): zeros save bytes where the format leaves them out, and work where circuits skip them."""
    if sparsity is None:
        return flop, weights, ()
    if sparsity.pattern == "structured" and sparsity.group is not None:
        kept, block = sparsity.group
        less = structured(weights / width, kept=kept, block=block, element_bytes=width, skips=skips)
        reason = () if skips else (f"no circuits that skip {kept} of {block} are known: the zeros are multiplied",)
        return flop * less.work_share, less.bytes, reason
    if sparsity.pattern == "block":
        return flop * sparsity.density, weights * sparsity.density, ("what leaving out whole blocks reaches of the peak was never measured",)
    stored = unstructured(1, np.maximum(1.0, np.round(weights / width)), density=sparsity.density, element_bytes=width, layout="bitmap")
    return flop, stored.bytes, ("zeros anywhere are multiplied: no kernel that skips them is known",)


def _product(kind: str, s: Mapping[str, Floats]) -> Product | None:
    """Operators that are matrix products; a convolution as an implicit one of each group, attention as both of its own together."""
    if kind == "gemm":
        # Products with one right operand are one of all their rows.
        return _full(s["m"] * s["batch"] / s["groups"], s["n"], s["k"], s["groups"])
    if kind == "convolution":
        n, k = s["k"] / s["groups"], s["c"] / s["groups"] * s["r"] * s["s"]
        made = _full(s["n"] * s["p"] * s["q"], np.maximum(n, 1.0), np.maximum(k, 1.0), s["groups"])
        return made._replace(vector=(s["groups"] > 1) & (np.minimum(n, s["c"] / s["groups"]) < 8))
    if kind == "attention":
        window = np.where(s["window"] > 0, np.minimum(s["window"], s["keys"]), s["keys"])
        made = _full(s["queries"], s["keys"], s["head_size"], 2.0 * s["batch"] * s["heads"])
        return made._replace(sees=np.where(s["causal"] > 0, window, np.inf))
    if kind == "moe":
        routed = s["tokens"] * s["active"]
        reached = np.maximum(1.0, np.minimum(s["experts"], routed))
        # Experts that all tokens pass are as many products of that many rows.
        return _full(routed / reached, s["inner"], s["hidden"], 3.0 * reached * (1.0 + s["shared"] / s["active"]))
    return None


def _full(m: Floats, n: Floats, k: Floats, batch: Floats) -> Product:
    """Products whose rows all have all columns."""
    m, n, k, batch = np.broadcast_arrays(m, n, k, batch)
    return Product(m, n, k, batch, np.zeros(m.shape, bool), np.full(m.shape, np.inf))


def _lane_ops(kind: str, s: Mapping[str, Floats], cost: Floats, flop: Floats) -> Floats:
    known = assumed().cost
    if kind == "elementwise":
        return s["elements"] * cost
    if kind in BY_ROW:
        return s["rows"] * s["columns"] * cost
    if kind == "pooling":
        return flop / assumed().share["pooling"]
    if kind == "attention":
        return flop / (4.0 * s["head_size"]) * known["softmax"]
    if kind == "recurrent":
        return s["steps"] * s["batch"] * s["directions"] * s["gates"] * s["hidden"] * known["tanh"]
    return np.zeros_like(flop)


def _passes(kind: str, one: Floats) -> Floats:
    # A softmax and a normalisation need a sum over the row before they can write it.
    return one * 2.0 if kind in ("softmax", "normalisation") else one


def _runs(kind: str, s: Mapping[str, Floats], one: Floats) -> Floats:
    """Elements that stand side by side before and after; without end where nothing changes places."""
    if kind == "gather":
        return s["width"]
    if kind != "copy":
        return one * np.inf
    return np.where(s["axes"] > 1, s["run"], np.inf) if "axes" in s else s["run"]


def _items(kind: str, s: Mapping[str, Floats], need: Demand) -> Floats:
    if kind in BY_ROW:
        return s["rows"]
    if kind == "attention":
        return need.flop / (4.0 * s["head_size"])
    if kind == "recurrent":
        return s["batch"] * s["directions"] * s["gates"] * s["hidden"]
    return np.maximum(need.outputs, 1.0)
