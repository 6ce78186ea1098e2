"""The demo's target: an endpoint on loopback that answers well, sometimes badly, or slowly."""

from __future__ import annotations

import itertools
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from litestar import Litestar, Request, Response, post

from rota.runtime import listening, web

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.clock import Clock

_SLOW = timedelta(seconds=5)
_GRACE = timedelta(seconds=1)
_HOST = "127.0.0.1"


@asynccontextmanager
async def echo(clock: Clock) -> AsyncGenerator[str]:
    """Run the endpoint; gives its address, with `/ok`, `/flaky` and `/slow` below it."""
    listener = listening.listen(_HOST, 0)
    server = web.WebServer(_app(clock), listener, grace=_GRACE)
    server.start()
    try:
        yield listening.url_of(listener, _HOST)
    finally:
        await server.stop()


def _app(clock: Clock) -> Litestar:
    calls = itertools.count(1)

    async def said(request: Request[Any, Any, Any]) -> Response[dict[str, str]]:
        text = (await request.body()).decode(errors="replace")
        return Response({"echo": text[:1000]}, status_code=200)

    @post("/ok")
    async def ok(request: Request[Any, Any, Any]) -> Response[dict[str, str]]:
        return await said(request)

    @post("/flaky")
    async def flaky(request: Request[Any, Any, Any]) -> Response[dict[str, str]]:
        if next(calls) % 2:
            return Response({"error": "try again"}, status_code=503)
        return await said(request)

    @post("/slow")
    async def slow(request: Request[Any, Any, Any]) -> Response[dict[str, str]]:
        await clock.sleep(_SLOW)
        return await said(request)

    return Litestar([ok, flaky, slow], openapi_config=None, logging_config=None)
