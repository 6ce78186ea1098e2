"""What every process has: the database found and prepared, its pools, the vault, the upkeep."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.db import Database, Retry, embedded
from rota.history import retention
from rota.runtime import resuming
from rota.runtime.database import INTERVAL, DatabaseWatch
from rota.runtime.loop import Loop, every
from rota.runtime.monitoring import calendars_and_monitors
from rota.runtime.prepare import Prepared, prepare, today_of
from rota.runtime.resuming import Resumer
from rota.runtime.vault import open_vault
from rota.schedules import wording
from rota.schedules.wording import Wording
from rota.tenants import answers, sessions
from rota.tenants.secrets import Rings, Vault

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from rota.clock import Clock
    from rota.config import Config
    from rota.events import Bus
    from rota.runtime.web_process import WebStart

_SWEEP_INTERVAL = timedelta(hours=1)
# A person or a program waits for the answer: a few tries get past a blip.
_API_RETRY = Retry(tries=3)


def has_web_process(config: Config) -> bool:
    """Whether the API answers in a process of its own: next to an engine, not alone."""
    return "api" in config.roles and config.roles != ("api",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the connections of one `pool_size` are divided."""

    engine: int
    questions: int = 0
    """Of the API, or of the program around the engine, in this process; 0: it uses the engine's."""
    web: int = 0
    """Of the web process."""


def shares(config: Config, *, has_client: bool) -> Shares:
    """The engine has the larger part; an API alone keeps one for what every process does."""
    size = config.pool_size
    if config.roles == ("api",):
        return Shares(engine=1, questions=size - 1)
    aside = max(1, size * 2 // 5)
    if has_web_process(config):
        questions = aside // 2 if has_client else 0
        return Shares(engine=size - aside, questions=questions, web=aside - questions)
    if has_client:
        return Shares(engine=size - aside, questions=aside)
    return Shares(engine=size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A database that is ready for this process."""

    dsn: str = field(repr=False)
    db: Database
    """The engine's pool."""
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
    db, api_db = await _open_pools(stack, dsn, shares(config, has_client=has_client))
    prepared = await prepare(db, config, make_key=make_key)
    vault = await open_vault(db, config) if has_secrets else Vault(Rings(None))
    return Opened(dsn=dsn, db=db, api_db=api_db, prepared=prepared, vault=vault, server=server)


async def _find_database(
    stack: AsyncExitStack, config: Config
) -> tuple[str, embedded.Embedded | None]:
    if config.dsn is not None:
        return config.dsn, None
    server = await stack.enter_async_context(await embedded.start(config.data_dir))
    return server.dsn, server


async def _open_pools(stack: AsyncExitStack, dsn: str, share: Shares) -> tuple[Database, Database]:
    """The engine's pool, and the one for questions where it has one of its own."""
    db = await stack.enter_async_context(
        await Database.open(dsn, pool_size=share.engine, application_name="rota engine")
    )
    return db, await _open_api_pool(stack, dsn, share.questions) if share.questions else db


async def _open_api_pool(stack: AsyncExitStack, dsn: str, size: int) -> Database:
    return await stack.enter_async_context(
        await Database.open(dsn, pool_size=size, application_name="rota api", retry=_API_RETRY)
    )


async def open_web(stack: AsyncExitStack, start: WebStart) -> Opened:
    """The same for a web process: its engine has found and prepared the database."""
    db = await _open_api_pool(stack, start.dsn, start.pool_size)
    prepared = Prepared(installation=start.installation, operator=start.operator, new_key=None)
    vault = await open_vault(db, start.config)
    return Opened(dsn=start.dsn, db=db, api_db=db, prepared=prepared, vault=vault, server=None)


def keep_up(
    stack: AsyncExitStack, opened: Opened, config: Config, *, bus: Bus, clock: Clock
) -> None:
    """The loops that every process has: watching the database, making and dropping partitions."""
    db = opened.db
    watch = DatabaseWatch(db, bus=bus, embedded=opened.server)

    async def sweep() -> None:
        today = await db.run(today_of, read_only=True)
        await retention.sweep(db, today, keep=config.retention)
        while await db.run(answers.forget, repeatable=True):
            pass
        await db.run(sessions.forget_expired, repeatable=True)

    loops = (
        Loop("database", watch.run_once, wait=every(INTERVAL, clock), bus=bus, clock=clock),
        Loop("retention", sweep, wait=every(_SWEEP_INTERVAL, clock), bus=bus, clock=clock),
    )
    if "scheduler" in config.roles:
        resumer = Resumer(db, bus)
        wait = every(resuming.INTERVAL, clock)
        loops += (Loop("resume", resumer.run_once, wait=wait, bus=bus, clock=clock),)
        words = Wording(db, clock)
        wait = every(wording.INTERVAL, clock)
        loops += (Loop("words", words.run_once, wait=wait, bus=bus, clock=clock),)
        loops += calendars_and_monitors(db, bus=bus, clock=clock)
    for loop in loops:
        loop.start()
        stack.push_async_callback(loop.stop)
