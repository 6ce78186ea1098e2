"""The command line's own client: one connection for all that a command asks."""

from __future__ import annotations

import contextlib
import gc
import socket
import socketserver
import threading
import traceback
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from rota.cli.app import app
from rota.cli.client import Client, ServerAway
from rota.errors import RotaError

if TYPE_CHECKING:
    from collections.abc import Generator


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connections = 0
    hang_up_after: int | None = None

    def setup(self) -> None:
        super().setup()
        type(self).connections += 1
        self.answered = 0

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        self.answered += 1
        body = b'{"items": [], "next_cursor": null}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if self.answered == self.hang_up_after:
            self.close_connection = True  # without a word of warning, as a server that is idle

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


@pytest.fixture
def server() -> Generator[tuple[Client, type[Answering]]]:
    kind = type("Kind", (Answering,), {"connections": 0})
    listening = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield Client(url=f"http://127.0.0.1:{listening.server_port}", key="rota_x_y"), kind
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_many_requests_go_over_one_connection(server: tuple[Client, type[Answering]]) -> None:
    client, kind = server
    for _ in range(20):
        client.get("/v1/schedules")
    assert kind.connections == 1
    client.line.close()


def test_a_server_that_hangs_up_is_called_again(server: tuple[Client, type[Answering]]) -> None:
    client, kind = server
    kind.hang_up_after = 2
    for _ in range(6):
        client.get("/v1/schedules")
        client.get("/v1/schedules")
    assert 1 < kind.connections <= 7
    client.line.close()


def test_no_server_is_a_sentence() -> None:
    with pytest.raises(ServerAway, match=r"`rota serve` starts one"):
        Client(url="http://127.0.0.1:9", key="rota_x_y").get("/v1/schedules")


STRANGE: dict[str, bytes] = {
    "a page": b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>hi</html>",
    "an empty answer": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "a page that is not there": b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found",
    "a problem of another kind": (
        b'HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\n{"detail":"Not Found"}'
    ),
    "a problem with odd errors": (
        b'HTTP/1.1 422 No\r\nContent-Length: 43\r\n\r\n{"detail":[1],"errors":[1,[]],"status":"no"}'
    ),
    "a redirect": (
        b"HTTP/1.1 301 Moved\r\nLocation: https://example.com/\r\nContent-Length: 0\r\n\r\n"
    ),
    "another list": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1, 2, 3]",
    "a number": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n42",
    "another object": b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"hello": true}',
    "items of something else": b'HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{"items": [1, []]}',
    "items without their fields": b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"items": [{}]}',
    "items that are none": b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"items": 3}',
    "half of JSON": b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{"items": ',
    "deep JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100_000,
    "bytes that are no text": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\xff\xfe\x00\x80",
    "less than it said": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}",
    "nothing at all": b"",
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "a bad length": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "no number": b"HTTP/1.1 abc OK\r\n\r\n",
    "a line without an end": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
}


@pytest.mark.parametrize("what", STRANGE)
@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("show", "x"),
        ("trigger", "sch_01M7NW9G2H5HNJBNN8G2H68XDW"),
        ("stats",),
    ],
    ids=" ".join,
)
def test_a_server_that_is_not_rota_is_a_sentence(
    what: str, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with _answering(STRANGE[what]) as url:
        monkeypatch.setenv("ROTA_URL", url)
        monkeypatch.setenv("ROTA_API_KEY", "rota_x_y")
        with pytest.raises(RotaError) as raised:
            app(list(command), prog_name="rota", standalone_mode=False)
    assert str(raised.value)
    assert "ROTA_URL" in str(raised.value) or url in str(raised.value)
    # The error's frames hold the connection, which is closed with them. Left to the collector, it
    # would be reported as unclosed in the middle of another test.
    traceback.clear_frames(raised.tb)
    assert _connections_to(url) == []


def _connections_to(url: str) -> list[socket.socket]:
    port = urlsplit(url).port
    sockets = [each for each in gc.get_objects() if isinstance(each, socket.socket)]
    found: list[socket.socket] = []
    for each in sockets:
        with contextlib.suppress(OSError, IndexError):
            if each.getpeername()[1] == port:
                found.append(each)
    return found


@contextmanager
def _answering(reply: bytes) -> Generator[str]:
    """A server that says this to every request, and hangs up."""

    class Saying(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            with contextlib.suppress(OSError):
                self.wfile.write(reply)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Saying) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_address[1]}"
        finally:
            listening.shutdown()
            thread.join()
