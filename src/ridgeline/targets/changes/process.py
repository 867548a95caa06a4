"""Changes of the process as a whole: threads, affinity, the garbage collector, and a first call made before it is needed."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

import msgspec

from ridgeline.core import Machine, NotComparable
from ridgeline.machine import read_machine

from ..prepared import Prepared
from ..spec import TargetSpec
from .base import REORDERED, Applied, Change, Situation

__all__ = ["AllThreads", "BindThreads", "FreezeGarbage", "NoGarbageCollection", "OneCpu", "OneThread", "PreWarm", "set_torch_threads"]

_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: Part of the CPU time under which other threads do nothing to speak of.
_ALONE = 0.05
_IN_PROCESS = ("onnx", "openvino", "torch", "python")


class OneThread(Change):
    """The target gets one thread: what its parallel regions are worth, and whether they cost more than they bring."""

    name = "one-thread"
    tolerance = REORDERED
    control = True
    # Threads that wait for each other over small work, or for CPUs that others hold, cost more than they bring; no profile shows it beforehand.
    likely = True
    kinds = _IN_PROCESS
    caveat = "give it --threads 1, or set OMP_NUM_THREADS=1"

    def why_not(self, situation: Situation) -> str:
        """It must have more than one now, and more than one must do something."""
        if situation.machine.cpus_usable < 2 or situation.spec.threads == 1:
            return "it has one thread already"
        if situation.info.kind != "onnx" and situation.other_threads is not None and situation.other_threads < _ALONE:
            return "one thread does all of its work already"
        return ""

    def before(self, spec: TargetSpec, machine: Machine) -> TargetSpec:
        """One thread in every pool."""
        return msgspec.structs.replace(spec, threads=1)

    def apply(self, prepared: Prepared) -> Applied:
        """A program that sets its own number of threads is overruled."""
        set_torch_threads(1)
        return super().apply(prepared)


class AllThreads(Change):
    """The target gets as many threads as there are usable CPUs."""

    name = "all-threads"
    carries_out = ("parallelise",)
    tolerance = REORDERED
    kinds = _IN_PROCESS
    caveat = "give it as many threads as there are CPUs: torch.set_num_threads, --threads or OMP_NUM_THREADS"

    def why_not(self, situation: Situation) -> str:
        """Something must limit the threads now, and it must be something that can be lifted from outside."""
        cpus = situation.machine.cpus_usable
        if cpus < 2:
            return "there is one CPU"
        given, limited = situation.spec.threads, _limited(situation, cpus)
        if situation.info.kind in ("onnx", "openvino") and (not given or given >= cpus):
            library = "onnxruntime" if situation.info.kind == "onnx" else "OpenVINO"
            return f"{library} has all threads already; an operator that runs on one has no parallel form"
        if situation.info.kind == "python" and not limited and not 0 < given < cpus:
            return "nothing outside the program limits its threads; its own loops must be divided among threads in the code"
        return ""

    def before(self, spec: TargetSpec, machine: Machine) -> TargetSpec:
        """All threads in every pool, where something outside the program limits them."""
        limited = 0 < spec.threads < machine.cpus_usable or any(_below(os.environ.get(name, ""), machine.cpus_usable) for name in _POOLS)
        return msgspec.structs.replace(spec, threads=machine.cpus_usable) if limited else spec

    def apply(self, prepared: Prepared) -> Applied:
        """A program that sets its own number of threads in torch is overruled.

        Raises:
            NotComparable: torch has them all already, without our doing.
        """
        torch: Any = sys.modules.get("torch")
        threads = prepared.info.threads or read_machine().cpus_usable
        if torch is not None and not prepared.info.threads and torch.get_num_threads() >= threads:
            found = f"{torch.get_num_threads()} of them already"
            raise NotComparable("a program that limits torch's threads", found=found, remedy="divide the work in the code")
        set_torch_threads(threads)
        return super().apply(prepared)


class BindThreads(Change):
    """OpenMP threads stay on their CPUs."""

    name = "bind-threads"
    kinds = ("torch",)
    caveat = "set OMP_PROC_BIND=close and OMP_PLACES=threads before it starts"

    def why_not(self, situation: Situation) -> str:
        """Bound already, or nothing to bind."""
        if "OMP_PROC_BIND" in situation.info.environment:
            return "they are bound already (OMP_PROC_BIND)"
        return "there is one CPU" if situation.machine.cpus_usable < 2 else ""

    def before(self, spec: TargetSpec, machine: Machine) -> TargetSpec:
        """Read when the OpenMP runtime is loaded."""
        return msgspec.structs.replace(spec, environment={**spec.environment, "OMP_PROC_BIND": "close", "OMP_PLACES": "threads"})


class OneCpu(Change):
    """The whole process stays on one CPU: no migration, and no second CPU."""

    name = "one-cpu"
    tolerance = REORDERED
    caveat = "start it with taskset -c CPU"
    kinds = _IN_PROCESS

    def why_not(self, situation: Situation) -> str:
        """There must be more than one CPU to leave."""
        return "" if len(situation.machine.cpus_allowed) > 1 else "there is one CPU"

    def cpus(self, machine: Machine) -> tuple[int, ...] | None:
        """The last one: the first takes most interrupts."""
        return (max(machine.cpus_allowed),)


class FreezeGarbage(Change):
    """What is there after the first call is never looked at by the garbage collector again."""

    name = "gc-freeze"
    control = True
    kinds = ("torch", "python")
    caveat = "call gc.collect() and gc.freeze() once everything is loaded"

    def apply(self, prepared: Prepared) -> Applied:
        """Collect, then freeze (gc.freeze, since Python 3.7)."""
        gc.collect()
        gc.freeze()
        return super().apply(prepared)


class NoGarbageCollection(Change):
    """The garbage collector does not run; cycles are never freed."""

    name = "gc-disable"
    kinds = ("torch", "python")
    caveat = "call gc.disable(), and gc.collect() where a pause does no harm; cyclic garbage grows until then"

    def apply(self, prepared: Prepared) -> Applied:
        """Switch it off."""
        gc.collect()
        gc.disable()
        return super().apply(prepared)


class PreWarm(Change):
    """The process is started and makes a call before the one that counts."""

    name = "pre-warm"
    carries_out = ("pre-warm",)
    kinds = _IN_PROCESS
    cold = True
    caveat = "start the process and make a call before the first one that somebody waits for"

    def why_not(self, situation: Situation) -> str:
        """It is for targets of which each start serves one call."""
        return "" if situation.spec.use == "once" else "each start serves many calls (say --use once if it does not)"


def _limited(situation: Situation, cpus: int) -> bool:
    """Whether a variable of the environment gives a pool fewer threads than there are CPUs."""
    return any(_below(situation.info.environment.get(name, ""), cpus) for name in _POOLS)


def _below(text: str, cpus: int) -> bool:
    return text.isdecimal() and 0 < int(text) < cpus


def set_torch_threads(threads: int) -> None:
    """Threads of torch's operators in this process; nothing where it has not been imported."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and threads > 0:
        torch.set_num_threads(threads)
