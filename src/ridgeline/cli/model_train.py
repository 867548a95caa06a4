"""`ridgeline model train`: from tables of measured latencies to a model file."""

from __future__ import annotations

import os
from typing import Any

import click

from ridgeline.core.units import parse

from .options import check_common, colour_option, json_option, markdown_option, quiet_option
from .output import emit_document, emit_page, reserve
from .progress import progress

__all__ = ["train"]

_FILE = "operators.model"


@click.command(no_args_is_help=True)
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@click.option(
    "--device-file",
    "device_files",
    metavar="FILE",
    multiple=True,
    help="A device of the table that the catalogue lacks, as `ridgeline probe --json` writes it; repeatable.",
)
@click.option("-o", "--out", metavar="FILE", default=_FILE, show_default=True, help="Where the model is written.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Of splits and of whatever is drawn; the same gives the same file.",
)
@click.option("--level", default="90%", show_default=True, help="Share that intervals are to cover.")
@click.option("--resume", is_flag=True, help="Go on from what an interrupted training left beside FILE.")
@click.option("--force", is_flag=True, help="Write over FILE if it exists.")
@json_option
@markdown_option
@quiet_option
@colour_option
def train(*, tables: tuple[str, ...], **given: Any) -> int:
    """Learn from measured latencies what the formulas leave over, operator by operator.

    TABLE is what `ridgeline model collect` wrote, or a folder of published recordings that docs/model-training.md names. Rows that cannot be right
    are left out and counted; a table most of whose rows cannot be is refused. Each family of operators gets the corrector that errs least on
    held-out shapes.
    """
    from ridgeline.flows.model_train import train as flow

    check_common(given)
    reserve(given["out"], force=given["force"])
    with progress(given["quiet"]) as report:
        try:
            found = flow(
                tables, device_files=given["device_files"], out=given["out"], seed=given["seed"], resume=given["resume"],
                level=parse(given["level"], "1"), report=report,
            )  # fmt: skip
        except KeyboardInterrupt as error:
            if os.path.isfile(f"{given['out']}.training"):
                error.add_note(f"what is learned so far is kept in {given['out']}.training: --resume goes on")
            raise
    click.echo(f"ridgeline: wrote {os.fspath(given['out'])}", err=True)
    if given["as_json"]:
        emit_document(found)
    else:
        from ridgeline.reporting.model_page import model_page  # late: every command would load the rooms of models with it

        emit_page(model_page(found), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return 0
