"""`profile`: the operators of a model as OpenVINO ran them, as an `OpTable`.

This module joins the profiled rounds, the executed graph, and the work of every node. Nodes of a stream run one after the other: `operators_s` is
their sum. `check_wall_s` is OpenVINO's own clock around an inference, without what the Python binding does.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ridgeline.core import OpTable, TargetFailed, UsageError
from ridgeline.targets import Prepared
from ridgeline.targets.openvino import OpenvinoFlavour

from ...medians import median_of
from .graph import model_graph
from .origin import origins
from .rounds import rounds
from .rows import rows

__all__ = ["profile"]


def profile(prepared: Prepared, iterations: int = 10, seconds: float = 1.0) -> OpTable:
    """The operators of one call of a prepared target of OpenVINO.

    Args:
        prepared: its flavour is an `OpenvinoFlavour`.
        iterations: counted inferences, about; 1 where a call is too long to be repeated.
        seconds: about how long further rounds may take.

    Raises:
        UsageError: another kind of target.
        TargetFailed: the model does not run under the profiler.
    """
    flavour = prepared.flavour
    if not isinstance(flavour, OpenvinoFlavour):
        raise UsageError("a target of OpenVINO", found=f"a target of kind {prepared.info.kind}", remedy="use the profile of its own framework")
    try:
        nodes, taken = rounds(flavour, iterations, seconds)
    except RuntimeError as error:
        raise TargetFailed("a model that runs under the profiler", found=str(error)[:300], remedy="run it without the profiler first") from error
    model = model_graph(flavour.model)
    made = rows(nodes, origins(model, nodes, _names(flavour.model_path)), model, taken, flavour.threads)
    return OpTable(
        rows=made,
        instrument="OpenVINO profile (PERF_COUNT)",
        wall_s=median_of([one.wall_s for one in taken], "profiled inferences, mean of a round"),
        operators_s=median_of([sum(one.node_s.values()) for one in taken], "sum of operators, which run one after the other"),
        iterations=sum(one.calls for one in taken),
        check_wall_s=median_of([one.own_wall_s for one in taken], "latency by OpenVINO's own clock").value,
    )


def _names(path: str) -> dict[str, str]:
    """Result → name of the operator that makes it, in an ONNX file: OpenVINO calls the last operators after the outputs of the model."""
    if not path.lower().endswith(".onnx"):
        return {}
    try:
        onnx: Any = import_module("onnx")
        graph = onnx.load(path, load_external_data=False).graph
    except Exception:  # not installed, or a file that only OpenVINO reads: its own names stay
        return {}
    return {result: node.name for node in graph.node if node.name for result in node.output}
