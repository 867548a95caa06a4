"""What onnxruntime makes of a model on this machine: its optimised graph, from making a session and without running it.

This module decides what a session is made of (all optimisations, CPU), that it happens in a process of its own, and what makes two answers the
same. Shapes and work of the operators are counted in `ridgeline.work.onnx`.

onnxruntime optimises the file as it is: what depends on a free dimension stays in the graph and is computed in every run. `fixed` asks for the graph
of a model that was exported with the given shapes. Threads make no difference to the graph; what the CPU can do does (the blocked layout and its
block).
Source: onnxruntime_session_options_config_keys.h.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, MutableMapping
from typing import Any

from ridgeline.core import BackendUnavailable, Graph, ReadError, RidgelineError
from ridgeline.machine import Limits, Worker, read_machine, scratch_folder, software_versions
from ridgeline.work.onnx import bind_inputs, graph

from .onnx import load_runtime, refuse_size, why_not

__all__ = ["optimised_onnx"]

Shapes = Mapping[str, tuple[int, ...] | int]

_HERE = "ridgeline.targets.onnx_optimised:optimise_here"
_LONGEST_S = 300.0
# Several copies of the weights are held at a time, and a model may ask for more than there is while it is folded.
_SHARE_OF_MEMORY = 0.5
# Distributions that hold the module onnxruntime.
_DISTRIBUTIONS = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml")
_WEIGHTS = "optimised.weights"
_SETTINGS = {
    # Packed weights are of no use to a session that never runs.
    "session.disable_prepacking": "1",
    # Weights go beside the model, and there to nowhere: only small ones are looked at.
    "session.optimized_model_external_initializers_file_name": _WEIGHTS,
    "session.optimized_model_external_initializers_min_size_in_bytes": "8193",
}


def optimised_onnx(
    path: str, shapes: Shapes | None = None, *, fixed: bool = False, limits: Limits | None = None, made: MutableMapping[str, Graph] | None = None,
    worker: Worker | None = None,
) -> Graph:  # fmt: skip
    """The operators that onnxruntime runs for a model on this machine, with their work.

    Args:
        path: of the model.
        shapes: input name → shape, or symbol of a dynamic axis → number.
        fixed: whether the model is taken as one that was exported with these shapes; what computes shapes at run time is then gone.
        limits: of the process; five minutes and half of the machine's memory if not given.
        made: what was made before by the same question, for one to ask many; looked at and added to.
        worker: a process that has loaded onnxruntime already, with limits of its own; a new one if not given.

    Raises:
        ReadError: no model, or one that onnxruntime refuses.
        UsageError: `shapes` does not fit the model.
        TargetFailed: the process ended, or reached a limit.
        BackendUnavailable: onnx or onnxruntime is not installed.
    """
    key = _key(path, shapes or {}, fixed)
    if made is not None and key in made:
        return made[key]
    given = {name: list(shape) if isinstance(shape, tuple) else shape for name, shape in (shapes or {}).items()}
    arguments = {"path": path, "shapes": given, "fixed": fixed}
    found = _in_new_process(arguments, limits) if worker is None else worker.call(_HERE, arguments, Graph)
    if made is not None:
        made[key] = found
    return found


def _in_new_process(arguments: dict[str, Any], limits: Limits | None) -> Graph:
    allowed = limits or Limits(wall_s=_LONGEST_S, memory_bytes=int(_SHARE_OF_MEMORY * read_machine().memory_bytes))
    # One thread: a session that never runs has nothing to share.
    with Worker(limits=allowed, environment={"OMP_NUM_THREADS": "1"}) as worker:
        found: Graph = worker.call(_HERE, arguments, Graph)
    return found


def _key(path: str, shapes: Shapes, fixed: bool) -> str:
    """Digest of all that decides about the graph: content, question, runtime, CPU. Weights beside the model are taken to stay as they are."""
    versions = software_versions(_DISTRIBUTIONS)
    digest = hashlib.sha256(repr((sorted(shapes.items()), fixed, sorted(versions.items()), read_machine().isa)).encode())
    try:
        refuse_size(path)
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise ReadError("a readable ONNX file", found=f"{path}: {error.strerror or error}", remedy="check the path") from error
    return digest.hexdigest()


def optimise_here(path: str, shapes: dict[str, list[int] | int], fixed: bool) -> Graph:
    """As `optimised_onnx`, in this process."""
    runtime = load_runtime()
    bound: Shapes = {name: tuple(shape) if isinstance(shape, list) else shape for name, shape in shapes.items()}
    with scratch_folder("optimised") as folder:
        written = str(folder / "optimised.onnx")
        os.symlink(os.devnull, folder / _WEIGHTS)
        try:
            runtime.InferenceSession(_fixed(path, bound) if fixed else path, _options(runtime, path, written), providers=["CPUExecutionProvider"])
        except RidgelineError:
            raise
        except Exception as error:  # each release of the runtime has its own set of exception classes
            raise why_not(path, error) from error
        return graph(written, bound)


def _options(runtime: Any, path: str, written: str) -> Any:
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # That the file holds operators of this machine's own is what it is for.
    options.log_severity_level = 3
    options.optimized_model_filepath = written
    for name, text in _SETTINGS.items():
        options.add_session_config_entry(name, text)
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.path.dirname(os.path.abspath(path)))
    return options


def _fixed(path: str, shapes: Shapes) -> bytes:
    """The model with these shapes, as it would have been exported."""
    try:
        import onnx
    except ImportError as error:
        raise BackendUnavailable("the onnx package, to read the model", found="not installed", remedy="pip install 'ridgeline[onnx]'") from error
    try:
        model = onnx.load_model(path, load_external_data=False)
    except Exception as error:  # protobuf raises several kinds
        raise why_not(path, error) from error
    bind_inputs(model.graph, shapes, {tensor.name for tensor in model.graph.initializer})
    return bytes(model.SerializeToString())
