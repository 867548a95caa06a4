"""`ridgeline export` and `ridgeline import`: the notebook as a file, and a file as entries of the notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ridgeline.core import UsageError
from ridgeline.core.transfer import Exported, Imported, NotTaken
from ridgeline.core.units import format_quantity

from .options import json_option
from .output import STDOUT, emit_document, reserve
from .run_filters import filter_of, run_filters

__all__ = ["export_command", "import_command"]

_notebook_option = click.option("--notebook", metavar="PATH|URL", help="File or PostgreSQL URL of the notebook.")
#: Something was left behind: the rest was done, but the whole was asked for.
_INCOMPLETE = 2
#: So many of what was left behind are told one by one.
_TOLD = 10


@click.command("export")
@click.argument("file", metavar="FILE")
@click.option("--force", is_flag=True, help="Write over FILE if it exists.")
@run_filters
@_notebook_option
@json_option
def export_command(*, file: str, **given: Any) -> int:
    """Write the notebook, or the runs that the options name with what belongs to them, to FILE.

    FILE ends in .jsonl (JSON Lines, one document a line), .jsonl.gz or .parquet (a table for analysts; needs pyarrow); - is JSON Lines on stdout.
    All forms hold every sample, and `ridgeline import` reads them into any notebook. Exit code 2 where a run of the notebook could not be read; the
    others are written nevertheless.
    """
    from ridgeline.flows.notebook_transfer import check_name, export_notebook

    check_name(file)
    if file == STDOUT and given["as_json"]:
        raise UsageError(f"one of --json and {STDOUT}", found="both on stdout", remedy="give the file a name")
    if file != STDOUT:
        reserve(file, force=given["force"])
    done = export_notebook(given["notebook"], file, filter_of(given))
    if given["as_json"]:
        emit_document(done)
    else:
        click.echo(_exported(done), err=file == STDOUT)
    return _left_behind(done.left_out, done.left_out_count)


@click.command("import")
@click.argument("file", metavar="FILE")
@_notebook_option
@json_option
def import_command(*, file: str, notebook: str | None, as_json: bool) -> int:
    """Take the runs, experiments and comparisons of FILE, which `ridgeline export` wrote, into the notebook; - is stdin.

    What is there already stays as it is, so that the same file may be imported twice. Exit code 2 where something could not be read, or is there
    under the same id with another content; the rest is taken nevertheless.
    """
    from ridgeline.flows.notebook_transfer import import_notebook

    done = import_notebook(notebook, file)
    if as_json:
        emit_document(done)
    else:
        click.echo(_imported(done))
    _tell([f"{identity} is there with another content, which stays" for identity in done.conflicts], done.conflict_count)
    left = _left_behind(done.left_out, done.left_out_count)
    return _INCOMPLETE if done.conflict_count else left


def _exported(done: Exported) -> str:
    size = f", {format_quantity(done.size_bytes, 'B')}" if done.size_bytes is not None else ""
    counts = ((done.runs, "run"), (done.experiments, "experiment"), (done.comparisons, "comparison"))
    said = ", ".join(f"{number} {name}" + "s" * (number != 1) for number, name in counts)
    return f"{done.file}: {said}{size}"


def _imported(done: Imported) -> str:
    return f"{done.notebook}: {done.added} added, {done.present} there already, {done.conflict_count} in conflict, {done.left_out_count} left out"


def _left_behind(left_out: Sequence[NotTaken], count: int) -> int:
    _tell([f"left out {one.id}: {one.reason}" for one in left_out], count)
    return _INCOMPLETE if count else 0


def _tell(lines: Sequence[str], count: int) -> None:
    for line in lines[:_TOLD]:
        click.echo(f"ridgeline: {line}", err=True)
    if count > min(_TOLD, len(lines)):
        click.echo(f"ridgeline: and {count - min(_TOLD, len(lines))} more (--json names them)", err=True)
