"""The target: a process of its own that notes when each request arrives, by the wall clock.

The first part of a request's path says what the target does: `/now` answers at once, `/after-40`
takes 40 ms, `/fails-first` answers 503 to a first attempt. It listens on many ports, so that there
are many hosts, and on one with TLS behind a wire of 25 ms each way. `GET /taken` hands out what was
noted since the last time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import uvloop
from httptools import HttpRequestParser

if TYPE_CHECKING:
    from collections.abc import Generator

HOSTS = 20
ONE_WAY = 0.025
"""Seconds that a byte takes on the long wire; a connection costs a round trip before the first."""
ANSWERED_AFTER = {"now": 0.0, "after-40": 0.04, "after-700": 0.7, "fails-first": 0.0}

_HEAD = "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a running target is."""

    ports: tuple[int, ...]
    tls_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A request, as the target saw it."""

    path: str
    slot: str | None
    """What the caller says its slot was."""
    attempt: str | None
    at: float
    """When its first byte was there, in seconds of the wall clock."""
    answered_at: float = 0.0


class _Answering(asyncio.Protocol):
    def __init__(self, taken: list[dict[str, Any]]) -> None:
        self._taken = taken
        self._parser = HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._began_at: float | None = None
        self._path = ""
        self._headers: dict[str, str] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._began_at is None:
            self._began_at = time.time()  # noqa: TID251 - outside of the program
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._path = url.decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode().lower()] = value.decode()

    def on_message_complete(self) -> None:
        path, headers = self._path, self._headers
        began_at, self._began_at, self._headers = self._began_at, None, {}
        if path == "/taken":
            found = json.dumps(self._taken).encode()
            self._taken.clear()
            self._answer("200 OK", found)
            return
        attempt = headers.get("rota-attempt")
        noted = {
            "path": path,
            "slot": headers.get("rota-scheduled-for"),
            "attempt": attempt,
            "at": began_at,
        }
        kind = path.split("/")[1]
        status = "503 Busy" if kind == "fails-first" and attempt == "1" else "200 OK"
        after = ANSWERED_AFTER[kind]
        loop = asyncio.get_running_loop()
        if after:
            loop.call_later(after, self._note_and_answer, noted, status)
        else:
            self._note_and_answer(noted, status)

    def _note_and_answer(self, noted: dict[str, Any], status: str) -> None:
        noted["answered_at"] = time.time()  # noqa: TID251 - outside of the program
        self._taken.append(noted)
        self._answer(status, b"{}")

    def _answer(self, status: str, body: bytes) -> None:
        assert self._transport is not None
        head = _HEAD.format(status=status, length=len(body))
        self._transport.write(head.encode() + body)


class _LongWire(asyncio.Protocol):
    """One end of a wire: what it reads is written at the other end a little later."""

    def __init__(self, opening: float = 0.0) -> None:
        self._opening = opening
        self.other: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        after, self._opening = ONE_WAY + self._opening, 0.0
        asyncio.get_running_loop().call_later(after, self._pass_on, data)

    def _pass_on(self, data: bytes) -> None:
        if self.other is None:
            self._early.append(data)
        elif not self.other.is_closing():
            self.other.write(data)

    def connect_to(self, other: asyncio.Transport) -> None:
        self.other = other
        for data in self._early:
            other.write(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's
        if self.other is not None:
            self.other.close()


async def _behind_a_long_wire(port: int) -> int:
    """A port that is far away from this one."""
    loop = asyncio.get_running_loop()
    making: set[asyncio.Task[None]] = set()

    def near() -> _LongWire:
        end = _LongWire(opening=2 * ONE_WAY)
        task = loop.create_task(_join(end, port))
        making.add(task)
        task.add_done_callback(making.discard)
        return end

    server = await loop.create_server(near, "127.0.0.1", 0, backlog=4096)
    return server.sockets[0].getsockname()[1]


async def _join(near: _LongWire, port: int) -> None:
    loop = asyncio.get_running_loop()
    transport, far = await loop.create_connection(_LongWire, "127.0.0.1", port)
    assert near.transport is not None
    far.connect_to(near.transport)
    near.connect_to(transport)


async def _serve(certificate: str) -> None:
    loop = asyncio.get_running_loop()
    taken: list[dict[str, Any]] = []
    ports: list[int] = []
    for _ in range(HOSTS):
        server = await loop.create_server(lambda: _Answering(taken), "127.0.0.1", 0, backlog=4096)
        ports.append(server.sockets[0].getsockname()[1])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    secure = await loop.create_server(
        lambda: _Answering(taken), "127.0.0.1", 0, backlog=4096, ssl=tls
    )
    tls_port = await _behind_a_long_wire(secure.sockets[0].getsockname()[1])
    sys.stdout.write(json.dumps({"ports": ports, "tls_port": tls_port}) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


@contextlib.contextmanager
def serving(certificate: str) -> Generator[Target]:
    """A target, for as long as the block lasts; the file has a key and its certificate."""
    program = [sys.executable, __file__, certificate]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            yield Target(tuple(said["ports"]), said["tls_port"])
        finally:
            process.kill()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(sys.argv[1]))
