"""`ridgeline model calibrate`: pairs of prediction and measurement, levels that moved, and versioned corrections."""

from __future__ import annotations

from typing import Any

import click

from ridgeline.core import UsageError
from ridgeline.reporting.calibration_page import calibration_page

from .options import check_common, colour_option, json_option, markdown_option, quiet_option
from .output import emit_document, emit_page
from .progress import progress

__all__ = ["calibrate"]


@click.command(no_args_is_help=True)
@click.argument("model", metavar="MODEL")
@click.option("--pairs", metavar="FILE", help='A file with {"predicted_s": …, "actual_s": …} on each line; of one that grew only what is new counts.')
@click.option(
    "--from-notebook",
    is_flag=True,
    help="Take the runs of the notebook that were not taken yet: what MODEL says of their models, and what was measured.",
)
@click.option("--notebook", metavar="PATH|URL", help="File or PostgreSQL URL of the notebook.")
@click.option("-o", "--out", metavar="STATE", help="The calibration that is kept; one that is there goes on. [default: MODEL.calibration]")
@click.option(
    "--version", "number", type=click.IntRange(0), help="Show the corrections of an earlier version, which stay what they were. [default: the newest]"
)
@json_option
@markdown_option
@quiet_option
@colour_option
def calibrate(*, model: str, **given: Any) -> int:
    """Correct the predictions of MODEL by what was measured: the bias of each group, levels that moved, and why they may have.

    MODEL is a file that `ridgeline model train` wrote. Without pairs the calibration that is kept is shown. A level that moved gives a new version;
    what an earlier one answered can be had again.
    """
    from ridgeline.flows.model_calibrate import calibrate as flow

    check_common(given)
    if given["notebook"] is not None and not given["from_notebook"]:
        raise UsageError("--notebook beside --from-notebook", found="--notebook alone", remedy="add --from-notebook")
    with progress(given["quiet"]) as report:
        found = flow(
            model, pairs=given["pairs"], from_notebook=given["from_notebook"], notebook=given["notebook"], out=given["out"], version=given["number"],
            report=report,
        )  # fmt: skip
    if given["as_json"]:
        emit_document(found)
    else:
        emit_page(calibration_page(found), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return 0
