"""`ridgeline calc`: the arithmetic of the method on its own."""

from __future__ import annotations

import click

from .options import colour_option, json_option

__all__ = ["calc"]


@click.command()
@click.argument("name", required=False)
@click.argument("values", metavar="[KEY=VALUE]...", nargs=-1)
@json_option
@colour_option
def calc(name: str | None, values: tuple[str, ...], as_json: bool, no_colour: bool) -> int:
    """Work out the law NAME for values such as bandwidth=13GB/s; without a NAME, list the laws."""
    raise NotImplementedError
