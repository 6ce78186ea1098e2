"""A client that does as little as a client can, so that what is measured is the server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import msgspec
from httptools import HttpResponseParser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.api.stand import Stand


def request(stand: Stand, method: str, path: str, body: object = None) -> bytes:
    """The bytes of a request."""
    content = b"" if body is None else msgspec.json.encode(body)
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {stand.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class Talk(asyncio.Protocol):
    """One connection: a request, its answer, the next."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        answer, self._answer = self._answer, None
        body = b"".join(self._body)
        self._body.clear()
        status = self._parser.get_status_code()
        self._parser = HttpResponseParser(self)
        assert answer is not None
        answer.set_result((status, body))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server hung up"))

    async def ask(self, data: bytes) -> tuple[int, bytes]:
        """Send a request; its status and body."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return await self._answer

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


async def connect(stand: Stand) -> Talk:
    """A connection to the server."""
    loop = asyncio.get_running_loop()
    _, talk = await loop.create_connection(Talk, "127.0.0.1", stand.port)
    return talk


async def send_all(stand: Stand, requests: Sequence[bytes], *, clients: int, status: int) -> float:
    """Send each once, from so many connections that take turns; how many seconds it took."""
    talks = [await connect(stand) for _ in range(clients)]
    left = iter(requests)

    async def work(talk: Talk) -> None:
        for each in left:
            found, body = await talk.ask(each)
            assert found == status, (found, body[:500])

    start = asyncio.get_running_loop().time()
    await asyncio.gather(*(work(talk) for talk in talks))
    seconds = asyncio.get_running_loop().time() - start
    for talk in talks:
        talk.close()
    return seconds


def decoded(body: bytes) -> Any:
    """The JSON of an answer."""
    return msgspec.json.decode(body)
