"""`ridgeline read FILE…`: what any profiler wrote, to its answers; with `--to` in another format, with `--against` beside a second trace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ridgeline.core import Profile, ReadReport, UsageError
from ridgeline.machine import write_atomic
from ridgeline.reporting.difference_page import difference_page
from ridgeline.reporting.read_page import MOST, read_page

from .limits import limit_options, limits_of
from .options import check_common, colour_option, json_option, markdown_option, quiet_option
from .output import STDOUT, emit_document, emit_html, emit_page, reserve, reserve_html, stdout_options
from .progress import Report, progress

__all__ = ["read", "read_and_emit"]

#: What `--to` writes.
FORMATS = ("chrome", "speedscope", "collapsed", "parquet")
_INCOMPARABLE, _INCONCLUSIVE = 2, 3


@click.command(no_args_is_help=True, options_metavar="[OPTIONS]")
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option("--format", metavar="NAME", default="", help="The reader to use. [default: told from what is in the file]")
@click.option("--window", metavar="FROM..TO", default="", help="Only this part of the time, from the start of the trace: 10ms..25ms, ..1s, 2s..")
@click.option("--iteration", type=click.IntRange(1, 10**9), help="Only this one of the iterations that are found.")
@click.option("--top", type=click.IntRange(1, 100_000), default=MOST, show_default=True, help="Rows of each list on the page.")
@click.option(
    "--what-if",
    "what_if",
    metavar="NAME=FACTOR",
    multiple=True,
    help="The window if the own time of what has this name were so many times faster, or `free`; repeatable.",
)
@click.option("--nested", is_flag=True, help="With --what-if: with all that is nested in it on its thread.")
@click.option("--against", metavar="FILE", help="What differs between FILE, which came before, and this trace or profile of the same program.")
@click.option("--to", "to", type=click.Choice(FORMATS), help="Write the contents in another format, into the file of --out.")
@click.option("--out", metavar="FILE", help="Where --to writes.")
@click.option("--html", "html_path", metavar="FILE", help="Write a report with a timeline as one HTML file as well; - is stdout, without the page.")
@click.option("--force", is_flag=True, help="Write over files that exist.")
@limit_options
@click.option("--strict", is_flag=True, help="Exit with 3 where the file cannot tell what limits the program.")
@json_option
@markdown_option
@quiet_option
@colour_option
def read(*, files: tuple[str, ...], **given: Any) -> int:
    """Say what limits the program that a trace or profile was recorded of, and answer what such a file is for.

    FILE is what a profiler wrote (PyTorch, TensorFlow, JAX, onnxruntime, Nsight, rocprof, TensorRT, TFLite, perf, py-spy and others), packed or not;
    what wrote it is told from its contents. Several files are pieces or ranks of one run. docs/readers.md has the formats and what each tells.
    """
    return read_and_emit(files, given)


def read_and_emit(files: Sequence[str], given: dict[str, Any]) -> int:
    """Read, and write what was asked for; `given` has the options of `read` by their names."""
    check_common(given)
    _check(files, given)
    html_file = reserve_html(given["html_path"], force=given["force"], others=stdout_options(given))
    out_file = _out(given)
    if given["against"] is not None:
        return _differences(files, given)
    with progress(given["quiet"]) as say:
        report, profile = _answers(files, given, say)
        html = _html(report, profile) if given["html_path"] is not None else ""
        if out_file is not None:
            _export(report, profile, given["to"], out_file, say)
    try:
        _emit(report, given, html)
    finally:
        # Not lost where stdout cannot be written.
        if html_file is not None:
            write_atomic(html_file, html.encode())
    return _INCONCLUSIVE if given["strict"] and _undecided(report) else 0


def _undecided(report: ReadReport) -> bool:
    return report.findings[0].bound == "inconclusive" if report.findings else report.healthy is None


def _out(given: dict[str, Any]) -> Path | None:
    """The file of --out, and the one beside it where a format has two, both checked."""
    from ridgeline.reporting.export.exporting import beside

    if given["out"] is None:
        return None
    file = reserve(given["out"], force=given["force"])
    second = beside(file, given["to"])
    if second is not None:
        reserve(str(second), force=given["force"])
    return file


def _emit(report: ReadReport, given: dict[str, Any], html: str = "") -> None:
    """The report on stdout, in the form that was asked for."""
    if given["html_path"] == STDOUT:
        emit_html(html)
    elif given["as_json"]:
        emit_document(report)
    else:
        emit_page(read_page(report, most=given["top"]), no_colour=given["no_colour"], as_markdown=given["as_markdown"])


def _check(files: Sequence[str], given: dict[str, Any]) -> None:
    if (given["to"] is None) != (given["out"] is None):
        found = "--to without --out" if given["out"] is None else "--out without --to"
        raise UsageError("--to FORMAT and --out FILE", found=found, remedy="give both or none")
    if given["nested"] and not given["what_if"]:
        raise UsageError("--nested beside --what-if", found="--nested alone", remedy="say what were to be faster, such as --what-if forward=2")
    if given["out"] == STDOUT:
        raise UsageError("a file for --out", found="stdout", remedy="give the file a name")
    if given["against"] is not None:
        others = {
            "--window": given["window"],
            "--iteration": given["iteration"],
            "--what-if": given["what_if"],
            "--nested": given["nested"],
            "--to": given["to"],
            "--html": given["html_path"],
        }
        found = ", ".join(name for name, value in others.items() if value)
        if found or len(files) != 1:
            raise UsageError("--against FILE with one file and none of these", found=found or f"{len(files)} files", remedy="leave the others out")


def _answers(files: Sequence[str], given: dict[str, Any], say: Report) -> tuple[ReadReport, Profile]:
    from ridgeline.flows.read import opened
    from ridgeline.flows.reading.answering import answered

    changes = _changes(given["what_if"])
    limits = limits_of(given["most_bytes"], given["limit"])
    loaded, what = opened(files, format=given["format"], limits=limits, window=given["window"], iteration=given["iteration"], report=say)
    return answered(loaded.profile, skew_s=loaded.skew_s, changes=changes, nested=given["nested"], what=what, report=say), loaded.profile


def _changes(texts: Sequence[str]) -> dict[str, float | None]:
    """`NAME=FACTOR`: how many times faster, `free` for no time at all; names may hold `=`, so the last one counts."""
    found: dict[str, float | None] = {}
    for text in texts:
        name, sign, factor = text.rpartition("=")
        try:
            value = None if factor == "free" else float(factor.removesuffix("x"))
        except ValueError:
            value = math.nan
        if not name or not sign or (value is not None and not 0 < value < math.inf):
            raise UsageError("a what-if NAME=FACTOR", found=repr(text), remedy="write how many times faster, such as gemm=2, or gemm=free")
        found[name] = value
    return found


def _differences(files: Sequence[str], given: dict[str, Any]) -> int:
    from ridgeline.flows.read import compare_traces

    with progress(given["quiet"]) as say:
        found = compare_traces(given["against"], files[0], format=given["format"], limits=limits_of(given["most_bytes"], given["limit"]), report=say)
    if given["as_json"]:
        emit_document(found)
    else:
        emit_page(difference_page(found, most=given["top"]), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return _INCOMPARABLE if found.verdict == "incomparable" else 0


def _html(report: ReadReport, profile: Profile) -> str:
    from ridgeline.reporting.report.traced import trace_report

    return trace_report(report, profile)


def _export(report: ReadReport, profile: Profile, to: str, file: Path, say: Report) -> None:
    from ridgeline.reporting.export.exporting import export

    say(f"writing {file}", None)
    export(profile, report, to, file)
