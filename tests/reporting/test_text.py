"""What someone else named, made harmless and made to fit."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.reporting.text import clean, fitted, shorten, shorten_apart, shown_path, width

_ANY = st.text(max_size=60)


@given(_ANY)
def test_clean_leaves_nothing_that_moves_or_hides(text: str) -> None:
    for character in clean(text):
        assert unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
        assert character not in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200b\ufeff"


@given(_ANY)
def test_clean_twice_is_clean_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=40))
def test_clean_leaves_plain_text_alone(text: str) -> None:
    assert clean(text) == text


def test_scripts_that_need_joiners_keep_them() -> None:
    assert clean("क्\u200dष") == "क्\u200dष"
    assert clean("模型 модель ﷺ") == "模型 модель ﷺ"


@given(_ANY, st.integers(0, 70))
def test_shorten_fits_and_keeps_both_ends(text: str, columns: int) -> None:
    short = shorten(text, columns)
    assert width(short) <= max(columns, 0)
    if width(text) <= columns:
        assert short == text
    elif columns >= 1:
        head, _, tail = short.partition("…")
        assert text.startswith(head)
        assert text.endswith(tail)


def test_shorten_counts_wide_characters_twice() -> None:
    assert width("模型") == 4
    # Seven columns: one for the ellipsis, three before and three behind, each of which hold one wide character.
    assert shorten("模型模型模型", 7) == "模…型"


def test_shorten_of_a_very_long_name() -> None:
    short = shorten("a" * 50_000 + "z" * 50_000, 21)
    assert short == "a" * 10 + "…" + "z" * 10


@given(st.lists(_ANY, max_size=6), st.integers(2, 40), st.integers(1, 4))
def test_fitted_lines_fit_and_leave_nothing_out_where_all_fits(texts: list[str], columns: int, lines: int) -> None:
    for text, found in zip(texts, fitted(texts, columns, lines), strict=True):
        assert 1 <= len(found) <= lines
        assert all(width(line) <= columns for line in found)
        # Only blanks at the ends of lines are not shown, unless something is cut.
        assert "".join("".join(found).split()) == "".join(text.split()) or "…" in "".join(found)
        if width(text) <= columns:
            assert found == [text]


def test_names_that_are_alike_at_both_ends_stay_apart() -> None:
    names = [f"void elementwise_kernel<4, {kind}Functor<float>, Array<char*, 2>>(int, long)" for kind in ("Fill", "Add", "Mul", "AddMul")]
    for columns in (16, 24, 40):
        short = shorten_apart(names, columns)
        assert len(set(short)) == len(names)
        assert all(width(text) <= columns for text in short)
        assert all(text.startswith("void") for text in short)
    assert shorten_apart(["a", "b"], 3) == ["a", "b"]
    assert shorten_apart(["same" * 9] * 2, 8) == [shorten("same" * 9, 8)] * 2


def test_lines_break_at_blanks_then_at_the_joints_of_names() -> None:
    assert fitted(["critical path: synchronisation"], 20, 3) == [["critical path:", "synchronisation"]]
    assert fitted(["aten::cudnn_convolution"], 16, 3) == [["aten::cudnn_", "convolution"]]
    assert fitted(["Memcpy HtoD (Pageable -> Device)"], 20, 2) == [["Memcpy HtoD", "(Pageable -> Device)"]]
    assert fitted(["x" * 25], 10, 3) == [["x" * 10, "x" * 10, "x" * 5]]
    assert fitted(["x" * 50], 10, 2) == [["x" * 10, "…" + "x" * 9]]


def test_a_path_is_shown_from_the_working_directory_on_where_it_lies_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    inside, beside = str(here / "part" / "net.py"), str(tmp_path / "here and there" / "net.py")
    assert shown_path(inside) == "part/net.py"
    assert shown_path(beside) == beside
    assert [shown_path(text) for text in ("", "net.py", str(here))] == ["", "net.py", str(here)]
    monkeypatch.chdir("/")
    assert shown_path(inside) == inside
    monkeypatch.chdir(here)
    here.rmdir()
    assert shown_path(inside) == inside
