"""The timeline of the HTML report in a real browser: it is drawn, zoomed and searched offline, hostile names stay names, and a million events fit."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.core import EVENT_KINDS, Column, Profile, ReadReport, Timeline
from ridgeline.flows.read import report_of
from ridgeline.reporting.report.drawn_timeline import DETAILS, Detail, packed
from ridgeline.reporting.report.traced import MOST_BYTES, trace_report
from timeline.building import HOST, stream, timeline_of

_CHROMIUM = shutil.which("chromium")
_HOSTILE = "</script></div><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"'"
_EVENTS = (
    (HOST, "operator", "aten::mm", 0, 1_000_000), (HOST, "runtime", "cudaLaunchKernel", 100_000, 200_000),
    (stream(7), "compute", "gemm", 250_000, 500_000), (stream(7), "compute", _HOSTILE, 750_000, 1_000_000),
)  # fmt: skip

Opened = Callable[[str], Any]


def profile_of(timeline: Timeline) -> tuple[ReadReport, Profile]:
    profile = Profile(format="chrome", files=("trace.json",), timeline=timeline)
    return report_of(profile), profile


def unpacked(text: str) -> dict[str, Any]:
    """What the page's script reads."""
    data = zlib.decompress(base64.b64decode(text))
    size = int.from_bytes(data[:4], "little")
    head: dict[str, Any] = json.loads(data[4 : 4 + size])
    at = 4 + size
    for name, kind, length in head["columns"]:
        dtype = np.dtype("<" + kind)
        head[name] = np.frombuffer(data, dtype, length, at)
        at += dtype.itemsize * length
    assert at == len(data)
    return head


def random_timeline(count: int, seed: int = 1) -> Timeline:
    random = np.random.default_rng(seed)
    tracks = (HOST, stream(7), stream(9))
    track = random.integers(0, 3, count).astype(np.int32)
    start = np.sort(random.integers(0, count * 1000, count))
    return Timeline(
        tick_s=1e-9, start_tick=Column(start, "count"), duration_tick=Column(random.integers(1, 3000, count), "count"),
        name=Column(random.integers(0, 200, count).astype(np.int32), "count"), track=Column(track, "count"),
        strings=tuple(f"kernel number {index} of the model" for index in range(200)), tracks=tracks,
        kind=Column(np.where(track == 0, EVENT_KINDS.index("operator"), EVENT_KINDS.index("compute")).astype(np.uint8), "count"),
    )  # fmt: skip


# ---- what is packed --------------------------------------------------------------------------------------------------------------------


def test_a_small_timeline_is_packed_whole() -> None:
    report, profile = profile_of(timeline_of(_EVENTS))
    assert profile.timeline is not None
    found = unpacked(packed(profile.timeline, report, DETAILS[0]))
    assert (found["events"], found["shown"], found["bins"]) == (4, 4, [])
    assert [found["strings"][index] for index in found["name"]] == [event[2] for event in _EVENTS]
    assert found["start"].tolist() == pytest.approx([0, 1e-4, 2.5e-4, 7.5e-4])
    assert found["duration"].tolist() == pytest.approx([1e-3, 1e-4, 2.5e-4, 2.5e-4])
    assert found["depth"].tolist() == [0, 1, 0, 0]
    assert [gap[1:3] for gap in found["gaps"]] == [[pytest.approx(5e-4), pytest.approx(2.5e-4)]]


def test_bins_hold_the_busy_time_of_what_is_left_out() -> None:
    timeline = random_timeline(5000)
    report, _ = profile_of(timeline)
    found = unpacked(packed(timeline, report, Detail(events=100, lanes=3, bins=(64, 512))))
    assert (found["shown"], found["events"]) == (100, 5000)
    # The longest are kept.
    durations = np.sort(timeline.duration_tick.values)[-100:]
    assert np.sort(np.rint(found["duration"] * 1e9)).tolist() == durations.tolist()
    busy = {use.name: use.busy_s for use in report.lanes}
    for level, bins in enumerate((64, 512)):
        for index, lane in enumerate(found["lanes"]):
            shares = found[f"busy{level}"][index * bins : (index + 1) * bins] / 255
            # A share is rounded up to the next of 255.
            assert 0 <= shares.sum() * found["window"] / bins - busy[lane["name"]] <= found["window"] / 255


def test_times_before_the_origin_of_the_clock_are_drawn() -> None:
    timeline = timeline_of([(HOST, "operator", "a", -50, -10), (HOST, "operator", "b", 0, 10)])
    report, _ = profile_of(timeline)
    assert unpacked(packed(timeline, report, DETAILS[0]))["start"].tolist() == pytest.approx([0, 5e-8])


def test_a_million_events_stay_under_five_megabytes() -> None:
    timeline = random_timeline(1_000_000)
    report = ReadReport(files=("big.json",), format="chrome", window_s=1.0)
    text = trace_report(report, Profile(format="chrome", files=("big.json",), timeline=timeline))
    assert len(text.encode()) < MOST_BYTES
    data = text.split('id="timeline-data" hidden>')[1].split("<")[0]
    assert unpacked(data)["events"] == 1_000_000


def test_names_of_a_megabyte_stay_under_it_too() -> None:
    timeline = timeline_of([(HOST, "operator", f"{index}" + "x" * 60_000, index * 10, index * 10 + 5) for index in range(200)])
    report, profile = profile_of(timeline)
    assert len(trace_report(report, profile).encode()) < MOST_BYTES


def test_a_report_without_times_has_only_tables() -> None:
    text = trace_report(ReadReport(files=("x",), format="collapsed"))
    assert 'id="timeline"' not in text


# ---- in the browser --------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed (requirements/test.txt)")
    if _CHROMIUM is None:
        pytest.skip("no chromium on PATH (Debian's package chromium)")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens a document; nothing may be asked for but the file, and nothing complained of."""
    complaints: list[str] = []
    requests: list[str] = []
    contexts = []
    file = tmp_path / "report.html"

    def open_document(document: str) -> Any:
        file.write_text(document, encoding="utf-8")
        context = browser.new_context(viewport={"width": 1120, "height": 900}, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector("#timeline[data-ready]", timeout=20_000)
        return page

    yield open_document
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == {file.as_uri()}


@pytest.fixture
def page(opened: Opened) -> Any:
    report, profile = profile_of(timeline_of(_EVENTS))
    return opened(trace_report(report, profile))


def view(page: Any) -> tuple[float, float]:
    """Seconds that are in view."""
    page.wait_for_timeout(100)
    box = page.locator("#timeline")
    return float(box.get_attribute("data-from")), float(box.get_attribute("data-to"))


def test_it_is_drawn_and_says_what_lies_under_the_pointer(page: Any) -> None:
    page.locator("#timeline canvas").scroll_into_view_if_needed()
    box = page.locator("#timeline canvas").bounding_box()
    assert box["width"] > 800
    assert box["height"] > 80
    drawn = page.evaluate(
        "() => { const c = document.querySelector('#timeline canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size; }"
    )
    assert drawn > 5
    seen = set()
    for down in range(5, int(box["height"]), 7):
        page.mouse.move(box["x"] + 170 + (box["width"] - 170) * 0.35, box["y"] + down)
        seen.add(page.locator("#timeline .readout").inner_text().split(":")[0])
    # At 35 % of the window: the operator on the host, the first kernel, and the path.
    assert {"aten", "gemm", "critical path"} <= seen


def test_it_zooms_and_moves_by_keys_and_buttons(page: Any) -> None:
    assert view(page) == (0, pytest.approx(1e-3))
    page.locator("#timeline canvas").focus()
    page.keyboard.press("+")
    low, high = view(page)
    assert high - low == pytest.approx(0.6e-3)
    page.keyboard.press("ArrowRight")
    assert view(page)[0] == pytest.approx(low + 0.2 * 0.6e-3)
    page.locator('#timeline button[aria-label="All of it"]').click()
    assert view(page) == (0, pytest.approx(1e-3))
    page.locator('#timeline button[aria-label="Zoom in"]').click()
    assert view(page)[1] - view(page)[0] == pytest.approx(0.6e-3)


def test_it_moves_when_it_is_dragged_and_never_past_its_ends(page: Any) -> None:
    page.locator("#timeline canvas").focus()
    page.keyboard.press("+")
    low, _ = view(page)
    box = page.locator("#timeline canvas").bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 40)
    page.mouse.up()
    assert view(page)[0] == pytest.approx(low - 100 / (box["width"] - 170) * 0.6e-3, rel=0.05)
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    assert view(page)[0] == 0


def test_names_are_found(page: Any) -> None:
    page.locator("#timeline input").fill("GEMM")
    assert page.locator("#timeline .count").inner_text().startswith("1 drawn events, 250 µs")
    page.keyboard.press("Enter")
    low, high = view(page)
    assert low <= 250e-6 <= 500e-6 <= high
    assert page.locator("#timeline .readout").inner_text().startswith("gemm")
    page.locator("#timeline input").fill("nothing has this name")
    assert page.locator("#timeline .count").inner_text().startswith("0 drawn events")


def test_hostile_names_stay_names(page: Any) -> None:
    page.locator("#timeline input").fill("hacked")
    page.keyboard.press("Enter")
    assert _HOSTILE in page.locator("#timeline .readout").inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1


def test_many_events_are_drawn_from_bins(opened: Opened) -> None:
    timeline = random_timeline(130_000)
    report = ReadReport(files=("big.json",), format="chrome", window_s=timeline.tick_s * int(timeline.start_tick.values[-1]))
    page = opened(trace_report(report, Profile(format="chrome", files=("big.json",), timeline=timeline)))
    whole = view(page)[1]
    assert "the others as how busy their lane was" in page.locator("#timeline").inner_text()
    page.locator("#timeline canvas").focus()
    for _ in range(12):
        page.keyboard.press("+")
    low, high = view(page)
    assert high - low == pytest.approx(whole * 0.6**12, rel=1e-6)


def test_the_theme_is_switched(page: Any) -> None:
    page.locator("#theme").click()
    assert page.locator("#theme").get_attribute("aria-pressed") == "true"
