"""What stderr shows while measuring: a live line on a terminal, else plain lines, at most one in ten seconds.

A command that ends at once shows none, so that an early error stands alone on its line. What begins with `warning:` or `note:` is no progress: it is
said once, as a line of its own, a warning with `--quiet` as well.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ridgeline.reporting.text import clean, shorten

__all__ = ["Report", "progress"]

#: Called with what is going on and the fraction done (0…1), null where it is not known.
Report = Callable[[str, float | None], None]
_LINE_S = 10.0
_FIRST_S = 2.0
_WARNING, _NOTE = "warning: ", "note: "


@contextmanager
def progress(quiet: bool) -> Iterator[Report]:
    """A `Report` for the duration of a command."""
    if quiet:
        yield _warning_apart(_nothing, _line, quiet=True)
    elif sys.stderr.isatty():
        with _live() as report:
            yield report
    else:
        yield _warning_apart(plain(time.monotonic), _line)


def _nothing(text: str, fraction: float | None = None) -> None:
    pass


def _warning_apart(report: Report, line: Callable[[str], None], quiet: bool = False) -> Report:
    """A report that gives warnings, and notes unless `quiet`, to `line`, each once, and the rest to `report`."""
    said: set[str] = set()

    def sorted_out(text: str, fraction: float | None = None) -> None:
        if not text.startswith((_WARNING, _NOTE)) or (quiet and text.startswith(_NOTE)):
            report(text, fraction)
        elif text not in said:
            said.add(text)
            line(f"ridgeline: {clean(text)}")

    return sorted_out


def _line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def plain(clock: Callable[[], float]) -> Report:
    """Plain lines: none in the first two seconds, then at most one in ten."""
    last = [clock() - _LINE_S + _FIRST_S]

    def report(text: str, fraction: float | None = None) -> None:
        if clock() - last[0] >= _LINE_S:
            last[0] = clock()
            done = f" ({fraction:.0%})" if fraction is not None else ""
            _line(f"ridgeline: {clean(text)}{done}")

    return report


@contextmanager
def _live() -> Iterator[Report]:
    """One line that changes and is gone at the end."""
    from rich.console import Console
    from rich.status import Status

    console = Console(stderr=True, highlight=False, markup=False)
    with Status("starting", console=console, spinner="line") as status:

        def report(text: str, fraction: float | None = None) -> None:
            done = f"{fraction:4.0%} " if fraction is not None else ""
            status.update(shorten(f"{done}{clean(text)}", max(10, console.width - 4)))

        yield _warning_apart(report, console.print)
