"""A target that gives away all it is told: in its headers, its body, and in every form."""

from __future__ import annotations

import base64
import contextlib
import json
import queue
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from tests.deadlines import patience
from tests.process.serving import Call

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass
class Echo:
    """Where it is, and what it got."""

    url: str
    calls: queue.Queue[Call] = field(default_factory=queue.Queue)

    def next_call(self) -> Call:
        return self.calls.get(timeout=patience(60))


@contextmanager
def echoing() -> Generator[Echo]:
    """The first part of the path is the status to answer with; `slow` answers nobody."""

    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.calls.put(Call(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            kind = self.path.split("/")[1]
            if kind == "slow":
                closing.wait(patience(60))
            answer = _everything(self.requestline, str(self.headers), body)
            self.send_response(int(kind) if kind.isdecimal() else 200, "told")
            self.send_header("X-Path", self.path)
            self.send_header("X-Decoded", quote(unquote(self.path), safe="/="))
            self.send_header("X-Authorization", self.headers.get("Authorization", ""))
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        seen = Echo(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield seen
        finally:
            closing.set()
            server.shutdown()


def _everything(line: str, headers: str, body: bytes) -> bytes:
    """What was sent, plain and in every form, padded so that a capture's edge cuts into it."""
    text = f"{line}\n{unquote(line)}\n{headers}\n{body.decode()}"
    whole = text.encode()
    parts = [
        whole,
        *(base64.b64encode(b"x" * shift + whole) for shift in range(3)),
        base64.urlsafe_b64encode(whole),
        quote(text, safe="").encode(),
        json.dumps(text).encode(),
        whole.hex().encode(),
    ]
    return b"\n".join(parts)
