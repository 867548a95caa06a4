"""A page as text for a terminal of a given width, with or without colour; colour is never the only carrier of anything.

Where a table is too wide, long names go over several lines where their column allows it, then lose their middle; then the least telling columns are
left out, and the page says which.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from .page import DASH, Bars, Block, Cell, Column, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, format_cell
from .text import clean, fitted, width

__all__ = ["terminal"]

_TONES = {"good": "bold green", "bad": "bold red", "unsure": "bold yellow", "plain": "bold"}
_MARKS = {"good": "✓ ", "bad": "▶ ", "unsure": "? ", "plain": ""}
_NARROWEST, _WIDEST = 40, 400
_GAP = 2
_WIDER = " (a wider terminal, COLUMNS=160 or --json shows them)"
_BAR_COLUMNS = 24
#: Columns of a name that is not unusually long.
_USUAL = 60
#: Columns under which the remark beside a bar would be left less room than the bar itself.
_BARS_NEED = 72


def terminal(page: Page, width: int = 100, colour: bool = False) -> str:
    """The page as lines of at most `width` columns (40…400), each ended by a newline; ANSI colours only where `colour`."""
    columns = max(_NARROWEST, min(_WIDEST, width))
    stream = io.StringIO()
    # _environ: what COLUMNS, TERM or FORCE_COLOR say is the caller's business.
    console = Console(
        file=stream, width=columns, force_terminal=colour, color_system="standard" if colour else None, no_color=not colour,
        highlight=False, markup=False, emoji=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    if page.headline:
        console.print(Text(_MARKS[page.tone] + clean(page.headline), style=_TONES[page.tone]))
    else:
        console.print(Text(clean(page.title), style="bold"))
    for section in page.sections:
        console.print()
        console.print(_section(section, columns))
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n"))


def _section(section: Section, columns: int) -> RenderableType:
    body = [Padding(_block(block, columns - _GAP), (0, 0, 0, _GAP)) for block in section.blocks]
    title = [Text(clean(section.title).upper(), style="bold cyan")] if section.title else []
    return Group(*title, *body)


def _block(block: Block, columns: int) -> RenderableType:
    match block:
        case Paragraph():
            return Text(clean(block.text))
        case Pairs():
            return _titled(block.caption, [_pairs(block.rows)])
        case Bars():
            return _titled(block.caption, [_bars(block.rows, columns)])
        case Table():
            return _titled(block.caption, _table(block, columns))
        case Items():
            return _items(block, columns)


def _titled(caption: str, parts: Iterable[RenderableType]) -> RenderableType:
    return Group(*([Text(clean(caption), style="dim")] if caption else []), *parts)


def _grid() -> Grid:
    return Grid(box=None, show_header=False, padding=(0, _GAP, 0, 0), pad_edge=False, show_edge=False)


def _value(cell: Cell) -> Text:
    return Text(clean(format_cell(cell)), style="" if cell.known else "dim")


def _pairs(rows: Iterable[Pair]) -> Grid:
    grid = _grid()
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for pair in rows:
        line = _value(pair.cell)
        if pair.remark:
            line.append(f"  {clean(pair.remark)}", style="dim")
        grid.add_row(Text(clean(pair.label)), line)
    return grid


def _bars(rows: Sequence[Pair], columns: int) -> Grid:
    """Label, number, bar and remark; where that is too wide the bar goes first, since the number says the same."""
    narrow = columns < _BARS_NEED
    grid = _grid()
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    if not narrow:
        grid.add_column(no_wrap=True)
    grid.add_column(style="dim", overflow="fold")
    for pair in rows:
        filled = pair.cell.value if isinstance(pair.cell.value, float | int) else 0.0
        cells = round(max(0.0, min(1.0, filled)) * _BAR_COLUMNS)
        bar = Text("█" * cells, style="cyan").append("·" * (_BAR_COLUMNS - cells), style="dim")
        grid.add_row(Text(clean(pair.label)), _value(pair.cell), *(() if narrow else (bar,)), Text(clean(pair.remark)))
    return grid


def _items(block: Items, columns: int) -> Grid:
    grid = _grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for rank, item in enumerate(block.items, start=1):
        grid.add_row(Text(f"{rank}." if block.numbered else "•"), _item(item))
    return grid


def _item(item: Item) -> RenderableType:
    lines: list[RenderableType] = [Text(clean(item.title), style="bold" if item.numbers else "")]
    if item.numbers:
        lines.append(Text(" · ".join(_inline(pair) for pair in item.numbers)))
    if item.detail:
        lines.append(Text(clean(item.detail), style="dim"))
    return Group(*lines)


def _inline(pair: Pair) -> str:
    remark = f" ({clean(pair.remark)})" if pair.remark else ""
    return f"{clean(pair.label)} {clean(format_cell(pair.cell))}{remark}"


def _table(table: Table, columns: int) -> list[RenderableType]:
    if not table.rows:
        return [Text(clean(table.empty), style="dim")]
    texts = [[clean(format_cell(cell)) for cell in row] for row in table.rows]
    kept, widths = _fit(table.columns, texts, columns)
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for index in kept:
        column = table.columns[index]
        grid.add_column(Text(clean(column.title)), justify="right" if column.right else "left", no_wrap=True)
    shown = {index: fitted([row[index] for row in texts], widths[index], table.columns[index].lines) for index in kept}
    for at, row in enumerate(texts):
        grid.add_row(*(Text("\n".join(shown[index][at]), style="dim" if row[index] == DASH else "") for index in kept))
    left_out = [column.title for index, column in enumerate(table.columns) if index not in kept]
    notes = [table.note, table.reasons() and f"{DASH} {table.reasons()}", left_out and f"not shown at this width: {', '.join(left_out)}{_WIDER}"]
    return [grid, *(Text(clean(note), style="dim") for note in notes if note)]


def _fit(columns: tuple[Column, ...], texts: list[list[str]], available: int) -> tuple[list[int], list[int]]:
    """Which columns are shown, and how wide each may be: names are shortened down to their least, then the lightest columns go."""
    natural = [max(width(clean(column.title)), *(width(row[index]) for row in texts)) for index, column in enumerate(columns)]
    least = [
        min(natural[index], max(column.least, width(column.title))) if column.flexible else natural[index] for index, column in enumerate(columns)
    ]
    kept = list(range(len(columns)))
    while len(kept) > 1 and sum(least[index] + _GAP for index in kept) > available:
        kept.remove(min(reversed(kept), key=lambda index: columns[index].weight))
    spare = available - sum(least[index] + _GAP for index in kept)
    widths = [min(need, available) for need in least]
    # What is left over goes to the names, the weightiest column first: until those of usual length are whole, then until none is broken.
    for most in ([min(need, _USUAL) // column.lines + _GAP for need, column in zip(natural, columns, strict=True)], natural):
        for index in sorted(kept, key=lambda index: -columns[index].weight):
            more = min(spare, min(most[index], natural[index]) - widths[index])
            if more > 0:
                widths[index] += more
                spare -= more
    return kept, widths
