"""An operator for another number of items: which of its sizes grow with the batch.

This module decides that per family. Weights stay; a product whose right operand belongs to the items too (attention) becomes more products.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from ridgeline.core import Workload

__all__ = ["batched"]

#: Sizes that grow with the batch, by family.
_GROWING: Mapping[str, tuple[str, ...]] = {
    "gemm": ("m",), "convolution": ("n",), "elementwise": ("elements",), "softmax": ("rows",), "normalisation": ("rows",), "reduction": ("rows",),
    "pooling": ("n",), "copy": ("elements",), "gather": ("indices",), "attention": ("batch",), "moe": ("tokens",), "recurrent": ("batch",),
    "collective": ("elements",),
}  # fmt: skip


def batched(work: Workload, factor: float) -> Workload:
    """The operator for `factor` times as many items, sizes rounded up.

    >>> batched(Workload(kind="gemm", sizes={"m": 8, "n": 16, "k": 4}), 4).sizes
    {'m': 32, 'n': 16, 'k': 4}
    """
    if factor == 1:
        return work
    names = ("batch", "groups") if work.kind == "gemm" and work.sizes.get("groups", 1) > 1 else _GROWING.get(work.kind, ())
    grown = {name: max(1, math.ceil(work.sizes.get(name, 1) * factor - 1e-9)) for name in names}
    return msgspec.structs.replace(work, sizes=work.sizes | grown)
