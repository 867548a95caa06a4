"""Changes of a session of onnxruntime: its options, buffers that are kept, and several items a call.

Needs onnxruntime, which has prepared the target. Sources: the documentation of onnxruntime (`SessionOptions`, "Thread management", `IOBinding`,
session configuration key `session.intra_op.allow_spinning`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ridgeline.core import NotComparable
from ridgeline.machine import read_machine

from ..prepared import OnnxFlavour, Prepared
from .base import REORDERED, Applied, Change, Situation

__all__ = [
    "Batch8", "IoBinding", "NoArena", "NoMemoryPattern", "NoSpinning", "OptimiseBasic", "ParallelExecution", "SessionChange", "flavour_of",
]  # fmt: skip

_BATCH = 8


def flavour_of(prepared: Prepared) -> OnnxFlavour:
    """What the preparer of ONNX models left.

    Raises:
        NotComparable: another kind of target.
    """
    if not isinstance(prepared.flavour, OnnxFlavour):
        raise NotComparable("a session of onnxruntime", found=f"a {prepared.info.kind} target", remedy="give it a model.onnx")
    return prepared.flavour


class SessionChange(Change):
    """Base of a change that runs the target's inputs in a session of its own."""

    kinds = ("onnx",)

    def configure(self, runtime: Any, options: Any) -> None:
        """Change the options of a session before it is made."""

    def session(self, prepared: Prepared) -> Any:
        """A session with the change."""
        flavour, runtime = flavour_of(prepared), import_module("onnxruntime")
        options = flavour.session_options()
        self.configure(runtime, options)
        return runtime.InferenceSession(flavour.model_path, options, providers=list(flavour.providers))

    def apply(self, prepared: Prepared) -> Applied:
        """A session of its own on the same inputs."""
        run, feeds = self.session(prepared).run, flavour_of(prepared).feeds
        return Applied(call=lambda: run(None, feeds))


class OptimiseBasic(SessionChange):
    """Only the basic optimisations: what the others are worth."""

    name = "ort-optimise-basic"
    tolerance = REORDERED
    caveat = "graph_optimization_level = ORT_ENABLE_BASIC"

    def configure(self, runtime: Any, options: Any) -> None:
        """Basic instead of all."""
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC


class NoSpinning(SessionChange):
    """Threads of the pool sleep at once when there is no work."""

    name = "ort-no-spinning"
    carries_out = ("block-instead",)
    tolerance = REORDERED
    control = True
    caveat = "add_session_config_entry('session.intra_op.allow_spinning', '0')"

    def configure(self, runtime: Any, options: Any) -> None:
        """No spinning in either pool."""
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")


class NoArena(SessionChange):
    """Buffers from the C allocator instead of the arena."""

    name = "ort-no-arena"
    control = True
    caveat = "enable_cpu_mem_arena = False"

    def configure(self, runtime: Any, options: Any) -> None:
        """No arena."""
        options.enable_cpu_mem_arena = False


class NoMemoryPattern(SessionChange):
    """No plan of one block for all buffers."""

    name = "ort-no-memory-pattern"
    caveat = "enable_mem_pattern = False"

    def configure(self, runtime: Any, options: Any) -> None:
        """No plan."""
        options.enable_mem_pattern = False


class ParallelExecution(SessionChange):
    """Branches of the graph that do not depend on each other run at the same time.

    Attributes:
        inter_op_threads: threads that take branches; as many as CPUs if 0.
    """

    name = "ort-parallel"
    carries_out = ("pipeline",)
    tolerance = REORDERED
    control = True
    caveat = "execution_mode = ORT_PARALLEL with as many inter-op threads as CPUs"
    inter_op_threads = 0

    def why_not(self, situation: Situation) -> str:
        """It takes a second CPU."""
        return "" if situation.machine.cpus_usable > 1 else "there is one CPU"

    def configure(self, runtime: Any, options: Any) -> None:
        """Parallel instead of sequential."""
        options.execution_mode = runtime.ExecutionMode.ORT_PARALLEL
        options.inter_op_num_threads = self.inter_op_threads or read_machine().cpus_usable


class IoBinding(SessionChange):
    """Inputs are bound once, and outputs are written into the same buffers in every call."""

    name = "ort-io-binding"
    carries_out = ("reuse-buffers",)
    control = True
    caveat = "session.run_with_iobinding; a result is written over by the next call"

    def apply(self, prepared: Prepared) -> Applied:
        """Bind arrays of the sizes that one call of the original returns.

        Raises:
            NotComparable: an output that is no array of numbers.
        """
        flavour, session = flavour_of(prepared), self.session(prepared)
        results = session.run(list(flavour.outputs), flavour.feeds)
        arrays = list(flavour.feeds.values()) + results
        if not all(isinstance(array, np.ndarray) and array.dtype.kind in "fiub" for array in arrays):
            raise NotComparable("inputs and outputs that are arrays of numbers", found="others among them", remedy="keep session.run")
        binding = session.io_binding()
        kept = [np.zeros_like(result) for result in results]
        feeds = {name: np.ascontiguousarray(array) for name, array in flavour.feeds.items()}
        for name, array in feeds.items():
            binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        for name, array in zip(flavour.outputs, kept, strict=True):
            binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        run = session.run_with_iobinding

        def call() -> Any:
            run(binding)
            # The inputs' memory must live as long as the binding.
            return kept if feeds is not None else None

        return Applied(call=call)


class Batch8(SessionChange):
    """Eight items a call."""

    name = "batch-8"
    carries_out = ("batch",)
    tolerance = REORDERED
    metric = "period"
    caveat = "collect eight items before the call; the first of them waits for the last"

    def apply(self, prepared: Prepared) -> Applied:
        """The same item eight times along the first axis.

        Raises:
            NotComparable: the model's first axis is fixed, or an output does not follow it.
        """
        flavour, session = flavour_of(prepared), self.session(prepared)
        fixed = [entry.name for entry in session.get_inputs() if not entry.shape or isinstance(entry.shape[0], int)]
        if fixed:
            raise NotComparable("a first axis that may grow in every input", found=f"a fixed one in {', '.join(fixed)}", remedy="export it so")
        sizes = {array.shape[0] for array in flavour.feeds.values()}
        if len(sizes) != 1:
            raise NotComparable("one number of items in all inputs", found=str(sorted(sizes)), remedy="give inputs with --shape")
        items = sizes.pop()
        feeds = {name: np.concatenate([array] * _BATCH) for name, array in flavour.feeds.items()}
        results = session.run(None, feeds)
        if not all(isinstance(array, np.ndarray) and array.ndim and array.shape[0] == _BATCH * items for array in results):
            raise NotComparable("outputs with as many items as the inputs", found="others", remedy="batch in the code")
        return Applied(
            call=lambda: session.run(None, feeds),
            items=_BATCH,
            restore=lambda batch: [array[-items:] for array in batch],
        )
