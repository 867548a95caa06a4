"""Profiled rounds: seconds of every node, from a model that is compiled anew for each round.

OpenVINO keeps one average for a node over all inferences since the model was compiled, in whole microseconds, and cannot forget: the first
inference, which is long, would be in it for ever. So each round compiles, infers once to warm up and then a few times; what the later ones took
is the difference of the two sums. Both the average and each time in it are cut to whole microseconds, half of one on average each.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ridgeline.targets.openvino import OpenvinoFlavour

from .graph import ExecutedNode, executed_graph

__all__ = ["TICK_S", "Round", "rounds", "steady_us"]

TICK_S = 1e-6
_WARM = 1
_LEAST_ROUNDS = 3


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round: seconds of each node by name in one inference, wall of an inference, and the same by OpenVINO's own clock."""

    node_s: dict[str, float]
    wall_s: float
    own_wall_s: float
    calls: int


def rounds(flavour: OpenvinoFlavour, iterations: int, seconds: float) -> tuple[tuple[ExecutedNode, ...], list[Round]]:
    """The executed graph, and at least one round.

    Args:
        flavour: the target.
        iterations: counted inferences of all rounds together, about; 1 where a call is too long to be repeated.
        seconds: about how long further rounds may take.
    """
    began = time.perf_counter()
    each = max(1, iterations // _LEAST_ROUNDS + 1) if iterations > 1 else 1
    taken: list[Round] = []
    nodes: tuple[ExecutedNode, ...] = ()
    while len(taken) < (max(_LEAST_ROUNDS, iterations) if iterations > 1 else 1):
        compiled = flavour.compile({"PERF_COUNT": True})
        request = compiled.create_infer_request()
        taken.append(_round(request, flavour.feeds, each))
        nodes = nodes or executed_graph(compiled.get_runtime_model(), request.profiling_info)
        spent = time.perf_counter() - began
        if spent > seconds or (len(taken) >= _LEAST_ROUNDS and spent * (len(taken) + 1) / len(taken) > seconds):
            break
    return nodes, taken


def _round(request: Any, feeds: Mapping[int, Any], calls: int) -> Round:
    def infer() -> float:
        before = time.perf_counter()
        # The results are copied out as the clean calls do.
        list(request.infer(dict(feeds), share_inputs=True).values())
        return time.perf_counter() - before

    for _ in range(_WARM):
        infer()
    warm = _averages(request.profiling_info)
    walls, own = [], []
    for _ in range(calls):
        walls.append(infer())
        own.append(float(request.latency) / 1e3)
    after = _averages(request.profiling_info)
    wall_s = sum(walls) / calls
    return Round(node_s=steady_us(warm, after, _WARM, calls, wall_s / TICK_S), wall_s=wall_s, own_wall_s=sum(own) / calls, calls=calls)


def _averages(profile: Sequence[Any]) -> dict[str, float]:
    """Whole microseconds of each node that ran, on average since compiling."""
    return {entry.node_name: entry.real_time.total_seconds() / TICK_S for entry in profile if entry.status.name == "EXECUTED"}


def steady_us(warm: Mapping[str, float], after: Mapping[str, float], first: int, calls: int, wall_us: float) -> dict[str, float]:
    """Seconds of each node in one of `calls` inferences that came after `first` others: (n·a − m·b) ÷ (n − m) and the part that was cut off.

    What was cut off is a whole microsecond on average, or where that is less an even part of what the wall holds beside the nodes.

    Args:
        warm, after: averages in microseconds after `first` and after all inferences.
        first, calls: numbers of inferences, at least 1 each.
        wall_us: of one inference.
    """
    found = {name: max(0.0, (value * (first + calls) - warm.get(name, 0.0) * first) / calls) for name, value in after.items()}
    rest = max(0.0, wall_us - sum(found.values()))
    cut_off = min(1.0, rest / max(1, len(found)))
    return {name: (value + cut_off) * TICK_S for name, value in found.items()}
