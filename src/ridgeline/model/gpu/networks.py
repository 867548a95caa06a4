"""Whole networks on a GPU: the sum of their kernels in the middle of a long run, and how far off such sums were.

This module decides which kernels are asked for together; `traces` says which there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import RecordedNetwork, Workload

from ..graphs.composing import Composed, composed
from ..learned.experts import Mixture
from .kernels import group_of
from .model import GpuModel, answer, network_factor, weights
from .sheet import GpuSheet
from .traces import launched

__all__ = ["kernel_seconds", "network_reach", "network_seconds"]

Floats = NDArray[np.float64]

#: Of the bound of whole networks.
_LEVEL = 0.9


def kernel_seconds(
    model: GpuModel, works: Sequence[Workload], gpu: GpuSheet, *, heat: float | None = 1.0, without: Collection[str] = (), in_network: bool = True
) -> Floats:
    """Seconds of many operators of any families that have a form, (N,).

    Args:
        heat: see `kernels`; in_network: with what real networks add.
        without: known devices that are not asked.

    Raises:
        OutOfRange, UsageError: as `answer`.
    """
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place, work in enumerate(works):
        alike[work.kind, work.variant, work.layout, tuple(work.sizes)].append(place)
    mixtures: dict[str, Mixture] = {}
    seconds = np.zeros(len(works))
    for places in alike.values():
        first = works[places[0]]
        group = group_of(first.kind, first.variant)
        if group in model.experts and group not in mixtures:
            mixtures[group] = Mixture(model.experts[group], weights(model, group, gpu, without))
        sizes = {name: np.array([works[place].sizes[name] for place in places], np.float64) for name in first.sizes}
        found = answer(model, first.kind, first.variant, sizes, gpu, layout=first.layout, heat=heat, mixture=mixtures.get(group))
        seconds[places] = found.seconds * (network_factor(model, group, gpu, without) if in_network else 1.0)
    return seconds


def network_seconds(model: GpuModel, network: RecordedNetwork, gpu: GpuSheet, *, launch_s: float = 0.0, without: Collection[str] = ()) -> Composed:
    """One call of a network whose kernels a trace lists, on any GPU.

    Args:
        launch_s: what the host needs for one launch.
        without: known devices that are not asked.
    """
    kernels = list(launched(network))
    seconds = kernel_seconds(model, [each.work for each in kernels], gpu, without=without)
    return composed(seconds, [each.repeats for each in kernels], launch_s)


def network_reach(model: GpuModel, networks: Iterable[RecordedNetwork], without: Collection[str] = ()) -> float:
    """Half width in log of a 90 % interval of whole networks on devices that nobody measured.

    Each known device is left out in turn, the 90 % quantile of |log(measured ÷ predicted)| of its networks is taken, and the largest counts: devices,
    not networks, are what luck is of. Inference and training together: alone, training has too few devices.
    """
    off: Mapping[str, list[float]] = defaultdict(list)
    for network in networks:
        traced = any(node.forward for node in network.nodes) and not network.variant
        if traced and network.device in model.sheets and network.device not in without and not (network.training and network.doubts):
            found = network_seconds(model, network, model.sheets[network.device], without=(*without, network.device))
            off[network.device].append(abs(float(np.log(network.latency_s / found.seconds))))
    return max((float(np.quantile(errors, _LEVEL)) for errors in off.values()), default=0.0)
