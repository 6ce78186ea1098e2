"""The server of the API's listening socket, run inside the process's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import uvicorn

from rota.runtime.bounded_http import BoundedHttp
from rota.runtime.connections import ConnectionLimiter

if TYPE_CHECKING:
    import socket
    from collections.abc import Generator, Sequence

    from litestar import Litestar
    from uvicorn._types import ASGI3Application

_GRACE = timedelta(seconds=5)


class WebServer:
    """Uvicorn without its signal handlers: when to stop is decided by whoever started it."""

    def __init__(
        self,
        app: Litestar | ASGI3Application,
        listener: socket.socket,
        *,
        grace: timedelta = _GRACE,
        limiter: ConnectionLimiter | None = None,
        proxies: Sequence[str] = (),
    ) -> None:
        """`proxies` are addresses and networks whose `X-Forwarded-*` headers are believed."""
        self.limiter = ConnectionLimiter() if limiter is None else limiter
        config = uvicorn.Config(
            app,
            http=cast("Any", partial(BoundedHttp, limiter=self.limiter)),
            log_config=None,
            # Strangers can cause its warnings at will.
            log_level="error",
            access_log=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            callback_notify=self._end_late,
            timeout_notify=0,
            lifespan="on",
            ws="none",
            server_header=False,
            date_header=True,
            timeout_graceful_shutdown=int(grace.total_seconds()),
        )
        self._server = _Server(config)
        self._listener = listener
        self._task: asyncio.Task[None] | None = None

    async def _end_late(self) -> None:
        """Called by uvicorn every second."""
        self.limiter.end_late(asyncio.get_running_loop().time())

    def start(self) -> None:
        """Begin to answer."""
        self._task = asyncio.create_task(
            self._server.serve(sockets=[self._listener]), name="rota api"
        )

    async def stop(self) -> None:
        """Let requests in hand be answered, for a moment, and close."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self._listener.close()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
