"""`ridgeline log`: what the notebook holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from ridgeline.core import UsageError
from ridgeline.notebook import ComparisonSummary, RunFilter, RunSummary
from ridgeline.reporting import Page, comparison_table, log_table, promises_page

from .options import colour_option, json_option
from .output import emit_document, emit_page
from .run_filters import filter_of, run_filters

__all__ = ["log"]

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
