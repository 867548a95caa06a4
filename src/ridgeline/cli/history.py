"""`ridgeline history TARGET`: what became of a target over the runs of the notebook."""

from __future__ import annotations

from typing import Any

import click

from ridgeline.core.units import parse
from ridgeline.reporting import history_page

from .options import check_common, colour_option, json_option, markdown_option
from .output import emit_document, emit_page

__all__ = ["history"]


@click.command(no_args_is_help=True)
@click.argument("target")
@click.option(
    "--metric", "metrics", type=click.Choice(["median", "p99", "throughput"]), multiple=True, help="Only this one; repeatable. [default: all]"
)
@click.option("--machine", metavar="TEXT", help="Only runs of machines whose CPU's name contains TEXT, or whose fingerprint begins so.")
@click.option("--limit", "-n", type=click.IntRange(1, 100_000), default=500, show_default=True, help="The newest so many runs.")
@click.option("--confidence", default="97%", show_default=True, help="Of where the next run is expected.")
@click.option("--notebook", metavar="PATH|URL", help="File or PostgreSQL URL of the notebook.")
@json_option
@markdown_option
@colour_option
def history(*, target: str, **given: Any) -> int:
    """Show the runs of TARGET over time: steps with the commits that bracket them, drift, and where the next run is expected.

    TARGET is written as it was when it was measured (see `ridgeline log`). Runs of another machine, thread count or input stand apart.
    """
    from ridgeline.flows.history import METRICS
    from ridgeline.flows.history import history as flow

    check_common(given)
    report = flow(
        target,
        notebook=given["notebook"],
        metrics=given["metrics"] or METRICS,
        machine=given["machine"],
        limit=given["limit"],
        confidence=parse(given["confidence"], "1"),
    )
    if given["as_json"]:
        emit_document(report)
    else:
        emit_page(history_page(report), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return 0
