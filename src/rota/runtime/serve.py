"""A running server: everything that its roles need, started in order and ended in order.

Scheduler and worker are the engine, in the process that was started. Next to them the API answers
in a process of its own, started by the engine: no request can delay what is due. A process with the
role `api` alone answers itself. Both processes of a server are one node.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.db import Database, Listener
from rota.firing.scheduler import CHANNEL as TIMERS
from rota.runtime import handover, listening, measuring
from rota.runtime.opening import has_web_process, keep_up, open_database, shares
from rota.runtime.parts import Program, Stop, drain, start_parts
from rota.runtime.web_process import WebProcess, WebStart
from rota.telemetry import log
from rota.tenants.sql import CHANNEL as TENANTS
from rota.workers.channels import CHANNELS

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator

    from rota.clock import Clock
    from rota.config import Config
    from rota.events import Bus
    from rota.runtime.handover import Handed
    from rota.runtime.opening import Opened

__all__ = ["GRACE", "Started", "Stop", "running"]

GRACE = timedelta(seconds=20)
"""How long what runs may go on after a stop is asked for. Kubernetes kills after 30 s."""

SERVER = Program(make_key=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What there is to say about a server that runs."""

    roles: tuple[str, ...]
    url: str | None
    """Where the API is; None without the role."""
    sign_in: Handed | None
    """A link to the dashboard: works once, within ten minutes."""
    new_key: Handed | None
    """An admin key that was made just now, and is stored nowhere else."""
    db: Database
    opened: Opened
    news: Listener


@asynccontextmanager
async def running(
    config: Config,
    *,
    bus: Bus,
    clock: Clock,
    stop: Stop,
    grace: timedelta = GRACE,
    program: Program = SERVER,
) -> AsyncGenerator[Started]:
    """A server by the configuration, for as long as the block lasts.

    It ends in order: no more claims, leases given back, what runs finished within the grace, the
    rest returned to the queue; then the API, the connections and the embedded server.
    """
    async with AsyncExitStack() as stack:
        listener = _listen(stack, config)
        web = _spawn_web(stack, config, listener, bus=bus, clock=clock)
        figures = measuring.listen(stack, config)
        opened = await open_database(
            stack,
            config,
            make_key=program.make_key,
            has_client=program.has_client,
            has_secrets=program.has_secrets,
        )
        new_key = _handed(opened.prepared.new_key, config, program)
        keep_up(stack, opened, config, bus=bus, clock=clock)
        news = Listener(opened.direct_dsn, [TIMERS, TENANTS, *CHANNELS], clock=clock)
        for db in {opened.db, opened.api_db}:
            news.pass_on(TENANTS, db)
        if config.listen:
            await stack.enter_async_context(news)
        metrics = measuring.start_measuring(
            stack, opened, config, listener=figures, bus=bus, clock=clock
        )
        address = close_polls = None
        if web is not None:
            web.begin(_web_start(opened, config, program), metrics)
            # Here in the order of ends: after the engine has drained, before the connections.
            stack.push_async_callback(web.stop)
        elif listener is not None:
            # Heavy, and no business of a program that has no API, or not in this process.
            from rota.runtime.answering import start_answering  # noqa: PLC0415 - see above

            address = await start_answering(
                stack,
                opened,
                config,
                listener,
                news=news,
                metrics=metrics and metrics.render,
                stop=stop,
                bus=bus,
                clock=clock,
            )
            close_polls = address.polls.close
        parts = await start_parts(
            stack, opened, config, news=news, bus=bus, clock=clock, program=program
        )
        stack.push_async_callback(drain, parts, stop, grace)
        if web is not None:
            address, close_polls = await web.ready(), web.announce_stop
        if close_polls is not None:
            # First of all: who waits for work must not keep the API from ending.
            stack.callback(close_polls)
        url = address and address.url
        yield Started(
            roles=config.roles,
            url=url,
            sign_in=await _sign_in(stack, opened, config, program, url),
            new_key=new_key,
            db=opened.api_db,
            opened=opened,
            news=news,
        )


async def _sign_in(
    stack: AsyncExitStack, opened: Opened, config: Config, program: Program, url: str | None
) -> Handed | None:
    """A link for whoever started the server; none where nobody looks."""
    if url is None or not program.make_key:
        return None
    return await handover.hand_link(
        stack, opened.api_db, url, config.data_dir, is_terminal=program.is_terminal
    )


def _handed(key: str | None, config: Config, program: Program) -> Handed | None:
    if key is None:
        return None
    return handover.hand_key(key, config.data_dir, is_terminal=program.is_terminal)


def _listen(stack: AsyncExitStack, config: Config) -> socket.socket | None:
    """The API's socket, before anything else: a port in use must not be half a start."""
    if "api" not in config.roles:
        return None
    listener = listening.listen(config.host, config.port)
    stack.callback(listener.close)
    return listener


def _spawn_web(
    stack: AsyncExitStack,
    config: Config,
    listener: socket.socket | None,
    *,
    bus: Bus,
    clock: Clock,
) -> WebProcess | None:
    """The API's own process, next to an engine; early, so that it loads while others start."""
    if listener is None or not has_web_process(config):
        return None
    web = WebProcess(listener, bus=bus, clock=clock)
    web.spawn()
    stack.push_async_callback(web.stop)
    return web


def _web_start(opened: Opened, config: Config, program: Program) -> WebStart:
    return WebStart(
        config=config,
        dsn=opened.dsn,
        direct_dsn=opened.direct_dsn,
        is_pooled=opened.db.session.is_pooled,
        installation=opened.prepared.installation,
        operator=opened.prepared.operator,
        pool_size=shares(config, has_client=program.has_client).web,
        log_level=log.level(),
    )
