"""pyopencl: command queues, found in the result and among the objects of the process.

A kernel that was enqueued is over when its queue is finished. Arrays and events know their queue; a function that returns a buffer or nothing has one
all the same, kept somewhere. Sources: OpenCL 3.0, clFinish, clWaitForEvents; the documentation of pyopencl (`Array.queue`, `Event.command_queue`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .base import Synchroniser, Wait
from .clocks import OpenClClock
from .results import leaves_of
from .timer import DeviceTimer, EventTimer, MarkTimer

__all__ = ["OpenClQueues"]


class OpenClQueues(Synchroniser):
    """Finishes the queues of a result, and those that were there after the first call."""

    def waiting(self, result: Any, leaves: Sequence[Any]) -> Wait | None:
        """Finish queues; an event without one is waited for itself."""
        kept = _live_queues()
        loose = any(_is_event(leaf) and leaf.command_queue is None for leaf in leaves)
        if not kept and not loose and not any(_queue_of(leaf) is not None for leaf in leaves):
            return None
        finishing = [queue.finish for queue in kept]
        # Queues that are kept are finished whatever is returned; only others, and events of the user, are looked for in each result.
        within = loose or any((queue := _queue_of(leaf)) is not None and queue not in kept for leaf in leaves)

        def wait_all(value: Any) -> None:
            for finish in finishing:
                finish()
            if within:
                _finish_within(value)

        return wait_all

    def timer(self, result: Any, leaves: Sequence[Any]) -> Callable[[], DeviceTimer] | None:
        """Start and end of the events that are returned; else markers on the one queue there is. Only where profiling is switched on."""
        events = [leaf for leaf in leaves if _is_event(leaf)]
        if events:
            return (lambda: EventTimer(_events_of, _span_s)) if all(_profiled(event.command_queue) for event in events) else None
        queues = {queue for leaf in leaves if (queue := _queue_of(leaf)) is not None} or set(_live_queues())
        only = queues.pop() if len(queues) == 1 else None
        return (lambda: MarkTimer(OpenClClock(only))) if _profiled(only) else None

    def unfinished(self, leaf: Any) -> str:
        """A buffer where no queue was found that could have been given work on it."""
        opencl: Any = sys.modules.get("pyopencl")
        held = getattr(opencl, "MemoryObjectHolder", None)
        return f"a pyopencl {type(leaf).__name__}, which knows no queue" if held and isinstance(leaf, held) and not _live_queues() else ""

    def knows(self, leaf: Any) -> bool:
        """Whatever has a queue or an event."""
        return _is_event(leaf) or _queue_of(leaf) is not None


def _live_queues() -> list[Any]:
    """Queues of this process, each once; two objects may stand for one."""
    opencl: Any = sys.modules.get("pyopencl")
    kind = getattr(opencl, "CommandQueue", None)
    if not isinstance(kind, type):
        return []
    # Not isinstance: it asks an object for its class, and some make something new of that.
    return list(dict.fromkeys(found for found in gc.get_objects() if issubclass(type(found), kind)))


def _is_event(leaf: Any) -> bool:
    kind = getattr(sys.modules.get("pyopencl"), "Event", None)
    return isinstance(kind, type) and isinstance(leaf, kind)


def _queue_of(leaf: Any) -> Any:
    """The queue that a value is, or knows; `None` for none."""
    kind: Any = getattr(sys.modules.get("pyopencl"), "CommandQueue", None)
    arrays: Any = getattr(sys.modules.get("pyopencl.array"), "Array", None)
    if kind is None:
        return None
    if _is_event(leaf):
        return leaf.command_queue
    if arrays is not None and isinstance(leaf, arrays):
        return getattr(leaf, "queue", None)
    return leaf if isinstance(leaf, kind) else None


def _finish_within(value: Any) -> None:
    for leaf in leaves_of(value):
        queue = _queue_of(leaf)
        if queue is not None:
            queue.finish()
        elif _is_event(leaf):
            leaf.wait()


def _events_of(result: Any) -> list[Any]:
    return [leaf for leaf in leaves_of(result) if _is_event(leaf)]


def _span_s(event: Any) -> tuple[float, float]:
    return event.profile.start / 1e9, event.profile.end / 1e9


def _profiled(queue: Any) -> bool:
    return queue is not None and bool(queue.properties & sys.modules["pyopencl"].command_queue_properties.PROFILING_ENABLE)
