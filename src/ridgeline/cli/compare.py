"""`ridgeline compare A B`: two versions, revisions, runs or result files held against each other.

Everything behind `--` is the command line that A and B are revisions of. Exits with 0 whatever the verdict, unless `--fail-on` asks for 1 or the
sides are no two of a kind.
"""

from __future__ import annotations

import shlex
from typing import Any

import click

from ridgeline.core import Comparison, ComparisonSet, UsageError
from ridgeline.core.units import parse
from ridgeline.reporting import comparison_page

from .options import (
    RUNTIMES,
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

__all__ = ["compare"]

_FAILED, _INCOMPARABLE = 1, 2


class _CompareCommand(click.Command):
    """Keeps what stands behind `--` apart, and tells runs such as -1 from options that do not exist."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what stands before `--`; the rest is a command line."""
        ctx.meta["ridgeline.line"] = shlex.join(["ridgeline", "compare", *args])
        ours, mark, rest = (args[: args.index("--")], "--", args[args.index("--") + 1 :]) if "--" in args else (args, "", [])
        if mark and not rest:
            raise click.UsageError("nothing stands behind --, where a command was expected", ctx)
        ctx.meta["ridgeline.command"] = tuple(rest)
        left = super().parse_args(ctx, ours)
        for name in ("a", "b"):
            text = ctx.params.get(name) or ""
            if text.startswith("-") and not text[1:].isdecimal():
                raise click.NoSuchOption(text.partition("=")[0], ctx=ctx)
        return left


# ignore_unknown_options: `-1` is a run, not an option.
@click.command(cls=_CompareCommand, no_args_is_help=True, context_settings={"ignore_unknown_options": True}, options_metavar="[OPTIONS]")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--target", metavar="TARGET", help="A and B are git revisions of this target (`worktree` is the tree as it is); or give -- COMMAND.")
@click.option("--setup", metavar="COMMAND", help="Shell command run in each checked-out revision first, such as a build.")
@click.option("--command", is_flag=True, help="A and B are command lines, even where they are one word.")
@click.option(
    "--margin",
    metavar="SHARE",
    type=click.FloatRange(0.0, 1.0, max_open=True),
    default=0.01,
    show_default=True,
    help="Difference up to which two versions are the same.",
)
@click.option(
    "--confidence",
    metavar="SHARE",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.97,
    show_default=True,
    help="Of the verdict: 0.97 calls three of a hundred equal pairs different.",
)
@click.option("--changing", metavar="KEY", multiple=True, help="A key whose difference is the point, such as precision or threads; repeatable.")
@click.option("--threads", type=click.IntRange(1, 4096), help="Threads for the targets. [default: their own choice]")
@click.option("--a-threads", type=click.IntRange(1, 4096), help="Threads for A alone; declare it with --changing threads. --b-threads likewise.")
@click.option("--b-threads", type=click.IntRange(1, 4096), hidden=True, help="Threads for B alone; see --a-threads.")
@click.option(
    "--input",
    "input_path",
    metavar="FILE|DIR|FUNCTION",
    help="Inputs of models: .npy, .npz, or a directory of them; file.py:function makes those of a function.",
)
@shape_option
@runtime_option
@click.option("--a-runtime", type=RUNTIMES, help="What runs A alone; declare it with --changing runtime. --b-runtime likewise.")
@click.option("--b-runtime", type=RUNTIMES, hidden=True, help="Runtime for B alone; see --a-runtime.")
@click.option("--env", metavar="NAME=VALUE", multiple=True, help="A variable of the processes; repeatable.")
@click.option(
    "--a-env", metavar="NAME=VALUE", multiple=True, help="A variable for A alone; declare it with --changing environment. --b-env likewise."
)
@click.option("--b-env", metavar="NAME=VALUE", multiple=True, hidden=True, help="Variable for B alone; see --a-env.")
@synchronise_option
@click.option(
    "--use", type=click.Choice(["repeated", "once"]), default="repeated", show_default=True, help="once: compare the first calls of fresh processes."
)
@condition_options
@click.option("--processes", type=click.IntRange(2, 100_000), help="Processes of each version at the most. [default: what the time budget allows]")
@click.option(
    "--time-budget",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1, max=86400.0),
    help="About how long to measure; it ends earlier once the verdict is certain. [default: 20]",
)
@click.option("--samples", type=click.IntRange(1, 10_000_000), help="Calls of a process. [default: what a short time allows]")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of generated inputs and of the order.")
@click.option("--why", is_flag=True, help="Say which stages, operators, kernels or system time make the difference; about 40 s more.")
@click.option("--hypothesis", metavar="TEXT", default="", help="What you expect, in your words, for the record.")
@click.option("--tests", metavar="ACTION@RUN", default="", help="Hold the promise of an action of a stored diagnosis against it, such as a1@latest.")
@click.option("--fail-on", type=click.Choice(["slower", "tail", "inconclusive"]), multiple=True, help="Exit with 1 on this; repeatable.")
@json_option
@markdown_option
@notebook_options
@quiet_option
@colour_option
@click.pass_context
def compare(ctx: click.Context, /, **given: Any) -> int:
    """Hold B against A: which is faster, by how much, is the tail worse, and can that be told at all.

    A and B are two TARGETs (model.onnx, file.py:function, …), two quoted commands ('sort a' 'sort b'), two git revisions with --target TARGET or
    -- COMMAND, two runs (an id, latest, -1), or two result files of pyperf, Google Benchmark, hyperfine and others; a run may stand against a file.
    Versions are measured in fresh processes of both, in random order. Both are called many times: whatever a call changes outside its process
    happens as often.
    """
    check_common(given)
    found = _measured(given, ctx.meta.get("ridgeline.command", ()), ctx.meta.get("ridgeline.line", ""))
    if given["as_json"]:
        emit_document(found)
    else:
        emit_page(comparison_page(found), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return _exit_code(found, given["fail_on"])


def _measured(given: dict[str, Any], arguments: tuple[str, ...], line: str) -> Comparison | ComparisonSet:
    from ridgeline.flows.compare import compare as flow

    with opened(given["notebook"], given["no_notebook"]) as notebook, progress(given["quiet"]) as report:
        try:
            return flow(
                given["a"],
                given["b"],
                target=given["target"],
                arguments=arguments,
                setup=given["setup"],
                command=given["command"],
                margin=given["margin"],
                confidence=given["confidence"],
                changing=given["changing"],
                threads=_each(given, "threads"),
                inputs=given["input_path"],
                shapes=given["shapes"],
                runtime=_each(given, "runtime"),
                environment=(_variables(given["env"], given["a_env"]), _variables(given["env"], given["b_env"])),
                synchronise=given["synchronise"],
                use=given["use"],
                cache="cold" if given["cold_cache"] else "warm",
                soak=given["soak"],
                tune=given["tune"],
                lock_gpu_hz=None if given["lock_gpu_clock"] is None else parse(given["lock_gpu_clock"], "Hz"),
                processes=given["processes"],
                time_budget_s=given["time_budget"],
                samples=given["samples"],
                seed=given["seed"],
                why=given["why"],
                hypothesis=given["hypothesis"],
                tests=given["tests"],
                tail="tail" in given["fail_on"],
                notebook=notebook,
                report=report,
                line=line,
            )
        except KeyboardInterrupt as error:
            if notebook is not None and notebook.last_saved is not None:
                error.add_note("what was measured so far is kept: ridgeline compare -2 -1")
            raise


def _each(given: dict[str, Any], name: str) -> tuple[Any, Any]:
    """An option of A and of B: its own, else that of both."""
    a, b = (given[f"{side}_{name}"] for side in ("a", "b"))
    return given[name] if a is None else a, given[name] if b is None else b


def _variables(*texts: tuple[str, ...]) -> dict[str, str]:
    """Variables `NAME=VALUE`, of a name the last one."""
    found = {}
    for text in (text for several in texts for text in several):
        name, sign, value = text.partition("=")
        if not name or not sign:
            raise UsageError("a variable NAME=VALUE", found=repr(text), remedy="write its name, = and its value, which may be empty")
        found[name] = value
    return found


def _exit_code(found: Comparison | ComparisonSet, fail_on: tuple[str, ...]) -> int:
    comparisons = found.comparisons if isinstance(found, ComparisonSet) else (found,)
    if comparisons and all(one.verdict == "incomparable" for one in comparisons):
        return _INCOMPARABLE
    seen = {one.verdict for one in comparisons} | {"tail" for one in comparisons if one.tail.verdict == "slower"}
    return _FAILED if seen & set(fail_on) else 0
