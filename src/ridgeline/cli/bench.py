"""`ridgeline bench TARGET`: how long it really takes, in fresh processes."""

from __future__ import annotations

from typing import Any

import click

from ridgeline.core import BenchReport
from ridgeline.core.units import parse
from ridgeline.reporting import bench_page

from .options import (
    check_common,
    colour_option,
    condition_options,
    json_option,
    markdown_option,
    notebook_options,
    opened,
    quiet_option,
    runtime_option,
    shape_option,
    synchronise_option,
)
from .output import emit_document, emit_page
from .progress import progress
from .target_command import TargetCommand, named_target

__all__ = ["bench"]


@click.command(cls=TargetCommand, no_args_is_help=True, options_metavar="[OPTIONS]")
@click.argument("target", metavar="TARGET|--", required=True)
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--processes", type=click.IntRange(1, 100_000), help="Exactly so many. [default: what the time budget allows, at least 5]")
@click.option("--samples", type=click.IntRange(1, 1_000_000), help="Calls of a process after its first. [default: what its time allows]")
@click.option("--time-budget", metavar="SECONDS", type=click.FloatRange(min=0.1, max=86400.0), help="About how long to measure. [default: 10]")
@click.option("--threads", type=click.IntRange(1, 4096), help="Threads for the target. [default: the target's own choice]")
@click.option(
    "--input",
    "input_path",
    metavar="FILE|DIR|FUNCTION",
    help="Inputs of a model: .npy, .npz, or a directory of them; file.py:function makes those of a function.",
)
@shape_option
@runtime_option
@synchronise_option
@condition_options
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the order and of generated inputs.")
@click.option("--resume", metavar="RUN", help="Go on with an interrupted run: its id or the beginning of it, or `latest`.")
@json_option
@markdown_option
@click.option("--strict", is_flag=True, help="Exit with 3 where there is no one steady state.")
@notebook_options
@quiet_option
@colour_option
@click.pass_context
def bench(ctx: click.Context, /, **given: Any) -> int:
    """Measure how long TARGET takes: fresh processes in random order, every call kept, warm-up found in the data.

    TARGET is model.onnx, model.tflite, model.xml (OpenVINO), file.py:function (no arguments; it is the workload, or returns it),
    package.module:function, file.py with its ARGS, or -- COMMAND ARGS. Options come before TARGET; behind file.py and -- everything belongs to the
    target. TARGET is called thousands of times: whatever a call changes outside its process happens as often.
    """
    check_common(given)
    report = _measured(named_target(ctx, given), given, ctx.meta.get("ridgeline.line", ""))
    if given["as_json"]:
        emit_document(report)
    else:
        emit_page(bench_page(report), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return 3 if given["strict"] and report.steadiness.state not in ("steady", "does not apply") else 0


def _measured(target: str | None, given: dict[str, Any], line: str) -> BenchReport:
    from ridgeline.flows.bench import bench as flow
    from ridgeline.targets import parse_target

    spec = parse_target(
        target,
        given["arguments"],
        input=given["input_path"],
        shapes=given["shapes"],
        threads=given["threads"],
        seed=given["seed"],
        runtime=given["runtime"],
        synchronise=given["synchronise"],
    )
    lock_hz = None if given["lock_gpu_clock"] is None else parse(given["lock_gpu_clock"], "Hz")
    with opened(given["notebook"], given["no_notebook"]) as notebook, progress(given["quiet"]) as report:
        try:
            return flow(
                spec,
                processes=given["processes"],
                samples=given["samples"],
                time_budget_s=given["time_budget"],
                seed=given["seed"],
                cache="cold" if given["cold_cache"] else "warm",
                soak=given["soak"],
                tune=given["tune"],
                lock_gpu_hz=lock_hz,
                notebook=notebook,
                resume=given["resume"],
                report=report,
                command=line,
            )
        except KeyboardInterrupt as error:
            if notebook is not None and notebook.last_saved is not None:
                error.add_note(f"what was measured so far is kept: ridgeline bench --resume {notebook.last_saved} goes on")
            raise
