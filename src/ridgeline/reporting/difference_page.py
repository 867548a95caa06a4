"""The page of two traces or profiles held against each other: the sentence, what changed, and how much did not.

Nothing is computed here that the difference does not say. Timelines and tables are compared by seconds, profiles of stacks by shares of samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ridgeline.core import FrameChange, TimelineDifference
from ridgeline.core.units import format_quantity, format_share

from .page import Cell, Column, Item, Items, Page, Pair, Pairs, Section, Table, count, format_cell, missing, number, seconds, share, words
from .read_page import MOST, warning_section
from .read_tables import name_column, right_column, text_column
from .text import shorten

__all__ = ["difference_page"]

_TONES: dict[str, Literal["good", "bad", "unsure", "plain"]] = {
    "faster": "good", "slower": "bad", "same": "plain", "inconclusive": "unsure", "incomparable": "unsure",
}  # fmt: skip
#: Columns of a function in the headline.
_NAME = 100
_UNKNOWN = "the file does not tell"


def difference_page(found: TimelineDifference, *, most: int = MOST) -> Page:
    """The page of a difference, with at most so many rows a list."""
    by_function = found.per == "profile"
    table = _functions(found, most) if by_function else _names(found, most)
    sides = Pairs(rows=tuple(_side(found, at) for at in (0, 1)))
    sections: Sequence[Section | None] = (
        Section(title="Verdict", blocks=(sides,)),
        Section(title="What changed", blocks=(table,)),
        _left_out(found),
        warning_section(found),
    )
    return Page(
        title=f"ridgeline read: {', '.join(found.a)} and {', '.join(found.b)}",
        headline=_headline_of_functions(found) if by_function else _headline(found),
        tone=_TONES[found.verdict],
        sections=tuple(section for section in sections if section is not None),
    )


def _side(found: TimelineDifference, at: int) -> Pair:
    """A file with its time, or with the number of its samples."""
    samples, files = found.samples[at], ", ".join((found.a, found.b)[at])
    if found.per != "profile":
        cell = seconds(found.window_s[at], reason=f"{files}: the file does not tell how long it is")
    elif samples is None:
        cell = missing(f"{files}: no number of samples is known")
    else:
        # Some tools say `samples of cycles`, others `cpu`.
        of = found.measure if found.measure.startswith("sample") else f"samples of {found.measure or 'the program'}"
        cell = words(f"{format_cell(count(samples))} {of}")
    return Pair(label="AB"[at], cell=cell, note=files)


def _names(found: TimelineDifference, most: int) -> Table:
    """What changed by name and kind."""
    columns = (
        name_column(),
        Column(title="kind", weight=5),
        Column(title="change", weight=10),
        Column(title="A", right=True),
        Column(title="B", right=True),
        Column(title="ratio", right=True),
        Column(title="calls A", right=True, weight=4),
        Column(title="calls B", right=True, weight=4),
    )
    rows = tuple(
        (
            words(row.name), words(row.kind, _UNKNOWN), words(row.change), seconds(row.seconds[0]), seconds(row.seconds[1]),
            number(row.ratio, "1", row.ratio_ci, "there is nothing to divide"), count(row.calls[0]), count(row.calls[1]),
        )
        for row in found.rows[:most]
    )  # fmt: skip
    typical = "`ratio` is of typical ones, A and B are means. " if any(row.ratio_ci is not None for row in found.rows[:most]) else ""
    note = f"{_more(len(found.rows), most)}{found.neutral} names did not change. {typical}".rstrip()
    return Table(caption=f"what changed, seconds of one {found.per}", columns=columns, rows=rows, empty="nothing changed", note=note)


def _functions(found: TimelineDifference, most: int) -> Table:
    """What changed by function: shares of the samples, own and with callees."""
    columns = (
        name_column("function"),
        Column(title="own", weight=15),
        right_column("own A", 14),
        right_column("own B", 14),
        right_column("B − A in", 11),
        Column(title="total", weight=13),
        right_column("total A", 12),
        right_column("total B", 12),
        right_column("total B − A in", 7),
        text_column("where", 3, 16, 2),
    )
    rows = tuple(_function(row) for row in found.functions[:most])
    said = (
        "`own`: what ends in the function itself; `total`: with all that it calls; `B − A in`: where chance leaves the difference of the own shares. "
    )
    note = f"{_more(len(found.functions), most)}{found.neutral} functions did not change. {said if rows else ''}".rstrip()
    return Table(caption="what changed, shares of all samples", columns=columns, rows=rows, empty="nothing changed", note=note)


def _function(row: FrameChange) -> tuple[Cell, ...]:
    own, total = row.own_share, row.total_share
    return (
        words(row.function), words(row.change), share(own[0]), share(own[1]), _within(row.difference_ci),
        words(row.total_change), share(total[0]), share(total[1]), _within(row.total_difference_ci),
        words(row.file or row.library, _UNKNOWN),
    )  # fmt: skip


def _within(interval: tuple[float, float] | None) -> Cell:
    return missing("not worked out") if interval is None else words(f"[{format_share(interval[0])}, {format_share(interval[1])}]")


def _more(rows: int, most: int) -> str:
    return f"{rows - most} more in the JSON. " if rows > most else ""


def _left_out(found: TimelineDifference) -> Section | None:
    if not found.excluded:
        return None
    items = tuple(Item(title=f"{one.reason}: {one.events} events, {format_quantity(one.total_s, 's')}") for one in found.excluded)
    return Section(title="Left out", blocks=(Items(items=items),))


def _headline(found: TimelineDifference) -> str:
    a_s, b_s = (format_cell(seconds(one)) for one in found.window_s)
    spans = f"{a_s} → {b_s} " + ("from one iteration to the next" if found.per == "iteration" else f"for one {found.per}")
    sure = next((row for row in found.rows if row.change != "inconclusive"), None)
    first = f"; most of all {sure.name} {sure.change}" if sure is not None else ", and of no single name it is sure that it changed"
    doubt = "chance may explain what differs" if found.per == "iteration" else "one window each has no scatter; marks of iterations would give it"
    return {
        "faster": f"B is faster: {spans}{first}.",
        "slower": f"B is slower: {spans}{first}.",
        "same": f"No difference beyond noise: {spans}.",
        "inconclusive": f"It cannot be told which is faster: {spans}; {doubt}.",
        "incomparable": "These are no two traces of one program.",
    }[found.verdict]


def _headline_of_functions(found: TimelineDifference) -> str:
    if found.verdict == "incomparable":
        return "These are no two profiles of one program."
    if found.verdict == "same":
        return "No function takes another share than before, beyond chance."
    own = [row for row in found.functions if row.change not in ("neutral", "inconclusive")]
    totals = [row for row in found.functions if row.total_change not in ("neutral", "inconclusive")]
    if own:
        a, b = own[0].own_share
        most = f"most of all {shorten(own[0].function, _NAME)} {own[0].change} ({format_share(a)} → {format_share(b)} in itself)"
    elif totals:
        a, b = totals[0].total_share
        most = f"most of all {shorten(totals[0].function, _NAME)} {totals[0].total_change} ({format_share(a)} → {format_share(b)} with callees)"
    else:
        return f"It cannot be told whether any function takes another share: of {len(found.functions)} chance alone may explain what differs."
    number_of = len({id(row) for row in (*own, *totals)})
    changed = "1 function changed its share" if number_of == 1 else f"{number_of} functions changed their share"
    return f"{changed}, {most}; which program is faster shares cannot tell."
