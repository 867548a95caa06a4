"""Targets that fork: a forked child that comes out of the user's code would go on inside the instruments, call the target again, and fork again.

In its own program such a child would run on to the end of the program; here it ends as soon as the call does, with the exit code it would have had.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["Forks", "kept_to_its_process"]

Call = Callable[[], Any]


class Forks:
    """Whether this process has forked since: what starts programs through `subprocess` does not count, for nothing of it comes back here."""

    _seen = 0

    def __init__(self) -> None:
        self._before = Forks._seen

    @property
    def any(self) -> bool:
        """Whether it has."""
        return Forks._seen > self._before

    @classmethod
    def count(cls) -> None:
        """One more; called in the parent."""
        cls._seen += 1


os.register_at_fork(after_in_parent=Forks.count)


def kept_to_its_process(call: Call) -> Call:
    """The call, out of which only the process comes that went in. It costs some 100 ns, so it is kept only around targets that were seen to fork."""
    owner = os.getpid()

    def kept() -> Any:
        try:
            result = call()
        except BaseException as error:
            if os.getpid() == owner:
                raise
            _leave(error)
        if os.getpid() != owner:
            _leave(None)
        return result

    return kept


def _leave(error: BaseException | None) -> NoReturn:
    """End a forked child as the interpreter would have."""
    code = 0
    try:
        if isinstance(error, SystemExit):
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            code = 1
            import traceback  # late: a process that is measured hardly ever needs it

            traceback.print_exception(error)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        # Not sys.exit: the handlers and buffers of the instruments belong to the parent.
        os._exit(code)
