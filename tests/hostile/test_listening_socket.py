"""Anybody can open a connection: what that may cost the server, and nobody else."""

from __future__ import annotations

import select
import socket
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest
from tests.deadlines import patience
from tests.hostile import site as on
from tests.process.serving import eventually, target

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.process.serving import Server, Target


CHUNKED = b"POST /sign-in HTTP/1.1\r\nHost: rota\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: rota\r\n\r\n"
FLOOD = 32 * 1024 * 1024
SOCKETS = 1_600
MEGABYTES = 60.0
"""Of memory that a flood may cost for a while; without bounds it is several hundred."""


@pytest.fixture
def sink() -> Generator[Target]:
    with target() as found:
        yield found


@pytest.fixture
async def place(dsn: str) -> str:
    await on.allow_every_second(dsn)
    return dsn


def _connect(server: Server, source: str = "127.0.0.1") -> socket.socket:
    port = int(server.url.rpartition(":")[2])
    return socket.create_connection(
        ("127.0.0.1", port), timeout=patience(30), source_address=(source, 0)
    )


def _flood(server: Server, first: bytes, piece: bytes) -> int:
    """Send pieces until the server has had enough; returns how many bytes it took."""
    sent = 0
    with _connect(server) as mine, suppress(OSError):
        mine.sendall(first)
        while sent < FLOOD:
            mine.sendall(piece)
            sent += len(piece)
    return sent


FLOODS = {
    "trailers": (CHUNKED + b"5\r\nhello\r\n0\r\n", b"a: b\r\n" * 10_000),
    "chunk extensions": (CHUNKED + b"5;", b"x" * 65_536),
    "headers": (b"GET / HTTP/1.1\r\nHost: rota\r\n", b"a: b\r\n" * 10_000),
    "one header": (b"GET / HTTP/1.1\r\nHost: rota\r\nX: ", b"x" * 65_536),
    "tiny chunks": (CHUNKED, b"1\r\nx\r\n" * 10_000),
    "requests in line": (b"", GET * 2_000),
}


def test_what_never_ends_costs_no_memory_and_no_firing(
    tmp_path: Path, place: str, sink: Target
) -> None:
    with on.site(tmp_path, place) as server:
        on.every_second(server, sink)
        web = server.web_pid()
        before = on.resident_megabytes(web)
        for name, (first, piece) in FLOODS.items():
            sent = _flood(server, first, piece)
            grown = on.resident_megabytes(web) - before
            assert grown < MEGABYTES, (
                f"{name}: {sent:,} bytes were taken, memory grew {grown:.0f} MB"
            )
        assert server.web_pid() == web
        assert server.get("/readyz")[0] == 200
        on.goes_on(sink)


HALVES = {
    "nothing": b"",
    "half a head": b"GET / HT",
    "half a header": b"GET / HTTP/1.1\r\nHost: ro",
    "half a body": b"POST /sign-in HTTP/1.1\r\nHost: rota\r\nContent-Length: 99\r\n\r\nkey=",
    "half a chunk": CHUNKED + b"99\r\nkey=",
}


def test_idle_and_half_sent_connections_are_ended(tmp_path: Path, place: str) -> None:
    with on.site(tmp_path, place) as server, ExitStack() as stack:
        held = {stack.enter_context(_connect(server)): name for name in HALVES}
        dripping = stack.enter_context(_connect(server))
        dripping.sendall(b"GET / HTTP/1.1\r\nX: ")
        for each, name in held.items():
            each.sendall(HALVES[name])
        waiting = {**held, dripping: "a byte now and then"}
        deadline = on.now() + patience(on.WITHIN)
        while waiting:
            assert on.now() < deadline, f"still open: {sorted(waiting.values())}"
            with suppress(OSError):
                dripping.sendall(b"a")
            readable, _, _ = select.select(list(waiting), [], [], 0.5)
            for each in readable:
                if not _read(each):
                    del waiting[each]


def _read(each: socket.socket) -> bytes:
    try:
        return each.recv(65_536)
    except OSError:
        return b""


def test_very_many_connections_of_one_address_keep_nobody_else_out_and_no_firing_back(
    tmp_path: Path, place: str, sink: Target
) -> None:
    with on.site(tmp_path, place) as server, ExitStack() as stack:
        on.every_second(server, sink)
        for _ in range(SOCKETS):
            with suppress(OSError):
                mine = stack.enter_context(_connect(server))
                mine.sendall(b"POST /sign-in HTTP/1.1\r\nHost: rota\r\nContent-Length: 9\r\n")
        on.goes_on(sink)
        with _connect(server, "127.0.0.77") as other:
            other.sendall(GET)
            assert b" 200 " in other.recv(65_536).splitlines()[0]
        on.goes_on(sink)
    assert "too many open files" not in (tmp_path / "serve.log").read_text("utf-8").lower()


def test_requests_without_a_key_have_a_rate_and_those_with_one_do_not(
    tmp_path: Path, place: str
) -> None:
    with on.site(tmp_path, place, ROTA_ANONYMOUS_RATE="5") as server:
        statuses = _asked(server, "/healthz", times=200)
        assert set(statuses) == {200, 429}
        # Known from its first good answer on, though the address has used up its rate.
        key = {"Authorization": f"Bearer {on.ADMIN}"}
        eventually(lambda: 200 in _asked(server, "/v1/schedules", key, times=1), within=on.WITHIN)
        assert set(_asked(server, "/v1/schedules", key, times=100)) == {200}


def _asked(
    server: Server, path: str, headers: dict[str, str] | None = None, *, times: int
) -> list[int]:
    """The statuses of so many requests, all from one address."""
    port = int(server.url.rpartition(":")[2])
    source = ("127.0.0.78", 0)
    found: list[int] = []
    for _ in range(times):
        client = HTTPConnection(
            "127.0.0.1", port, timeout=patience(on.WITHIN), source_address=source
        )
        client.request("GET", path, headers=headers or {})
        found.append(client.getresponse().status)
        client.close()
    return found
