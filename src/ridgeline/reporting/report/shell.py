"""The document around a report: its head, its styles, what it may do (its content security policy), and the list of its sections."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from ..html import MADE_BY
from ..page import Page, Section
from .markup import NOTHING, Markup, tag, text

__all__ = ["anchor", "asset", "contents", "document", "wide"]


def anchor(title: str) -> str:
    """The name of a section in the address."""
    return title.lower().replace(" ", "-")


def contents(sections: Sequence[Section], first: str = "Verdict") -> Markup:
    """Links to the sections, without the one that stands above them."""
    links = [tag("a", text(section.title), href=f"#{anchor(section.title)}") for section in sections if section.title != first]
    return tag("nav", *links, aria_label="Sections")


def wide(chart: Markup) -> Markup:
    """A chart that scrolls where the screen is narrow."""
    return tag("div", chart, class_="scroll")


def asset(name: str) -> Markup:
    """A style or a script that lies beside this module."""
    return Markup(files(__package__).joinpath(name).read_text(encoding="utf-8").strip())


def document(found: Page, head: Markup, sections: Sequence[Markup], script: Markup, style: Markup = NOTHING) -> str:
    """The whole file.

    Args:
        found: the page that it shows.
        head: what stands above all sections.
        script: its only script; style: further styles.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The file may show itself and run its own script, and nothing else, whatever a name in it contains.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{MADE_BY}\n"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"{tag('title', text(found.title))}\n<style>\n{asset('report.css')}\n{style}</style>\n</head>\n<body>\n"
        f"{head}\n{tag('main', *sections)}\n<script>{script}</script>\n</body>\n</html>\n"
    )
