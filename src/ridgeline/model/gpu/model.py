"""`GpuModel`: what measurements of some GPUs say of any GPU, as one document; and its answers.

This module decides how an analytical time, the experts of the known devices and the bounds of their errors become one answer. How they are trained is
decided in `training`, how an answer becomes a `Prediction` in `predicting`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core import ReadError

from ..learned.experts import FAINT, Experts, Mixture
from ..learned.unseen import Reach, bounds
from .kernels import Kernels, features_of, floor_s, group_of, kernels
from .sheet import GpuSheet, hold_ratio, likeness

__all__ = ["FORMS", "TRANSPOSED_SHARE", "Answer", "GpuModel", "answer", "network_factor", "weights"]

Floats = NDArray[np.float64]

#: Of an AMD product that reads both operands along their rows, one that reads across takes this much: on both devices recorded.
TRANSPOSED_SHARE = 1 / 1.2
#: Devices that hold less of their clock say nothing of how others do in networks.
_HOLDS = 0.8
#: Edition of the analytical forms, raised when one changes: experts are corrections of one edition.
FORMS = 2
#: Half width in log where nothing is known of the devices' errors.
_UNKNOWN = np.log(3.0)


class GpuModel(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.gpu-model/1"):
    """A trained model.

    Args:
        sheets: of the known devices, by name.
        experts, reaches: by group of operators.
        network_factors: group → device → how much longer its kernels take in real networks than its own expert says.
        network_reach: half width in log of a 90 % interval of whole networks; 0 where none was measured.
        data_version: of the measurements; forms: edition of the forms that the experts correct.

    Raises:
        ReadError: experts of other forms, of a group with other features than this version computes, or of a device without a sheet.
    """

    sheets: dict[str, GpuSheet]
    experts: dict[str, Experts]
    reaches: dict[str, Reach] = {}
    network_factors: dict[str, dict[str, float]] = {}
    network_reach: float = 0.0
    data_version: str = ""
    forms: int = 1

    def __post_init__(self) -> None:
        if self.experts and self.forms != FORMS:
            raise ReadError(f"experts that correct edition {FORMS} of the forms", found=f"edition {self.forms}", remedy="train the model again")
        for group, experts in self.experts.items():
            if experts.features != features_of(group):
                raise ReadError(
                    f"experts of {group} on {', '.join(features_of(group))}", found=", ".join(experts.features), remedy="train the model again"
                )
            missing = [expert.device for expert in experts.experts if expert.device not in self.sheets]
            if missing:
                raise ReadError("a sheet of every device with an expert", found=f"none of {', '.join(missing)}", remedy="train the model again")


class Answer(NamedTuple):
    """N operators on one device, (N,) each.

    `seconds`: of the kernel, corrected; `low_s`, `high_s`: ends of the interval at the level of the group's bounds; `kernels`: the analytical parts;
    `outside`: rows with features that no asked expert has seen; `likeness`: of the most like device, in [0, 1]; `shares`: device → its say.
    """

    seconds: Floats
    low_s: Floats
    high_s: Floats
    kernels: Kernels
    outside: NDArray[np.bool_]
    likeness: float
    shares: dict[str, float]
    floor_s: float

    @property
    def unlike(self) -> bool:
        """Whether no known device is like this one, so that the analytical form answers alone."""
        return self.likeness < FAINT


def weights(model: GpuModel, group: str, gpu: GpuSheet, without: Collection[str] = ()) -> dict[str, float]:
    """What each known device says of `gpu`: see `likeness`; `without`: those that are not asked."""
    known = [expert.device for expert in model.experts[group].experts if expert.device not in without] if group in model.experts else []
    return {name: likeness(gpu, model.sheets[name], products=group.startswith("gemm")) for name in known}


def answer(
    model: GpuModel, kind: str, variant: str, sizes: Mapping[str, object], gpu: GpuSheet, *, layout: str = "", heat: float | None = None,
    without: Collection[str] = (), mixture: Mixture | None = None,
) -> Answer:  # fmt: skip
    """Seconds of operators of one family and variant.

    Args:
        kind, variant, sizes, heat: see `kernels`; layout: of the operands, `transposed` for products of gradients.
        without: known devices that are not asked.
        mixture: of the experts for `gpu` and this group, where many calls share it.

    Raises:
        OutOfRange, UsageError: as `kernels`.
    """
    group = group_of(kind, variant)
    made = kernels(kind, variant, sizes, gpu, heat=heat)
    floor = floor_s(kind, variant, gpu)
    count = len(made.seconds)
    log, outside, best, shares = np.zeros(count), np.ones(count, bool), 0.0, {}
    if group in model.experts:
        mixture = mixture or Mixture(model.experts[group], weights(model, group, gpu, without))
        log, _, outside = mixture.correct(made.features)
        best, shares = mixture.likeness, mixture.shares
    seconds = made.seconds * np.exp(log) * (TRANSPOSED_SHARE if gpu.amd and layout else 1.0)
    if group in model.reaches and best >= FAINT:
        low, high = bounds(model.reaches[group], np.maximum(made.seconds, floor), made.seconds / floor)
    else:
        low, high = np.full(count, -_UNKNOWN), np.full(count, _UNKNOWN)
    # Nothing runs above its peak: of all rows recorded none did.
    peak = gpu.matrix_flop_per_s if kind == "gemm" else gpu.vector_flop_per_s
    fastest = np.minimum(seconds, made.flop / peak)
    return Answer(seconds, np.maximum(seconds * np.exp(low), fastest), seconds * np.exp(high), made, outside, best, shares, floor)


def network_factor(model: GpuModel, group: str, gpu: GpuSheet, without: Collection[str] = ()) -> float:
    """How much longer kernels of real networks take than designed ones of the same sizes: a mean over its vendor's devices that hold their clock."""
    factors = [
        factor for device, factor in model.network_factors.get(group, {}).items()
        if device not in without and model.sheets[device].vendor == gpu.vendor and hold_ratio(model.sheets[device]) > _HOLDS
    ]  # fmt: skip
    return float(np.mean(factors)) if factors else 1.0
