"""`profile`: the operators of an ONNX model as onnxruntime ran them, as an `OpTable`.

This module joins the parts: the profiled session, the optimised model that ran, the model as written, and the work of every node from executed
shapes. `wall_s` is the profile's own `model_run`; `check_wall_s` an independent timer around `session.run`, which also holds what the Python binding
does around it. `operators_s` is the union of the node intervals of the main graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ridgeline.core import OpTable, TargetFailed, UsageError
from ridgeline.targets import OnnxFlavour, Prepared
from ridgeline.work.onnx.bind import bind
from ridgeline.work.onnx.model import bodies, load
from ridgeline.work.onnx.node import Value
from ridgeline.work.onnx.nodes import Placed, contents, folded_away, placed, view_sources

from ...medians import median_of
from .match import UNNAMED, matched
from .origin import origins
from .rows import Buffers, rows
from .runs import run_events
from .session import WARM_UP, Taken, take

__all__ = ["profile", "profile_session"]

#: Node events of one profile. onnxruntime drops what comes after a million, and each takes about a kilobyte of JSON.
_MOST_EVENTS = 100_000


def profile(prepared: Prepared, iterations: int = 10) -> OpTable:
    """The operators of one call of a prepared ONNX target.

    Args:
        prepared: its `flavour` is an `OnnxFlavour`.
        iterations: counted calls, after a warm-up.

    Raises:
        TargetFailed: the model does not run under the profiler.
        UsageError: another kind of target.
        BackendUnavailable: onnxruntime or onnx is missing.
    """
    flavour = prepared.flavour
    if not isinstance(flavour, OnnxFlavour):
        raise UsageError("an ONNX target", found=f"a target of kind {prepared.info.kind}", remedy="use the profile of its own framework")
    return profile_session(Path(flavour.model_path), flavour.feeds, flavour.session_options, flavour.providers, iterations)


def profile_session(
    model: Path, feeds: Mapping[str, Any], options: Callable[[], Any], providers: Sequence[str] = ("CPUExecutionProvider",), iterations: int = 10
) -> OpTable:
    """The operators of one `session.run`.

    Args:
        model: path of the model.
        feeds: input name → array.
        options: makes the `SessionOptions` that the clean calls use; the profiler is switched on in a copy.
        providers: execution providers.
        iterations: counted calls, at least 1.

    Raises:
        TargetFailed, BackendUnavailable: as `profile`.
    """
    written = load(model)
    # Inferred as far as the file alone allows: weights that are computed from constants get their shapes.
    original = placed(written, bind(written, {}, contents(written)))
    taken = _take(model, feeds, options, providers, max(1, iterations), original)
    runs = run_events(taken.profile, taken.iterations)
    if not runs:
        raise TargetFailed(
            "a profile with complete runs", found=f"{len(taken.profile.nodes)} node events and no run", remedy="profile fewer iterations"
        )
    optimised = _optimised(taken)
    found = matched([part for run in runs for part in run.executed], optimised.nodes)
    table = rows(runs, found, origins(original, optimised.nodes), optimised.buffers, optimised.body_results)
    walls = [run.wall_s for run in runs]
    return OpTable(
        rows=table,
        instrument="onnxruntime profile",
        wall_s=median_of(walls, "model_run of the profile"),
        operators_s=median_of([run.union_s for run in runs], "union of node intervals, half a tick added to each"),
        iterations=len(runs),
        check_wall_s=median_of(taken.walls_s[-len(runs) :], "timer around session.run").value,
    )


def _take(
    model: Path, feeds: Mapping[str, Any], options: Callable[[], Any], providers: Sequence[str], iterations: int, original: Sequence[Placed]
) -> Taken:
    """Profile; where a body may run many thousand times, one run first tells how many events a run has, and there are fewer runs."""
    if not any(part.node.kind in ("Loop", "Scan") for part in original):
        # One iteration is asked for where a call is too long to be repeated.
        return take(model, feeds, options, providers, iterations, warm_up=WARM_UP if iterations > 1 else 1)
    trial = take(model, feeds, options, providers, 1, warm_up=1)
    fit = _MOST_EVENTS * 2 // max(1, len(trial.profile.nodes))  # the trial holds two runs
    if fit >= iterations + WARM_UP:
        return take(model, feeds, options, providers, iterations)
    return take(model, feeds, options, providers, fit - 1, warm_up=1) if fit > 2 else trial


class _Optimised:
    """The model that ran: its nodes, buffers, and what becomes the result of a body."""

    def __init__(self, nodes: list[Placed], buffers: Buffers, body_results: dict[str, list[str]]) -> None:
        self.nodes, self.buffers, self.body_results = nodes, buffers, body_results


def _optimised(taken: Taken) -> _Optimised:
    if taken.optimised is None:
        return _Optimised([], Buffers({}, frozenset(), frozenset()), {})
    _mark_unnamed(taken.optimised.graph)
    model = load(taken.optimised)
    nodes = placed(model, _types_of(model))
    constants = contents(model)
    inputs = frozenset(value.name for value in model.graph.input if value.name not in constants)
    return _Optimised(nodes, Buffers(view_sources(nodes), frozenset(constants) | folded_away(nodes), inputs), _body_results(model.graph))


def _types_of(model: Any) -> Callable[[str], Value]:
    known = contents(model)
    return lambda name: known.get(name) or Value(name=name)


def _mark_unnamed(graph: Any) -> None:
    """Give nodes without a name one that no event has."""
    pending, number = [graph], 0
    while pending:
        for node in pending.pop().node:
            if not node.name:
                node.name = f"{UNNAMED}{number}"
                number += 1
            pending.extend(body for _, body in bodies(node))


def _body_results(graph: Any) -> dict[str, list[str]]:
    """Result of a node with bodies → the tensors of its bodies that become it; a Loop's first body output is its condition."""
    found: dict[str, list[str]] = {}
    pending = [graph]
    while pending:
        for node in pending.pop().node:
            for _, body in bodies(node):
                inside = list(body.output)[1 if node.op_type == "Loop" else 0 :]
                for outer, inner in zip(node.output, inside, strict=False):
                    found.setdefault(outer, []).append(inner.name)
                pending.append(body)
    return found
