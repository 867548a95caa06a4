"""A page as one HTML file that opens offline: no script, no outside asset, everything escaped, tables that a screen reader can walk."""

from __future__ import annotations

from .blocks import block_html, text_html
from .page import Page, Section

__all__ = ["MADE_BY", "html"]

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

#: By what a file of ours is known again.
MADE_BY = '<meta name="generator" content="ridgeline">'


def html(page: Page) -> str:
    """The page as one self-contained HTML document."""
    headline = f'<p class="headline {page.tone}" dir="auto">{text_html(page.headline)}</p>\n' if page.headline else ""
    body = headline + "\n".join(_section(section) for section in page.sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{MADE_BY}\n"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text_html(page.title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        f'<h1 dir="auto">{text_html(page.title)}</h1>\n{body}\n</main>\n</body>\n</html>\n'
    )


def _section(section: Section) -> str:
    title = f"<h2>{text_html(section.title)}</h2>\n" if section.title else ""
    return f"<section>\n{title}{''.join(block_html(block) for block in section.blocks)}</section>"
