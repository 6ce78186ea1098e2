"""The command line's own client: one connection for all that a command asks."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from rota.cli.client import Client, ServerAway

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
