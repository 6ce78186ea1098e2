"""What every process has: the database found and prepared, its pools, the vault, the upkeep."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.db import Database, Retry, embedded
from rota.db.pooler import Mode, Route, find_route, require_direct
from rota.errors import InvalidConfig
from rota.history import retention
from rota.runtime import resuming, slot_auditor
from rota.runtime.database import INTERVAL, DatabaseWatch
from rota.runtime.monitoring import calendars_and_monitors
from rota.runtime.prepare import Prepared, prepare, today_of
from rota.runtime.resuming import Resumer
from rota.runtime.slot_auditor import SlotAuditor
from rota.runtime.vault import open_vault
from rota.schedules import search_indexer
from rota.schedules.search_indexer import SearchIndexer
from rota.service import Service
from rota.tenants import answers, sessions
from rota.tenants.secrets import Rings, Vault

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from rota.clock import Clock
    from rota.config import Config
    from rota.events import Bus
    from rota.runtime.web_process import WebStart

_SWEEP_INTERVAL = timedelta(hours=1)
_SCHEDULING = 2
"""One for a pass of the scheduler, one for the elector."""
# A person or a program waits for the answer: a few tries get past a blip.
_API_RETRY = Retry(tries=3)


def has_web_process(config: Config) -> bool:
    """Whether the API answers in a process of its own: next to an engine, not alone."""
    return "api" in config.roles and config.roles != ("api",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the connections of one `pool_size` are divided."""

    engine: int
    scheduling: int = 0
    """Of the scheduler, next to a worker: far from the database the loops of a process want more
    connections than there are, and a lease must not wait for one. 0: it uses the engine's."""
    questions: int = 0
    """Of the API, or of the program around the engine, in this process; 0: it uses the engine's."""
    web: int = 0
    """Of the web process."""


def shares(config: Config, *, has_client: bool) -> Shares:
    """The engine has the larger part; an API alone keeps one for what every process does."""
    size = config.pool_size
    if config.roles == ("api",):
        return Shares(engine=1, questions=size - 1)
    aside = max(1, size * 2 // 5) if has_client or has_web_process(config) else 0
    questions = (aside // 2 if has_web_process(config) else aside) if has_client else 0
    is_both = {"scheduler", "worker"} <= set(config.roles)
    scheduling = _SCHEDULING if is_both and size - aside >= 3 * _SCHEDULING else 0
    return Shares(
        engine=size - aside - scheduling,
        scheduling=scheduling,
        questions=questions,
        web=aside - questions,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A database that is ready for this process."""

    dsn: str = field(repr=False)
    direct_dsn: str = field(repr=False)
    """For LISTEN and the node's lock; the same where no pooler is in between."""
    db: Database
    """The engine's pool."""
    scheduling_db: Database
    """The scheduler's; the engine's own where it has none."""
    api_db: Database
    """The pool of the API or of the program around the engine; the engine's own without either."""
    prepared: Prepared
    vault: Vault
    server: embedded.Embedded | None


async def open_database(
    stack: AsyncExitStack,
    config: Config,
    *,
    make_key: bool = True,
    has_client: bool = False,
    has_secrets: bool = True,
) -> Opened:
    """Find it, connect, and bring it up to this program; closed again by the stack.

    `make_key` lets a first admin key be made when there is none, for somebody to be shown.
    `has_client` gives a process without an API the second pool as well, for its own questions.
    Without `has_secrets` the process needs none, and so no key ring that opens them.
    """
    dsn, server = await _find_database(stack, config)
    route = Route(Mode.DIRECT, dsn)
    if server is None:
        route = await find_route(dsn, config.direct_dsn)
    # A process that only enqueues needs no session of its own.
    direct_dsn = require_direct(route) if config.roles else dsn
    share = shares(config, has_client=has_client)
    fires = "scheduler" in config.roles and not share.scheduling
    pooled = route.is_pooled
    db = await _open_engine_pool(stack, dsn, share.engine, is_pooled=pooled, by_index=fires)
    scheduling_db = api_db = db
    if share.scheduling:
        scheduling_db = await _open_engine_pool(
            stack, dsn, share.scheduling, is_pooled=pooled, by_index=True
        )
    if share.questions:
        api_db = await _open_api_pool(stack, dsn, share.questions, is_pooled=pooled)
    prepared = await prepare(db, config, make_key=make_key)
    vault = await open_vault(db, config) if has_secrets else Vault(Rings(None))
    return Opened(
        dsn=dsn,
        direct_dsn=direct_dsn,
        db=db,
        scheduling_db=scheduling_db,
        api_db=api_db,
        prepared=prepared,
        vault=vault,
        server=server,
    )


async def _find_database(
    stack: AsyncExitStack, config: Config
) -> tuple[str, embedded.Embedded | None]:
    if config.dsn is not None:
        return config.dsn, None
    if config.direct_dsn is not None:
        problem = "direct_dsn: expected the pooler's dsn next to it (--dsn or ROTA_DSN), got none"
        raise InvalidConfig((problem,))
    server = await stack.enter_async_context(await embedded.start(config.data_dir))
    return server.dsn, server


async def _open_engine_pool(
    stack: AsyncExitStack, dsn: str, size: int, *, is_pooled: bool, by_index: bool
) -> Database:
    return await stack.enter_async_context(
        await Database.open(
            dsn,
            pool_size=size,
            application_name="rota engine",
            is_pooled=is_pooled,
            by_index=by_index,
        )
    )


async def _open_api_pool(
    stack: AsyncExitStack, dsn: str, size: int, *, is_pooled: bool
) -> Database:
    return await stack.enter_async_context(
        await Database.open(
            dsn,
            pool_size=size,
            application_name="rota api",
            is_pooled=is_pooled,
            retry=_API_RETRY,
        )
    )


async def open_web(stack: AsyncExitStack, start: WebStart) -> Opened:
    """The same for a web process: its engine has found and prepared the database."""
    db = await _open_api_pool(stack, start.dsn, start.pool_size, is_pooled=start.is_pooled)
    prepared = Prepared(installation=start.installation, operator=start.operator, new_key=None)
    vault = await open_vault(db, start.config)
    return Opened(
        dsn=start.dsn,
        direct_dsn=start.direct_dsn,
        db=db,
        scheduling_db=db,
        api_db=db,
        prepared=prepared,
        vault=vault,
        server=None,
    )


def keep_up(
    stack: AsyncExitStack, opened: Opened, config: Config, *, bus: Bus, clock: Clock
) -> None:
    """Start the services that every process has, such as the one that drops old partitions."""
    db = opened.db
    watch = DatabaseWatch(db, bus=bus, embedded=opened.server, clock=clock)

    async def sweep() -> None:
        today = await db.run(today_of, read_only=True)
        await retention.sweep(db, today, keep=config.retention)
        while await db.run(answers.forget, repeatable=True):
            pass
        await db.run(sessions.forget_expired, repeatable=True)

    services = (
        Service("database", watch.run_once, wait=INTERVAL, bus=bus, clock=clock),
        Service("retention", sweep, wait=_SWEEP_INTERVAL, bus=bus, clock=clock),
    )
    if "scheduler" in config.roles:
        resumer = Resumer(db, bus)
        services += (
            Service("resume", resumer.run_once, wait=resuming.INTERVAL, bus=bus, clock=clock),
        )
        indexer = SearchIndexer(db, clock)
        services += (
            Service(
                "search index", indexer.run_once, wait=search_indexer.INTERVAL, bus=bus, clock=clock
            ),
        )
        services += calendars_and_monitors(db, bus=bus, clock=clock)
        auditor = SlotAuditor(db, bus=bus, clock=clock, keep=config.retention)
        services += (
            Service("slots", auditor.run_once, wait=slot_auditor.INTERVAL, bus=bus, clock=clock),
        )
    for service in services:
        service.start()
        stack.push_async_callback(service.stop)
