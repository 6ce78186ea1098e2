"""A running server: everything that its roles need, started in order and ended in order.

Roles share a process or not; each process is one node, with one listener and two pools. The
scheduler and the worker have connections of their own, so that a busy API cannot keep a lease from
being renewed.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.db import Database, Listener
from rota.firing.loop import CHANNEL as TIMERS
from rota.runtime import measuring
from rota.runtime.handover import Handed, hand_key
from rota.runtime.opening import keep_up, open_database
from rota.runtime.parts import Program, Stop, drain, start_parts
from rota.workers.news import CHANNELS

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator

    from rota.clock import Clock
    from rota.config import Config
    from rota.events import Bus
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
        news = Listener(opened.dsn, [TIMERS, *CHANNELS], clock=clock)
        await stack.enter_async_context(news)
        metrics = measuring.start_measuring(
            stack, opened, config, listener=figures, bus=bus, clock=clock
        )
        answering = None
        if listener is not None:
            # Heavy, and no business of a program that has no API.
            from rota.runtime.answering import start_answering  # noqa: PLC0415 - see above

            answering = await start_answering(
                stack,
                opened,
                config,
                listener,
                news=news,
                metrics=metrics,
                stop=stop,
                bus=bus,
                clock=clock,
                program=program,
            )
        parts = await start_parts(
            stack, opened, config, news=news, bus=bus, clock=clock, program=program
        )
        stack.push_async_callback(drain, parts, stop, grace)
        if answering is not None:
            # First of all: who waits for work must not keep the API from ending.
            stack.callback(answering.polls.close)
        yield Started(
            roles=config.roles,
            url=answering and answering.url,
            sign_in=answering and answering.sign_in,
            new_key=new_key,
            db=opened.api_db,
            opened=opened,
            news=news,
        )


def _handed(key: str | None, config: Config, program: Program) -> Handed | None:
    if key is None:
        return None
    return hand_key(key, config.data_dir, is_terminal=program.is_terminal)


def _listen(stack: AsyncExitStack, config: Config) -> socket.socket | None:
    """The API's socket, before anything else: a port in use must not be half a start."""
    if "api" not in config.roles:
        return None
    from rota.runtime import web  # noqa: PLC0415 - heavy, as above

    listener = web.listen(config.host, config.port)
    stack.callback(listener.close)
    return listener
