"""Where text goes: stdout, or a file that was checked before anything was measured."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from ridgeline.core import MemoryBlobs, UsageError
from ridgeline.core.documents import encode
from ridgeline.reporting import Page, markdown, terminal

__all__ = ["STDOUT", "colour_wanted", "emit_document", "emit_html", "emit_page", "page_width", "reserve", "reserve_html", "stdout_options"]

#: The name of a file that stands for stdout.
STDOUT = "-"


def colour_wanted(no_colour: bool) -> bool:
    """Colour only on a terminal, and never against `--no-color`, `NO_COLOR` (no-color.org: set and not empty) or `TERM=dumb`."""
    if no_colour or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def page_width() -> int:
    """Columns of the page: those of the terminal (or COLUMNS) up to 160, 100 where there is none."""
    return min(160, shutil.get_terminal_size((100, 24)).columns)


def emit_page(page: Page, *, no_colour: bool = False, as_markdown: bool = False) -> None:
    """Write a page to stdout."""
    click.echo(markdown(page) if as_markdown else terminal(page, page_width(), colour_wanted(no_colour)), nl=False, color=True)


def emit_document(document: msgspec.Struct) -> None:
    """Write a document to stdout as JSON in UTF-8, long columns as summaries, and a newline."""
    click.echo(encode(document, MemoryBlobs()) + b"\n", nl=False)


def emit_html(html: str) -> None:
    """Write an HTML file to stdout, as bytes: it says of itself that it is UTF-8, whatever the terminal speaks."""
    click.echo(html.encode(), nl=False)


def reserve_html(path: str | None, *, force: bool, others: Sequence[str] = ()) -> Path | None:
    """The file of `--html`, checked as `reserve` does; `None` without the option and for `-`, which is stdout and so stands alone.

    Args:
        others: options that write to stdout and were given.

    Raises:
        UsageError: as `reserve`, or `-` beside one of `others`.
    """
    if path == STDOUT and others:
        raise UsageError(f"one of {others[0]} and --html {STDOUT}", found="both on stdout", remedy="give the file a name")
    return None if path in (None, STDOUT) else reserve(str(path), force=force)


def stdout_options(given: Mapping[str, Any]) -> list[str]:
    """Those of `--json` and `--markdown` that were given."""
    return [option for name, option in (("as_json", "--json"), ("as_markdown", "--markdown")) if given[name]]


def reserve(path: str, *, force: bool) -> Path:
    """Check that a file can be written before anything costs time.

    Raises:
        UsageError: it exists and `force` was not given, it is a directory, or its directory does not exist or may not be written.
    """
    target = Path(path)
    try:
        if not path or "\0" in path:
            raise UsageError("the name of a file", found=repr(path), remedy="give a name")
        if target.is_dir():
            raise UsageError("a file to write", found=f"{path}, a directory", remedy="give a file in it")
        if target.exists() and not force:
            raise UsageError("a file that is not there yet", found=f"{path}, which exists", remedy="give --force to write over it, or another name")
        if target.exists() and not target.is_file():
            raise UsageError("an ordinary file to write", found=f"{path}, which is none", remedy="give another name")
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except (OSError, ValueError) as error:
        raise UsageError("a file that can be written", found=f"{path}: {_reason(error)}", remedy="give another name") from error
    return target


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
