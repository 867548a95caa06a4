"""Kernel runners for tuning: what makes one configuration of a kernel callable, the compile cache, and one attempt at measuring it.

A runner is an entry point of group `ridgeline.runners`. Which configurations are tried, and what a time is worth, is decided elsewhere.
"""

from .attempts import Attempt, Phase, attempt, build, failed
from .base import Argument, BuildFailed, Check, Environment, Job, Kernel, OwnMemory, RunFailed, Runner, filled
from .beside import METRICS, counter_of
from .compiled import Built, CompileCache
from .registry import Broken, find, ready, registry

__all__ = [
    "METRICS", "Argument", "Attempt", "Broken", "BuildFailed", "Built", "Check", "CompileCache", "Environment", "Job", "Kernel", "OwnMemory", "Phase",
    "RunFailed", "Runner", "attempt", "build", "counter_of", "failed", "filled", "find", "ready", "registry",
]  # fmt: skip
