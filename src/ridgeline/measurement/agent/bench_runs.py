"""A benchmark's side of a child that stays: the runs of a command, one at a time, and calls that only load the machine."""

from __future__ import annotations

import time
from statistics import median

from ridgeline.targets import CommandSample, Prepared, TargetSpec, prepare

from ..bench.report import PreparedCommand

__all__ = ["load", "prepare_command", "prepare_load", "run_command"]


class _Held:
    current: Prepared | None = None


def prepare_command(spec: TargetSpec) -> PreparedCommand:
    """Run a command or script for the first time."""
    _Held.current = prepared = prepare(spec)
    return PreparedCommand(info=prepared.info, first_s=prepared.first_s, warnings=tuple(prepared.warnings))


def run_command() -> CommandSample:
    """Run it once more."""
    assert _Held.current is not None
    sample: CommandSample = _Held.current.call()
    return sample


def prepare_load(spec: TargetSpec) -> bool:
    """Load the target, to load the machine with it."""
    _Held.current = prepare(spec)
    return True


def load(seconds: float) -> float:
    """Call it for so long, at least once; the median time of a call."""
    prepared = _Held.current
    assert prepared is not None
    times, until = list[float](), time.perf_counter() + seconds
    while not times or time.perf_counter() < until:
        before = time.perf_counter()
        result = prepared.call()
        if prepared.synchronise is not None:
            prepared.synchronise(result)
        times.append(time.perf_counter() - before)
    return median(times)
