"""An endpoint on loopback that answers as its path says."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.deadlines import patience

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass
class Target:
    """/echo sends back what it got, /moody is 500 until it is `well`, /slow waits to be let go,
    /said/NAME answers with what was put there: headers and a body."""

    url: str
    well: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)
    said: dict[str, tuple[int, dict[str, str], bytes]] = field(
        default_factory=dict[str, tuple[int, dict[str, str], bytes]]
    )

    def answer(self, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body for a request."""
        if path == "/slow":
            self.let_go.wait(patience(60))
        if path == "/moody" and not self.well.is_set():
            return 500, {}, b'{"error": "not today"}'
        plain = {"Content-Type": "application/json"}, body or b'{"ok": true}'
        return self.said.get(path.removeprefix("/said/"), (200, *plain))


@contextmanager
def target() -> Generator[Target]:
    """One, for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            code, headers, answer = made.answer(self.path, body)
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A request that was cancelled hangs up: that is as it should be."""

    with Quiet(("127.0.0.1", 0), Handler) as server:
        made = Target(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            made.let_go.set()
            server.shutdown()
