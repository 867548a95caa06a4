"""The report in a real browser: what is drawn lies where the numbers say, nothing is requested, nothing is complained of, keys and paper work."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ridgeline.core import Diagnosis, Facts, OperatorSummary, Quantity, StageSummary, Tried
from ridgeline.reporting import html_report
from support.facts_by_hand import device

_CHROMIUM = shutil.which("chromium")
sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed (requirements/test.txt)")
pytestmark = pytest.mark.skipif(_CHROMIUM is None, reason="no chromium on PATH (Debian's package chromium)")

_HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"'"
_INTENSITIES = (0.25, 4.0, 30.0)
_RATES = (1e9, 2e10, 1e11)


def _quantity(value: float, unit: str) -> Quantity:
    return Quantity(value=value, low=value * 0.95, high=value * 1.05, confidence=0.95, unit=unit, source="measured")


def _operator(index: int, *, name: str, share: float) -> OperatorSummary:
    place = index % 3
    return OperatorSummary(
        name=name, kind="MatMul", calls=1.0, total_s=share * 0.01, share=share, flop=1e6, bytes=500_000,
        achieved_flop_per_s=_quantity(_RATES[place], "FLOP/s"), achieved_byte_per_s=None, f_c=_quantity(0.1, "1"), f_b=_quantity(0.5, "1"),
        intensity=_INTENSITIES[place], bound="bandwidth", ran_on="CPU", precision="fp32", threads=4,
    )  # fmt: skip


@pytest.fixture
def charted(full_diagnosis: Diagnosis) -> Diagnosis:
    """Three operators at known places, the second of them the bottleneck; stages; a control among what was tried."""
    operators = tuple(
        _operator(index, name=name, share=share) for index, (name, share) in enumerate([("small", 0.05), ("main", 0.5), ("middle", 0.2)])
    )
    found = full_diagnosis.bottleneck
    assert found is not None
    control = Tried(action="threads", id="", verdict="slower", speedup=(0.8, 0.9), promised=None, kept=False, output_ok=True, control=True)
    return msgspec.structs.replace(
        full_diagnosis,
        operators=operators,
        bottleneck=msgspec.structs.replace(found, where=msgspec.structs.replace(found.where, operator="main")),
        stages=(StageSummary(name="load", median_s=0.002, share=0.2), StageSummary(name="model", median_s=0.008, share=0.8)),
        tried=(*full_diagnosis.tried, control),
    )


@pytest.fixture
def full_facts(facts: Facts) -> Facts:
    return msgspec.structs.replace(facts, device=device())


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


class Opener:
    """Opens documents and keeps what the browser complained of and asked for."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self._browser = browser
        self.file = folder / "report.html"
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.contexts: list[Any] = []

    def __call__(self, document: str, **options: Any) -> Any:
        self.file.write_text(document, encoding="utf-8")
        context = self._browser.new_context(**{"viewport": {"width": 1120, "height": 900}, "offline": True, **options})
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(self.file.as_uri())
        return page


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opener]:
    """Opens a document; afterwards the browser must have asked for nothing but it and found nothing to complain of."""
    opener = Opener(browser, tmp_path)
    yield opener
    for context in opener.contexts:
        context.close()
    assert opener.complaints == []
    assert {url for url in opener.requests if not url.startswith("data:")} == {opener.file.as_uri()}


def _centre(page: Any, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _background(page: Any) -> list[int]:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")]


# ---- what is drawn ---------------------------------------------------------------------------------------------------------------------


def test_every_chart_is_there_and_has_room(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    page = opened(html_report(charted, full_facts))
    for selector in (".roofline", ".latency", ".bars", ".figures", ".headline"):
        for index in range(page.locator(selector).count()):
            box = page.locator(selector).nth(index).bounding_box()
            assert box["width"] > 300, selector
            assert box["height"] > 20, selector
    # Actions, tried, wall, stages, overhead, operators.
    assert page.locator("ul.bars").count() == 6
    assert page.locator(".op circle").count() == 3
    assert page.locator(".latency .bin").count() >= 8
    assert page.locator("body").inner_text().startswith("ridgeline")


@pytest.mark.parametrize("index", range(3))
def test_an_operator_lies_where_its_numbers_say(opened: Opener, charted: Diagnosis, full_facts: Facts, index: int) -> None:
    page = opened(html_report(charted, full_facts))
    ticks = {text: _centre(page, f'.roofline .tick:text-is("{text}")') for text in ("1", "10", "10 G", "100 G")}
    x, y = _centre(page, f'.op[aria-label^="{charted.operators[index].name}:"] circle')
    # Two ticks of each axis are a ruler: the labels are centred on their lines along the axis (down the other one up to a constant).
    (one, _), (ten, _) = ticks["1"], ticks["10"]
    assert (x - one) / (ten - one) == pytest.approx(math.log10(_INTENSITIES[index]), abs=0.02)
    decade = ticks["10 G"][1] - ticks["100 G"][1]
    assert (ticks["10 G"][1] - y) / decade == pytest.approx(math.log10(_RATES[index] / 1e10), abs=0.03)


def test_the_area_of_an_operator_is_its_share(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    page = opened(html_report(charted, full_facts))
    radius = {name: float(page.locator(f'.op[aria-label^="{name}:"] circle').get_attribute("r")) for name in ("main", "middle")}
    assert (radius["main"] / radius["middle"]) ** 2 == pytest.approx(0.5 / 0.2, rel=0.01)


def test_bars_are_as_long_as_their_shares(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    page = opened(html_report(charted, full_facts))
    box = {name: page.locator(f'ul[aria-label="Stages"] li:has-text("{name}") rect').bounding_box() for name in ("load", "model")}
    assert box["model"]["width"] / box["load"]["width"] == pytest.approx(4.0, rel=0.02)
    wall = page.locator('ul[aria-label="Shares of the wall"] rect')
    boxes = [wall.nth(index).bounding_box() for index in range(wall.count())]
    # Each part begins where the one before ended.
    for left, right in pairwise(boxes):
        assert right["x"] == pytest.approx(left["x"] + left["width"], abs=2.5)


def test_promised_and_found_lie_on_one_axis(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    page = opened(html_report(charted, full_facts))
    row = page.locator('ul[aria-label="Promised and found speedup of each change"] li').first
    promised, found = row.locator("rect.promised").bounding_box(), row.locator("rect.found").bounding_box()
    # Promised 1.31–1.53, found 1.30–1.40, on a logarithmic axis.
    assert found["width"] / promised["width"] == pytest.approx(math.log(1.40 / 1.30) / math.log(1.53 / 1.31), rel=0.1)
    assert found["y"] >= promised["y"] + promised["height"] - 2
    control = page.locator('ul[aria-label="Promised and found speedup of each change"] li:has-text("threads")')
    assert control.locator("rect.promised").count() == 0
    line = control.locator("line.one").bounding_box()
    assert control.locator("rect.found").bounding_box()["x"] + control.locator("rect.found").bounding_box()["width"] <= line["x"] + 2


def test_the_median_stands_over_half_of_the_distribution(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    # The samples of the fixture run evenly from 12 to 13 ms, so that the median 12.5 ms is the middle of the axis.
    page = opened(html_report(charted, full_facts))
    bins = page.locator(".latency .bin")
    left, right = bins.first.bounding_box(), bins.last.bounding_box()
    mark = page.locator(".latency .marked.main .mark").bounding_box()
    assert mark["x"] == pytest.approx((left["x"] + right["x"] + right["width"]) / 2, abs=8)


# ---- themes, keys, paper, small screens ------------------------------------------------------------------------------------------------


def _luminance(colour: list[float]) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [value / 255 for value in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_are_readable(opened: Opener, charted: Diagnosis, full_facts: Facts, scheme: str) -> None:
    page = opened(html_report(charted, full_facts), color_scheme=scheme)
    paper = _luminance([float(part) for part in _background(page)])
    assert (paper < 0.1) == (scheme == "dark")
    for name in ("ink", "dim", "accent"):
        colour = page.evaluate(
            "name => { const e = document.createElement('i'); e.style.color = `var(--${name})`; document.body.append(e);"
            " const c = getComputedStyle(e).color; e.remove(); return c.match(/\\d+/g).map(Number); }",
            name,
        )
        high, low = sorted([paper, _luminance(colour)], reverse=True)
        # AA of WCAG 2.2 for text of ordinary size.
        assert (high + 0.05) / (low + 0.05) >= 4.5, name


def test_the_theme_is_switched_by_the_keyboard(opened: Opener, charted: Diagnosis) -> None:
    page = opened(html_report(charted), color_scheme="light")
    before = _background(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "theme"
    page.keyboard.press("Enter")
    assert sum(_background(page)) < sum(before) / 2
    assert page.locator("#theme").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Space")
    assert _background(page) == before


def test_operators_and_tables_are_reached_by_the_keyboard(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    page = opened(html_report(charted, full_facts))
    readout = page.locator(".readout:visible .name")
    assert readout.text_content() == "main"
    # All operators are one stop of the tab key; the arrows go on to the next smaller one.
    assert page.locator('.op[tabindex="0"]').count() == 1
    page.locator('.op[tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    assert readout.text_content() == "middle"
    page.keyboard.press("End")
    assert readout.text_content() == "small"
    page.keyboard.press("Home")
    assert readout.text_content() == "main"
    summary = page.locator("summary").last
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1


def test_a_small_operator_inside_a_large_one_can_be_pointed_at(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    within = tuple(msgspec.structs.replace(one, intensity=4.0, achieved_flop_per_s=_quantity(2e10, "FLOP/s")) for one in charted.operators)
    page = opened(html_report(msgspec.structs.replace(charted, operators=within), full_facts))
    page.locator(".roofline").scroll_into_view_if_needed()
    readout = page.locator(".readout:visible .name")
    for name in ("small", "middle"):
        box = page.locator(f'.op[aria-label^="{name}:"] circle').bounding_box()
        # Near its right edge, so that only the larger ones lie there as well.
        page.mouse.move(box["x"] + box["width"] - 1.5, box["y"] + box["height"] / 2)
        assert readout.text_content() == name
    page.mouse.move(5, 5)
    assert readout.text_content() == "main"


def test_paper_is_white_and_has_the_tables(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    page = opened(html_report(charted, full_facts), color_scheme="dark")
    # What Chromium does on its way to the printer, through to the pages.
    page.evaluate("window.opened = 0; addEventListener('beforeprint', () => { window.opened = document.querySelectorAll('details[open]').length; })")
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("window.opened") == page.locator("details").count() > 3
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="print")
    assert _background(page) == [255, 255, 255]
    assert not page.locator("#theme").is_visible()


@pytest.mark.parametrize("width", [390, 768])
def test_a_small_screen_does_not_scroll_sideways(opened: Opener, charted: Diagnosis, full_facts: Facts, width: int) -> None:
    long = msgspec.structs.replace(charted, target="x" * 500, headline="y" * 300)
    page = opened(html_report(long, full_facts), viewport={"width": width, "height": 800})
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


# ---- what others wrote -----------------------------------------------------------------------------------------------------------------


def test_hostile_names_show_as_text(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    operators = tuple(msgspec.structs.replace(one, name=_HOSTILE) for one in charted.operators)
    found = charted.bottleneck
    assert found is not None
    where = msgspec.structs.replace(found.where, operator=_HOSTILE)
    hostile = msgspec.structs.replace(
        charted, target=_HOSTILE, headline=_HOSTILE, operators=operators, bottleneck=msgspec.structs.replace(found, where=where)
    )
    page = opened(html_report(hostile, full_facts))
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == _HOSTILE
    assert page.locator(".headline").inner_text() == _HOSTILE
    assert _HOSTILE in page.locator(".op.main circle title").text_content()
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0


def test_even_a_script_that_got_in_would_not_run(opened: Opener, charted: Diagnosis) -> None:
    """The policy is a second wall: a script planted into the finished file is refused, which Chromium says on its console."""
    document = html_report(charted).replace("</main>", "<script>window.hacked = 1</script></main>")
    page = opened(document)
    assert page.evaluate("window.hacked") is None
    (complaint,) = opened.complaints
    assert "Content Security Policy" in complaint
    opened.complaints.clear()


def test_five_thousand_operators_open(opened: Opener, charted: Diagnosis, full_facts: Facts) -> None:
    many = tuple(_operator(index, name=f"/model/layer.{index}/attention/output/MatMul", share=1 / 5000) for index in range(5000))
    document = html_report(msgspec.structs.replace(charted, operators=many), full_facts)
    assert len(document.encode()) < 5_000_000
    page = opened(document)
    assert page.locator(".op circle").count() == 300
    assert "4700 more that take less time are summed by kind" in page.locator("main").inner_text()


def test_nothing_measured_looks_right(opened: Opener, empty_diagnosis: Diagnosis) -> None:
    page = opened(html_report(empty_diagnosis))
    assert "Inconclusive" in page.locator(".state").inner_text()
    assert page.locator(".chart").count() == 0


def test_the_fragment_of_a_notebook_needs_no_script(opened: Opener, charted: Diagnosis) -> None:
    fragment = charted._repr_html_()
    assert fragment is not None
    assert "<script" not in fragment
    page = opened(f"<!DOCTYPE html><meta charset=utf-8><title>notebook</title>{fragment}", java_script_enabled=False)
    text = page.locator(".ridgeline").inner_text()
    assert "main: bandwidth bound" in text
    assert "quantise-weights" in text
