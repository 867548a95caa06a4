"""`ridgeline show` and `ridgeline diff`: one entry of the notebook, and two runs side by side."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ridgeline.core import Comparison, ComparisonSet, Diagnosis, Run, UsageError
from ridgeline.machine import write_atomic
from ridgeline.reporting import Page, comparison_page, diff_page, html_report, page, recipe_script, run_page, run_report, with_recipe

from .options import check_common, colour_option, json_option, markdown_option
from .output import STDOUT, emit_document, emit_html, emit_page, reserve_html, stdout_options

__all__ = ["diff", "show"]

_notebook_option = click.option("--notebook", metavar="PATH|URL", help="File or PostgreSQL URL of the notebook.")
# `-1` is a run, not an option.
_AGES = {"ignore_unknown_options": True}


@click.command(context_settings=_AGES)
@click.argument("run", metavar="ID")
@click.option("--replay", is_flag=True, help="Draw the verdict again from what was measured, with the rules of this version.")
@click.option("--recipe", is_flag=True, help="Only the commands that measure it again, as a shell script.")
@markdown_option
@click.option("--html", "html_path", metavar="FILE", help="Write its report with charts as one HTML file as well; - is stdout, without the page.")
@click.option("--force", is_flag=True, help="Write over FILE if it exists.")
@_notebook_option
@json_option
@colour_option
def show(*, run: str, **given: Any) -> int:
    """Show one run: ID is its id or the beginning of it, `latest`, or -1, -2, … for the newest, the one before, … Or a comparison by its id."""
    from ridgeline.flows.show import entry

    _check(run, given)
    file = reserve_html(given["html_path"], force=given["force"], others=stdout_options(given))
    stored = entry(given["notebook"], run)
    if given["recipe"]:
        return _show_recipe(stored, given)
    if not isinstance(stored, Run):
        return _show_comparison(stored, given)
    html, document, drawn = _drawn(stored, given)
    try:
        if given["html_path"] == STDOUT:
            emit_html(html)
        elif given["as_json"]:
            emit_document(document)
        else:
            emit_page(drawn, no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    finally:
        # Not lost where stdout cannot be written.
        if file is not None:
            write_atomic(file, html.encode())
    return 0


def _check(run: str, given: dict[str, Any]) -> None:
    check_common(given)
    others = [f"--{name}" for name, key in (("markdown", "as_markdown"), ("html", "html_path"), ("replay", "replay")) if given[key]]
    if given["recipe"] and others:
        raise UsageError("--recipe alone or with --json", found=", ".join(others), remedy="leave it out")
    if run.startswith("-") and not run[1:].isdecimal():
        raise UsageError("an option of `ridgeline show`", found=run, remedy="see `ridgeline show --help`")


def _drawn(stored: Run, given: dict[str, Any]) -> tuple[str, msgspec.Struct, Page]:
    """HTML where it is wanted, the document of --json, and the page."""
    from ridgeline.flows.show import recipe, replay

    shown = replay(stored) if given["replay"] else stored
    # The same file as `ridgeline report` writes; a verdict drawn again stands on the same facts.
    html = ""
    if given["html_path"] is not None:
        html = html_report(shown, stored.facts, at=stored.at) if isinstance(shown, Diagnosis) else run_report(shown)
    if isinstance(shown, Diagnosis):
        return html, shown, page(shown)
    return html, shown, with_recipe(_page_of(shown), recipe(stored))


def _page_of(stored: Run) -> Page:
    return run_page(stored)


def _show_recipe(stored: Run | Comparison | ComparisonSet, given: dict[str, Any]) -> int:
    from ridgeline.flows.show import recipe

    if not isinstance(stored, Run):
        raise UsageError("a run, for --recipe", found="a comparison", remedy="give the id of one of its runs, or see the command on its page")
    made = recipe(stored)
    if given["as_json"]:
        emit_document(made)
    else:
        click.echo(recipe_script(made), nl=False)
    return 0


def _show_comparison(stored: Comparison | ComparisonSet, given: dict[str, Any]) -> int:
    if given["replay"] or given["html_path"] is not None:
        raise UsageError("a run, for --replay and --html", found="a comparison", remedy="leave them out, or compare its runs again")
    if given["as_json"]:
        emit_document(stored)
    else:
        emit_page(comparison_page(stored), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return 0


@click.command(context_settings=_AGES)
@click.argument("run_a", metavar="A")
@click.argument("run_b", metavar="B")
@markdown_option
@_notebook_option
@json_option
@colour_option
def diff(*, run_a: str, run_b: str, as_markdown: bool, notebook: str | None, as_json: bool, no_colour: bool) -> int:
    """Say what differs between two runs of the notebook: target, machine, software, settings, commit, and their numbers side by side.

    A and B are ids or the beginnings of ids, `latest`, or -1, -2, … Whether the numbers differ beyond noise is for `ridgeline compare A B` to say.
    """
    from ridgeline.flows.notebook_diff import diff as flow

    if as_json and as_markdown:
        raise UsageError("one of --json and --markdown", found="both", remedy="leave one out")
    for run in (run_a, run_b):
        if run.startswith("-") and not run[1:].isdecimal():
            raise UsageError("an option of `ridgeline diff`", found=run, remedy="see `ridgeline diff --help`")
    found = flow(notebook, run_a, run_b)
    if as_json:
        emit_document(found)
    else:
        emit_page(diff_page(found), no_colour=no_colour, as_markdown=as_markdown)
    return 0
