"""`ridgeline report RUN`: a stored run as one HTML file with charts, which opens offline."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from ridgeline.core import UsageError
from ridgeline.machine import write_atomic
from ridgeline.reporting import MADE_BY, run_report

from .options import json_option
from .output import STDOUT, emit_document, emit_html, reserve, reserve_html

__all__ = ["report"]

#: What made an HTML file stands within so many bytes of its beginning.
_HEAD_BYTES = 256


class ReportDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.report/1"):
    """The JSON of `ridgeline report`: which run was written where, and how large the file is."""

    run: str
    file: str
    size_bytes: int


# ignore_unknown_options: `-1` is a run, not an option.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("run", metavar="RUN")
@click.option("--html", "html_path", metavar="FILE", help="Where to write it; - is stdout. [default: ridgeline-RUN.html in this directory]")
@click.option("--force", is_flag=True, help="Write over FILE if it exists; a report under the default name is written again without.")
@click.option("--notebook", metavar="PATH|URL", help="File or PostgreSQL URL of the notebook.")
@json_option
def report(run: str, html_path: str | None, force: bool, notebook: str | None, as_json: bool) -> int:
    """Write the report of one run: verdict, promises, roofline, latency and every number, as one HTML file that opens offline.

    RUN is its id or the beginning of it, `latest`, or -1, -2, … for the newest, the one before, … The name of the file goes to stdout.
    """
    from ridgeline.flows.show import show

    if run.startswith("-") and not run[1:].isdecimal():
        raise UsageError("an option of `ridgeline report`", found=run, remedy="see `ridgeline report --help`")
    # A name that was given is checked before the notebook is opened, one of ours needs the id first.
    file = reserve_html(html_path, force=force, others=["--json"] if as_json else [])
    stored = show(notebook, run)
    if html_path == STDOUT:
        emit_html(run_report(stored))
        return 0
    file = file or _default_file(stored.id, force=force)
    written = run_report(stored).encode()
    write_atomic(file, written)
    if as_json:
        emit_document(ReportDocument(run=stored.id, file=str(file), size_bytes=len(written)))
    else:
        click.echo(str(file))
    return 0


def _default_file(identity: str, *, force: bool) -> Path:
    """The file under the default name, which may take the place of an earlier report of that run: that says the same."""
    name = f"ridgeline-{identity}.html"
    return reserve(name, force=force or _own(name))


def _own(path: str) -> bool:
    """Whether a file is a report that was written here before: an HTML file that names ridgeline as what made it."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return head.startswith(b"<!DOCTYPE html>") and MADE_BY.encode() in head
