"""`TargetCommand`: the form `ridgeline VERB [OPTIONS] TARGET [ARGS]`, which several commands share.

Options of ours come before TARGET; what follows a target that takes arguments (`file.py ARGS…`, `-- COMMAND ARGS…`) belongs to it, untouched.
A target that takes none (`model.onnx`, `model.tflite`, `model.xml`, `file.py:function`) may have our options behind it as well.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click

__all__ = ["TargetCommand", "named_target"]

# Fills the place of TARGET where a command stands behind `--`; never looked at.
_NO_TARGET = "--"
_NO_PROGRAMS = (".onnx", ".tflite", ".xml", ".py")


class TargetCommand(click.Command):
    """Sorts arguments into ours and the target's before click reads them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Fill `target` and `arguments`; a command line after `--` has no target but only arguments."""
        ctx.meta["ridgeline.line"] = shlex.join(["ridgeline", self.name or "", *args])
        ctx.allow_interspersed_args = False
        options_only = click.Command(self.name, params=[param for param in self.params if isinstance(param, click.Option)])
        _, rest, _ = options_only.make_parser(ctx).parse_args(list(args))
        ours = args[: len(args) - len(rest)]
        if ours and ours[-1] == "--":
            if not rest:
                raise click.UsageError("nothing stands behind --, where a command was expected", ctx)
            ctx.meta["ridgeline.command"] = True
            return super().parse_args(ctx, [*ours, _NO_TARGET, *rest])
        # `file.py` takes arguments; of every other form they would have no meaning, so that what follows can only be ours.
        ctx.allow_interspersed_args = bool(rest) and not rest[0].endswith(".py")
        if rest and not _other_form(rest[0]) and shutil.which(rest[0]) is not None:
            raise click.UsageError(f"{rest[0]} is a program, and a program goes after --; did you mean {_after_dashes(self.name, ours, rest)}?", ctx)
        try:
            left = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if not rest or _other_form(rest[0]):
                raise
            near = get_close_matches(error.option_name, [name for param in self.params for name in param.opts], 1)
            meant = f", did you mean {near[0]}?" if near else ""
            message = f"no such option {error.option_name}{meant}; if {rest[0]} is a program: {_after_dashes(self.name, ours, rest)}"
            raise click.UsageError(message, ctx) from error
        if ctx.allow_interspersed_args and ctx.params.get("arguments"):
            found = " ".join(ctx.params["arguments"])
            raise click.UsageError(f"{ctx.params['target']} takes no arguments; found: {found}", ctx)
        return left


def _other_form(target: str) -> bool:
    """Whether a target is written as a model, a Python file or a function, none of which is a program even where it may be executed."""
    return ":" in target or target.lower().endswith(_NO_PROGRAMS)


def _after_dashes(verb: str | None, ours: Sequence[str], command: Sequence[str]) -> str:
    return f"`{shlex.join(['ridgeline', verb or '', *ours, '--', *command])}`"


def named_target(ctx: click.Context, given: Mapping[str, Any]) -> str | None:
    """The TARGET as it was written, `None` where a command stands behind `--`."""
    target: str | None = None if ctx.meta.get("ridgeline.command") else given["target"]
    return target
