"""`ridgeline open FILE`: a trace in a Perfetto UI, handed over by a local server; formats that the UI does not know are converted first."""

from __future__ import annotations

import contextlib
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ridgeline.core import UsageError

from .handover import Handover, origin_of
from .limits import limit_options, limits_of
from .options import json_option, quiet_option
from .output import emit_document
from .progress import Report, progress

if TYPE_CHECKING:
    from ridgeline.readers.source import Limits

__all__ = ["open_command"]

_UI = "https://ui.perfetto.dev"
#: Formats that a Perfetto UI reads itself.
_KNOWN = ("chrome", "perfetto")


class OpenDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.open/1"):
    """The JSON of `ridgeline open`: the address of the page that hands the trace over, and whether a browser was started with it."""

    address: str
    file: str
    ui: str
    browser: bool


@click.command(name="open", no_args_is_help=True)
@click.argument("file", metavar="FILE")
@click.option("--ui", metavar="URL", default=_UI, show_default=True, help="The Perfetto UI, such as one of your own.")
@click.option("--no-browser", is_flag=True, help="Start no browser; the address to open goes to stdout.")
@click.option("--findings", is_flag=True, help="With what `ridgeline read` finds, gaps and the critical path as lanes of their own.")
@click.option("--format", metavar="NAME", default="", help="The reader to use. [default: told from what is in the file]")
@limit_options
@json_option
@quiet_option
def open_command(
    *, file: str, ui: str, no_browser: bool, findings: bool, format: str, most_bytes: str | None, limit: tuple[str, ...], as_json: bool, quiet: bool
) -> int:
    """Open a trace in the Perfetto UI: from a local server to your browser, nothing is uploaded.

    FILE is any trace or profile with times that `ridgeline read` knows. The server ends when the UI has the trace, or with Ctrl-C.
    """
    origin_of(ui)
    with contextlib.ExitStack() as stack:
        with progress(quiet) as say:
            trace = stack.enter_context(_ready(file, format, limits_of(most_bytes, limit), findings=findings, say=say))
        served = stack.enter_context(Handover(trace, f"{Path(file).name} (ridgeline)", ui))
        started = not no_browser and webbrowser.open(served.address)
        if as_json:
            emit_document(OpenDocument(address=served.address, file=file, ui=ui, browser=started))
        elif not started:
            click.echo(served.address)
        if not quiet:
            click.echo(f"ridgeline: waiting for {ui} to take the trace; Ctrl-C ends", err=True)
        while not served.done.wait(0.2):
            pass
    return 0


@contextlib.contextmanager
def _ready(file: str, format: str, limits: Limits | None, *, findings: bool, say: Report) -> Iterator[Path]:
    """The file as the UI reads it: itself, or a converted copy that is gone afterwards."""
    from ridgeline.readers.reading import recognised
    from ridgeline.readers.source import Source

    source = Source(file, limits)
    reader = recognised(source)
    known = format or (reader.format if reader is not None else "")
    if known in _KNOWN and not findings:
        yield source.path
        return
    from ridgeline.flows.read import opened, report_of
    from ridgeline.reporting.export.chrome import write_chrome

    loaded, _ = opened(file, format=format, limits=limits, report=say)
    timeline = loaded.profile.timeline
    if timeline is None:
        raise UsageError(
            "a file with times, to look at them", found=f"{file} ({loaded.profile.format}), which has none", remedy="see `ridgeline read` of it"
        )
    report = report_of(loaded.profile, report=say) if findings else None
    with tempfile.NamedTemporaryFile(prefix="ridgeline-", suffix=".json") as copy:
        say("converting", None)
        write_chrome(timeline, copy, report)  # type: ignore[arg-type]
        copy.flush()
        yield Path(copy.name)
