"""The flame graph as a piece of HTML: the data as an attribute, a table of functions that needs no script, and what is not drawn.

The page that takes it includes `flame_style()` and `flame_script()` once, whatever the number of blocks, and may forbid every other script: the block
has none, and names in it are text only. `flame.js` draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import msgspec

from ridgeline.core import FrameUse, Stacks
from ridgeline.core.units import format_quantity, format_share
from ridgeline.timeline.frames import frame_uses

from ..report.markup import NOTHING, Markup, join, tag, text
from ..text import shorten
from .drawn import Drawn, drawn

__all__ = ["flame_block", "flame_script", "flame_style"]

_ROWS = 20
_LONGEST_NAME = 160


def flame_block(stacks: Stacks | Sequence[Stacks], *, caption: str = "flame graph", most: int = 12_000) -> Markup:
    """The flame graph of stacks.

    Args:
        stacks: one, or those of several lanes of one measure.
        caption: its title.
        most: paths that are drawn; 12,000 take about 300 kB.
    """
    shown = drawn(stacks, most)
    if not shown.whole:
        return tag("figure", tag("figcaption", text(caption)), tag("p", text("No stack has a weight."), class_="sub"), class_="flame")
    data = msgspec.json.encode(shown).decode()
    return tag(
        "figure", tag("figcaption", text(caption)), tag("p", text(_said(shown)), class_="sub"),
        tag("p", text("The graph is drawn by a script, which this viewer does not run; the functions stand below."), class_="sub flame-still"),
        tag("div", class_="flame-graph", data_tree=data), _table(frame_uses(stacks, most=_ROWS), shown), class_="flame",
    )  # fmt: skip


def flame_script() -> Markup:
    """The script that draws every block of a page; to stand in one `script` element at its end."""
    return _asset("flame.js")


def flame_style() -> Markup:
    """The style of the blocks, with the colours of the report where the page defines them."""
    return _asset("flame.css")


def _said(shown: Drawn) -> str:
    parts = [
        f"{_weight(shown.whole, shown)} {shown.measure if shown.unit == 'count' else f'of {shown.measure}'} in all.",
        "A bar is a function below its caller, as wide as its weight; the strip at its foot is its own.",
    ]
    if shown.left_out:
        share = format_share(min(1.0, shown.left_out_weight / shown.whole))
        parts.append(f"{shown.left_out} paths that are narrower than every one here are not drawn; {share} of the weight ends in them.")
    return " ".join(parts)


def _weight(value: float, shown: Drawn) -> str:
    return format_quantity(value, shown.unit) if shown.unit != "count" else f"{value:,.6g}"


def _table(uses: Sequence[FrameUse], shown: Drawn) -> Markup:
    """The functions with the most own weight."""
    if not uses:
        return NOTHING
    titles = (("function", ""), ("own", "right"), ("own share", "right"), ("total", "right"), ("total share", "right"), ("where", ""))
    head = tag("tr", *(tag("th", text(title), class_=class_ or None, scope="col") for title, class_ in titles))
    rows = [_row(use, shown) for use in uses]
    caption = f"functions by own {shown.measure}, of {_weight(shown.whole, shown)} in all; recursion counts once in a total"
    return tag(
        "details", tag("summary", text("Functions")), tag("table", tag("caption", text(caption)), tag("thead", head), tag("tbody", join(rows)))
    )


def _row(use: FrameUse, shown: Drawn) -> Markup:
    place = " · ".join(part for part in (f"{use.file}:{use.line}" if use.file and use.line else use.file or "", use.library) if part)
    numbers = (_weight(use.own, shown), format_share(use.own_share), _weight(use.total, shown), format_share(use.total_share))
    cells = [tag("td", text(number), class_="right") for number in numbers]
    name, where = shorten(use.function, _LONGEST_NAME), shorten(place, _LONGEST_NAME)
    return tag("tr", tag("th", text(name), scope="row"), *cells, tag("td", text(where)))


def _asset(name: str) -> Markup:
    return Markup(files(__package__).joinpath(name).read_text(encoding="utf-8").strip())
