"""A trace of several runs as the file that onnxruntime's profiler writes, for readers of traces.

The profiler can only be switched on when a session is made, so the file begins with loading the model and the runs that warm up; how many these are
is said, that they can be left out.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

from ridgeline.core import BackendUnavailable, TargetFailed
from ridgeline.targets import OnnxFlavour
from ridgeline.work.onnx.model import bodies, load

from .session import WARM_UP

__all__ = ["Recorded", "record_trace"]

#: Node events of one file: onnxruntime drops what comes after a million, and each takes about a kilobyte.
_MOST_EVENTS = 100_000
_NODE = b'"Node"'


class Recorded(NamedTuple):
    """The file, seconds of each counted run by a clock around it, and the runs in the file before these."""

    file: Path
    walls_s: list[float]
    warm_up: int


def record_trace(flavour: OnnxFlavour, folder: Path, iterations: int) -> Recorded:
    """Record runs of a model into a file in `folder`.

    Args:
        flavour: the model with its inputs and options.
        folder: an empty one.
        iterations: counted runs, ≥ 1; fewer where a loop makes so many events that the file would grow out of hand.

    Raises:
        BackendUnavailable: onnxruntime or onnx is missing.
        TargetFailed: the model does not run under the profiler.
    """
    if iterations == 1 or not _loops(load(Path(flavour.model_path)).graph):
        # One is asked for where a run is too long to be repeated.
        return _record(flavour, folder, "runs", WARM_UP if iterations > 1 else 1, iterations)
    trial = _record(flavour, folder, "trial", 1, 1)
    fit = 2 * _MOST_EVENTS // max(1, trial.file.read_bytes().count(_NODE))
    return _record(flavour, folder, "runs", 1, min(iterations, fit - 1)) if fit > 2 else trial


def _loops(graph: Any) -> bool:
    """Whether a body may run many times."""
    return any(node.op_type in ("Loop", "Scan") or any(_loops(body) for _, body in bodies(node)) for node in graph.node)


def _record(flavour: OnnxFlavour, folder: Path, name: str, warm_up: int, iterations: int) -> Recorded:
    try:
        import onnxruntime
    except ImportError as error:
        raise BackendUnavailable("onnxruntime, to run the model", found="not installed", remedy="pip install 'ridgeline[onnx]'") from error
    settings = flavour.session_options()
    settings.enable_profiling = True
    settings.profile_file_prefix = str(folder / name)
    try:
        session = onnxruntime.InferenceSession(flavour.model_path, settings, providers=list(flavour.providers))
        walls = []
        for _ in range(warm_up + iterations):
            before = time.perf_counter()
            session.run(None, flavour.feeds)
            walls.append(time.perf_counter() - before)
        written = session.end_profiling()
    except Exception as error:  # onnxruntime raises its own classes, which derive from Exception only
        raise TargetFailed("a model that runs under the profiler", found=str(error)[:300], remedy="run it without the profiler first") from error
    return Recorded(file=Path(written), walls_s=walls[warm_up:], warm_up=warm_up)
