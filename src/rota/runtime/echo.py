"""The demo's target: an endpoint on loopback that answers well, sometimes badly, or slowly."""

from __future__ import annotations

import itertools
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.clock import Clock

_SLOW = timedelta(seconds=5)


@asynccontextmanager
async def echo(clock: Clock) -> AsyncGenerator[str]:
    """Run the endpoint; gives its address, with `/ok`, `/flaky` and `/slow` below it."""
    calls = itertools.count(1)

    async def ok(request: web.Request) -> web.Response:
        return web.json_response({"echo": (await request.text())[:1000]})

    async def flaky(request: web.Request) -> web.Response:
        if next(calls) % 2:
            return web.json_response({"error": "try again"}, status=503)
        return await ok(request)

    async def slow(request: web.Request) -> web.Response:
        await clock.sleep(_SLOW)
        return await ok(request)

    app = web.Application()
    app.router.add_post("/ok", ok)
    app.router.add_post("/flaky", flaky)
    app.router.add_post("/slow", slow)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
