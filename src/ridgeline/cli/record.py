"""`ridgeline log` and `ridgeline show`: the notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from ridgeline.core import Diagnosis, UsageError
from ridgeline.machine import write_atomic
from ridgeline.notebook import ComparisonSummary, RunFilter, RunSummary
from ridgeline.reporting import Page, comparison_table, html_report, log_table, page, promises_page, run_page, run_report

from .options import colour_option, json_option
from .output import STDOUT, emit_document, emit_html, emit_page, reserve_html, stdout_options
from .run_filters import filter_of, run_filters

__all__ = ["log", "show"]

_notebook_option = click.option("--notebook", metavar="PATH|URL", help="File or PostgreSQL URL of the notebook.")


class LogDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.log/1"):
    """The JSON of `ridgeline log`; `comparisons` are there where they were asked for."""

    notebook: str
    runs: tuple[RunSummary, ...] = ()
    comparisons: tuple[ComparisonSummary, ...] = ()


@click.command()
@click.option("--limit", "-n", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="At most so many, newest first.")
@run_filters
@click.option("--promises", is_flag=True, help="How often promises held, by action and over time, instead of the runs; takes --target and --machine.")
@click.option("--comparisons", "compared", is_flag=True, help="What was compared instead of the runs; takes --target.")
@_notebook_option
@json_option
@colour_option
def log(*, limit: int, promises: bool, compared: bool, **given: Any) -> int:
    """List the runs of the notebook, what was compared, or how often its promises held."""
    from ridgeline.flows.log import log as flow

    wanted = filter_of(given)
    if promises or compared:
        _refuse_filters(wanted, promises=promises, compared=compared)
        return _promises(wanted, given) if promises else _comparisons(limit, wanted, given)
    place, runs = flow(given["notebook"], limit=limit, wanted=wanted)
    _emit(LogDocument(notebook=place, runs=runs), log_table(runs, filtered=wanted != RunFilter()), given)
    return 0


def _refuse_filters(wanted: RunFilter, *, promises: bool, compared: bool) -> None:
    """Refuse what would be passed over in silence."""
    if promises and compared:
        raise UsageError("one of --promises and --comparisons", found="both", remedy="leave one out")
    taken = {"target", "machine"} if promises else {"target"}
    others = [f"--{name}" for name in RunFilter.__struct_fields__ if getattr(wanted, name) is not None and name not in taken]
    if others:
        with_what = "--promises" if promises else "--comparisons"
        allowed = " and ".join(f"--{name}" for name in sorted(taken, reverse=True))
        raise UsageError(f"{with_what} with {allowed} at the most", found=", ".join(others), remedy="leave them out")


def _promises(wanted: RunFilter, given: Mapping[str, Any]) -> int:
    from ridgeline.flows.promises import promises as flow

    report = flow(given["notebook"], target=wanted.target, machine=wanted.machine)
    _emit(report, promises_page(report), given)
    return 0


def _comparisons(limit: int, wanted: RunFilter, given: Mapping[str, Any]) -> int:
    from ridgeline.flows.log import comparisons as flow

    place, found = flow(given["notebook"], limit=limit, target=wanted.target)
    _emit(LogDocument(notebook=place, comparisons=found), comparison_table(found), given)
    return 0


def _emit(document: msgspec.Struct, drawn: Page, given: Mapping[str, Any]) -> None:
    if given["as_json"]:
        emit_document(document)
    else:
        emit_page(drawn, no_colour=given["no_colour"])


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
