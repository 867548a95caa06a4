"""A page as one HTML file that opens offline: no script, no outside asset, everything escaped, tables that a screen reader can walk."""

from __future__ import annotations

from html import escape

from .page import DASH, Bars, Block, Cell, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, format_cell
from .text import clean

__all__ = ["html"]

# The policy forbids what the page does not need, so that even a hole in the escaping could load or run nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #57606a; --paper: #ffffff; --line: #d0d7de; --bar: #0969da; --good: #1a7f37; --bad: #b42318; --unsure: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --dim: #9aa4ae; --paper: #0d1117; --line: #30363d; --bar: #58a6ff; --good: #56d364; --bad: #ff8178; --unsure: #e3b341; }
}
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1rem; font-weight: 600; color: var(--dim); overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
.headline { font-size: 1.4rem; font-weight: 700; border-left: .4rem solid currentColor; padding-left: .8rem; overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); } .unsure { color: var(--unsure); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--dim); }
th, td { padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
thead th { border-bottom: 1px solid var(--line); } td.right, th.right { text-align: right; white-space: nowrap; }
.dim { color: var(--dim); } .detail { margin: .1rem 0 .6rem; color: var(--dim); }
.track { display: inline-block; width: 12rem; height: .8rem; background: var(--line); } .fill { display: block; height: 100%; background: var(--bar); }
@media print { .scroll { overflow: visible; } }
""".strip()  # noqa: E501


def html(page: Page) -> str:
    """The page as one self-contained HTML document."""
    headline = f'<p class="headline {page.tone}" dir="auto">{_text(page.headline)}</p>\n' if page.headline else ""
    body = headline + "\n".join(_section(section) for section in page.sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(page.title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        f'<h1 dir="auto">{_text(page.title)}</h1>\n{body}\n</main>\n</body>\n</html>\n'
    )


def _text(text: str) -> str:
    return escape(clean(text), quote=True)


def _section(section: Section) -> str:
    title = f"<h2>{_text(section.title)}</h2>\n" if section.title else ""
    return f"<section>\n{title}{''.join(_block(block) for block in section.blocks)}</section>"


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return f'<p dir="auto">{_text(block.text)}</p>\n'
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
    titled = f"<caption>{_text(caption)}</caption>" if caption else ""
    # tabindex: a region that scrolls must be reachable by keyboard.
    label = f' role="region" aria-label="{_text(caption)}"' if caption else ""
    return f'<div class="scroll" tabindex="0"{label}><table>{titled}{head}<tbody>\n{rows}</tbody></table></div>\n'


def _cell(cell: Cell) -> str:
    if cell.known:
        return f"<bdi>{_text(format_cell(cell))}</bdi>"
    reason = _text(cell.reason or "not known")
    return f'<span class="dim" title="{reason}" aria-label="not known: {reason}">{DASH}</span>'


def _pair(pair: Pair) -> str:
    return f'<tr><th scope="row">{_text(pair.label)}</th><td>{_cell(pair.cell)}</td><td class="dim">{_text(pair.remark)}</td></tr>\n'


def _bar(pair: Pair) -> str:
    share = pair.cell.value if isinstance(pair.cell.value, float | int) else 0.0
    percent = max(0.0, min(1.0, share)) * 100
    drawn = f'<span class="track" aria-hidden="true"><span class="fill" style="width: {percent:.1f}%"></span></span>'
    return (
        f'<tr><th scope="row">{_text(pair.label)}</th><td class="right">{_cell(pair.cell)}</td><td>{drawn}</td>'
        f'<td class="dim">{_text(pair.remark)}</td></tr>\n'
    )


def _table(table: Table) -> str:
    if not table.rows:
        return f'<p class="dim">{_text(table.caption)}: {_text(table.empty)}</p>\n'
    side = [' class="right"' if column.right else "" for column in table.columns]
    head = "".join(f'<th scope="col"{side[index]}>{_text(column.title)}</th>' for index, column in enumerate(table.columns))
    rows = "".join(f"<tr>{''.join(f'<td{side[index]}>{_cell(cell)}</td>' for index, cell in enumerate(row))}</tr>\n" for row in table.rows)
    notes = [note for note in (table.note, table.reasons() and f"{DASH} {table.reasons()}") if note]
    return _grid(table.caption, f"<thead><tr>{head}</tr></thead>", rows) + "".join(f'<p class="dim">{_text(note)}</p>\n' for note in notes)


def _item(item: Item) -> str:
    numbers = f"<div>{' · '.join(_inline(pair) for pair in item.numbers)}</div>" if item.numbers else ""
    detail = f'<div class="detail" dir="auto">{_text(item.detail)}</div>' if item.detail else ""
    title = f"<strong>{_text(item.title)}</strong>" if item.numbers else _text(item.title)
    return f'<li dir="auto">{title}{numbers}{detail}</li>\n'


def _inline(pair: Pair) -> str:
    remark = f' <span class="dim">({_text(pair.remark)})</span>' if pair.remark else ""
    return f"{_text(pair.label)} {_cell(pair.cell)}{remark}"
