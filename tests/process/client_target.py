"""A target whose answer depends on the path it is called at."""

from __future__ import annotations

import queue
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
    """An endpoint: /ok, /broken (400), /async (takes the work on), /slow (answers when let go)."""

    url: str
    calls: queue.Queue[tuple[str, dict[str, str], bytes]] = field(default_factory=queue.Queue)
    let_go: threading.Event = field(default_factory=threading.Event)

    def next_call(self) -> tuple[str, dict[str, str], bytes]:
        return self.calls.get(timeout=patience(60))


@contextmanager
def target() -> Generator[Target]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.calls.put((self.path, headers, body))
            if self.path == "/slow":
                made.let_go.wait(patience(60))
                self.close_connection = True
                return
            self.send_response({"/async": 202, "/broken": 400}.get(self.path, 200))
            if self.path == "/async":
                self.send_header("Rota-Async", "true")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made = Target(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            made.let_go.set()
            server.shutdown()
