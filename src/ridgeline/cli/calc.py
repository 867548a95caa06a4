"""`ridgeline calc`: the arithmetic of the method on its own."""

from __future__ import annotations

import click
import msgspec

from ridgeline.flows.calc import LawCard
from ridgeline.flows.calc import calc as flow
from ridgeline.reporting import calc_list_page, calc_page

from .options import colour_option, json_option
from .output import emit_document, emit_page

__all__ = ["calc"]


class LawsDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.laws/1"):
    """The JSON of `ridgeline calc` without a name."""

    laws: tuple[LawCard, ...]


@click.command()
@click.argument("name", required=False)
@click.argument("values", metavar="[KEY=VALUE]...", nargs=-1)
@json_option
@colour_option
def calc(name: str | None, values: tuple[str, ...], as_json: bool, no_colour: bool) -> int:
    """Work out the law NAME for values such as bandwidth=13GB/s; without a NAME, list the laws."""
    if name is None:
        laws = flow()
        emit_document(LawsDocument(laws=laws)) if as_json else emit_page(calc_list_page(laws), no_colour=no_colour)
        return 0
    result = flow(name, values)
    emit_document(result) if as_json else emit_page(calc_page(result), no_colour=no_colour)
    return 0
