"""Options that several commands share, what is checked of them everywhere, and how the notebook is opened for a command."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from ridgeline.core import UsageError
from ridgeline.notebook import Notebook

__all__ = [
    "RUNTIMES",
    "check_common",
    "colour_option",
    "condition_options",
    "json_option",
    "markdown_option",
    "notebook_options",
    "opened",
    "quiet_option",
    "runtime_option",
    "shape_option",
    "synchronise_option",
]

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout instead of a page.")
markdown_option = click.option("--markdown", "as_markdown", is_flag=True, help="Write the page as Markdown.")
quiet_option = click.option("--quiet", is_flag=True, help="Show no progress.")
colour_option = click.option("--no-color", "no_colour", is_flag=True, help="No colour (as NO_COLOR=1).")

RUNTIMES = click.Choice(["onnxruntime", "openvino"])
shape_option = click.option(
    "--shape", "shapes", metavar="NAME=1x3x224x224", multiple=True, help="Shape of an input, or size of a symbolic axis (N=8); repeatable."
)
runtime_option = click.option("--runtime", type=RUNTIMES, help="What runs model.onnx. [default: onnxruntime; model.xml is for OpenVINO]")
synchronise_option = click.option(
    "--synchronise", default="auto", metavar="auto|none|FUNCTION", show_default=True, help="How a function's results are waited for."
)


def condition_options(function: F) -> F:
    """Add the options that prepare the machine for a benchmark."""
    options = (
        click.option("--cold-cache", is_flag=True, help="Empty the CPU's caches before every call, outside the timed interval."),
        click.option("--soak", is_flag=True, help="Load the machine until temperature, clock and times have levelled off, before the first sample."),
        click.option("--tune", is_flag=True, help="Set what may be set for the measurement (governor, priority, …), and put it back afterwards."),
        click.option("--lock-gpu-clock", metavar="HZ", help="Lock the clock of the GPU there, such as 1.2GHz, and put it back."),
    )
    # The last to be applied stands first in the help.
    for option in reversed(options):
        function = option(function)
    return function


def check_common(given: Mapping[str, Any]) -> None:
    """What holds of every command that has the option.

    Raises:
        UsageError: two forms of one page, or a time budget that is no number.
    """
    if given["as_json"] and given.get("as_markdown"):
        raise UsageError("one of --json and --markdown", found="both", remedy="leave one out")
    budget = given.get("time_budget")
    if budget is not None and not math.isfinite(budget):
        raise UsageError("a time budget in seconds", found=str(budget), remedy="give a finite number")


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
