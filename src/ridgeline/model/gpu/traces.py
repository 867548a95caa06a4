"""Whole networks on a GPU as kernels: those of the forward half, of the gradients, and of adding them up.

This module decides which kernels a recorded network runs and how often, and which of its nodes say how long one kernel takes. What follows from an
operator when it is trained is decided in `model.graphs.gradients`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np

from ridgeline.core import RecordedNetwork, Workload

from ..graphs.gradients import gradients
from .kernels import FAMILIES, group_of, kernels
from .rows import GroupRows
from .sheet import GpuSheet

__all__ = ["Half", "Launched", "launched", "traced_rows"]

Half = Literal["forward", "backward", "accumulation"]
#: Shorter nodes say more of the host than of the kernel.
_LEAST_S = 1e-4
#: Copies whose reads are scattered: they are no streams.
_SCATTERED = frozenset(("embedding", "where"))


class Launched(NamedTuple):
    """A kernel of a network: its work, how often one call runs it, in which half, and for which node (its place in the trace)."""

    work: Workload
    repeats: int
    half: Half
    node: int


def launched(network: RecordedNetwork) -> Iterator[Launched]:
    """All kernels of one call, in the order of the trace."""
    for place, node in enumerate(network.nodes):
        for work in node.forward:
            yield Launched(work, node.repeats, "forward", place)
            if network.training:
                backward, accumulation = gradients(work)
                yield from (Launched(each, node.repeats, "backward", place) for each in backward)
                yield from (Launched(each, node.repeats, "accumulation", place) for each in accumulation)


def traced_rows(networks: Iterable[RecordedNetwork], sheets: Mapping[str, GpuSheet]) -> dict[str, dict[str, GroupRows]]:
    """Group → device → forward kernels as they were measured in traces without doubts, as `rows.group_rows` gives measured operators.

    Such nodes ran alone, but with the shapes and in the order of a real network. `places` counts them by group and device.
    """
    found: dict[tuple[str, str], list[tuple[Workload, float]]] = defaultdict(list)
    for network in networks:
        for node in network.nodes:
            if len(node.forward) == 1 and node.forward_s >= _LEAST_S and not network.doubts and network.device in sheets:
                work = node.forward[0]
                if work.kind in FAMILIES and work.variant not in _SCATTERED:
                    found[group_of(work.kind, work.variant), network.device].append((work, node.forward_s))
    rows: dict[str, dict[str, GroupRows]] = defaultdict(dict)
    for (group, device), several in sorted(found.items()):
        rows[group][device] = _rows(several, sheets[device])
    return dict(rows)


def _rows(several: list[tuple[Workload, float]], gpu: GpuSheet) -> GroupRows:
    made = [kernels(work.kind, work.variant, work.sizes, gpu) for work, _ in several]
    seconds = np.array([each.seconds[0] for each in made])
    features = np.concatenate([each.features for each in made])
    return GroupRows(np.arange(len(several)), features, seconds, np.array([measured for _, measured in several]), np.full(len(several), np.inf))
