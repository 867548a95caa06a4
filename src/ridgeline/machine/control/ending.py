"""Signals that ask the process to end while settings are changed: turned into an exception so that they are put back, or held until that is done.

A handler that somebody else has set stays in force: the command line's raises an exception of its own. Only the main thread gets signals.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["ending_deferred", "ending_raised"]

_TO_END = (signal.SIGTERM, signal.SIGHUP)


class _Ended(KeyboardInterrupt):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def ending_raised() -> Iterator[None]:
    """Where SIGTERM or SIGHUP would end the process at once: leave the `with` by an exception first, and end by that signal then."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in _TO_END if signal.getsignal(number) is signal.SIG_DFL]

    def leave(number: int, frame: FrameType | None) -> None:
        raise _Ended(number)

    for number in taken:
        signal.signal(number, leave)
    ended: _Ended | None = None
    try:
        yield
    except _Ended as error:
        ended = error
        raise
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        if ended is not None:
            os.kill(os.getpid(), ended.number)


@contextlib.contextmanager
def ending_deferred() -> Iterator[None]:
    """Hold interrupts and signals that ask to end until the `with` is over, and deliver them then, one of each."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_TO_END)}
    # A handler that was not set from Python (None) or that ignores stays as it is.
    taken = {number: handler for number, handler in before.items() if handler is not None and handler is not signal.SIG_IGN}
    for number in taken:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(held):
            os.kill(os.getpid(), late)
