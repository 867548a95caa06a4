"""Locks that tell when they are contended: stand-ins for `threading.Lock` and `threading.RLock`.

Each acquisition first tries without blocking; only one that fails is timed. Locks that the standard library makes for its own queues, futures and
events stay what they are: what is waited for there is the queue, future or event. Everything a lock is asked for still works: `with`, `Condition`
on top of it, the fork handlers, `isinstance` against the type of a lock, weak references, and the refusal to be pickled.
"""

from __future__ import annotations

import sys
import threading
import weakref
from types import FrameType
from typing import Any

import _thread

from .tally import Place, Recorder

__all__ = ["WatchedLocks"]

_OWN = ("/threading.py", "/queue.py", "/concurrent/futures/", "/multiprocessing/", "/asyncio/", "/weakref.py", "/selectors.py", "/subprocess.py")
_RLock = _thread.RLock
get_ident = threading.get_ident


class WatchedLocks:
    """Makes the two stand-ins for one recorder and remembers the locks that were made.

    Attributes:
        lock, rlock: what takes the place of `threading.Lock` and `threading.RLock`.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        self.lock = _lock_type(recorder, self._made)
        self.rlock = _rlock_type(recorder, self._made)

    def mark(self) -> None:
        """From here on acquisitions and holds count."""
        for lock in list(self._made):
            lock.mark()


def _internal(frame: FrameType) -> bool:
    """Whether the standard library makes this lock for a queue, a future, an event or a thread of its own."""
    code = frame.f_code
    if code.co_filename.endswith("/threading.py"):
        if code.co_qualname != "Condition.__init__" or frame.f_back is None:
            return True
        code = frame.f_back.f_code
    return any(part in code.co_filename for part in _OWN)


def _outside(frame: FrameType) -> Place:
    """The line that made a lock, outside of threading.py."""
    while frame.f_back is not None and frame.f_code.co_filename.endswith("/threading.py"):
        frame = frame.f_back
    return frame.f_code, frame.f_lineno or 0


class _Book:
    """What is kept of one lock's use. Only its holder writes, so the lock itself protects the numbers."""

    __slots__ = ()
    owner: int
    count: int
    held: float
    base_count: int
    base_held: float
    elsewhere: bool

    def mark(self) -> None:
        """Count from here."""
        self.base_count, self.base_held, self.elsewhere = self.count, self.held, False

    @property
    def acquisitions(self) -> int:
        """Times it was taken since the mark."""
        return self.count - self.base_count

    @property
    def held_s(self) -> float:
        """Seconds it was held since the mark."""
        return self.held - self.base_held


_FIELDS = ("base_count", "base_held", "count", "elsewhere", "held", "made", "owner", "since")


def _lock_type(recorder: Recorder, made: weakref.WeakSet[Any]) -> type:
    clock = recorder.clock

    class _Kind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return type.__instancecheck__(cls, instance) or isinstance(instance, _thread.LockType)

    class WatchedLock(_Book, metaclass=_Kind):
        __slots__ = ("__weakref__", "_lock", "_take", *_FIELDS)
        name = "threading.Lock"

        def __new__(cls) -> Any:
            frame = sys._getframe(1)
            if _internal(frame):
                return _thread.allocate_lock()
            self = object.__new__(cls)
            self._lock = _thread.allocate_lock()
            self._take = self._lock.acquire
            self.made = _outside(frame)
            self.owner, self.count, self.held, self.since = 0, 0, 0.0, 0.0
            self.mark()
            made.add(self)
            return self

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            if self._take(False):
                self.owner = get_ident()
                self.count += 1
                self.since = clock()
                return True
            if not blocking:
                return self._take(False, timeout)
            waiting = recorder.begin_lock(self, sys._getframe(1))
            try:
                got = self._take(True, timeout)
            finally:
                recorder.end(waiting)
            if got:
                self.owner = get_ident()
                self.count += 1
                self.since = clock()
            return got

        __enter__ = acquire

        def release(self) -> None:
            if self.owner:
                held = clock() - self.since
                self.held += held
                if self.owner != get_ident():
                    self.elsewhere = True
                self.owner = 0
            self._lock.release()

        def __exit__(self, *exc: object) -> None:
            self.release()

        def locked(self) -> bool:
            return self._lock.locked()

        def _at_fork_reinit(self) -> None:
            self._lock = _thread.allocate_lock()
            self._take = self._lock.acquire
            self.owner = 0

        acquire_lock, release_lock, locked_lock = acquire, release, locked

        def __reduce__(self) -> Any:
            raise TypeError("cannot pickle '_thread.lock' object")

        def __repr__(self) -> str:
            return f"<watched {self._lock!r}>"

    return WatchedLock


def _rlock_type(recorder: Recorder, made: weakref.WeakSet[Any]) -> Any:
    clock = recorder.clock

    class WatchedRLock(_RLock, _Book):  # type: ignore[misc, valid-type]
        __slots__ = ("depth", *_FIELDS)
        name = "threading.RLock"

        def __init__(self, place: Place) -> None:
            self.made = place
            self.owner, self.count, self.held, self.since, self.depth = 0, 0, 0.0, 0.0, 0
            self.mark()
            made.add(self)

        def __new__(cls, *arguments: Any) -> Any:
            return _RLock.__new__(cls)

        def _taken(self) -> None:
            self.depth += 1
            if self.depth == 1:
                self.owner = get_ident()
                self.count += 1
                self.since = clock()

        def _given(self) -> None:
            held = clock() - self.since
            self.held += held
            self.owner, self.depth = 0, 0

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            got = super().acquire(False)
            if not got:
                if not blocking:
                    return super().acquire(False, timeout)
                waiting = recorder.begin_lock(self, sys._getframe(1))
                try:
                    got = super().acquire(True, timeout)
                finally:
                    recorder.end(waiting)
            if got:
                self._taken()
            return got

        __enter__ = acquire

        def release(self) -> None:
            if self._is_owned():
                if self.depth == 1:
                    self._given()
                else:
                    self.depth -= 1
            super().release()

        def __exit__(self, *exc: object) -> None:
            self.release()

        def _release_save(self) -> Any:
            depth = self.depth
            if self._is_owned():
                self._given()
            return super()._release_save(), depth

        def _acquire_restore(self, state: Any) -> None:
            super()._acquire_restore(state[0])
            self._taken()
            self.depth = state[1]

        def _at_fork_reinit(self) -> None:
            super()._at_fork_reinit()
            self.owner, self.depth = 0, 0

        def __reduce__(self) -> Any:
            raise TypeError("cannot pickle '_thread.RLock' object")

    def make(*arguments: Any, **named: Any) -> Any:
        frame = sys._getframe(1)
        return _RLock(*arguments, **named) if _internal(frame) else WatchedRLock(_outside(frame))

    return make
