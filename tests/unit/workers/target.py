"""A target to call: a real server on the loopback address, with every bad habit."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from aiohttp import web

from rota.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from multidict import CIMultiDictProxy

_clock = SystemClock()


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    path: str
    headers: CIMultiDictProxy[str]
    body: bytes
    arrived_at: float


class Target:
    """What it does is in the path it is called by."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.url = ""
        self.arrived = asyncio.Event()
        self.left: list[str] = []
        """Paths whose callers went away before the answer."""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        arrived_at = _clock.monotonic()
        body = await request.read()
        received = Received(request.method, request.raw_path, request.headers, body, arrived_at)
        self.received.append(received)
        self.arrived.set()
        kind, _, detail = request.path.strip("/").partition("/")
        try:
            return await self._do(kind, detail, request)
        except (asyncio.CancelledError, ConnectionResetError):
            self.left.append(request.path)
            raise

    async def _do(self, kind: str, detail: str, request: web.BaseRequest) -> web.StreamResponse:
        match kind:
            case "status":
                headers = {"Location": "/ok"} if detail.startswith("3") else {}
                return web.Response(status=int(detail), text=f"said {detail}", headers=headers)
            case "later" | "taken":
                return self._put_off(detail)
            case "slow":
                await _clock.sleep(timedelta(seconds=float(detail)))
            case "flaky" if len(self.received) <= int(detail):
                return web.Response(status=500, text="not yet")
            case "reset":
                assert request.transport is not None
                request.transport.abort()
            case "huge" | "drip" | "broken":
                return await self._stream(kind, request)
            case "odd":
                return web.Response(body=b"\x00\xff\xfe", headers={"X-Odd": "caf\xe9"})
            case _:
                pass
        return web.Response(text="fine", headers={"X-Answer": "42", "Set-Cookie": "a=b"})

    def _put_off(self, until: str) -> web.Response:
        """Come back then; without an instant: taken on, to be completed by the target itself."""
        if until:
            return web.Response(status=503, headers={"Retry-After": until})
        return web.Response(status=202, headers={"Rota-Async": "true"})

    async def _stream(self, kind: str, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        if kind == "broken":
            response.content_length = 1_000
        await response.prepare(request)
        while True:
            await response.write(b"x" * (65_536 if kind == "huge" else 1))
            if kind == "drip":
                await _clock.sleep(timedelta(milliseconds=50))
            if kind == "broken":
                assert request.transport is not None
                request.transport.close()
                return response


@asynccontextmanager
async def serving() -> AsyncGenerator[Target]:
    target = Target()
    # Handlers are cancelled when their caller goes away, so that tests can see it.
    server = web.Server(target.answer, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        target.url = f"http://{host}:{port}"
        yield target
    finally:
        await runner.cleanup()
