"""`BenchPlan` and `Version`: what is benchmarked, in how many processes, and for how long. Nothing here measures."""

from __future__ import annotations

from typing import Literal

import msgspec

from ridgeline.core import UsageError
from ridgeline.targets import TargetSpec

__all__ = ["LEAST_PROCESSES", "BenchPlan", "ProcessPlan", "Version"]

#: Fewest processes from which anything is said about how processes differ.
LEAST_PROCESSES = 5
_MOST_PROCESSES = 100_000


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One of the versions that are measured beside each other.

    Args:
        spec: the target.
        name: what it is called in progress and errors.
        directory: working directory of its processes, the parent's if null.
        environment: variables of its processes, on top of the spec's own.
    """

    spec: TargetSpec
    name: str
    directory: str | None = None
    environment: dict[str, str] = {}


class BenchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How much to measure.

    Args:
        processes: of each version, at the most; as many as fit into the budget if null.
        budget_s: wall seconds for all processes of all versions together; at least `least` of each are measured whatever they take.
        least: processes of each version that are measured even when the budget is spent.
        samples: of a process after its first call, whatever they take; as many as fit if null.
        process_s: seconds of calls in one process; chosen from what a call and the start of a process take if null.
        cache: `cold` empties the caches before every call.
        soak: load the machine until its temperature, clock and times have levelled off before the first sample.
        tune: set what may be set for the measurement, and put it back.
        lock_gpu_hz: lock the clock of the GPU there; left alone if null.
    """

    processes: int | None = None
    budget_s: float = 10.0
    least: int = LEAST_PROCESSES
    samples: int | None = None
    process_s: float | None = None
    cache: Literal["warm", "cold"] = "warm"
    soak: bool = False
    tune: bool = False
    lock_gpu_hz: float | None = None

    def __post_init__(self) -> None:
        if self.processes is not None and not 1 <= self.processes <= _MOST_PROCESSES:
            raise UsageError(f"processes from 1 to {_MOST_PROCESSES}", found=str(self.processes), remedy="give a number, or leave it out")
        if self.samples is not None and self.samples < 1:
            raise UsageError("samples of at least 1", found=str(self.samples), remedy="give a number, or leave it out")
        for name, value in (("time budget", self.budget_s), ("time of a process", self.process_s)):
            if value is not None and not 0 < value < 1e7:
                raise UsageError(f"a {name} above 0 and below 1e7 seconds", found=repr(value), remedy="give seconds")

    @property
    def most(self) -> int:
        """Processes of each version at the most."""
        return self.processes if self.processes is not None else _MOST_PROCESSES

    @property
    def fewest(self) -> int:
        """Processes of each version at the least."""
        return min(self.least, self.most)


class ProcessPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What one process is to do after its first call.

    Args:
        seconds: of calls, about.
        calls: fewest calls that such a time is stretched for, up to `most_s`.
        most_s: seconds of calls at the most; the call in flight is finished.
        samples: exactly so many samples, whatever they take; null for as many as fit, up to `most_samples`.
        cache: as in `BenchPlan`.
        seed: of the order of inputs.
    """

    seconds: float
    calls: int = 20
    most_s: float = 2.0
    samples: int | None = None
    most_samples: int = 2000
    cache: Literal["warm", "cold"] = "warm"
    seed: int = 0
