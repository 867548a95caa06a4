"""The page of `ridgeline diff`: what differs, the gravest first, and the numbers side by side."""

from __future__ import annotations

from ridgeline.core.run_diff import FigurePair, RunDiff

from .page import Cell, Column, Page, Pair, Pairs, Paragraph, Section, Table, missing, number, words

__all__ = ["diff_page"]

_MEANING = {"must": "MUST be equal", "warn": "may explain", "note": "note"}
_NONE = "has none"


def diff_page(diff: RunDiff) -> Page:
    """Two runs side by side."""
    head = (
        Pair(label="A", cell=words(diff.run_a), note=f"{diff.target_a}, {diff.at_a}"),
        Pair(label="B", cell=words(diff.run_b), note=f"{diff.target_b}, {diff.at_b}"),
    )
    sections = (
        Section(title="Runs", blocks=(Pairs(rows=head),)),
        Section(title="What differs", blocks=(_keys(diff),)),
        Section(title="Numbers", blocks=(_figures(diff), Paragraph(text=_advice(diff)))),
    )
    return Page(title="ridgeline diff", headline=_headline(diff), tone="plain" if diff.comparable else "unsure", sections=sections)


def _headline(diff: RunDiff) -> str:
    graves = [key.key for key in diff.keys if key.kind == "must"]
    if graves:
        return f"Their numbers do not compare: {', '.join(graves)} must be equal."
    others = sum(key.kind == "warn" for key in diff.keys)
    if others:
        return f"They can be compared; {others} thing{'s' * (others != 1)} that may explain a difference {'are' if others != 1 else 'is'} not alike."
    return "They were measured alike."


def _advice(diff: RunDiff) -> str:
    command = f"ridgeline compare {diff.run_a} {diff.run_b}"
    graves = " ".join(f"--changing {key.key}" for key in diff.keys if key.kind == "must")
    if graves:
        return f"Ratios are not judged here. Where the difference is the point of the change: `{command} {graves}`."
    return f"Ratios say nothing about noise. Whether the difference is one: `{command}`."


def _keys(diff: RunDiff) -> Table:
    columns = (
        Column(title="key", weight=20),
        Column(title="A", flexible=True, weight=18, least=16),
        Column(title="B", flexible=True, weight=18, least=16),
        Column(title="for a comparison", weight=15),
    )
    rows = tuple((words(key.key), words(key.a, _NONE), words(key.b, _NONE), words(_MEANING[key.kind])) for key in diff.keys)
    return Table(caption="keys that differ", columns=columns, rows=rows, empty="nothing that was recorded", note=f"alike: {', '.join(diff.same)}")


def _figures(diff: RunDiff) -> Table:
    columns = (Column(title="", weight=20), Column(title="A", right=True, weight=18), Column(title="B", right=True, weight=18),
               Column(title="B ÷ A", right=True, weight=15))  # fmt: skip
    rows = tuple((words(pair.name), *_sides(pair), _ratio(pair, diff.comparable)) for pair in diff.figures)
    return Table(caption="numbers side by side", columns=columns, rows=rows, empty="neither run was timed")


def _sides(pair: FigurePair) -> tuple[Cell, Cell]:
    return number(pair.a, pair.unit, pair.a_ci, "not measured"), number(pair.b, pair.unit, pair.b_ci, "not measured")


def _ratio(pair: FigurePair, comparable: bool) -> Cell:
    if pair.ratio is not None:
        return words(f"{pair.ratio:.3f}")
    return missing("they do not compare" if not comparable else "means nothing here" if pair.unit != "s" else "not measured")
