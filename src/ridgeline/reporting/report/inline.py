"""Small fragments for notebooks: what a result shows of itself in a cell. No script, no request, styles only on its own elements."""

from __future__ import annotations

from ridgeline.core import BenchReport, Comparison, Device, Diagnosis, DoctorReport, Run, ValidationReport

from ..bench_page import bench_page
from ..blocks import block_html
from ..comparison_page import comparison_page
from ..diagnosis_page import page
from ..page import Page
from ..pages import doctor_page, probe_page, run_page
from ..validation_page import validation_page
from .limits import bounded
from .markup import Markup, join, tag, text

__all__ = ["inline"]

# A cell is a glance: the headline and these sections open, the others behind a click.
_OPEN = frozenset({"Verdict", "What to do", "Device", "Machine", "Run", "Errors"})
_SIGNS = {"bad": "▲", "good": "✓", "unsure": "?", "plain": "·"}


def inline(noun: Diagnosis | Run | Device | DoctorReport | Comparison | BenchReport | ValidationReport) -> str:
    """The fragment of a result: its headline, what to do, and the rest to be unfolded."""
    found = _page(noun)
    sections = [(section.title, Markup("".join(block_html(block) for block in section.blocks))) for section in found.sections]
    shown = join(tag("div", tag("strong", text(title)), blocks) for title, blocks in sections if title in _OPEN)
    folded = join(tag("details", tag("summary", text(title)), blocks) for title, blocks in sections if title not in _OPEN)
    head = tag("p", text(f"{_SIGNS[found.tone]} {found.headline or found.title}"), style="font-size:1.15em;font-weight:600;margin:.3em 0", dir="auto")
    return tag(
        "div", tag("div", text(found.title), style="opacity:.7"), head, shown, folded, class_="ridgeline", style="max-width:64em;text-align:left"
    )


def _page(noun: Diagnosis | Run | Device | DoctorReport | Comparison | BenchReport | ValidationReport) -> Page:
    match noun:
        case Diagnosis():
            return page(bounded(noun)[0])
        case Run(diagnosis=Diagnosis() as diagnosis):
            return page(bounded(diagnosis)[0])
        case Run():
            return run_page(noun)
        case Device():
            return probe_page(noun)
        case Comparison():
            return comparison_page(noun)
        case BenchReport():
            return bench_page(noun)
        case ValidationReport():
            return validation_page(noun)
        case _:
            return doctor_page(noun)
