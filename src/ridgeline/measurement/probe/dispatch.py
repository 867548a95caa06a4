"""What it costs to have nothing done: an empty Python call, an operator on one element in numpy, torch and onnxruntime.

A call is timed in a loop, less the same loop without it. onnxruntime cannot run one operator by itself cheaply, so its cost is the slope of the
time over the length of a chain of operators that it does not fuse.
"""

from __future__ import annotations

import importlib.util
import itertools
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .items import CostOf, Item, Reading, best_window

__all__ = ["dispatch_items", "missing_libraries"]

_CHAINS = (10, 110)
_FRESH_BYTES = 64 << 20
_PAGE = 4096


def dispatch_items() -> Iterable[Item]:
    """Costs of Python and of every library that is installed."""
    yield from _python_items()
    if importlib.util.find_spec("torch") is not None:
        yield from _torch_items()
    if _has_onnx():
        yield _onnxruntime_item()


def missing_libraries() -> tuple[str, ...]:
    """What was not measured, and for want of what: sentences for the notes."""
    notes = []
    if importlib.util.find_spec("torch") is None:
        notes.append("torch is not installed: its rates and dispatch cost were not measured (pip install 'ridgeline[torch]').")
    if not _has_onnx():
        notes.append("onnx or onnxruntime is not installed: its dispatch cost was not measured (pip install 'ridgeline[onnx]').")
    return tuple(notes)


def _has_onnx() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("onnx", "onnxruntime"))


def _python_items() -> Iterable[Item]:
    def nothing() -> None:
        return None

    one, two, out = np.ones(1), np.ones(1), np.ones(1)
    yield Item(goal=CostOf(name="python-call"), read=_per_call(nothing), origin="empty function of no arguments")
    yield Item(goal=CostOf(name="dispatch", library="numpy"), read=_per_call(lambda: np.add(one, two, out=out)), origin="np.add of one element, out=")
    yield Item(goal=CostOf(name="page-fault", library="numpy"), read=_fresh_pages, origin="first touch of a fresh 64 MiB array, for each 4 KiB")


def _torch_items() -> Iterable[Item]:
    import torch

    one, two = torch.ones(1), torch.ones(1)
    add = _per_call(lambda: torch.add(one, two))

    def inference(seconds: float, number: int) -> float:
        with torch.inference_mode():
            return add(seconds, number)

    yield Item(goal=CostOf(name="dispatch", library="torch"), read=inference, origin="torch.add of one element, fresh result, inference_mode")
    yield Item(goal=CostOf(name="dispatch-grad-mode", library="torch"), read=add, origin="torch.add of one element, fresh result, gradients enabled")


def _per_call(call: Callable[[], object]) -> Reading:
    """Seconds a call, less the loop around it."""

    def read(seconds: float, _number: int) -> float:
        _timed(call, 100)
        count = max(100, int(0.8 * seconds / max(_timed(call, 100), 1e-7)) * 100)
        return (_timed(call, count) - _timed_loop(count)) / count

    return best_window(read, min)


def _timed(call: Callable[[], object], count: int) -> float:
    turns = itertools.repeat(None, count)
    start = time.perf_counter()
    for _ in turns:
        call()
    return time.perf_counter() - start


def _timed_loop(count: int) -> float:
    turns = itertools.repeat(None, count)
    start = time.perf_counter()
    for _ in turns:
        pass
    return time.perf_counter() - start


def _fresh_pages(_seconds: float, _number: int) -> float:
    fresh = np.empty(_FRESH_BYTES, dtype=np.uint8)
    touched = fresh[::_PAGE]
    start = time.perf_counter()
    touched.fill(1)
    return (time.perf_counter() - start) / touched.size


def _onnxruntime_item() -> Item:
    import onnxruntime

    sessions: list[Any] = []
    feed = {"x": np.ones(1, dtype=np.float32)}

    def per_run(session: Any, seconds: float) -> float:
        session.run(None, feed)
        calls = 0
        start = now = time.perf_counter()
        while calls == 0 or now - start < seconds:
            session.run(None, feed)
            calls += 1
            now = time.perf_counter()
        return (now - start) / calls

    def read(seconds: float, _number: int) -> float:
        if not sessions:
            sessions.extend(_session(onnxruntime, length) for length in _CHAINS)
        short, long = (per_run(session, seconds / 2) for session in sessions)
        return (long - short) / (_CHAINS[1] - _CHAINS[0])

    return Item(
        goal=CostOf(name="dispatch", library="onnxruntime"),
        read=read,
        origin=f"onnxruntime {onnxruntime.__version__}, slope over chains of {_CHAINS[0]} and {_CHAINS[1]} alternating Neg and Abs on one element",
    )


def _session(onnxruntime: Any, length: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # As built: the optimiser might one day see that Abs after Neg is Abs.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(_chain(length), options, providers=["CPUExecutionProvider"])


def _chain(length: int) -> bytes:
    from onnx import TensorProto, helper

    names = ["x", *(f"t{step}" for step in range(1, length)), "y"]
    nodes = [helper.make_node("Neg" if step % 2 else "Abs", [names[step]], [names[step + 1]]) for step in range(length)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())
