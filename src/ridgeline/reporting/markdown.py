"""A page as Markdown (CommonMark with the tables of GitHub), everything that someone else named escaped."""

from __future__ import annotations

import re

from .page import DASH, Bars, Block, Cell, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, format_cell
from .text import clean

__all__ = ["markdown"]

# Characters that could start markup inside a line; `|` would end a cell. Escaping with a backslash is right for all ASCII punctuation.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|&~#])")
# What could start a list or a rule at the beginning of a line.
_AT_START = re.compile(r"^(\d*)([-+=.)])(?=[-+=]*(?:\s|$))")
_BAR = 20


def markdown(page: Page) -> str:
    """The page as Markdown, ended by one newline."""
    parts = [f"# {_escaped(page.title)}"]
    if page.headline:
        parts.append(f"**{_escaped(page.headline)}**")
    for section in page.sections:
        parts += _section(section)
    return "\n\n".join(part for part in parts if part) + "\n"


def _escaped(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", clean(text).strip())
    return _AT_START.sub(r"\1\\\2", escaped)


def _section(section: Section) -> list[str]:
    return [f"## {_escaped(section.title)}" if section.title else "", *(_block(block) for block in section.blocks)]


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return _escaped(block.text)
        case Pairs():
            return _grid(block.caption, ["", "value", ""], [[pair.label, format_cell(pair.cell), pair.remark] for pair in block.rows])
        case Bars():
            return _grid(block.caption, ["", "share", "", ""], [_bar(pair) for pair in block.rows])
        case Table():
            return _table(block)
        case Items():
            return "\n".join(_item(item, f"{rank}." if block.numbered else "-") for rank, item in enumerate(block.items, start=1))


def _bar(pair: Pair) -> list[str]:
    share = pair.cell.value if isinstance(pair.cell.value, float | int) else 0.0
    return [pair.label, format_cell(pair.cell), "█" * round(max(0.0, min(1.0, share)) * _BAR), pair.remark]


def _table(table: Table) -> str:
    if not table.rows:
        return f"{_escaped(table.caption)}: {_escaped(table.empty)}"
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    text = _grid(table.caption, [column.title for column in table.columns], rows, [column.right for column in table.columns])
    notes = [note for note in (table.note, table.reasons() and f"{DASH} {table.reasons()}") if note]
    return "\n\n".join([text, *(_escaped(note) for note in notes)])


def _cell(cell: Cell) -> str:
    return format_cell(cell)


def _grid(caption: str, titles: list[str], rows: list[list[str]], right: list[bool] | None = None) -> str:
    rule = ["---:" if right and right[index] else "---" for index in range(len(titles))]
    lines = [
        f"| {' | '.join(cells)} |" for cells in ([_escaped(title) for title in titles], rule, *([_escaped(text) for text in row] for row in rows))
    ]
    return (f"*{_escaped(caption)}*\n\n" if caption else "") + "\n".join(lines)


def _item(item: Item, mark: str) -> str:
    indent = " " * (len(mark) + 1)
    lines = [f"{mark} **{_escaped(item.title)}**" if item.numbers else f"{mark} {_escaped(item.title)}"]
    if item.numbers:
        lines.append(indent + " · ".join(_inline(pair) for pair in item.numbers))
    if item.detail:
        lines.append(indent + _escaped(item.detail))
    # Two blanks at the end of a line are a line break.
    return "  \n".join(lines)


def _inline(pair: Pair) -> str:
    remark = f" ({_escaped(pair.remark)})" if pair.remark else ""
    return f"{_escaped(pair.label)} {_escaped(format_cell(pair.cell))}{remark}"
