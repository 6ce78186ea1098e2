"""The API and the dashboard of a process that has the role: everything that answers requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota.api.app import create
from rota.api.engine import Engine
from rota.api.polls import Polls
from rota.dashboard.feeds import Feeds
from rota.runtime import files, listening, web
from rota.runtime.anonymous_rate import AnonymousRate
from rota.runtime.connections import Peers, limiter_of
from rota.runtime.dashboard import pages
from rota.runtime.limits import request_pace
from rota.runtime.pulling import start_pull
from rota.runtime.targets import target_policy
from rota.runtime.watching import uses_apprise

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable
    from contextlib import AsyncExitStack

    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Listener
    from rota.events import Bus
    from rota.runtime.opening import Opened
    from rota.runtime.parts import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """What there is to say about an API that answers."""

    url: str
    polls: Polls
    """Those who wait for work."""
    count_connections: Callable[[], int]
    """How many callers are connected."""


async def start_answering(
    stack: AsyncExitStack,
    opened: Opened,
    config: Config,
    listener: socket.socket,
    *,
    news: Listener,
    metrics: Callable[[], Awaitable[tuple[str, bytes]]] | None,
    stop: Stop,
    bus: Bus,
    clock: Clock,
) -> Answering:
    """Begin to answer."""
    polls = Polls()
    start_pull(stack, opened.db, polls, config, news=news, bus=bus, clock=clock)
    engine = Engine(
        db=opened.api_db,
        clock=clock,
        bus=bus,
        shards=opened.prepared.installation.shards,
        vault=opened.vault,
        targets=target_policy(config, opened.prepared.operator),
        public_url=config.public_url,
        is_stopping=stop.asked.is_set,
        polls=polls,
        pace=request_pace(config, opened.api_db, clock),
        apprise=uses_apprise(config),
        apprise_for_all=bool(config.apprise),
        metrics=metrics,
    )
    feeds = Feeds(opened.api_db, clock)
    server = _answer(stack, engine, feeds, listener, config)
    url = _tell_address(stack, listener, config)
    return Answering(url=url, polls=polls, count_connections=server.limiter.__len__)


def _answer(
    stack: AsyncExitStack, engine: Engine, feeds: Feeds, listener: socket.socket, config: Config
) -> web.WebServer:
    """Start the API and the dashboard."""
    app: Any = create(engine, pages=pages(engine, feeds))
    if config.anonymous_rate:
        peers = Peers(config.trusted_proxies)
        app = AnonymousRate(app, rate=config.anonymous_rate, peers=peers, clock=engine.clock)
    server = web.WebServer(
        app, listener, limiter=limiter_of(config), proxies=config.trusted_proxies
    )
    server.start()
    stack.push_async_callback(server.stop)
    # Before that: a page that is open must not keep the server from ending.
    stack.callback(feeds.close)
    return server


def _tell_address(stack: AsyncExitStack, listener: socket.socket, config: Config) -> str:
    """Say in the data folder where the API is; returns its address."""
    url = listening.url_of(listener, config.host)
    if config.dsn is None:
        files.write(config.data_dir, files.URL, url)
        stack.callback(files.forget, config.data_dir, files.URL, url)
    return url
