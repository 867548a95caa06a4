"""The script of the pages keeps what was written by hand, and never leaves half a page."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pages(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("ridgeline_docs_pages", ROOT / "docs" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PAGES", tmp_path)
    monkeypatch.setattr(module, "_NOTEBOOK", tmp_path / "notes.sqlite")
    monkeypatch.setattr(module, "_located", lambda word: word)
    return module


def _answering(monkeypatch, pages, **failing):
    """Commands that print their own words, or fail."""
    monkeypatch.setattr(pages, "_printed", lambda shown, run: None if failing.get(shown[0]) else f"$ {' '.join(shown)}\nsaid")


def test_what_an_expert_wrote_survives_a_new_measurement(pages, monkeypatch):
    _answering(monkeypatch, pages)
    assert pages.main(["wake-word", "--draft", "5"]) == 0
    page = pages.PAGES / "wake-word.md"
    assert not pages.is_measured("wake-word")
    page.write_text(page.read_text().replace("## What an expert adds\n", "## What an expert adds\n\nBy hand: \\1 {brace}.\n"))
    assert pages.main(["wake-word"]) == 0
    text = page.read_text()
    assert "By hand: \\1 {brace}." in text
    assert pages.is_measured("wake-word")
    assert text.count("page:begin") == text.count("checks:begin") == 1
    assert "--time-budget" not in text


@pytest.mark.parametrize("command", ["ridgeline", "python"])
def test_where_a_command_fails_nothing_is_written_and_the_others_are(pages, monkeypatch, command):
    _answering(monkeypatch, pages)
    pages.main(["line-reader"])
    _answering(monkeypatch, pages, **{command: True})
    assert pages.main(["wake-word"]) == 1
    assert [path.name for path in pages.PAGES.glob("*.md")] == ["line-reader.md"]


def test_without_names_only_what_is_left_is_measured(pages, monkeypatch):
    _answering(monkeypatch, pages)
    pages.main(["wake-word", "--draft", "5"])
    pages.main(["line-reader"])
    seen = []
    monkeypatch.setattr(pages, "_measured", lambda name, budget_s: seen.append(name) or True)
    assert pages.main([]) == 0
    assert seen == [name for name in pages.SUBJECTS if name != "line-reader"]


def test_a_page_that_lost_its_place_is_not_written_over(pages):
    with pytest.raises(SystemExit):
        pages.filled("no marks", "page", "found")


def test_every_page_of_the_repository_has_its_subject_and_reading():
    found = sorted(path.stem for path in (ROOT / "docs" / "pages").glob("*.md"))
    assert found == ["line-reader", "receipt-reader", "sentence-search", "speech-detector", "wake-word"]
    for name in found:
        text = (ROOT / "docs" / "pages" / f"{name}.md").read_text()
        reading = text.partition("## What an expert adds")[2].partition("## Checked")[0]
        assert all(part in reading for part in ("**Is the verdict right?**", "**What supports it.**", "**What the tool could not see.**"))


def test_a_name_that_is_no_page_is_refused(pages):
    assert pages.main(["nothing"]) == 2
