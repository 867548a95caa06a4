"""The blocks of a page as HTML: everything escaped, tables that a screen reader can walk. The document around them is left to `html` and `report`."""

from __future__ import annotations

import math
from html import escape

from .page import DASH, Bars, Block, Cell, Item, Items, Pair, Pairs, Paragraph, Table, format_cell
from .text import clean

__all__ = ["block_html", "text_html"]


def text_html(text: str) -> str:
    """A text that HTML reads as text."""
    return escape(clean(text), quote=True)


def block_html(block: Block) -> str:
    """One block."""
    match block:
        case Paragraph():
            return f'<p dir="auto">{text_html(block.text)}</p>\n'
        case Pairs():
            return _grid(block.caption, "", "".join(_pair(pair) for pair in block.rows))
        case Bars():
            return _grid(block.caption, "", "".join(_bar(pair) for pair in block.rows))
        case Table():
            return _table(block)
        case Items():
            tag = "ol" if block.numbered else "ul"
            return f"<{tag}>\n{''.join(_item(item) for item in block.items)}</{tag}>\n"


def _grid(caption: str, head: str, rows: str) -> str:
    titled = f"<caption>{text_html(caption)}</caption>" if caption else ""
    # tabindex: a region that scrolls must be reachable by keyboard.
    label = f' role="region" aria-label="{text_html(caption)}"' if caption else ""
    return f'<div class="scroll" tabindex="0"{label}><table>{titled}{head}<tbody>\n{rows}</tbody></table></div>\n'


def _cell(cell: Cell) -> str:
    if cell.known:
        return f"<bdi>{text_html(format_cell(cell))}</bdi>"
    reason = text_html(cell.reason or "not known")
    return f'<span class="dim" title="{reason}" aria-label="not known: {reason}">{DASH}</span>'


def _pair(pair: Pair) -> str:
    return f'<tr><th scope="row">{text_html(pair.label)}</th><td>{_cell(pair.cell)}</td><td class="dim">{text_html(pair.remark)}</td></tr>\n'


def _bar(pair: Pair) -> str:
    share = pair.cell.value if isinstance(pair.cell.value, float | int) and math.isfinite(pair.cell.value) else 0.0
    percent = max(0.0, min(1.0, share)) * 100
    drawn = f'<span class="track" aria-hidden="true"><span class="fill" style="width: {percent:.1f}%"></span></span>'
    return (
        f'<tr><th scope="row">{text_html(pair.label)}</th><td class="right">{_cell(pair.cell)}</td><td>{drawn}</td>'
        f'<td class="dim">{text_html(pair.remark)}</td></tr>\n'
    )


def _table(table: Table) -> str:
    if not table.rows:
        return f'<p class="dim">{text_html(table.caption)}: {text_html(table.empty)}</p>\n'
    side = [' class="right"' if column.right else "" for column in table.columns]
    head = "".join(f'<th scope="col"{side[index]}>{text_html(column.title)}</th>' for index, column in enumerate(table.columns))
    rows = "".join(f"<tr>{''.join(f'<td{side[index]}>{_cell(cell)}</td>' for index, cell in enumerate(row))}</tr>\n" for row in table.rows)
    notes = [note for note in (table.note, table.reasons() and f"{DASH} {table.reasons()}") if note]
    return _grid(table.caption, f"<thead><tr>{head}</tr></thead>", rows) + "".join(f'<p class="dim">{text_html(note)}</p>\n' for note in notes)


def _item(item: Item) -> str:
    numbers = f"<div>{' · '.join(_inline(pair) for pair in item.numbers)}</div>" if item.numbers else ""
    detail = f'<div class="detail" dir="auto">{text_html(item.detail)}</div>' if item.detail else ""
    title = f"<strong>{text_html(item.title)}</strong>" if item.numbers else text_html(item.title)
    return f'<li dir="auto">{title}{numbers}{detail}</li>\n'


def _inline(pair: Pair) -> str:
    remark = f' <span class="dim">({text_html(pair.remark)})</span>' if pair.remark else ""
    return f"{text_html(pair.label)} {_cell(pair.cell)}{remark}"
