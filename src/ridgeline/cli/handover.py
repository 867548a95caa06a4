"""A local server that hands one trace to a Perfetto UI, by the protocol that Perfetto documents for other pages.

The browser opens a small page of ours, which opens the UI, says `PING` until it answers `PONG`, and posts `{perfetto: {buffer, title}}` (Perfetto,
"Deep linking to the Perfetto UI"). So nothing is
uploaded: the trace goes from this server to the browser on the same machine. The server listens on 127.0.0.1 alone, at a port that is free, answers
only under a path that nobody can guess and only requests that name it by its address (a page elsewhere could have a name of its own lead here), and
lets no other origin than the UI read from it.
"""

from __future__ import annotations

import hmac
import json
import secrets
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from ridgeline.core import UsageError

__all__ = ["Handover", "origin_of"]

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ridgeline open</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;margin:3rem auto;max-width:40rem}</style></head>
<body><h1>ridgeline open</h1><p id="state" role="status">Fetching the trace …</p>
<button id="open" type="button" hidden>Open in the Perfetto UI</button>
<script nonce="NONCE">
"use strict";
const given = GIVEN;
const state = document.getElementById("state"), button = document.getElementById("open");
const say = (text) => { state.textContent = text; };
let buffer = null, ui = null, timer = 0, handed = false;
addEventListener("message", (event) => {
  if (handed || event.source !== ui || event.origin !== given.origin || event.data !== "PONG") return;
  handed = true;
  clearInterval(timer);
  ui.postMessage({ perfetto: { buffer, title: given.title } }, given.origin);
  say("Handed over. This page may be closed.");
  button.hidden = true;
  fetch("done", { method: "POST" }).catch(() => {});
});
function start() {
  ui = open(given.ui);
  if (!ui) { say("The browser did not allow a new window."); button.hidden = false; return; }
  button.hidden = true;
  say("Waiting for the UI …");
  clearInterval(timer);
  timer = setInterval(() => ui.postMessage("PING", given.origin), 50);
}
button.addEventListener("click", start);
fetch("trace").then((answer) => { if (!answer.ok) throw new Error(answer.status); return answer.arrayBuffer(); })
  .then((bytes) => { buffer = bytes; start(); })
  .catch((error) => say("The trace could not be fetched: " + error));
</script></body></html>
"""
#: How much of a trace is copied at once.
_PIECE = 2**20


def origin_of(ui: str) -> str:
    """The origin of a UI's address: scheme, host and port.

    Raises:
        UsageError: no address of a page.
    """
    try:
        parts = urlsplit(ui)
        port = parts.port
    except ValueError as error:
        raise _no_address(ui) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise _no_address(ui)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")


def _no_address(ui: str) -> UsageError:
    return UsageError("the address of a Perfetto UI", found=repr(ui), remedy="write it like https://ui.perfetto.dev")


class Handover:
    """Serves one trace until it was handed over or `close` is called; a context manager.

    Args:
        trace: the file.
        title: what the UI calls it.
        ui: address of the UI.

    Attributes:
        address: of the page to open.
        done: set once the UI has the trace.
    """

    def __init__(self, trace: Path, title: str, ui: str) -> None:
        self.done = threading.Event()
        self.trace, self.title, self.ui, self.origin = trace, title, ui, origin_of(ui)
        self.token = secrets.token_urlsafe(24)
        try:
            self._server = _Server(self)
        except OSError as error:
            remedy = "allow 127.0.0.1, or convert with `ridgeline read --to chrome`"
            raise UsageError("a local port to serve from", found=str(error), remedy=remedy) from error
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.address = f"http://{self.host}/{self.token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Handover:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def page(self, nonce: str) -> str:
        """The page that hands over; texts stand in its script as JSON in which nothing can end the script."""
        given = json.dumps({"ui": self.ui, "origin": self.origin, "title": self.title})
        for mark in "<>&\u2028\u2029":
            given = given.replace(mark, f"\\u{ord(mark):04x}")
        return _PAGE.replace("NONCE", nonce).replace("GIVEN", given)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handover: Handover) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.handover = handover

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a browser that goes away is no fault, and stderr is for the command."""


class _Handler(BaseHTTPRequestHandler):
    """Three paths under the token; anything else is not there."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    server: _Server

    def do_GET(self) -> None:
        """The page, or the trace."""
        asked = self._asked()
        if asked == "":
            self._page()
        elif asked == "trace":
            self._trace()
        else:
            self._answer(404)

    def do_POST(self) -> None:
        """Only `done`."""
        if self._asked() != "done":
            self._answer(404)
            return
        self._answer(204)
        self.server.handover.done.set()

    def _asked(self) -> str | None:
        """What stands behind the token; `None` where there is none, or the request came by another name of this machine."""
        handover = self.server.handover
        token, slash, rest = self.path.removeprefix("/").partition("/")
        ours = hmac.compare_digest(token.encode("utf-8", "replace"), handover.token.encode())
        return rest if ours and slash and self.headers.get("Host") == handover.host else None

    def _page(self) -> None:
        nonce = secrets.token_urlsafe(16)
        policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'"
        body = self.server.handover.page(nonce).encode()
        self._answer(200, {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}, len(body))
        self.wfile.write(body)

    def _trace(self) -> None:
        handover = self.server.handover
        with handover.trace.open("rb") as file:
            headers = {"Content-Type": "application/octet-stream", "Access-Control-Allow-Origin": handover.origin, "Vary": "Origin"}
            self._answer(200, headers, handover.trace.stat().st_size)
            shutil.copyfileobj(file, self.wfile, _PIECE)

    def _answer(self, code: int, headers: dict[str, str] | None = None, length: int = 0) -> None:
        self.send_response(code)
        for name, value in {**(headers or {}), "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: stderr is for the command."""
