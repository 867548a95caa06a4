"""TARGET → a prepared callable: what was pointed at, its inputs, and how to wait for its results. `prepare` belongs in a worker process."""

from typing import TYPE_CHECKING

from ridgeline.core.face import lazy_names

if TYPE_CHECKING:
    from .command import run_command, starting_s
    from .onnx_optimised import optimised_onnx
    from .preparation import prepare
    from .prepared import OnnxFlavour, Prepared, ProcessFlavour, PythonFlavour, TargetPlugin
    from .source import Transform, load_module
    from .spec import TargetSpec, parse_shapes, parse_target, worker_environment
    from .surroundings import leave_out_digests
    from .synchronise import DeviceTimer, adapter_for, unfinished
    from .watching import CommandSample

_HOMES = {
    "command": "run_command starting_s",
    "onnx_optimised": "optimised_onnx",
    "preparation": "prepare",
    "prepared": "OnnxFlavour Prepared ProcessFlavour PythonFlavour TargetPlugin",
    "source": "Transform load_module",
    "spec": "TargetSpec parse_shapes parse_target worker_environment",
    "surroundings": "leave_out_digests",
    "synchronise": "DeviceTimer adapter_for unfinished",
    "watching": "CommandSample",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

__all__ = [
    "CommandSample", "DeviceTimer", "OnnxFlavour", "Prepared", "ProcessFlavour", "PythonFlavour", "TargetPlugin", "TargetSpec", "Transform",
    "adapter_for", "leave_out_digests", "load_module", "optimised_onnx", "parse_shapes", "parse_target", "prepare",
    "run_command", "starting_s", "unfinished", "worker_environment",
]  # fmt: skip
