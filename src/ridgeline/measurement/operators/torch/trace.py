"""Taking a profile: one or more calls under torch.profiler, each also timed by a clock of our own.

This module decides what is switched on: CPU records only, without shapes, stacks or memory, since each of them costs time in every operator. Device
records are added where torch sees a CUDA device; that path has never run on the machines this was written on.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ridgeline.core import BackendUnavailable, TargetFailed

from .events import Event

__all__ = ["Iteration", "marked_calls", "session", "take"]

_MARK = "ridgeline.call"


class Iteration(msgspec.Struct, frozen=True):
    """One profiled call.

    Args:
        events: operator records that started in it, of all lanes.
        lane: the calling thread.
        wall_ns: by the profiler's clock, from a record around the call.
        check_s: by an independent clock around that record.
    """

    events: list[Event]
    lane: int
    wall_ns: int
    check_s: float


def take(call: Callable[[], Any], *, iterations: int = 1, synchronise: Callable[[Any], None] | None = None) -> list[Iteration]:
    """Profile `iterations` calls in one session of the profiler.

    Args:
        call: the workload; its exceptions pass through.
        synchronise: waits until a result is finished; inside the timed region.

    Raises:
        BackendUnavailable: torch, or its profiler, is not there.
        TargetFailed: the profile lacks calls, since the workload uses the profiler itself.
    """
    with session() as profiler:
        checks = marked_calls(call, [_MARK] * iterations, synchronise)
    return _split(profiler.profiler.kineto_results.events(), checks)


def session(**recorded: bool) -> Any:
    """A session of the profiler, on every thread and device that it can see, to be entered.

    Args:
        recorded: what is recorded beside the operators, such as `record_shapes`; each costs time in every operator.

    Raises:
        BackendUnavailable: torch, or its profiler, is not there.
    """
    # Kineto reports its start and stop on stderr otherwise.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    try:
        import torch
        from torch.profiler import ProfilerActivity, profile
    except ImportError as error:
        raise BackendUnavailable("PyTorch with its profiler", found=str(error), remedy="pip install 'ridgeline[torch]'") from error
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])]
    return profile(activities=activities, experimental_config=_every_thread(torch), **recorded)


def marked_calls(call: Callable[[], Any], marks: Sequence[str], synchronise: Callable[[Any], None] | None) -> list[float]:
    """Seconds of one call for each mark, by a clock around the record of that name that the call, and waiting for its result, lie in."""
    from torch.profiler import record_function

    walls: list[float] = []
    for mark in marks:
        start = time.perf_counter()
        with record_function(mark):
            result = call()
            if synchronise is not None:
                synchronise(result)
        walls.append(time.perf_counter() - start)
        del result
    return walls


def _every_thread(torch: Any) -> Any:
    """Options that also take records on threads that the workload starts itself, where this torch can."""
    try:
        return torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    except (AttributeError, TypeError):
        return None


def _split(records: Any, checks: list[float]) -> list[Iteration]:
    """Cut the session into calls at our marks."""
    marks, events = [], []
    for record in records:
        if record.name() == _MARK:
            if record.device_type().name == "CPU":
                marks.append((record.start_ns(), record.end_ns(), record.start_thread_id()))
        elif not record.is_user_annotation() and not record.is_async():
            lane = record.start_thread_id() if record.device_type().name == "CPU" else -1 - record.device_index()
            events.append(Event(record.name(), record.start_ns(), record.end_ns(), lane, _overload(record)))
    if len(marks) != len(checks):
        remedy = "a target that starts torch's profiler itself ends the one that records it; leave that out"
        raise TargetFailed("a profile that holds every call", found=f"{len(marks)} of {len(checks)}", remedy=remedy)
    marks.sort()
    events.sort(key=lambda event: event.start_ns)
    starts = [event.start_ns for event in events]
    return [
        Iteration(events[bisect_left(starts, start) : bisect_right(starts, end)], lane, end - start, check)
        for (start, end, lane), check in zip(marks, checks, strict=True)
    ]


def _overload(record: Any) -> str:
    return str(record.overload_name()) if hasattr(record, "overload_name") else ""
