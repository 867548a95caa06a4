"""Deployments that are programs: torch, other Python functions, scripts and commands. What can be set are threads; all else are changes.

A job of a function needs a process of its own: what a change does to a module or to the collector of garbage cannot be undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ridgeline.core.space import Value
from ridgeline.targets import Prepared
from ridgeline.targets.changes import REORDERED, Applied, Change, Situation
from ridgeline.targets.changes.process import set_torch_threads
from ridgeline.targets.changes.torch import TorchCompile

from .base import Deployment
from .space import Setting, choice, switch, whole

__all__ = ["Program", "PythonFunction", "Torch"]

_COMPILE_MODES = ("default", "max-autotune-no-cudagraphs")
#: What converts modules in place comes before what compiles them, and that before what only goes around a call.
_FIRST = ("channels-last", "pinned-memory", "torch-int8-dynamic")
_LAST = ("torch-compile", "autocast-bf16", "autocast-fp16", "inference-mode", "gc-disable", "gc-freeze")


class _Threads(Deployment):
    names: tuple[str, ...] = ("own_threads", "threads")
    covers = {"one-thread": "threads", "all-threads": "threads"}
    pools = True

    def settings(self, situation: Situation) -> Sequence[Setting]:
        """How many threads pools of libraries get, or that the program decides itself."""
        cpus, given = situation.machine.cpus_usable, situation.spec.threads
        if cpus < 2:
            return ()
        how = "OMP_NUM_THREADS and the like, and torch.set_num_threads"
        return (
            Setting(switch("own_threads"), not given, f"leave {how} alone", REORDERED),
            Setting(whole("threads", 1, max(cpus, given), when="not own_threads"), given or None, how, REORDERED),
        )


class Program(_Threads):
    """A script or a command, of which every call is a process."""

    name = "program"
    kinds = ("script", "command")


class PythonFunction(_Threads):
    """A Python function without torch."""

    name = "python"
    kinds = ("python",)
    alone = True


class Torch(_Threads):
    """A Python function that uses torch."""

    name = "torch"
    package, extra = "torch", "torch"
    names = ("own_threads", "threads", "compile_mode")
    kinds = ("torch",)
    alone = True

    def settings(self, situation: Situation) -> Sequence[Setting]:
        """Threads, and how the workload is compiled."""
        mode = choice("compile_mode", _COMPILE_MODES, when="torch_compile")
        return (*super().settings(situation), Setting(mode, None, "torch.compile(workload, mode=…)", REORDERED, "torch-compile"))

    def apply(self, prepared: Prepared, changes: Sequence[Change], values: Mapping[str, Value]) -> Applied:
        """In an order in which each finds what it changes."""
        for change in changes:
            if isinstance(change, TorchCompile):
                change.mode = str(values.get("compile_mode", change.mode))
        threads = values.get("threads")
        if isinstance(threads, int):
            set_torch_threads(threads)
        return super().apply(prepared, sorted(changes, key=lambda change: _place(change.name)), values)


def _place(name: str) -> int:
    if name in _FIRST:
        return _FIRST.index(name) - len(_FIRST)
    return 1 + _LAST.index(name) if name in _LAST else 0
