"""Puts stopwatches around everything in Python that waits, and takes them away again.

Methods are replaced on their classes, so that objects made earlier report as well; builtin functions are replaced in their modules. Packages that
drive devices are wrapped only where the target has loaded them. What decides nothing here: whether a wait matters is the diagnosis' business.
"""

from __future__ import annotations

import concurrent.futures
import functools
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from .locks import WatchedLocks
from .tally import Recorder

__all__ = ["Wrapping"]

_MISSING = object()

#: Module, class or empty, method or function, kind.
_EVERYWHERE = (
    ("threading", "Condition", "wait", "condition"),
    ("threading", "Event", "wait", "condition"),
    ("threading", "Semaphore", "acquire", "condition"),
    ("threading", "Barrier", "wait", "condition"),
    ("threading", "Thread", "join", "join"),
    ("queue", "Queue", "get", "queue"),
    ("queue", "Queue", "put", "queue"),
    ("queue", "Queue", "join", "queue"),
    ("concurrent.futures", "", "wait", "future"),
    ("subprocess", "Popen", "communicate", "process"),
    ("os", "", "system", "process"),
    ("os", "", "waitpid", "process"),
    ("os", "", "fsync", "file"),
    ("select", "", "select", "socket"),
    ("socket", "socket", "recv", "socket"),
    ("socket", "socket", "recv_into", "socket"),
    ("socket", "socket", "accept", "socket"),
    ("socket", "socket", "connect", "socket"),
    ("torch.cuda", "", "synchronize", "device"),
    ("torch.cuda", "Event", "synchronize", "device"),
    ("torch.cuda", "Stream", "synchronize", "device"),
    ("pyopencl", "CommandQueue", "finish", "device"),
    ("pyopencl", "Event", "wait", "device"),
    ("pyopencl", "", "wait_for_events", "device"),
)


class Wrapping:
    """Stopwatches on everything that waits, for one recorder; `with` puts them on and takes them away."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._before: list[tuple[Any, str, Any]] = []
        self.locks = WatchedLocks(recorder)

    def __enter__(self) -> Wrapping:
        try:
            self._put_on()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _put_on(self) -> None:
        self._replace(threading, "Lock", self.locks.lock)
        self._replace(threading, "RLock", self.locks.rlock)
        self._replace(time, "sleep", self._sleep(time.sleep))
        self._replace(queue, "SimpleQueue", self._simple_queue())
        # A program may have put a function in the class's place.
        if isinstance(subprocess.Popen, type):
            self._replace(subprocess.Popen, "wait", self._wait(subprocess.Popen.wait))
        for pool in ("ThreadPoolExecutor", "ProcessPoolExecutor"):
            kind = getattr(concurrent.futures, pool, None)
            if kind is not None:
                self._replace(kind, "submit", self._submit(kind.submit))
        for name in ("result", "exception"):
            self._replace(concurrent.futures.Future, name, self._result(getattr(concurrent.futures.Future, name)))
        self.cover()

    def cover(self) -> None:
        """Put stopwatches on what has been imported since."""
        for module, owner, name, kind in _EVERYWHERE:
            self._wrap(module, owner, name, kind)
        opencl = sys.modules.get("pyopencl")
        if opencl is not None and hasattr(opencl, "enqueue_copy") and not self._covered(opencl, "enqueue_copy"):
            self._replace(opencl, "enqueue_copy", self._copy(opencl.enqueue_copy))

    def __exit__(self, *exc: object) -> None:
        for owner, name, before in reversed(self._before):
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        self._before.clear()

    def _covered(self, holder: Any, name: str) -> bool:
        return any(owner is holder and covered == name for owner, covered, _ in self._before)

    def _replace(self, owner: Any, name: str, new: Any) -> None:
        self._before.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, new)

    def _wrap(self, module: str, owner: str, name: str, kind: str) -> None:
        found = sys.modules.get(module)
        holder = getattr(found, owner, None) if owner else found
        original = getattr(holder, name, None)
        if holder is None or original is None or self._covered(holder, name):
            return
        shown = f"{module}.{owner}.{name}" if owner else f"{module}.{name}"
        self._replace(holder, name, self._timed(original, kind, shown))

    def _timed(self, original: Callable[..., Any], kind: str, shown: str) -> Callable[..., Any]:
        begin, end, frame = self._recorder.begin, self._recorder.end, sys._getframe

        @functools.wraps(original)
        def timed(*arguments: Any, **named: Any) -> Any:
            waiting = begin(kind, shown, frame(1))
            try:
                return original(*arguments, **named)
            finally:
                end(waiting)

        return timed

    def _sleep(self, original: Callable[[float], None]) -> Callable[[float], None]:
        begin, end, frame = self._recorder.begin, self._recorder.end, sys._getframe

        @functools.wraps(original)
        def sleep(seconds: float) -> None:
            # A sleep of no length gives the CPU away and waits for nothing: who does that in a loop spins.
            waiting = begin("sleep", "time.sleep", frame(1)) if seconds else None
            try:
                original(seconds)
            finally:
                end(waiting)

        return sleep

    def _wait(self, original: Callable[..., int]) -> Callable[..., int]:
        begin, end, frame = self._recorder.begin, self._recorder.end, sys._getframe

        @functools.wraps(original)
        def wait(process: Any, timeout: float | None = None) -> int:
            # `with` and `run` ask again for what has ended long since.
            waiting = begin("process", "subprocess.Popen.wait", frame(1)) if process.returncode is None else None
            try:
                return original(process, timeout)
            finally:
                end(waiting)

        return wait

    def _simple_queue(self) -> type:
        begin, end, frame = self._recorder.begin, self._recorder.end, sys._getframe
        base: Any = queue.SimpleQueue

        class SimpleQueue(base):  # type: ignore[misc]
            def get(self, block: bool = True, timeout: float | None = None) -> Any:
                waiting = begin("queue", "queue.SimpleQueue.get", frame(1)) if block else None
                try:
                    return base.get(self, block, timeout)
                finally:
                    end(waiting)

        return SimpleQueue

    def _submit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def submit(pool: Any, *arguments: Any, **named: Any) -> Any:
            future = original(pool, *arguments, **named)
            open_tasks = pool.__dict__.setdefault("_ridgeline_open", set())
            open_tasks.add(id(future))
            future._ridgeline_pool = (open_tasks, int(getattr(pool, "_max_workers", 0) or 0), type(pool).__name__)
            future.add_done_callback(lambda done: open_tasks.discard(id(done)))
            return future

        return submit

    def _result(self, original: Callable[..., Any]) -> Callable[..., Any]:
        begin, end, frame = self._recorder.begin, self._recorder.end, sys._getframe

        @functools.wraps(original)
        def result(future: Any, timeout: float | None = None) -> Any:
            pool = getattr(future, "_ridgeline_pool", None)
            shown = f"a future of a {pool[2]}" if pool else "a future"
            waiting = None if future.done() else begin("future", shown, frame(1))
            if waiting is not None and pool is not None and waiting.key is not None:
                sums = waiting.sum_of(waiting.key)
                sums.in_flight += len(pool[0])
                sums.capacity = pool[1]
            try:
                return original(future, timeout)
            finally:
                end(waiting)

        return result

    def _copy(self, original: Callable[..., Any]) -> Callable[..., Any]:
        begin, end, frame = self._recorder.begin, self._recorder.end, sys._getframe

        @functools.wraps(original)
        def enqueue_copy(commands: Any, dest: Any, src: Any, **named: Any) -> Any:
            size = next((int(side.nbytes) for side in (dest, src) if hasattr(side, "nbytes")), None)
            direction = "to the host" if hasattr(dest, "nbytes") else "to the device"
            waiting = begin("transfer", f"copy {direction}", frame(1)) if size is not None else None
            if waiting is not None and waiting.key is not None and size is not None:
                waiting.sum_of(waiting.key).moved_bytes += size
            try:
                return original(commands, dest, src, **named)
            finally:
                end(waiting)

        return enqueue_copy
