"""Signals that ask the process to end: turned into an exception, so that children end, folders go and the notebook closes on the way out.

What is said and which code the process ends with is `main`'s business.
"""

from __future__ import annotations

import contextlib
import select
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["Terminated", "reader_left", "terminating"]

_ASKED_TO_END = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """A signal other than an interrupt asked the process to end; whoever cleans up after an interrupt cleans up after it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def terminating() -> Iterator[None]:
    """Raise `Terminated` where one of these signals would end the process; a second one ends it at once. One that is ignored (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in _ASKED_TO_END if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _terminated)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _terminated(number: int, frame: FrameType | None) -> None:
    for other in _ASKED_TO_END:
        if signal.getsignal(other) is _terminated:
            signal.signal(other, signal.SIG_DFL)
    raise Terminated(number)


def reader_left() -> bool:
    """Whether whoever read stdout or stderr has closed its end (poll(2): POLLERR on the writing end of a pipe, POLLHUP on a socket)."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            watch = select.poll()
            watch.register(stream.fileno(), 0)
            if any(seen & (select.POLLERR | select.POLLHUP) for _, seen in watch.poll(0)):
                return True
    return False
