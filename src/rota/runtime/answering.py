"""The API and the dashboard of a process that has the role: everything that answers requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.api.app import create
from rota.api.engine import Engine
from rota.api.polls import Polls
from rota.dashboard.feeds import Feeds
from rota.runtime import files, web
from rota.runtime.dashboard import new_token, pages
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
    sign_in: str | None
    polls: Polls
    """Those who wait for work."""


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
    can_sign_in: bool,
) -> Answering:
    """Begin to answer. `can_sign_in` says that somebody is there to be shown an address for it."""
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
    url = _answer(stack, engine, feeds, listener, config)
    sign_in = None
    if can_sign_in:
        sign_in = f"{url}/sign-in?token={await new_token(opened.api_db)}"
    return Answering(url=url, sign_in=sign_in, polls=polls)


def _answer(
    stack: AsyncExitStack, engine: Engine, feeds: Feeds, listener: socket.socket, config: Config
) -> str:
    """Start the API, and say in the data folder where it is; returns its address."""
    server = web.WebServer(create(engine, pages=pages(engine, feeds)), listener)
    server.start()
    stack.push_async_callback(server.stop)
    # Before that: a page that is open must not keep the server from ending.
    stack.callback(feeds.close)
    url = web.url_of(listener, config.host)
    if config.dsn is None:
        files.write(config.data_dir, files.URL, url)
        stack.callback(files.forget, config.data_dir, files.URL, url)
    return url
