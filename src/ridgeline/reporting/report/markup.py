"""HTML and SVG as text of a type of its own, so that the type checker finds a name that somebody forgot to escape.

Decides how a text and an attribute are written; which elements there are is left to the charts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import NewType

from ..text import clean

__all__ = ["NOTHING", "Markup", "join", "shown", "tag", "text"]

#: Text that may stand in the document as it is.
Markup = NewType("Markup", str)
NOTHING = Markup("")
Attribute = str | float | bool | None


def text(value: str) -> Markup:
    """A text as markup: control characters shown as codes, everything that HTML reads as syntax escaped."""
    return Markup(escape(clean(value), quote=True))


def join(parts: Iterable[Markup], between: str = "") -> Markup:
    """Parts one after the other."""
    return Markup(between.join(parts))


def tag(name: str, *children: Markup, **attributes: Attribute) -> Markup:
    """An element with its children; `class_` is the class, `stroke_width` becomes `stroke-width`, `None` and `False` leave an attribute out.

    >>> tag("p", text("a < b"), class_="dim", hidden=True)
    '<p class="dim" hidden>a &lt; b</p>'
    """
    written = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    return Markup(f"<{name}{written}>{''.join(children)}</{name}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    if isinstance(value, str):
        return f' {name}="{text(value)}"'
    return f' {name}="{shown(value)}"'


def shown(value: float) -> str:
    """A coordinate with at most two decimals.

    Raises:
        ValueError: it is not finite; whoever draws must have left it out.
    """
    if not math.isfinite(value):
        raise ValueError(f"a coordinate that is not finite: {value}")
    return f"{value:.2f}".rstrip("0").rstrip(".")
