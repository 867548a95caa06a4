"""TARGET → a prepared callable: what was pointed at, its inputs, and how to wait for its results. `prepare` belongs in a worker process."""

from .command import run_command, starting_s
from .preparation import prepare
from .prepared import OnnxFlavour, Prepared, ProcessFlavour, PythonFlavour, TargetPlugin
from .source import Transform, load_module
from .spec import TargetSpec, parse_shapes, parse_target, worker_environment
from .sync import adapter_for, unfinished
from .watching import CommandSample

__all__ = [
    "CommandSample", "OnnxFlavour", "Prepared", "ProcessFlavour", "PythonFlavour", "TargetPlugin", "TargetSpec", "Transform",
    "adapter_for", "load_module", "parse_shapes", "parse_target", "prepare", "run_command", "starting_s", "unfinished", "worker_environment",
]  # fmt: skip
