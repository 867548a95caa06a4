"""`fit_dispatch`: what one more operator costs an inference of OpenVINO.

The slope of the wall of an inference over the length of chains of softmax on a few numbers, which OpenVINO neither joins nor leaves out, best of many
runs each, since what disturbs a run of microseconds only adds to it. The arithmetic of so few numbers is in the slope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ridgeline.core import DispatchFit, OperatorRow
from ridgeline.targets.openvino import PRECISION_HINT

from ..chains import LENGTHS, slope

__all__ = ["chain", "fit_dispatch"]

_RUNS = 30
_ELEMENTS = 4


def fit_dispatch(rows: Sequence[OperatorRow], threads: int) -> DispatchFit:
    """The cost of issuing one operator.

    Args:
        rows: of the operator table; every row is issued once.
        threads: of the stream.
    """
    how = f"slope over chains of {LENGTHS[0]} to {LENGTHS[-1]} operators on {_ELEMENTS} numbers, {threads} threads"
    cost = slope([_call(chain(length), threads) for length in LENGTHS], _RUNS, how)
    return DispatchFit(per_operator_s=cost, operators=float(sum(row.calls for row in rows)), library="openvino", how=how)


def chain(length: int) -> Any:
    """A model of that many softmax operators on a few numbers."""
    runtime: Any = import_module("openvino")
    ops: Any = import_module("openvino.opset8")
    first = node = ops.parameter([1, _ELEMENTS], np.float32)
    for _ in range(length):
        node = ops.softmax(node, 1)
    return runtime.Model([node], [first], "chain")


def _call(model: Any, threads: int) -> Callable[[], Any]:
    runtime: Any = import_module("openvino")
    properties = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": PRECISION_HINT}
    request = runtime.Core().compile_model(model, "CPU", properties).create_infer_request()
    given = {0: np.ones((1, _ELEMENTS), np.float32)}
    return lambda: request.infer(given, share_inputs=True)
