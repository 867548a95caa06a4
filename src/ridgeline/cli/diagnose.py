"""`ridgeline diagnose TARGET`: the main job."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ridgeline.core import Diagnosis, Facts, UsageError, parse_budget
from ridgeline.machine import write_atomic
from ridgeline.reporting import html_report, page

from .options import (
    check_common,
    colour_option,
    json_option,
    markdown_option,
    notebook_options,
    opened,
    quiet_option,
    runtime_option,
    shape_option,
    synchronise_option,
)
from .output import STDOUT, emit_document, emit_html, emit_page, reserve, reserve_html, stdout_options
from .progress import progress
from .recorded import is_profile, read_recorded
from .target_command import TargetCommand, named_target

if TYPE_CHECKING:
    from ridgeline.flows.trace import Tracing
    from ridgeline.flows.trying import Trying

__all__ = ["diagnose"]

_FAILED, _INCONCLUSIVE = 1, 3


@click.command(cls=TargetCommand, no_args_is_help=True, options_metavar="[OPTIONS]")
@click.argument("target", metavar="TARGET|--", required=True)
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--input",
    "input_path",
    metavar="FILE|DIR|FUNCTION",
    help="Inputs of a model: .npy, .npz, or a directory of them; file.py:function makes those of a function. The first is diagnosed. "
    "[default: generated]",
)
@shape_option
@runtime_option
@synchronise_option
@click.option("--budget", metavar="TIME[@median|@p99]", help="Time a call may take: 33.3ms or 33.3ms@p50 at the median, 33.3ms@p99.")
@click.option(
    "--use", type=click.Choice(["repeated", "once"]), default="repeated", show_default=True, help="Whether each start is used for one call."
)
@click.option("--threads", type=click.IntRange(1, 4096), help="Threads for the target. [default: the target's own choice]")
@click.option("--time-budget", metavar="SECONDS", type=click.FloatRange(min=0.1, max=86400.0), help="About how long to measure. [default: 16]")
@click.option("--samples", type=click.IntRange(1, 10_000_000), help="Samples of the ground truth. [default: 2000, or what the time budget allows]")
@click.option(
    "--try",
    "attempt",
    is_flag=True,
    help="Apply the changes that can be applied, beside the original, and report promised against found; it calls TARGET in several processes.",
)
@click.option("--try-budget", metavar="SECONDS", type=click.FloatRange(min=1.0, max=86400.0), help="About how long to try. [default: 90]")
@click.option(
    "--allow-precision",
    type=click.Choice(["bf16", "fp16", "int8", "none"]),
    multiple=True,
    help="Lower precision that may be tried; repeatable. [default: none]",
)
@click.option(
    "--trace/--no-trace",
    default=None,
    help="Ten calls of an ONNX model, or of a function that calls torch, are recorded as well, and answer what a trace is for: --trace shows all of "
    "it and records slow calls too, --no-trace records nothing.",
)
@click.option(
    "--model",
    "trained",
    metavar="FILE",
    multiple=True,
    help="A trained model that says what the operators of an ONNX model should take (see `ridgeline model train`); repeatable. [default: formulas]",
)
@click.option("--trace-iterations", metavar="N", type=int, help="Calls to record, at most 100. [default: 10]")
@click.option("--trace-out", metavar="FILE", help="Keep the trace, packed if FILE ends in .gz; `ridgeline read` and Perfetto open it.")
@click.option("--trace-shapes", is_flag=True, help="Record shapes of inputs as well; every recorded operator takes longer for it.")
@click.option("--trace-stacks", is_flag=True, help="Record Python functions as well; every recorded call takes longer for it.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of generated inputs.")
@json_option
@markdown_option
@click.option("--html", "html_path", metavar="FILE", help="Write a report with charts as one HTML file as well; - is stdout, without the page.")
@click.option("--force", is_flag=True, help="Write over FILE if it exists.")
@click.option("--strict", is_flag=True, help="Exit with 3 where the verdict is inconclusive.")
@click.option("--fail-on", type=click.Choice(["budget"]), help="Exit with 1 where the budget is missed.")
@notebook_options
@quiet_option
@colour_option
@click.pass_context
def diagnose(ctx: click.Context, /, **given: Any) -> int:
    """Say how long TARGET really takes, where the time goes, what binds, which fix to make and what that fix is worth.

    TARGET is model.onnx, model.tflite, model.xml (OpenVINO), file.py:function (no arguments; it is the workload, or returns it),
    package.module:function, file.py with its ARGS, or -- COMMAND ARGS. Options come before TARGET; behind file.py and -- everything belongs to the
    target. TARGET is called thousands of times: whatever a call changes outside its process happens as often. A file that a profiler wrote is a
    TARGET as well: nothing is measured then, and the answers are those of `ridgeline read`.
    """
    check_common(given)
    if given["fail_on"] == "budget" and not given["budget"]:
        raise UsageError("--fail-on budget with a budget", found="no --budget", remedy="add --budget TIME@p99")
    if given["budget"] is not None:
        parse_budget(given["budget"])
    _check_trying(given)
    tracing = _tracing(given)
    target = named_target(ctx, given)
    if target is not None and not given["arguments"] and is_profile(target):
        return read_recorded(target, given)
    file = reserve_html(given["html_path"], force=given["force"], others=stdout_options(given))
    if tracing is not None and tracing.file:
        reserve(tracing.file, force=given["force"])
    facts: list[Facts] = []
    diagnosis = _measured(target, given, tracing, facts, ctx.meta.get("ridgeline.line", ""))
    _write(diagnosis, facts, given, file)
    return _exit_code(diagnosis, given)


def _check_trying(given: dict[str, Any]) -> None:
    """Options that mean something only with `--try`, and ones that contradict each other."""
    if not given["attempt"] and (given["try_budget"] is not None or given["allow_precision"]):
        option = "--allow-precision" if given["allow_precision"] else "--try-budget"
        raise UsageError(f"{option} with --try", found="no --try", remedy="add --try")
    if given["try_budget"] is not None and not math.isfinite(given["try_budget"]):
        raise UsageError("a time for trying in seconds", found=str(given["try_budget"]), remedy="give a finite number")
    if "none" in given["allow_precision"] and len(set(given["allow_precision"])) > 1:
        raise UsageError("--allow-precision none alone", found=", ".join(given["allow_precision"]), remedy="leave none out")


def _tracing(given: dict[str, Any]) -> Tracing | None:
    """How a trace is recorded, `None` for not at all; the options that say so mean something only with `--trace`."""
    said = {
        "--trace-iterations": given["trace_iterations"] is not None,
        "--trace-out": given["trace_out"] is not None,
        "--trace-shapes": given["trace_shapes"],
        "--trace-stacks": given["trace_stacks"],
    }
    option = next((name for name, was in said.items() if was), None)
    if not given["trace"] and option is not None:
        raise UsageError(f"{option} with --trace", found="no --trace" if given["trace"] is None else "--no-trace", remedy="add --trace")
    from ridgeline.flows.trace import UNASKED, Tracing

    if not given["trace"]:
        return UNASKED if given["trace"] is None else None
    if given["trace_out"] == STDOUT:
        raise UsageError("a file for --trace-out", found="stdout", remedy="give the file a name")
    calls = {} if given["trace_iterations"] is None else {"iterations": given["trace_iterations"]}
    return Tracing(shapes=given["trace_shapes"], stacks=given["trace_stacks"], file=given["trace_out"] or "", **calls)


def _measured(target: str | None, given: dict[str, Any], tracing: Tracing | None, facts: list[Facts], line: str) -> Diagnosis:
    """Run the flow; what it stands on is added to `facts`."""
    from ridgeline.flows.diagnose import diagnose as flow
    from ridgeline.targets import parse_target

    spec = parse_target(
        target,
        given["arguments"],
        input=given["input_path"],
        shapes=given["shapes"],
        threads=given["threads"],
        seed=given["seed"],
        use=given["use"],
        budget=given["budget"] or "",
        runtime=given["runtime"],
        synchronise=given["synchronise"],
    )
    with opened(given["notebook"], given["no_notebook"]) as notebook, progress(given["quiet"]) as report:
        try:
            return flow(
                spec,
                time_budget_s=given["time_budget"],
                samples=given["samples"],
                notebook=notebook,
                report=report,
                command=line,
                facts_to=facts.append,
                trying=_trying(given) if given["attempt"] else None,
                tracing=tracing,
                trained=given["trained"],
            )
        except KeyboardInterrupt as error:
            if notebook is not None and notebook.last_saved is not None:
                error.add_note(f"what was measured so far is kept: ridgeline show {notebook.last_saved}")
            raise


def _trying(given: dict[str, Any]) -> Trying:
    from ridgeline.flows.trying import DEFAULT_BUDGET_S, Trying

    budget_s = given["try_budget"]
    return Trying(budget_s=DEFAULT_BUDGET_S if budget_s is None else budget_s, precisions=frozenset(given["allow_precision"]) - {"none"})


def _write(diagnosis: Diagnosis, facts: list[Facts], given: dict[str, Any], file: Path | None) -> None:
    """The page or the JSON on stdout, then the file: neither is lost where the other cannot be written."""
    try:
        if given["html_path"] == STDOUT:
            emit_html(html_report(diagnosis, facts[-1] if facts else None))
        elif given["as_json"]:
            emit_document(diagnosis)
        else:
            emit_page(page(diagnosis), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    finally:
        if file is not None:
            write_atomic(file, html_report(diagnosis, facts[-1] if facts else None).encode())


def _exit_code(diagnosis: Diagnosis, given: dict[str, Any]) -> int:
    if given["fail_on"] == "budget":
        # Which calls it is held against is the diagnosis's to say: the first ones with --use once.
        state = _budget_state(diagnosis, given["budget"])
        if state == "missed":
            return _FAILED
        if state == "undecided" and given["strict"]:
            return _INCONCLUSIVE
    return _INCONCLUSIVE if given["strict"] and diagnosis.bound == "inconclusive" else 0


def _budget_state(diagnosis: Diagnosis, budget: str) -> str:
    if diagnosis.budget_state is not None:
        return diagnosis.budget_state.state
    return parse_budget(budget).state(diagnosis.ground_truth) if diagnosis.ground_truth else "undecided"
