"""`RecordedNetwork`: a whole network that was measured, with the operators that a trace of it lists.

This module decides how such recordings are kept; what a network takes by a model is decided in `model.graphs`. Operators carry their work as
`Workload`s, so that no framework's names are needed to predict them.
"""

from __future__ import annotations

import msgspec

from .query import Workload

__all__ = ["RecordedNetwork", "RecordedNode"]


class RecordedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One operator of a trace.

    Args:
        name: in the trace; function: what the framework calls there.
        repeats: how often the network runs it: a trace may list one layer of many.
        forward: kernels that it starts; empty where it only moves numbers about on the host.
        forward_s, backward_s: measured alone, s; accumulation_s: of adding its gradients to those that are there.
    """

    name: str
    function: str
    repeats: int = 1
    forward: tuple[Workload, ...] = ()
    forward_s: float = 0.0
    backward_s: float = 0.0
    accumulation_s: float = 0.0


class RecordedNetwork(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.network/1"):
    """One network on one device.

    Args:
        name: of the network; device: as in the catalogue; batch, sequence: sizes of its input.
        training: whether the gradients were computed along; variant: what else was changed, such as `fusion` or `tp4`.
        latency_s: measured, of one call of the whole; forward_s, backward_s: its parts; 0 where they are not known.
        layers: that it has; 0 where that is not known.
        nodes: of its trace; empty where only the whole was measured.
        file: where the figures are from; doubts: what speaks against them, with figures.
    """

    name: str
    device: str
    batch: int
    sequence: int
    training: bool = False
    variant: str = ""
    latency_s: float = 0.0
    forward_s: float = 0.0
    backward_s: float = 0.0
    layers: int = 0
    nodes: tuple[RecordedNode, ...] = ()
    file: str = ""
    doubts: tuple[str, ...] = ()
