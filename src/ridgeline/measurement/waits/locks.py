"""Locks that tell when they are contended: stand-ins for `threading.Lock` and `threading.RLock`.

Each acquisition first tries without blocking; only one that fails is timed. Locks that the standard library makes for its own queues, futures and
events stay what they are: what is waited for there is the queue, future or event. Everything a lock is asked for still works: `with`, `Condition`
on top of it, the fork handlers, `isinstance` against the type of a lock, weak references, and the refusal to be pickled.
"""

from __future__ import annotations

import _thread
import sys
import threading
import weakref
from time import perf_counter  # bound before the target is loaded, which may replace it in its module
from types import FrameType
from typing import Any, ClassVar

from .tally import Place, Recorder

__all__ = ["WatchedLocks"]

_OWN = ("/threading.py", "/queue.py", "/concurrent/futures/", "/multiprocessing/", "/asyncio/", "/weakref.py", "/selectors.py", "/subprocess.py")
_allocate_lock = _thread.allocate_lock
#: The C type; a checker is not told of all of its methods.
_RLock: Any = _thread.RLock
_get_ident = threading.get_ident
_FOREVER = -1


class WatchedLocks:
    """Makes the two stand-ins for one recorder and remembers the locks that were made.

    Attributes:
        lock, rlock: what takes the place of `threading.Lock` and `threading.RLock`.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        shared = {"__slots__": (), "recorder": recorder, "all_made": self._made}
        self.lock: Any = _Kind("lock", (_WatchedLock,), dict(shared))
        self._rlock: Any = type("RLock", (_WatchedRLock,), dict(shared))

    def rlock(self, *arguments: Any, **named: Any) -> Any:
        """An RLock, watched unless the standard library makes it for itself."""
        frame = sys._getframe(1)
        return _RLock(*arguments, **named) if _internal(frame) else self._rlock(_outside(frame))

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

    __slots__ = ("__weakref__", "base_count", "base_held", "count", "elsewhere", "held", "made", "owner", "since")
    made: Place

    def open(self, place: Place, among: weakref.WeakSet[Any]) -> None:
        """Begin the book of a lock made at a place, and put it among the others."""
        self.made = place
        self.owner, self.count, self.held, self.since = 0, 0, 0.0, 0.0
        self.mark()
        among.add(self)

    def mark(self) -> None:
        """Count from here."""
        self.base_count, self.base_held, self.elsewhere = self.count, self.held, False

    def taken(self) -> None:
        """The calling thread holds it now."""
        self.owner = _get_ident()
        self.count += 1
        self.since = perf_counter()

    def given(self) -> None:
        """The calling thread is about to give it back."""
        held = perf_counter() - self.since
        self.held += held
        self.owner = 0

    @property
    def acquisitions(self) -> int:
        """Times it was taken since the mark."""
        return self.count - self.base_count

    @property
    def held_s(self) -> float:
        """Seconds it was held since the mark."""
        return self.held - self.base_held


class _Kind(type):
    """A real lock passes for a watched one: `isinstance(x, type(threading.Lock()))` is how libraries ask."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, _thread.LockType)


class _WatchedLock(_Book):
    __slots__ = ("_lock", "_take")
    name = "threading.Lock"
    recorder: ClassVar[Recorder]
    all_made: ClassVar[weakref.WeakSet[Any]]

    def __new__(cls) -> Any:
        frame = sys._getframe(1)
        if _internal(frame):
            return _allocate_lock()
        self = object.__new__(cls)
        self._at_fork_reinit()
        self.open(_outside(frame), self.all_made)
        return self

    def acquire(self, blocking: bool = True, timeout: float = _FOREVER) -> bool:
        if timeout < 0 and timeout != _FOREVER:
            return self._take(blocking, timeout)  # which says what is wrong with it
        if self._take(False):
            self.taken()
            return True
        if not blocking:
            return self._take(False, timeout)
        waiting = self.recorder.begin_lock(self, sys._getframe(1))
        try:
            got = self._take(True, timeout)
        finally:
            self.recorder.end(waiting)
        if got:
            self.taken()
        return got

    __enter__ = acquire

    def release(self) -> None:
        if self.owner:
            # Taken by one thread and given back by another, it is a signal and protects nothing.
            self.elsewhere = self.elsewhere or self.owner != _get_ident()
            self.given()
        self._lock.release()

    def __exit__(self, *exc: object) -> None:
        self.release()

    def locked(self) -> bool:
        return self._lock.locked()

    def _at_fork_reinit(self) -> None:
        self._lock = _allocate_lock()
        self._take = self._lock.acquire
        self.owner = 0

    acquire_lock, release_lock, locked_lock = acquire, release, locked

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle '_thread.lock' object")

    def __repr__(self) -> str:
        return f"<watched {self._lock!r}>"


class _RLockBook(_Book):
    """The book of an RLock, kept beside it: a C type's instance has no room for it."""

    __slots__ = ()
    name = "threading.RLock"


class _WatchedRLock(_RLock):  # type: ignore[misc]
    __slots__ = ("book", "depth")
    recorder: ClassVar[Recorder]
    all_made: ClassVar[weakref.WeakSet[Any]]

    def __new__(cls, place: Place) -> Any:
        return _RLock.__new__(cls)

    def __init__(self, place: Place) -> None:
        self.depth = 0
        self.book = _RLockBook()
        self.book.open(place, self.all_made)

    def acquire(self, blocking: bool = True, timeout: float = _FOREVER) -> bool:
        if timeout < 0 and timeout != _FOREVER:
            return bool(super().acquire(blocking, timeout))
        got = bool(super().acquire(False))
        if not got and not blocking:
            return bool(super().acquire(False, timeout))
        if not got:
            waiting = self.recorder.begin_lock(self.book, sys._getframe(1))
            try:
                got = bool(super().acquire(True, timeout))
            finally:
                self.recorder.end(waiting)
        if got:
            self.depth += 1
            if self.depth == 1:
                self.book.taken()
        return got

    __enter__ = acquire

    def release(self) -> None:
        if self._is_owned():
            self.depth -= 1
            if self.depth == 0:
                self.book.given()
        super().release()

    def __exit__(self, *exc: object) -> None:
        self.release()

    def _release_save(self) -> Any:
        depth = self.depth
        if self._is_owned():
            self.depth = 0
            self.book.given()
        return super()._release_save(), depth

    def _acquire_restore(self, state: Any) -> None:
        super()._acquire_restore(state[0])
        self.depth = state[1]
        self.book.taken()

    def _at_fork_reinit(self) -> None:
        super()._at_fork_reinit()
        self.depth, self.book.owner = 0, 0

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle '_thread.RLock' object")
