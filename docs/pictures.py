"""Take the pictures of the documentation from the report of a stored run: `python docs/pictures.py RUN`.

Needs what the tests of the report need: Debian's Chromium and the package playwright.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from ridgeline.flows.show import show
from ridgeline.reporting import run_report

IMAGES = Path(__file__).resolve().parent / "images"
_WIDTH = 1100
_MOST_BYTES = 300_000


def main(arguments: list[str]) -> int:
    """Write every picture anew."""
    chromium = shutil.which("chromium")
    if len(arguments) != 1 or chromium is None:
        print("usage: python docs/pictures.py RUN, with chromium on PATH", file=sys.stderr)
        return 2
    report = run_report(show(None, arguments[0]))
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "report.html"
        file.write_text(report, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": _WIDTH, "height": 900}, color_scheme="light")
        page.goto(file.as_uri())
        _top(page, "report.png")
        _part(page, ".latency", "latency.png")
        _part(page, ".roofline", "roofline.png")
        browser.close()
    large = [path.name for path in IMAGES.glob("*.png") if path.stat().st_size > _MOST_BYTES]
    if large:
        print(f"larger than {_MOST_BYTES} bytes: {', '.join(large)}", file=sys.stderr)
    return 1 if large else 0


def _top(page: Page, name: str) -> None:
    """From the title to the end of what to do."""
    end = page.locator("#how-long-it-really-takes").bounding_box()
    page.screenshot(path=IMAGES / name, full_page=True, clip={"x": 0, "y": 0, "width": _WIDTH, "height": (end["y"] if end else 900) - 30})


def _part(page: Page, selector: str, name: str) -> None:
    page.locator(selector).screenshot(path=IMAGES / name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
