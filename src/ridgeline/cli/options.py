"""Options that several commands share, and how the notebook is opened for a command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from ridgeline.core import UsageError
from ridgeline.notebook import Notebook

__all__ = ["colour_option", "json_option", "notebook_options", "opened", "quiet_option"]

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout instead of a page.")
quiet_option = click.option("--quiet", is_flag=True, help="Show no progress.")
colour_option = click.option("--no-color", "no_colour", is_flag=True, help="No colour (as NO_COLOR=1).")


def notebook_options(function: F) -> F:
    """Add `--notebook` and `--no-notebook`."""
    location = click.option(
        "--notebook",
        metavar="PATH|URL",
        help="File or PostgreSQL URL of the notebook. [default: $RIDGELINE_NOTEBOOK, else ridgeline/notebook.sqlite in the user's data directory]",
    )
    none = click.option("--no-notebook", is_flag=True, help="Keep nothing in a notebook.")
    return location(none(function))


@contextmanager
def opened(location: str | None, none: bool, *, create: bool = True) -> Iterator[Notebook | None]:
    """The notebook that the options name, `None` with `--no-notebook`; one that is to be written is checked to be writable at once.

    Raises:
        UsageError: both options were given, or it cannot be opened.
    """
    if none:
        if location is not None:
            raise UsageError("one of --notebook and --no-notebook", found="both", remedy="leave one out")
        yield None
        return
    with Notebook.open(location, create=create) as notebook:
        if create and not notebook.writable:
            remedy = "change its permissions, or give --notebook elsewhere, or --no-notebook"
            raise UsageError("a notebook that may be written", found=f"{notebook.place}, which may only be read", remedy=remedy)
        yield notebook
