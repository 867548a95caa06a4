"""The same page three ways: all numbers there, nothing breaks out, widths kept."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Diagnosis
from ridgeline.reporting import Cell, Column, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, format_cell, html, markdown, page, terminal
from ridgeline.reporting.text import width

_VOID = {"meta", "br", "link", "img", "hr", "input"}
_HOSTILE = "<script>alert('x')</script>\x1b[31m`|*_[a](http://e)&amp;\n\r\u202e"


class _Reader(HTMLParser):
    """Checks that every element is closed, and keeps what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def _read(document: str) -> _Reader:
    reader = _Reader()
    reader.feed(document)
    reader.close()
    assert reader.open == []
    return reader


def _hostile(diagnosis: Diagnosis) -> Diagnosis:
    return msgspec.convert(_spoiled(msgspec.to_builtins(diagnosis)), Diagnosis)


_FIXED = {"schema", "bound", "unit", "source", "metric", "budget", "output", "promise", "basis"}


def _spoiled(plain: object, key: str = "") -> object:
    """Every free text replaced."""
    if isinstance(plain, dict):
        return {name: _spoiled(value, name) for name, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_spoiled(value, key) for value in plain]
    return _HOSTILE if isinstance(plain, str) and key not in _FIXED else plain


def _cells(found: Page) -> list[str]:
    texts = []
    for section in found.sections:
        for block in section.blocks:
            if isinstance(block, Table):
                texts += [format_cell(cell) for row in block.rows for cell in row]
            elif isinstance(block, Pairs):
                texts += [format_cell(pair.cell) for pair in block.rows]
    return texts


@pytest.mark.parametrize("columns", [60, 80, 100, 137, 200])
def test_a_terminal_page_keeps_its_width(full_diagnosis: Diagnosis, columns: int) -> None:
    for diagnosis in (full_diagnosis, _hostile(full_diagnosis)):
        lines = terminal(page(diagnosis), columns).splitlines()
        assert max(width(line) for line in lines) <= columns
        assert all(line == line.rstrip() for line in lines)


def test_the_first_line_is_the_verdict(full_diagnosis: Diagnosis) -> None:
    assert terminal(page(full_diagnosis), 120).startswith("▶ /encoder/layer.0/MatMul: bandwidth bound, weight-traffic, 46.3% of the time.\n")


def test_wide_pages_hold_every_cell_in_every_form(full_diagnosis: Diagnosis) -> None:
    found = page(full_diagnosis)
    wide, tree = terminal(found, 400), " ".join(_read(html(found)).text)
    plain = re.sub(r"\\(.)", r"\1", markdown(found))
    for text in _cells(found):
        assert text in wide
        assert text in tree
        assert text in plain


def test_columns_that_do_not_fit_are_named(full_diagnosis: Diagnosis) -> None:
    text = " ".join(terminal(page(full_diagnosis), 60).split())
    assert "not shown at this width: kind, calls, f_c, f_b, FLOP/B, threads, precision, ran on (a wider terminal," in text


def test_colour_only_where_it_is_wanted(full_diagnosis: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    plain, coloured = terminal(page(full_diagnosis), 100), terminal(page(full_diagnosis), 100, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()] == plain.splitlines()


def test_no_control_sequence_gets_through(full_diagnosis: Diagnosis) -> None:
    found = page(_hostile(full_diagnosis))
    for text in (terminal(found, 100), markdown(found), html(found)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\r" not in text


def test_html_is_whole_self_contained_and_accessible(full_diagnosis: Diagnosis) -> None:
    document = html(page(full_diagnosis))
    read = _read(document)
    assert document.startswith("<!DOCTYPE html>")
    assert ("lang", "en") in read.attributes
    assert read.tags["main"] == read.tags["title"] == read.tags["h1"] == 1
    assert read.tags["caption"] >= 6
    assert ("scope", "col") in read.attributes
    assert ("scope", "row") in read.attributes
    assert "prefers-color-scheme" in document
    assert not {"script", "link", "img", "iframe", "object"} & read.tags.keys()
    assert not {name for name, _ in read.attributes if name in {"src", "href"} or name.startswith("on")}
    assert len(document) < 5_000_000


def test_hostile_names_are_harmless_in_html(full_diagnosis: Diagnosis) -> None:
    clean_tags = _read(html(page(full_diagnosis))).tags
    read = _read(html(page(_hostile(full_diagnosis))))
    # A missing reason may become a text and the other way round, but no element comes from a name.
    assert set(read.tags) == set(clean_tags)
    assert "<script>alert('x')</script>" in "".join(read.text)


def test_hostile_names_are_harmless_in_markdown(full_diagnosis: Diagnosis) -> None:
    text = markdown(page(_hostile(full_diagnosis)))
    assert not re.search(r"(?<!\\)<script", text)
    for table in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(bars) == 1


@pytest.mark.parametrize("columns", [60, 200])
def test_a_page_of_nothing_renders(empty_diagnosis: Diagnosis, columns: int) -> None:
    found = page(empty_diagnosis)
    assert "Inconclusive" in terminal(found, columns)
    assert "Inconclusive" in markdown(found)
    _read(html(found))


_TEXT = st.text(max_size=40)
_CELL = st.builds(
    Cell, value=st.none() | _TEXT | st.floats(-1e30, 1e30), unit=st.sampled_from(["s", "B", "1", "share", "speedup", "count"]), reason=_TEXT
)
_PAIR = st.builds(Pair, label=_TEXT, cell=_CELL, note=_TEXT)


@st.composite
def _tables(draw: st.DrawFn) -> Table:
    columns = draw(st.lists(st.builds(Column, title=_TEXT, right=st.booleans(), flexible=st.booleans()), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(*[_CELL] * len(columns)), max_size=4))
    return Table(columns=tuple(columns), rows=tuple(rows), caption=draw(_TEXT))


_BLOCK = st.one_of(
    st.builds(Paragraph, text=_TEXT),
    st.builds(Pairs, rows=st.lists(_PAIR, max_size=3).map(tuple), caption=_TEXT),
    st.builds(Items, items=st.lists(st.builds(Item, title=_TEXT, numbers=st.lists(_PAIR, max_size=2).map(tuple)), max_size=3).map(tuple)),
    _tables(),
)
_SECTION = st.builds(Section, title=_TEXT, blocks=st.lists(_BLOCK, max_size=3).map(tuple))
_PAGE = st.builds(Page, title=_TEXT, headline=_TEXT, sections=st.lists(_SECTION, max_size=3).map(tuple))


@given(_PAGE, st.integers(40, 200))
def test_any_page_renders_within_its_width(found: Page, columns: int) -> None:
    assert all(width(line) <= columns for line in terminal(found, columns).splitlines())
    _read(html(found))
    markdown(found)


@pytest.mark.parametrize("columns", range(40, 101, 4))
def test_no_number_of_the_wall_split_is_lost_at_any_width(full_diagnosis: Diagnosis, columns: int) -> None:
    lines = terminal(page(full_diagnosis), columns).splitlines()
    wide = terminal(page(full_diagnosis), 160).splitlines()
    for name in ("kernels", "interpreter", "system", "waiting", "blocked"):
        line, whole = (next(line for line in text if line.strip().startswith(name)) for text in (lines, wide))
        number = re.search(r"<?[\d.]+%", whole)
        assert number is not None
        assert number[0] in line
        assert width(line) <= columns
