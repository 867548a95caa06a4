"""The end of every command: which exit code, and the one line that says why. The only place that knows how a process ends.

A traceback is shown only where `RIDGELINE_DEBUG` is set: what a user can do stands in the line, the traceback is for whoever mends ridgeline.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import TextIO

import click

from ridgeline.core import RidgelineError, UsageError
from ridgeline.reporting.text import clean, shorten

from .app import cli
from .signals import Terminated, reader_left, terminating

__all__ = ["main"]

_INTERNAL, _INTERRUPTED, _USAGE = 70, 130, 2
# The longest message of click or of a stranger that is shown, and how much of it is looked at.
_MOST, _MOST_READ = 600, 20_000
#: What a shell adds to the number of the signal that ended a process.
_SIGNALLED = 128


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: without the program's name; those of the process if not given.
    """
    _fill_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        _make_printable(stream)
    try:
        given = _checked(sys.argv[1:] if arguments is None else arguments)
        if "_RIDGELINE_COMPLETE" in os.environ:
            cli.main(args=given, prog_name="ridgeline")  # shell completion; ends the process
        # Not `cli.main`: it would turn an interrupt and a broken pipe into endings of its own.
        with terminating(), cli.make_context("ridgeline", given) as context:
            result = cli.invoke(context)
        sys.stdout.flush()
    except BaseException as error:
        return _ended(error)
    return result if isinstance(result, int) else 0


def _fill_standard_streams() -> None:
    """Put /dev/null where a standard stream is closed: the next file opened would take its number, and be written into by whoever prints."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _make_printable(stream: TextIO) -> None:
    # A terminal that cannot show × gets \xd7 instead of a failure.
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _checked(arguments: Sequence[str]) -> list[str]:
    for argument in arguments:
        if not argument.isascii():
            try:
                argument.encode()
            except UnicodeEncodeError:
                remedy = "rename the file or folder" if os.path.lexists(argument) else "write it in UTF-8"
                raise UsageError("arguments in UTF-8", found=repr(os.fsencode(argument)), remedy=remedy) from None
    return list(arguments)


def _ended(error: BaseException) -> int:
    """Say why it ended, and return the exit code."""
    if isinstance(error, click.exceptions.Exit):
        return int(error.exit_code)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else _INTERNAL
    if isinstance(error, OSError) and error.errno == errno.EPIPE and reader_left():
        # Quietly, as every tool that writes to a reader who left, and with the code that a shell gives those.
        _silence_stdout()
        return _SIGNALLED + signal.SIGPIPE
    if os.environ.get("RIDGELINE_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    code, line = _explained(error)
    _say(line)
    if isinstance(error, OSError):
        _silence_stdout()
    return code


def _explained(error: BaseException) -> tuple[int, str]:
    if isinstance(error, RidgelineError):
        return error.exit_code, str(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return _USAGE, error.format_message()
    if isinstance(error, click.ClickException):
        return error.exit_code, _usage_line(error)
    if isinstance(error, KeyboardInterrupt | click.Abort):
        # What a flow could save, it notes on the exception.
        kept = "; ".join(getattr(error, "__notes__", ())) or "nothing was kept"
        if isinstance(error, Terminated):
            return _SIGNALLED + error.number, f"ended by {error}; {kept}"
        return _INTERRUPTED, f"interrupted; {kept}"
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return _USAGE, f"expected space for the output; found: {error.strerror}; to do: free space, or write elsewhere"
    if isinstance(error, FileNotFoundError) and _directory_is_gone():
        return _USAGE, "expected a working directory; found: it was deleted; to do: change to one that exists"
    if isinstance(error, MemoryError):
        return _USAGE, "expected enough memory; found: none left; to do: give a smaller target or free memory"
    said = _one_line(str(error))
    return _INTERNAL, f"a fault of ridgeline: {type(error).__name__}: {said}; to do: run it again with RIDGELINE_DEBUG=1 and report what it prints"


def _directory_is_gone() -> bool:
    """Whether nothing relative means anything here: every use of the working directory fails, wherever it is."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _usage_line(error: click.ClickException) -> str:
    message = _one_line(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    help_path = context.command_path if context is not None else "ridgeline"
    return f"{message}; to do: see `{help_path} --help`"


def _one_line(text: str) -> str:
    """A text that may hold anything a user typed, fit for a terminal."""
    return shorten(clean(" ".join(text[:_MOST_READ].split())), _MOST)


def _say(line: str) -> None:
    # Where stderr is closed, nobody can be told.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(line if line.startswith("Usage:") else f"ridgeline: {line}", file=sys.stderr, flush=True)  # noqa: T201


def _silence_stdout() -> None:
    """Let the flush at exit go nowhere, since it would fail once more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
