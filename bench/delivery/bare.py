"""Loops that send requests and do nothing else: what the libraries alone can do here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import aiohttp
from httptools import HttpResponseParser

if TYPE_CHECKING:
    from rota.workers.delivery.request import Request


async def by_aiohttp(request: Request, *, count: int, connections: int) -> None:
    """So many requests from so many tasks, over one session."""
    left = iter(range(count))
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:

        async def send() -> None:
            for _ in left:
                async with session.request(
                    request.method, request.url, headers=request.headers, data=request.body or None
                ) as response:
                    assert response.status == 200
                    await response.read()

        await asyncio.gather(*(send() for _ in range(connections)))


async def by_httptools(request: bytes, port: int, *, count: int, connections: int) -> None:
    """So many copies of the request, each connection sending the next when it has its answer."""
    loop = asyncio.get_running_loop()
    line = _Line(request, count)
    made = [
        loop.create_connection(lambda: _Sending(line), "127.0.0.1", port)
        for _ in range(connections)
    ]
    for transport, protocol in await asyncio.gather(*made):
        protocol.begin(transport)
    await line.empty.wait()


class _Line:
    def __init__(self, request: bytes, count: int) -> None:
        self.request = request
        self.unsent = self.unanswered = count
        self.empty = asyncio.Event()


class _Sending(asyncio.Protocol):
    def __init__(self, line: _Line) -> None:
        self._line = line
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        assert self._parser.get_status_code() == 200
        line = self._line
        line.unanswered -= 1
        if line.unanswered == 0:
            line.empty.set()
        self._next()

    def _next(self) -> None:
        assert self._transport is not None
        if self._line.unsent:
            self._line.unsent -= 1
            self._transport.write(self._line.request)
        else:
            self._transport.close()
