"""`ridgeline model validate`: predictions held against measurements that were held out."""

from __future__ import annotations

from typing import Any

import click

from ridgeline.core import UsageError
from ridgeline.core.units import parse
from ridgeline.machine import write_atomic
from ridgeline.reporting import validation_page

from .options import check_common, colour_option, json_option, markdown_option, quiet_option
from .output import STDOUT, emit_document, emit_html, emit_page, reserve_html, stdout_options
from .progress import progress

__all__ = ["validate"]

_PARTS = 5


@click.command(no_args_is_help=True)
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@click.option(
    "--by",
    type=click.Choice(["row", "shape", "family", "device"]),
    help="What is held out: no row, shape, family or device of the test is learned from. [default: shape]",
)
@click.option("--folds", type=click.IntRange(2, 1000), help="Parts into which rows or shapes are divided, each held out once. [default: 5]")
@click.option("--model", "model_file", metavar="FILE", help="Ask this trained file as it is, about rows of which it has seen none.")
@click.option("--device-file", "device_files", metavar="FILE", multiple=True, help="A device of the table that the catalogue lacks; repeatable.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of splits and of whatever is drawn.")
@click.option("--level", default="90%", show_default=True, help="Share that intervals are to cover.")
@click.option(
    "--html",
    "html_path",
    metavar="FILE",
    help="Write the report with predicted against measured drawn as one HTML file as well; - is stdout, without the page.",
)
@click.option("--force", is_flag=True, help="Write over files that exist.")
@json_option
@markdown_option
@quiet_option
@colour_option
def validate(*, tables: tuple[str, ...], **given: Any) -> int:
    """Say how far off a model is on rows that it has not seen: errors, rank correlation, coverage of the intervals, the worst cases by name.

    A split in which a test row, its shape, its measurement or its device stands among the rows that were learned from is refused.
    """
    from ridgeline.flows.model_validate import validate as flow

    check_common(given)
    if given["model_file"] is not None and (given["by"] is not None or given["folds"] is not None):
        found = "--by" if given["by"] is not None else "--folds"
        raise UsageError("--model alone, which holds out all rows", found=f"{found} beside it", remedy="leave one out")
    if given["by"] in ("family", "device") and given["folds"] is not None:
        raise UsageError(f"--folds with --by row or shape: each {given['by']} is held out by itself", found="both", remedy="leave --folds out")
    html_file = reserve_html(given["html_path"], force=given["force"], others=stdout_options(given))
    with progress(given["quiet"]) as report:
        found = flow(
            tables, by=given["by"] or "shape", count=given["folds"] or _PARTS, model=given["model_file"], device_files=given["device_files"],
            seed=given["seed"], level=parse(given["level"], "1"), report=report,
        )  # fmt: skip
    html = ""
    if given["html_path"] is not None:
        from ridgeline.reporting import validation_report_html

        html = validation_report_html(found)
    if html_file is not None:
        write_atomic(html_file, html.encode())
    if given["html_path"] == STDOUT:
        emit_html(html)
    elif given["as_json"]:
        emit_document(found)
    else:
        emit_page(validation_page(found), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return 0
