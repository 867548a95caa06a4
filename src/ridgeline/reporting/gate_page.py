"""The page of `ridgeline gate`, and its short form for a pull request: a table, and everything else folded away."""

from __future__ import annotations

from typing import Literal

from ridgeline.core import GateCheck, GateReport

from .markdown import markdown
from .page import Block, Cell, Column, Item, Items, Page, Paragraph, Section, Table, missing, number, words

__all__ = ["gate_comment", "gate_page"]

#: What a person must look at comes first.
_ORDER = ("regression", "tail regression", "failed", "incomparable", "inconclusive", "faster", "fine", "new", "missing")
_TONES: dict[str, Literal["good", "bad", "unsure"]] = {"green": "good", "red": "bad", "unlike": "bad", "unsure": "unsure"}
_TOLD = ("regression", "tail regression", "failed", "incomparable")
#: A comment of GitHub holds 65,536 characters.
_MOST_CHARACTERS = 60_000
_NO_RATIO = "nothing to divide"


def gate_page(report: GateReport) -> Page:
    """The whole verdict."""
    sections = [
        Section(title="Benchmarks", blocks=(_table(report.checks),)),
        *_reasons("To look at", [check for check in report.checks if check.verdict in (*_TOLD, "inconclusive")]),
        Section(title="How", blocks=(Paragraph(text=_method(report)), *_warnings(report))),
    ]
    return Page(title="ridgeline gate", headline=report.headline, tone=_TONES[report.state], sections=tuple(sections))


def gate_comment(report: GateReport) -> str:
    """The verdict as Markdown for a pull request: the headline, what to look at and why, the rest folded away."""
    told = [check for check in report.checks if check.verdict in _TOLD]
    blocks: list[Block] = [_table(told)] if told else []
    sections = (Section(title="", blocks=tuple(blocks)), *_reasons("Why", told))
    head = markdown(Page(title="ridgeline gate", headline=report.headline, sections=sections))
    rest = gate_page(report)
    folded = _without_title(Page(title=rest.title, sections=rest.sections))
    if len(head) + len(folded) > _MOST_CHARACTERS:
        folded = _without_title(Page(title="", sections=(Section(title="How", blocks=(Paragraph(text=_method(report)),)),)))
        folded += "\nThe table is too long for a comment; the page of the command holds it.\n"
    head = head if len(head) < _MOST_CHARACTERS else markdown(Page(title="ridgeline gate", headline=report.headline))
    count = len(report.checks)
    return f"{head}\n<details><summary>{count} benchmark{'s' * (count != 1)}, and how they were measured</summary>\n\n{folded}\n</details>\n"


def _without_title(page: Page) -> str:
    return markdown(page).partition("\n\n")[2]


def _table(checks: tuple[GateCheck, ...] | list[GateCheck]) -> Table:
    columns = (
        Column(title="benchmark", flexible=True, weight=20),
        Column(title="verdict", weight=19),
        Column(title="now ÷ before", right=True, weight=18),
        Column(title="interval", right=True, weight=17),
        Column(title="before", right=True, weight=12),
        Column(title="now", right=True, weight=13),
        Column(title="would be seen", right=True, weight=15),
        Column(title="tail", weight=10),
    )
    ordered = sorted(checks, key=lambda check: _ORDER.index(check.verdict))
    return Table(caption="benchmarks", columns=columns, rows=tuple(_row(check) for check in ordered), empty="none",
                 note="would be seen: a slowdown by this much is found nine times of ten; before and now are medians, and the ratio is of the median "
                 "unless another statistic is named")  # fmt: skip


def _row(check: GateCheck) -> tuple[Cell, ...]:
    of = "" if check.statistic == "median" else f" ({check.statistic})"
    reason = "" if check.ratio is not None else _NO_RATIO if check.verdict in ("new", "missing", "failed") else "no ratio"
    detectable = check.detectable_ratio
    return (
        words(check.name),
        words(check.verdict),
        missing(reason) if check.ratio is None else words(f"{_ratio(check.ratio)}{of}"),
        _interval(check, reason),
        number(check.before, check.unit, reason=reason),
        number(check.now, check.unit, reason=reason),
        missing(reason or _unseen(check)) if detectable is None else words(f"{100 * (detectable - 1):.1f} %"),
        missing(reason or "not judged") if check.tail is None else words(check.tail.verdict),
    )


def _unseen(check: GateCheck) -> str:
    return "not known against a history or a prediction" if check.first is None else "too few processes, or they differ too much"


def _interval(check: GateCheck, reason: str) -> Cell:
    if check.ratio_ci is None:
        return missing(reason or "too few processes for one")
    low, high = check.ratio_ci
    return words(f"{_ratio(low)}–{'∞' if high is None else _ratio(high)}")


def _ratio(ratio: float) -> str:
    """Three decimals; of one that they cannot show, three digits."""
    return f"{ratio:.3f}" if 0.01 <= ratio < 1000 or ratio == 0 else f"{ratio:.3g}"


def _reasons(title: str, checks: list[GateCheck]) -> tuple[Section, ...]:
    if not checks:
        return ()
    ordered = sorted(checks, key=lambda check: _ORDER.index(check.verdict))
    return (
        Section(title=title, blocks=(Items(items=tuple(Item(title=f"{check.name}: {check.verdict}", detail=_detail(check)) for check in ordered)),)),
    )


def _detail(check: GateCheck) -> str:
    cautions = "; ".join(dict.fromkeys(caution.message for caution in check.warnings))
    return f"{check.because}; {cautions}" if cautions and check.because else check.because or cautions


def _method(report: GateReport) -> str:
    suspects = sum(check.suspected for check in report.checks)
    judged = "a worse p99 counts too" if "tail" in report.fail_on else "the p99 is told and does not count"
    return (
        f"Against {report.baseline}. Every benchmark was looked at once; {suspects} looked slower. An unchanged version is red in at most "
        f"{100 * (1 - report.confidence):.2g} of 100 gates, however many benchmarks there are; {judged}."
    )


def _warnings(report: GateReport) -> tuple[Block, ...]:
    lines = [f"{caution.code}: {caution.message}; {caution.effect}" for caution in report.warnings]
    lines += [f"left out: {entry.count} × {entry.reason}, the first {entry.first}" for entry in report.left_out]
    return (Items(items=tuple(Item(title=line) for line in lines)),) if lines else ()
