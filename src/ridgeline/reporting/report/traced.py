"""The report of a read trace as one HTML file: its page, with the timeline drawn where there is one; opens offline, requests nothing.

Decides what stands where and how much of the timeline fits under the size that no report exceeds; what is drawn is decided in `drawn_timeline`.
"""

from __future__ import annotations

from ridgeline.core import Profile, ReadReport, Stacks, Timeline
from ridgeline.timeline.call_tree import call_tree

from ..blocks import block_html
from ..flame import flame_block, flame_script, flame_style
from ..page import Page, Section
from ..read_page import read_page
from .drawn_timeline import DETAILS, Detail, packed
from .markup import Markup, tag, text
from .shell import anchor, asset, contents, document
from .verdict import headline

__all__ = ["MOST_BYTES", "trace_report"]

#: No report is larger, however many events there are.
MOST_BYTES = 5_000_000
#: Rows of a list.
_ROWS = 200


def trace_report(report: ReadReport, profile: Profile | None = None) -> str:
    """The whole file.

    Args:
        report: what was found; lists are cut to some hundred rows, and say so.
        profile: what it was found in, for the drawings; without it there are only the tables.
    """
    written = ""
    for most, detail in zip((_ROWS, _ROWS, 50, 20), DETAILS, strict=True):
        drawn = _drawings(report, profile, detail) if profile is not None else {}
        written = _written(read_page(report, most=most), report, drawn)
        if len(written.encode()) < MOST_BYTES:
            break
    return written


def _drawings(report: ReadReport, profile: Profile, detail: Detail) -> dict[str, Markup]:
    """Title of a section → its drawing."""
    found = {}
    timeline = profile.timeline
    if timeline is not None and len(timeline):
        found["Timeline"] = _timeline(timeline, packed(timeline, report, detail), detail)
    stacks: Stacks | list[Stacks] = [one for one in profile.stacks if (one.measure, one.unit) == (report.measure, report.unit)]
    caption = "flame graph"
    if not stacks and timeline is not None and 0 < len(timeline) <= detail.events:
        stacks, caption = call_tree(timeline), "own time of the events, below those that they lie in"
    if stacks:
        block = flame_block(stacks, caption=caption, most=max(500, detail.events // 10))
        found["Flame graph"] = tag("section", tag("h2", text("Flame graph"), id="flame-graph"), block, aria_labelledby="flame-graph")
    return found


def _written(found: Page, report: ReadReport, drawn: dict[str, Markup]) -> str:
    # The answers, then what they are drawn from, then the numbers.
    count = sum(section.title in ("Verdict", "What to do") for section in found.sections)
    first, *rest = (_section(section) for section in found.sections)
    titles = [*(Section(title=title, blocks=()) for title in drawn), *found.sections]
    script = Markup("\n".join((asset("report.js"), asset("timeline.js"), flame_script())))
    style = Markup(asset("timeline.css") + "\n" + flame_style())
    return document(
        found, _masthead(found, report), [first, contents(titles), *rest[: count - 1], *drawn.values(), *rest[count - 1 :]], script, style
    )


def _masthead(found: Page, report: ReadReport) -> Markup:
    switch = tag("button", text("Dark"), type="button", id="theme", aria_pressed="false", hidden=True)
    line = tag("div", tag("span", text("ridgeline"), class_="brand"), switch, class_="line")
    where = " · ".join(part for part in (report.format, report.tool, report.window) if part)
    return tag("header", line, tag("h1", text(", ".join(report.files)), dir="auto"), tag("p", text(where), class_="sub"), headline(found))


def _section(section: Section) -> Markup:
    blocks = Markup("".join(block_html(block) for block in section.blocks))
    return tag("section", tag("h2", text(section.title), id=anchor(section.title)), blocks, aria_labelledby=anchor(section.title))


def _timeline(timeline: Timeline, data: str, detail: Detail) -> Markup:
    """The drawing with its controls; the tables beside hold the numbers, so that nobody needs to see it."""
    buttons = [
        tag("button", text(label), type="button", data_key=key) for label, key in (("+", "+"), ("−", "-"), ("◀", "a"), ("▶", "d"), ("All", "Home"))
    ]
    names = ("Zoom in", "Zoom out", "Earlier", "Later", "All of it")
    labelled = [Markup(button.replace("<button", f'<button aria-label="{name}"', 1)) for button, name in zip(buttons, names, strict=True)]
    search = tag("input", type="search", placeholder="Search names", aria_label="Search names of events")
    controls = tag(
        "div",
        *labelled,
        Markup(search.replace("</input>", "")),
        tag("button", text("Next"), type="button", class_="next"),
        tag("span", class_="count"),
    )
    canvas = tag("canvas", tabindex="0", role="img", aria_label=f"Timeline of {len(timeline)} events; the tables below have the numbers")
    help_text = "Drag or use the arrow keys to move, + and − or Ctrl and the wheel to zoom. Gaps and the critical path have lanes of their own."
    return tag(
        "section",
        tag("h2", text("Timeline"), id="timeline-title"),
        tag("p", text(help_text + _left_out(timeline, detail)), class_="sub"),
        Markup(controls.replace("<div", '<div class="controls"', 1)),
        tag("p", text("\u00a0"), class_="readout", role="status"),
        canvas,
        tag("div", Markup(data), id="timeline-data", hidden=True),
        id="timeline",
        aria_labelledby="timeline-title",
    )


def _left_out(timeline: Timeline, detail: Detail) -> str:
    if len(timeline) <= detail.events:
        return ""
    return f" Of {len(timeline)} events the longest {detail.events} are drawn one by one, the others as how busy their lane was."
