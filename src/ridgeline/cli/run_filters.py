"""The options that say which runs of the notebook are meant: the same for `log` and `export`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from ridgeline.notebook import RunFilter

__all__ = ["filter_of", "run_filters"]

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--verb", help="Only runs of this command."),
    click.option("--target", help="Only runs whose target contains this text."),
    click.option("--commit", metavar="PREFIX", help="Only runs at this commit; PREFIX+dirty: only those with a changed tree."),
    click.option("--machine", metavar="TEXT", help="Only runs on CPUs whose name contains this text, or whose fingerprint begins so."),
    click.option("--since", metavar="TIME", help="Only runs since then: 2026-01-31, 2026-01-31T12:00 (UTC), or an age: 7d, 12h, 90min, 2w."),
    click.option("--until", metavar="TIME", help="Only runs until then; a day counts as a whole."),
    click.option("--threads", type=click.IntRange(0, 4096), help="Only runs with so many threads; 0: where the target decides."),
)


def run_filters(function: F) -> F:
    """Add the options."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def filter_of(given: Mapping[str, Any]) -> RunFilter:
    """What the options say."""
    return RunFilter(**{name: given[name] for name in RunFilter.__struct_fields__})
