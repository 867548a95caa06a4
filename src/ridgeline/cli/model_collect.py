"""`ridgeline model collect`: measure this machine's operators, to train a model on."""

from __future__ import annotations

import os

import click
import msgspec

from ridgeline.core.profile import Excluded
from ridgeline.core.units import parse
from ridgeline.reporting.collected_page import collected_page

from .options import colour_option, json_option, markdown_option, quiet_option
from .output import emit_document, emit_page, reserve
from .progress import progress

__all__ = ["collect"]

_FILE = "operators.latencies.json"


class CollectedDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.collected/1"):
    """The JSON of `ridgeline model collect`: where the table is and what is in it.

    Args:
        table: the file; device: that was measured; source: with which software.
        rows: operators in it, by family.
        excluded: what was measured and left out.
        threads: of the runtime, 0 for its own choice.
    """

    table: str
    device: str
    source: str
    rows: dict[str, int]
    excluded: tuple[Excluded, ...]
    threads: int = 0


@click.command()
@click.option("-o", "--out", metavar="FILE", default=_FILE, show_default=True, help="Where the table is written; rows stand in FILE.rows meanwhile.")
@click.option("--time", "seconds", metavar="TIME", default="20min", show_default=True, help="How long to measure, all sessions together.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of the design of shapes.")
@click.option("--threads", type=click.IntRange(0, 4096), default=0, show_default=True, help="Of the runtime; 0 is its own choice.")
@click.option("--resume", is_flag=True, help="Go on with the rows of an interrupted collection.")
@click.option("--force", is_flag=True, help="Write over FILE if it exists, and begin again.")
@json_option
@markdown_option
@quiet_option
@colour_option
def collect(
    out: str, seconds: str, seed: int, threads: int, resume: bool, force: bool, as_json: bool, as_markdown: bool, quiet: bool, no_colour: bool
) -> int:
    """Measure operators of onnxruntime on this machine: a designed set of types and shapes, spread evenly, then more where they are hard to tell.

    Let nothing else run: rows beside a busy neighbour are measured again or left out. An interrupted collection keeps its rows.
    """
    from ridgeline.flows.model_collect import collect as flow

    if not resume:
        reserve(out, force=force)
    with progress(quiet) as report:
        try:
            found = flow(out, seconds=parse(seconds, "s"), seed=seed, threads=threads, resume=resume, again=force and not resume, report=report)
        except KeyboardInterrupt as error:
            if os.path.isfile(f"{out}.rows"):
                error.add_note(f"what was measured so far is kept in {out}: --resume goes on")
            raise
    click.echo(f"ridgeline: wrote {os.fspath(out)}", err=True)
    if as_json:
        kinds = found.texts("kind")
        rows = {kind: kinds.count(kind) for kind in found.kinds}
        device = found.devices[0] if found.devices else ""
        emit_document(
            CollectedDocument(table=out, device=device, source=found.source, rows=rows, excluded=found.excluded, threads=found.threads(device))
        )
    else:
        emit_page(collected_page(found), no_colour=no_colour, as_markdown=as_markdown)
    return 0
