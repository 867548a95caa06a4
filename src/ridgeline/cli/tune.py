"""`ridgeline tune TARGET|SPEC`: the best configuration, and how sure that is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ridgeline.core import Selection, TuneReport, UsageError
from ridgeline.core.documents import encode
from ridgeline.core.units import parse
from ridgeline.machine import write_atomic

from .options import check_common, colour_option, json_option, markdown_option, notebook_options, opened, quiet_option, runtime_option, shape_option
from .output import STDOUT, emit_document, emit_html, emit_page, reserve, reserve_html, stdout_options
from .progress import progress
from .target_command import TargetCommand, named_target

if TYPE_CHECKING:
    from ridgeline.core import Run

__all__ = ["tune"]

_INTERRUPTED, _INCONCLUSIVE, _NOTHING_RAN = 130, 3, 2
#: Exports of the best configuration, and of all trials.
_OF_BEST, _OF_TRIALS = ("json", "header", "python"), ("t4", "cache")


@click.command(cls=TargetCommand, no_args_is_help=True, options_metavar="[OPTIONS]")
@click.argument("target", metavar="TARGET|SPEC|--", required=True)
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--trials", type=click.IntRange(1, 10_000_000), help="Different configurations that are tried. [default: the SPEC's, else 200]")
@click.option("--time", "time_text", metavar="TIME", help="How long it may take in all, such as 10min. [default: the SPEC's, else no limit]")
@click.option("--objective", metavar="NAMES", help="Made small: time, memory, energy, several with commas. [default: the SPEC's, else time]")
@click.option("--strategy", metavar="NAME", help="The search: guided, random, latin, … [default: the SPEC's, else guided]")
@click.option("--strategy-option", "strategy_options", metavar="NAME=VALUE", multiple=True, help="An option of the search; repeatable.")
@click.option(
    "--prior", "priors", metavar="FILE", multiple=True,
    help="Begin from a recording of the same kernel elsewhere: a record, a cache of Kernel Tuner, T4 results; repeatable.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Of the search and of all that is drawn. [default: the SPEC's, else 0]")
@click.option("--record", metavar="FILE", help="Keep each trial there as soon as it has ended.")
@click.option("--resume", is_flag=True, help="Go on with the trials in the record.")
@click.option("--workers", type=click.IntRange(1, 1024), default=1, show_default=True, help="That compile at once; measured is one after the other.")
@click.option("--runs", type=click.IntRange(1, 100_000), help="Timed runs of a configuration each time. [default: 7, or as fill 20 ms]")
@click.option("--lower-precision", is_flag=True, help="Allow a deployment settings that lower its precision and change its results.")
@shape_option
@runtime_option
@click.option(
    "--device", metavar="NAME", help="Of the catalogue: its limits for constraints where the driver says none, its ceilings for the roofline."
)
@click.option("--input", "input_path", metavar="FILE|DIR|FUNCTION", help="Inputs of a model, as of bench.")
@click.option(
    "--export", "exports", nargs=2, type=(click.Choice([*_OF_BEST, *_OF_TRIALS]), str), multiple=True,
    metavar="json|header|python|t4|cache FILE",
    help="Write the best: to a JSON file of configurations (for `ridgeline.select`; one that exists gets one more), a C header, a Python module; "
    "or all trials: T4 results, a cache of Kernel Tuner.",
)  # fmt: skip
@click.option("--html", "html_path", metavar="FILE", help="Write the report with charts as one HTML file as well; - is stdout, without the page.")
@click.option("--force", is_flag=True, help="Write over files that exist.")
@click.option("--strict", is_flag=True, help="Exit with 3 where the best is not told from others.")
@json_option
@markdown_option
@notebook_options
@quiet_option
@colour_option
@click.pass_context
def tune(ctx: click.Context, /, **given: Any) -> int:
    """Find the best configuration of a kernel (SPEC) or a deployment (TARGET) with few measurements, and say how sure that is.

    SPEC is SPEC.toml, file.py:NAME, or a problem of another tuner (T1 format, .json); docs/tune.md says what stands in one. TARGET is as of bench: a
    model with its runtime, a function, a script or a command needs no SPEC. An interrupt ends the search with the best so far.

    A recorded space as TARGET (a record of this command, a cache of Kernel Tuner, T4 results) answers in place of a device: nothing is measured, and
    searches can be held against it.
    """
    check_common(given)
    if given["resume"] and not given["record"]:
        raise UsageError("--resume with --record FILE", found="no record", remedy="name the record of the tuning that is to go on")
    html_file = reserve_html(given["html_path"], force=given["force"], others=stdout_options(given))
    _reserve_exports(given, html_file)
    runs: list[Run] = []
    report = _tuned(named_target(ctx, given), given, ctx.meta.get("ridgeline.line", ""), runs)
    _write(report, runs[0], html_file, given)
    if given["html_path"] != STDOUT:
        _say(report, given)
    if report.stopped == "interrupted":
        return _INTERRUPTED
    if report.best is None:
        return _NOTHING_RAN
    return _INCONCLUSIVE if given["strict"] and report.best.verdict == "open" else 0


def _reserve_exports(given: dict[str, Any], html_file: Path | None) -> None:
    """What would be noticed only once all is measured: a file that cannot be written or gone on with, or that is another one of the command's."""
    from ridgeline.flows.select import read_selection

    for kind, path in given["exports"]:
        reserve(path, force=given["force"] or kind == "json")
        if kind == "json" and os.path.exists(path):
            read_selection(path)
    spec, (file, _, _) = str(given["target"]), str(given["target"]).rpartition(":")
    read = [("the target", spec), ("the target", file), ("--record", given["record"]), *(("--prior", each) for each in given["priors"])]
    known = {os.path.realpath(path): what for what, path in read if path and "\0" not in path}
    outputs = [("--html", str(html_file))] if html_file is not None else []
    for what, path in [*outputs, *((f"--export {kind}", path) for kind, path in given["exports"])]:
        before = known.setdefault(os.path.realpath(path), what)
        if before != what:
            raise UsageError(f"a file of its own for {what}", found=f"{path}, which is that of {before}", remedy="give it another name")


def _tuned(target: str | None, given: dict[str, Any], line: str, runs: list[Run]) -> TuneReport:
    from ridgeline.flows.tune import tune as flow
    from ridgeline.flows.tuning.replay import Replay, replay_of
    from ridgeline.flows.tuning.wanted import spec_of

    time_s = None if given["time_text"] is None else parse(given["time_text"], "s")
    subject: Any = (replay_of(target) or spec_of(target)) if target is not None else None
    if subject is None:
        from ridgeline.targets import parse_target

        subject = parse_target(target, given["arguments"], input=given["input_path"], shapes=given["shapes"], runtime=given["runtime"])
    elif given["arguments"] or given["shapes"] or given["input_path"] or given["runtime"]:
        remedy = "write them into the SPEC" if not isinstance(subject, Replay) else "leave them out"
        raise UsageError("a SPEC or a recording by itself", found="arguments or options of a model beside it", remedy=remedy)
    elif given["lower_precision"]:
        raise UsageError("a deployment beside --lower-precision", found="a SPEC or a recording", remedy="leave the option out")
    with opened(given["notebook"], given["no_notebook"]) as notebook, progress(given["quiet"]) as report:
        try:
            return flow(
                subject, record=given["record"], resume=given["resume"], strategy=given["strategy"], objectives=given["objective"],
                options=_options(given["strategy_options"]), priors=given["priors"], trials=given["trials"], time_s=time_s,
                seed=given["seed"], workers=given["workers"], precisions=given["lower_precision"], device=given["device"], runs=given["runs"],
                notebook=notebook, report=report, command=line, run_to=runs.append,
            )  # fmt: skip
        except KeyboardInterrupt as error:
            if given["record"] and os.path.isfile(given["record"]):
                error.add_note(f"what was measured is kept in {given['record']}: --resume goes on")
            raise


def _options(texts: Sequence[str]) -> dict[str, Any]:
    """Options `NAME=VALUE`, of a name the last one: a number, true, false, or a text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals):
            raise UsageError("an option NAME=VALUE of the search", found=repr(text), remedy="write its name, = and its value")
        try:
            found[name] = msgspec.json.decode(value, type=bool | int | float)
        except msgspec.DecodeError:
            found[name] = value
    return found


def _write(report: TuneReport, run: Run, html_file: Path | None, given: dict[str, Any]) -> None:
    from ridgeline.reporting.export.tuned import c_header, python_module, recorded, selected

    if given["html_path"] is not None:
        from ridgeline.reporting import tuned_report_html

        html = tuned_report_html(report, run.trials)
        if html_file is None:
            emit_html(html)
        else:
            write_atomic(html_file, html.encode())
    if report.best is None and any(kind in _OF_BEST for kind, _ in given["exports"]):
        raise UsageError("a configuration that ran, to export", found="none", remedy="see the failures in the record")
    for kind, path in given["exports"]:
        if kind in _OF_TRIALS:
            from ridgeline.reporting.export.tuning import write_cache, write_results

            (write_results if kind == "t4" else write_cache)(recorded(report, run.trials), path)
        elif kind == "json":
            from ridgeline.flows.select import read_selection

            before = read_selection(path) if os.path.exists(path) else Selection()
            now = datetime.now(UTC).isoformat(timespec="seconds")
            write_atomic(path, encode(before.with_entry(selected(report, now))) + b"\n")
        else:
            write_atomic(path, (c_header if kind == "header" else python_module)(report).encode())


def _say(report: TuneReport, given: dict[str, Any]) -> None:
    from ridgeline.reporting import tuned_page

    if given["as_json"]:
        emit_document(report)
    else:
        emit_page(tuned_page(report), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
