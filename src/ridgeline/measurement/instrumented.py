"""What is said when a target that has run before fails under an instrument: the instrument may be at fault, and the reader must know.

It decides the words alone; an error of ridgeline's own goes up as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from ridgeline.core import RidgelineError, TargetFailed

__all__ = ["failing_under"]


@contextmanager
def failing_under(doing: str, suspect: str, files: Collection[str]) -> Iterator[None]:
    """What the target raises inside becomes one line with the place in its source.

    Args:
        doing: what should have worked, such as `the program to run with its waits timed`.
        suspect: what is at fault if the target runs on its own, with its verb.
        files: source files of the user, as code objects name them; looked at when something has failed.

    Raises:
        TargetFailed: the target raised, or called `sys.exit`.
    """
    try:
        yield
    except RidgelineError:
        raise
    except (Exception, SystemExit) as error:
        found = f"{type(error).__name__}: {error}{_place(error, files)}"
        remedy = f"if it runs on its own, {suspect} at fault; the other levels do without"
        raise TargetFailed(doing, found=found, remedy=remedy) from error


def _place(error: BaseException, files: Collection[str]) -> str:
    place, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
