"""`ridgeline log` and `ridgeline show`: the notebook."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ridgeline.core import Diagnosis, UsageError
from ridgeline.machine import write_atomic
from ridgeline.notebook import RunSummary
from ridgeline.reporting import html_report, log_table, page, promises_page, run_page, run_report

from .options import colour_option, json_option
from .output import STDOUT, emit_document, emit_html, emit_page, reserve_html, stdout_options

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
@click.option("--promises", is_flag=True, help="How often promises held, by action, instead of the runs.")
@_notebook_option
@json_option
@colour_option
def log(limit: int, verb: str | None, target: str | None, promises: bool, notebook: str | None, as_json: bool, no_colour: bool) -> int:
    """List the runs of the notebook, or how often its promises held."""
    from ridgeline.flows.log import log as flow

    if promises:
        return _promises(notebook, target, as_json=as_json, no_colour=no_colour)
    place, runs = flow(notebook, limit=limit, verb=verb, target=target)
    if as_json:
        emit_document(LogDocument(notebook=place, runs=runs))
    else:
        emit_page(log_table(runs), no_colour=no_colour)
    return 0


def _promises(notebook: str | None, target: str | None, *, as_json: bool, no_colour: bool) -> int:
    from ridgeline.flows.promises import promises as flow

    report = flow(notebook, target=target)
    if as_json:
        emit_document(report)
    else:
        emit_page(promises_page(report), no_colour=no_colour)
    return 0


# ignore_unknown_options: `-1` is a run, not an option.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("run", metavar="ID")
@click.option("--replay", is_flag=True, help="Draw the verdict again from what was measured, with the rules of this version.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Write the page as Markdown.")
@click.option("--html", "html_path", metavar="FILE", help="Write its report with charts as one HTML file as well; - is stdout, without the page.")
@click.option("--force", is_flag=True, help="Write over FILE if it exists.")
@_notebook_option
@json_option
@colour_option
def show(*, run: str, **given: Any) -> int:
    """Show one run: ID is its id or the beginning of it, `latest`, or -1, -2, … for the newest, the one before, …"""
    from ridgeline.flows.show import replay as again_from
    from ridgeline.flows.show import show as stored_run

    if given["as_json"] and given["as_markdown"]:
        raise UsageError("one of --json and --markdown", found="both", remedy="leave one out")
    if run.startswith("-") and not run[1:].isdecimal():
        raise UsageError("an option of `ridgeline show`", found=run, remedy="see `ridgeline show --help`")
    file = reserve_html(given["html_path"], force=given["force"], others=stdout_options(given))
    stored = stored_run(given["notebook"], run)
    shown = again_from(stored) if given["replay"] else stored
    # The same file as `ridgeline report` writes; a verdict drawn again stands on the same facts.
    html = ""
    if given["html_path"] is not None:
        html = html_report(shown, stored.facts, at=stored.at) if isinstance(shown, Diagnosis) else run_report(shown)
    try:
        if given["html_path"] == STDOUT:
            emit_html(html)
        elif given["as_json"]:
            emit_document(shown)
        else:
            drawn = page(shown) if isinstance(shown, Diagnosis) else run_page(shown)
            emit_page(drawn, no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    finally:
        # Not lost where stdout cannot be written.
        if file is not None:
            write_atomic(file, html.encode())
    return 0
