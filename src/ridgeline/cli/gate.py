"""`ridgeline gate TARGET…`: may this version go in? The verdict is the exit code, the page says why, and files say it to a CI server."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ridgeline.core import GateReport, SeriesSet, UsageError
from ridgeline.core.documents import encode
from ridgeline.core.units import parse
from ridgeline.machine import write_atomic
from ridgeline.reporting import gate_comment, gate_page, junit_xml

from .options import colour_option, json_option, notebook_options, opened, quiet_option
from .output import emit_document, emit_page, reserve
from .progress import progress

if TYPE_CHECKING:
    from ridgeline.flows.gate import Efforts

__all__ = ["gate"]

_CODES = {"green": 0, "red": 1, "unlike": 2, "unsure": 0}
_STRICT = 3


class _GateCommand(click.Command):
    """Takes what stands behind `--` for a command line before click reads the rest."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Fill `command` in the context's `meta`."""
        ctx.meta["ridgeline.line"] = shlex.join(["ridgeline", "gate", *args])
        if "--" in args:
            at = args.index("--")
            ctx.meta["ridgeline.command"] = tuple(args[at + 1 :])
            if not args[at + 1 :]:
                raise click.UsageError("nothing stands behind --, where a command was expected", ctx)
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command(cls=_GateCommand, no_args_is_help=True, options_metavar="[OPTIONS]")
@click.argument("targets", metavar="TARGET|SUITE.toml|FILE...", nargs=-1)
@click.option(
    "--baseline",
    metavar="REV|RUN|FILE|history",
    help="Branch or commit (checked out and measured beside this version), stored run, result file. [default: history, the runs of the notebook]",
)
@click.option("--predicted", metavar="TIME[..TIME]", help="Hold the one TARGET against a predicted time instead, such as 4.2ms or 4.0ms..4.4ms.")
@click.option("--tolerance", default="10%", show_default=True, help="Relative error of a prediction that is let pass.")
@click.option("--setup", metavar="COMMAND", help="Shell command run first in the checked-out baseline, such as a build.")
@click.option("--margin", default="2%", show_default=True, help="Relative slowdown that is let pass, where a suite says nothing else.")
@click.option("--confidence", default="97%", show_default=True, help="That no benchmark of an unchanged version makes it red.")
@click.option("--changing", metavar="KEY", multiple=True, help="A key whose difference is the point of the change, such as precision; repeatable.")
@click.option("--fail-on", type=click.Choice(["slower", "tail"]), default="slower", show_default=True, help="tail: a worse p99 alone is red as well.")
@click.option("--time-budget", metavar="SECONDS", type=float, default=4.0, show_default=True, help="Of the first looking at one benchmark.")
@click.option(
    "--confirm-budget", metavar="SECONDS", type=float, default=12.0, show_default=True, help="Of the second, where the first saw something."
)
@click.option("--processes", type=int, default=5, show_default=True, help="Of each version in the first looking.")
@click.option("--confirm-processes", type=int, default=12, show_default=True, help="Of each version in the second.")
@click.option("--samples", type=click.IntRange(1, 10_000_000), help="Calls of a process. [default: as many as fit]")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the order of processes.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML as well.")
@click.option("--markdown", metavar="FILE", help="Write a comment for a pull request as well.")
@click.option("--save", metavar="FILE", help="Write what was measured of this version, for --baseline FILE of a later gate.")
@click.option("--force", is_flag=True, help="Write over files that exist.")
@click.option("--strict", is_flag=True, help="Exit with 3 where a regression beyond the margin is not excluded.")
@json_option
@notebook_options
@quiet_option
@colour_option
@click.pass_context
def gate(ctx: click.Context, /, **given: Any) -> int:
    """Hold this version against a baseline; exit with 1 if a benchmark is slower and a second looking on fresh processes confirms it.

    TARGET is as in diagnose; a Python file with functions bench_… and a suite in TOML hold several. A benchmark that does not run makes it red too.
    """
    files = {name: reserve(given[name], force=given["force"]) for name in ("junit", "markdown", "save") if given[name] is not None}
    if len({path.resolve() for path in files.values()}) < len(files):
        raise UsageError("a file of its own for each of --junit, --markdown and --save", found="one file twice", remedy="give other names")
    measured: list[SeriesSet] = []
    report = _gated(given, ctx.meta.get("ridgeline.command", ()), ctx.meta.get("ridgeline.line", ""), measured)
    try:
        if given["as_json"]:
            emit_document(report)
        else:
            emit_page(gate_page(report), no_colour=given["no_colour"])
    finally:
        _write(files, report, measured)
    return _STRICT if report.state == "unsure" and given["strict"] else _CODES[report.state]


def _gated(given: dict[str, Any], command: tuple[str, ...], line: str, measured: list[SeriesSet]) -> GateReport:
    from ridgeline.flows.gate import gate as flow
    from ridgeline.flows.gating.suite import parse_predicted

    predicted = parse_predicted(given["predicted"], parse(given["tolerance"], "1")) if given["predicted"] is not None else None
    if predicted is not None and given["baseline"] is not None:
        raise UsageError("one of --baseline and --predicted", found="both", remedy="leave one out")
    efforts = _efforts(given)
    with opened(given["notebook"], given["no_notebook"]) as notebook, progress(given["quiet"]) as report:
        try:
            return flow(
                given["targets"],
                baseline=given["baseline"],
                predicted=predicted,
                command=command,
                setup=given["setup"],
                margin=parse(given["margin"], "1"),
                confidence=parse(given["confidence"], "1"),
                changing=given["changing"],
                tail=given["fail_on"] == "tail",
                efforts=efforts,
                notebook=notebook,
                report=report,
                line=line,
                measured_to=measured.append,
            )
        except KeyboardInterrupt as error:
            if notebook is not None and notebook.last_saved is not None:
                error.add_note("the runs of the benchmarks that were finished are kept: see `ridgeline log --verb gate`")
            raise


def _efforts(given: dict[str, Any]) -> Efforts:
    from ridgeline.flows.gate import Efforts

    return Efforts(
        first_s=given["time_budget"], second_s=given["confirm_budget"], first=given["processes"], second=given["confirm_processes"],
        samples=given["samples"], seed=given["seed"],
    )  # fmt: skip


def _write(files: dict[str, Path], report: GateReport, measured: list[SeriesSet]) -> None:
    """The files that were asked for; one that cannot be written does not cost the others."""
    contents = {"junit": lambda: junit_xml(report), "markdown": lambda: gate_comment(report).encode()}
    if measured:
        contents["save"] = lambda: encode(measured[0]) + b"\n"
    problem: UsageError | None = None
    for name, path in files.items():
        if name in contents:
            try:
                write_atomic(path, contents[name]())
            except UsageError as error:
                problem = error
    if problem is not None:
        raise problem
