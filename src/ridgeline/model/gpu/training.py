"""A `GpuModel` from measurements: experts for each group of operators, the bounds of their errors, and what real networks add.

This module decides which rows teach what. Designed rows come first; where a device has none of a group, kernels of traced networks stand in for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from ridgeline.core import LatencyTable, RecordedNetwork, UsageError

from ..learned.choosing import DeviceRows, Likeness, choose, left_out
from ..learned.experts import METHODS, Expert, Experts, Method, Mixture
from ..learned.points import fit_points
from ..learned.scaling import scaling_of
from ..learned.unseen import reach
from .kernels import FAMILIES, features_of
from .model import FORMS, GpuModel
from .networks import network_reach
from .rows import GroupRows, group_rows
from .sheet import GpuSheet, likeness
from .traces import traced_rows

__all__ = ["LEVEL", "train_gpu_model"]

#: Of the intervals.
LEVEL = 0.9
#: How far apart two shapes of products are: log k, log of m n and of m ÷ n, half of log b.
_SHAPE = {"depth": 1.0, "waves": 0.7, "aspect": 0.7, "batch": 0.5}


def train_gpu_model(
    table: LatencyTable, sheets: Mapping[str, GpuSheet], networks: Iterable[RecordedNetwork] = (), *, methods: Iterable[Method] = METHODS, seed: int
        = 0,
    data_version: str = "",
) -> GpuModel:  # fmt: skip
    """Train on measured operators, and on the traces of networks.

    Args:
        table: fp32 rows of families that have a form; all others are passed over.
        sheets: by the names that the table has for its devices; a device without one is passed over.
        networks: measured networks with traces.
        methods: among which the cross-validation over devices chooses, for each group.

    Raises:
        UsageError: no device with usable rows. BackendUnavailable: trees are among the methods and LightGBM is not installed.
    """
    known = dict(sheets)
    measured = tuple(networks)
    designed, traced = group_rows(table, known), traced_rows(measured, known)
    experts, reaches = {}, {}
    tried = tuple(methods)
    for group in sorted(set(designed) | set(traced)):
        rows = {device: _device_rows(own) for device, own in designed.get(group, {}).items()}
        if rows:
            like = _likeness(known, group)
            made = choose(group, features_of(group), rows, like, methods=tried, seed=seed, data_version=data_version)
            if len(rows) > 1:
                rest = left_out(made, rows, like)
                reaches[group] = reach({device: (rest[device], rows[device].analytic_s) for device in rows}, LEVEL)
            experts[group] = _with_traced(made, traced.get(group, {}))
    if not experts:
        raise UsageError("rows of a GPU with a data sheet in fp32", found="none", remedy=f"measure some of: {', '.join(FAMILIES)}")
    factors = {
        group: {device: _factor(experts[group], device, own) for device, own in several.items()}
        for group, several in traced.items()
        if group in experts
    }
    model = GpuModel(sheets=known, experts=experts, reaches=reaches, network_factors=factors, data_version=data_version, forms=FORMS)
    return msgspec.structs.replace(model, network_reach=network_reach(model, measured))


def _device_rows(own: GroupRows) -> DeviceRows:
    return DeviceRows(own.features, own.log_ratio, own.analytic_s)


def _likeness(sheets: Mapping[str, GpuSheet], group: str) -> Likeness:
    return lambda asked, known: likeness(sheets[asked], sheets[known], products=group.startswith("gemm"))


def _with_traced(made: Experts, traced: Mapping[str, GroupRows]) -> Experts:
    """The experts, and one of points for each device that only traces know."""
    there = {expert.device for expert in made.experts}
    further = []
    for device, own in traced.items():
        if device not in there:
            model = fit_points(own.features, own.log_ratio, made.features, _SHAPE)
            further.append(Expert(device=device, scaling=scaling_of(own.features, made.features), models=(model,), rows=len(own.places), shrink=1.0))
    return Experts(
        group=made.group,
        features=made.features,
        method=made.method,
        experts=(*made.experts, *further),
        errors=made.errors,
        data_version=made.data_version,
    )


def _factor(experts: Experts, device: str, own: GroupRows) -> float:
    """Median of measured ÷ what the device's own expert says, 1 where that expert is made of the same points."""
    expert = next((each for each in experts.experts if each.device == device), None)
    if expert is None or "Points" in {type(model).__name__ for model in expert.models}:
        return 1.0
    whole = msgspec.structs.replace(experts, experts=(msgspec.structs.replace(expert, shrink=1.0),))
    log = Mixture(whole, {device: 1.0}).correct(own.features).log
    return float(np.exp(np.median(own.log_ratio - log)))
