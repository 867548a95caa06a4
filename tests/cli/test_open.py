"""`ridgeline open`: the server hands the trace to a UI in a real browser by the documented protocol, and to nobody else."""

from __future__ import annotations

import http.client
import http.server
import json
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ridgeline.cli.handover import Handover, origin_of
from ridgeline.core import UsageError
from support.traces import launch_bound

_CHROMIUM = shutil.which("chromium")

#: A stand-in for the UI that speaks what Perfetto documents: deaf at first, it answers each PING with PONG and takes `{perfetto: {buffer, title}}`.
_UI = """<!DOCTYPE html><title>ui</title><script>
window.received = null;
window.pings = 0;
setTimeout(() => addEventListener("message", (event) => {
  if (event.data === "PING") { window.pings++; event.source.postMessage("PONG", event.origin); }
  else if (event.data && event.data.perfetto) {
    window.received = { title: event.data.perfetto.title, from: event.origin, text: new TextDecoder().decode(event.data.perfetto.buffer) };
  }
}), 300);
</script>"""


@pytest.fixture
def ui() -> Iterator[str]:
    """The address of the stand-in."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = _UI.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_bytes(launch_bound())
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed (requirements/test.txt)")
    if _CHROMIUM is None:
        pytest.skip("no chromium on PATH (Debian's package chromium)")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


def _taken(browser: Any, address: str) -> dict[str, str]:
    """What the UI got after the page was opened, and that the page then says so."""
    context = browser.new_context()
    page = context.new_page()
    with context.expect_page() as opening:
        page.goto(address)
        if page.locator("#open").is_visible():
            page.locator("#open").click()
    opened = opening.value
    opened.wait_for_function("window.received !== null", timeout=20_000)
    page.wait_for_function("document.getElementById('state').textContent.startsWith('Handed over')", timeout=20_000)
    found: dict[str, str] = opened.evaluate("window.received")
    assert opened.evaluate("window.pings") >= 1
    context.close()
    return found


def test_the_ui_gets_the_trace_and_the_server_knows(browser: Any, ui: str, trace: Path) -> None:
    with Handover(trace, "a </script> title", ui) as served:
        found = _taken(browser, served.address)
        assert served.done.wait(10)
        assert found == {"title": "a </script> title", "from": served.address.split("/", 3)[0] + "//" + served.host, "text": trace.read_text()}


@pytest.mark.parametrize(("options", "cat"), [([], "ac2g"), (["--findings"], "ridgeline.gaps")])
def test_the_command_ends_once_the_ui_has_it(browser: Any, ui: str, tmp_path: Path, options: list[str], cat: str) -> None:
    (tmp_path / "trace.json").write_bytes(launch_bound())
    command = [sys.executable, "-m", "ridgeline", "open", "trace.json", "--no-browser", "--quiet", "--ui", ui, *options]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = _taken(browser, process.stdout.readline().strip())
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    events = json.loads(found["text"])["traceEvents"]
    assert any(event.get("cat") == cat for event in events) == bool(options)
    assert sum(event.get("cat") == "kernel" for event in events) == 40


def test_the_command_ends_with_an_interrupt(tmp_path: Path, trace: Path) -> None:
    import signal

    command = [sys.executable, "-m", "ridgeline", "open", str(trace), "--no-browser", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        document = json.loads(process.stdout.readline())
        assert document["address"].startswith("http://127.0.0.1:")
        assert (document["schema"], document["browser"]) == ("ridgeline.open/1", False)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


def _status(address: str, *, host: str | None = None, method: str = "GET") -> tuple[int, Any]:
    request = urllib.request.Request(address, method=method, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer
    except urllib.error.HTTPError as error:
        return error.code, error


def test_only_who_knows_the_path_and_names_it_by_address_is_answered(trace: Path) -> None:
    with Handover(trace, "t", "https://ui.example") as served:
        root = f"http://{served.host}"
        assert _status(served.address)[0] == 200
        assert _status(served.address + "trace")[0] == 200
        for path in (
            "/",
            "/trace",
            "/x/trace",
            f"/{served.token}",
            f"/{served.token}/../trace",
            f"/{served.token}/etc/passwd",
            f"/{served.token[:-1]}/",
        ):
            assert _status(root + path)[0] == 404, path
        # A name of somebody else's that leads to this machine.
        assert _status(served.address + "trace", host="evil.example")[0] == 404
        assert _status(root + "/done", method="POST")[0] == 404
        assert not served.done.is_set()


def test_only_the_ui_may_read_from_another_origin(trace: Path) -> None:
    with Handover(trace, "t", "https://ui.example:8443/deep/#!/page") as served:
        _, answer = _status(served.address + "trace")
        assert answer.headers["Access-Control-Allow-Origin"] == "https://ui.example:8443"
        _, page = _status(served.address)
        assert page.headers["Access-Control-Allow-Origin"] is None
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]


def test_a_server_that_was_closed_is_gone(trace: Path) -> None:
    with Handover(trace, "t", "https://ui.example") as served:
        host = served.host
    with pytest.raises(OSError, match="refused"):
        http.client.HTTPConnection(host, timeout=5).request("GET", "/")


@pytest.mark.parametrize("ui", ["", "ui.perfetto.dev", "ftp://x", "javascript:alert(1)", "https://", "http://x:99999", "https://user@host"])
def test_addresses_that_are_none_are_refused(ui: str) -> None:
    with pytest.raises(UsageError):
        origin_of(ui)


@pytest.mark.parametrize(
    ("ui", "origin"),
    [("https://ui.perfetto.dev", "https://ui.perfetto.dev"), ("http://127.0.0.1:9/x", "http://127.0.0.1:9"), ("http://[::1]:8/", "http://[::1]:8")],
)
def test_the_origin_of_an_address(ui: str, origin: str) -> None:
    assert origin_of(ui) == origin


def test_a_file_without_times_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from ridgeline.cli import main

    (tmp_path / "stacks.txt").write_text("main;f 3\n")
    assert main(["open", str(tmp_path / "stacks.txt"), "--no-browser"]) == 2
    assert "times" in capfd.readouterr().err
