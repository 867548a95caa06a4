"""Operators of one family as kernels of a GPU: seconds, what they are made of, and the features that a trained correction goes by.

This module decides which analytical form a family has and how far it may be trusted; the forms are in `gemm` and `streams`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import OutOfRange

from ..families import FAMILIES as SIZES
from ..families import sizes_of
from . import gemm
from . import streams as stream_forms
from .constants import constants
from .sheet import GpuSheet

__all__ = ["FAMILIES", "Kernels", "features_of", "floor_s", "group_of", "kernels"]

Floats = NDArray[np.float64]

#: Families that have a form here.
FAMILIES = ("gemm", "elementwise", "softmax", "normalisation", "copy")
#: Columns in which an elementwise operator or a copy is laid out: as long as a row is, it does not matter.
_ROW = 1024


class Kernels(NamedTuple):
    """N operators of one family on one GPU, shape (N,) each.

    `seconds`: of the kernel, without what the host needs to launch it; `compute`, `memory`: its parts at full clock; `bytes`: that it moves to and
    from memory at the least; `flop`: asked for; `throttle`: by what sustained power makes it longer; `occupancy`: share of the units that has work;
    `features`: ratios, (N, P).
    """

    seconds: Floats
    compute: Floats
    memory: Floats
    flop: Floats
    bytes: Floats
    throttle: Floats
    occupancy: Floats
    features: Floats


def group_of(kind: str, variant: str = "") -> str:
    """The group of operators that one correction is trained for: products alone and in batches apart, copies with elementwise ones."""
    if kind == "gemm":
        return "gemm single" if variant == "linear" else "gemm batched"
    return "elementwise" if kind == "copy" else kind


def features_of(group: str) -> tuple[str, ...]:
    """Names of the features of a group."""
    return gemm.FEATURES if group.startswith("gemm") else stream_forms.FEATURES


def floor_s(kind: str, variant: str, gpu: GpuSheet) -> float:
    """The least time from one launch to the next on the hosts that were recorded (PyTorch 2.1, one call after the other), s.

    It belongs to the host, not the GPU: the hosts recorded differ by up to 1.7.
    """
    known = constants()
    name = group_of(kind, variant).replace(" ", "_")
    return known.floor_s.get(name, known.stream.floor_s) * (known.stream.floor_amd if gpu.amd and kind != "gemm" else 1.0)


def kernels(kind: str, variant: str, sizes: Mapping[str, object], gpu: GpuSheet, *, heat: float | None = None) -> Kernels:
    """Seconds, FLOP and bytes of N operators of one family, (N,) each.

    Args:
        kind: one of `FAMILIES`; variant: `linear` for a product with one right operand, the function of an elementwise operator.
        sizes: counts of elements, of `ridgeline.model.families`, numbers or arrays that broadcast.
        heat: see `gemm`.

    Raises:
        OutOfRange: a family that has no form here. UsageError: as `sizes_of`.
    """
    if kind not in FAMILIES:
        raise OutOfRange(f"an operator of {', '.join(FAMILIES)}", found=repr(kind), remedy="measure it")
    full = {name: np.atleast_1d(values).astype(np.float64) for name, values in sizes_of(kind, sizes).items()}
    asked = SIZES[kind].demand(full)
    if kind == "gemm":
        made = gemm.products(full["batch"], full["m"], full["n"], full["k"], gpu, batched=variant != "linear", heat=heat)
        return Kernels(
            made.seconds, made.compute, made.memory, asked.flop, 4.0 * (asked.inputs + asked.weights + asked.outputs), made.throttle,
            made.waves / np.ceil(made.waves), made.features,
        )  # fmt: skip
    if kind in ("elementwise", "copy"):
        rows, columns = full["elements"] / _ROW, np.full_like(full["elements"], _ROW)
        inputs = full["inputs"] if kind == "elementwise" else np.ones_like(rows)
    else:
        rows, columns, inputs = full["rows"], full["columns"], np.ones_like(full["rows"])
    passed = stream_forms.streams(kind, variant, rows, columns, inputs, gpu, floor_s(kind, variant, gpu))
    return Kernels(
        passed.seconds, passed.functions, passed.memory, asked.flop, passed.bytes, np.ones_like(rows), np.minimum(1.0, rows * columns / (gpu.units *
        _ROW)), passed.features,
    )  # fmt: skip
