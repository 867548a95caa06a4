"""`ridgeline log` and `ridgeline show`: the notebook."""

from __future__ import annotations

import click
import msgspec

from ridgeline.core import UsageError
from ridgeline.notebook import RunSummary
from ridgeline.reporting import log_table, page, run_page

from .options import colour_option, json_option
from .output import emit_document, emit_page

__all__ = ["log", "show"]

_notebook_option = click.option("--notebook", metavar="PATH|URL", help="File or PostgreSQL URL of the notebook.")


class LogDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.log/1"):
    """The JSON of `ridgeline log`."""

    notebook: str
    runs: tuple[RunSummary, ...]


@click.command()
@click.option("--limit", "-n", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="At most so many runs, newest first.")
@click.option("--verb", help="Only runs of this command.")
@click.option("--target", help="Only runs whose target contains this text.")
@_notebook_option
@json_option
@colour_option
def log(limit: int, verb: str | None, target: str | None, notebook: str | None, as_json: bool, no_colour: bool) -> int:
    """List the runs of the notebook."""
    from ridgeline.flows.log import log as flow

    place, runs = flow(notebook, limit=limit, verb=verb, target=target)
    if as_json:
        emit_document(LogDocument(notebook=place, runs=runs))
    else:
        emit_page(log_table(runs), no_colour=no_colour)
    return 0


# ignore_unknown_options: `-1` is a run, not an option.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("run", metavar="ID")
@click.option("--replay", is_flag=True, help="Draw the verdict again from what was measured, with the rules of this version.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Write the page as Markdown.")
@_notebook_option
@json_option
@colour_option
def show(run: str, replay: bool, as_markdown: bool, notebook: str | None, as_json: bool, no_colour: bool) -> int:
    """Show one run: ID is its id or the beginning of it, `last`, or -1, -2, … for the newest, the one before, …"""
    from ridgeline.flows.show import replay as again_from
    from ridgeline.flows.show import show as stored_run

    if as_json and as_markdown:
        raise UsageError("one of --json and --markdown", found="both", remedy="leave one out")
    if run.startswith("-") and not run[1:].isdecimal():
        raise UsageError("an option of `ridgeline show`", found=run, remedy="see `ridgeline show --help`")
    stored = stored_run(notebook, run)
    if replay:
        again = again_from(stored)
        emit_document(again) if as_json else emit_page(page(again), no_colour=no_colour, as_markdown=as_markdown)
    elif as_json:
        emit_document(stored)
    else:
        emit_page(run_page(stored), no_colour=no_colour, as_markdown=as_markdown)
    return 0
