"""Figures of a process: counted from its bus, served by its API or at a port of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.api.events import WorkReported
from rota.runtime import listening
from rota.telemetry.metrics import Metrics

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable
    from contextlib import AsyncExitStack

    from rota.clock import Clock
    from rota.config import Config
    from rota.events import Bus
    from rota.runtime.opening import Opened


def listen(stack: AsyncExitStack, config: Config) -> socket.socket | None:
    """The port for figures, before anything else: one in use must not be half a start."""
    if "api" in config.roles or not config.metrics or not config.metrics_port:
        return None
    listener = listening.listen(config.host, config.metrics_port)
    stack.callback(listener.close)
    return listener


def start_measuring(
    stack: AsyncExitStack,
    opened: Opened,
    config: Config,
    *,
    listener: socket.socket | None,
    bus: Bus,
    clock: Clock,
) -> Metrics | None:
    """Begin to count; None when the figures are off."""
    if not config.metrics or ("api" not in config.roles and listener is None):
        # Nobody could ask for them, and counting every firing is not free.
        return None
    pools = {"engine": opened.db}
    if opened.scheduling_db is not opened.db:
        pools["scheduling"] = opened.scheduling_db
    if opened.api_db is not opened.db:
        pools["api"] = opened.api_db
    metrics = Metrics(bus, opened.db, clock, pools=pools)
    stack.callback(metrics.start())
    stack.callback(bus.subscribe(WorkReported, lambda event: metrics.counts.ended(event.status)))
    if listener is not None:
        # Heavy, for a program that serves nothing.
        from rota.runtime import connections, web  # noqa: PLC0415 - see above

        limiter = connections.limiter_of(config)
        server = web.WebServer(_app(metrics.render), listener, limiter=limiter)
        server.start()
        stack.push_async_callback(server.stop)
    return metrics


def _app(render: Callable[[], Awaitable[tuple[str, bytes]]]) -> Any:
    """A program for ASGI with two addresses, for processes that have no API."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        status, kind, content = 404, "text/plain; charset=utf-8", b"there is /metrics and /healthz"
        if scope["type"] == "http" and scope["method"] in {"GET", "HEAD"}:
            if scope["path"] == "/metrics":
                kind, content = await render()
                status = 200
            elif scope["path"] == "/healthz":
                status, kind, content = 200, "application/json", b'{"status":"ok"}'
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(content)).encode()),
            (b"cache-control", b"no-store"),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    return app


async def _live(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
