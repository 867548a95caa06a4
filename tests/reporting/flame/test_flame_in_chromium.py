"""The flame graph in a real browser: bars lie where the weights say, and search, zoom, turning round and keys do what they say."""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ridgeline.core import Column, Frame, Stacks
from ridgeline.reporting.flame import flame_block, flame_script, flame_style

_CHROMIUM = shutil.which("chromium")
sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed (requirements/test.txt)")
pytestmark = pytest.mark.skipif(_CHROMIUM is None, reason="no chromium on PATH (Debian's package chromium)")

_HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"'&quot;"


def _stacks(names: tuple[str, ...] = ("main", "load", "work", "kernel_read")) -> Stacks:
    """main 10 (load 30 (kernel_read 20), work 40 (load 0 (kernel_read 100)))."""
    main, load, work, read = (Frame(function=name, kind="kernel" if name == "kernel_read" else "") for name in names)
    return Stacks(
        measure="cpu", unit="s", frames=(main, load, work, read), parent=Column([-1, 0, 1, 0, 3, 4], "count", "int64"),
        frame=Column([0, 1, 3, 2, 1, 3], "count", "int64"), own=Column([10.0, 30.0, 20.0, 40.0, 0.0, 100.0], "s"),
    )  # fmt: skip


def _document(*blocks: str) -> str:
    """A page as strict as the report: no script but the one with this digest."""
    script = flame_script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}"><title>t</title><style>{flame_style()}</style>'
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{"".join(blocks)}<script>{script}</script></body></html>'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_document(document: str, **options: Any) -> Any:
        file = tmp_path / "page.html"
        file.write_text(document, encoding="utf-8")
        context = browser.new_context(viewport={"width": 1000, "height": 800}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield open_document
    for context in contexts:
        context.close()
    assert not complaints


def _bars(page: Any) -> dict[str, tuple[float, float, float]]:
    """Start, width and row of each bar, by the part of its label before the colon, with its place among those of one name."""
    rows = page.eval_on_selector_all(
        ".flame-view g",
        """all => all.map(g => {
            const r = g.querySelector('.box');
            return [g.getAttribute('aria-label'), +r.getAttribute('x'), +r.getAttribute('width'), +r.getAttribute('y')];
        })""",
    )
    found: dict[str, tuple[float, float, float]] = {}
    for label, x, width, y in rows:
        name = label.split(":")[0]
        key = name if name not in found else f"{name} again"
        found[key] = (x, width, (y - 1) / 18)
    return found


def test_bars_lie_where_the_weights_say(opened: Any) -> None:
    bars = _bars(opened(_document(flame_block(_stacks()))))
    whole = bars["main"][1]
    assert {name: row for name, (_, _, row) in bars.items()} == {
        "main": 0, "work": 1, "load": 1, "load again": 2, "kernel_read (kernel)": 2, "kernel_read (kernel) again": 3,
    }  # fmt: skip
    places = {name: (x / whole, width / whole) for name, (x, width, _) in bars.items()}
    for name, expected in {"work": (0, 0.7), "load": (0.7, 0.25), "load again": (0, 0.5), "kernel_read (kernel)": (0.7, 0.1)}.items():
        assert places[name] == pytest.approx(expected, abs=0.001)


def test_a_bar_says_its_total_and_its_own(opened: Any) -> None:
    page = opened(_document(flame_block(_stacks())))
    label = page.locator(".flame-view g", has_text="work").first.get_attribute("aria-label")
    assert label == "work: total 140 s, 70.0% · own 40.0 s, 20.0%"


def test_zoom_fills_the_width_and_shows_all_again(opened: Any) -> None:
    page = opened(_document(flame_block(_stacks())))
    page.locator(".flame-view g", has_text="work").first.click()
    bars = _bars(page)
    assert bars["work"][1] == bars["main"][1]
    assert "kernel_read (kernel) again" not in bars
    page.get_by_text("Show all").click()
    assert len(_bars(page)) == 6


def test_a_search_counts_nested_matches_once(opened: Any) -> None:
    page = opened(_document(flame_block(_stacks())))
    page.get_by_label("Search functions").fill("load")
    page.wait_for_selector(".flame-view .hit")
    assert page.locator(".flame-found").inner_text() == "1 of 4 functions match: 75.0% of the weight"
    page.get_by_label("Search functions").fill("READ")
    page.get_by_text("1 of 4 functions match: 60.0%").wait_for()


def test_inverted_the_functions_that_cost_most_stand_first(opened: Any) -> None:
    page = opened(_document(flame_block(_stacks())))
    page.get_by_text("Inverted").click()
    bars = _bars(page)
    whole = page.eval_on_selector(".flame-view svg", "svg => +svg.getAttribute('width')")
    top = {name: round(width / whole, 3) for name, (_, width, row) in bars.items() if row == 0}
    assert top == {"kernel_read (kernel)": 0.6, "work": 0.2, "load": 0.15, "main": 0.05}
    assert page.get_by_text("Inverted").get_attribute("aria-pressed") == "true"


def test_keys_walk_and_zoom(opened: Any) -> None:
    page = opened(_document(flame_block(_stacks())))
    page.locator(".flame-view g[tabindex='0']").focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("load: total 50.0 s")
    page.keyboard.press("Enter")
    assert _bars(page)["load"][1] == _bars(page)["main"][1]
    page.keyboard.press("Escape")
    assert len(_bars(page)) == 6


def test_hostile_names_are_text(opened: Any) -> None:
    page = opened(_document(flame_block(_stacks((_HOSTILE, "a", "b", "kernel_read"))), flame_block(_stacks())))
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert page.locator(".flame-view g").first.get_attribute("aria-label").startswith(_HOSTILE)
    assert page.locator(".flame-view svg").count() == 2


def test_without_a_script_the_functions_stand_there(opened: Any) -> None:
    page = opened(_document(flame_block(_stacks())), java_script_enabled=False)
    page.get_by_text("Functions", exact=True).click()
    assert "kernel_read" in page.locator("tbody tr").first.inner_text()
    assert page.locator(".flame-still").count() == 1
