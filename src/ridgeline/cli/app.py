"""The group of commands. A name that it does not know gets the near matches, and one that a later version brings is said to be that."""

from __future__ import annotations

import difflib

import click

from .bench import bench
from .calc import calc
from .compare import compare
from .diagnose import diagnose
from .gate import gate
from .history import history
from .machine import devices, doctor, probe
from .model import model
from .open import open_command
from .predict import predict
from .read import read
from .record import log
from .report import report
from .show import diff, show
from .transfer import export_command, import_command
from .tune import tune

__all__ = ["cli"]

#: Commands of the design that this version does not have.
_LATER = frozenset({"explore", "plan", "schedule", "serve", "try"})


class _Commands(click.Group):
    """A group whose unknown names are explained."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of `args[0]`, or say what there is."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = ", ".join(self.list_commands(ctx))
            if name in _LATER:
                raise click.UsageError(f"no command {name} in this version; there are: {known}", ctx)
            # Forgetting the verb is likely, and a target is easily told from a command, even where it looks like one: model.onnx.
            target = any(mark in name for mark in ".:/")
            close = [] if target else difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f"did you mean {close[0]}? " if close else f"did you mean `ridgeline diagnose {name}`? " if target else ""
            raise click.UsageError(f"no command {name!r}; {hint}there are: {known}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 fine, 1 a finding asked to fail on, 2 usage or bad input, 3 inconclusive under --strict, 4 a needed package is missing, "
    "70 our own fault, 130 interrupted, 143 ended by SIGTERM. Data goes to stdout, all else to stderr.",
)
@click.version_option(package_name="ridgeline", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find the real bottleneck of a program or a model, and what removing it is worth."""
    # The doctor tells what was left; every other start puts it back.
    if context.invoked_subcommand != doctor.name:
        from ridgeline.flows.left_over import put_back_settings

        put_back_settings(lambda line, _: click.echo(f"ridgeline: {line}", err=True))


for command in (
    diagnose,
    bench,
    compare,
    read,
    open_command,
    probe,
    doctor,
    devices,
    log,
    show,
    diff,
    report,
    export_command,
    import_command,
    calc,
    gate,
    history,
    model,
    predict,
    tune,
):
    cli.add_command(command)
