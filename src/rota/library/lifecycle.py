"""Starting and stopping the engine inside a program, in order, in the process that asks."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.clock import SystemClock, set_or_late
from rota.errors import InvalidConfig
from rota.library import declaring
from rota.library.callers import open_callers
from rota.library.declaring import Declarer, ensure_tasks, unlimited
from rota.library.running import Running
from rota.library.telling import tell_failures
from rota.runtime.opening import keep_up, open_database
from rota.runtime.parts import BUILT_IN, Program
from rota.runtime.serve import running
from rota.service import Service
from rota.tenants import service as tenants
from rota.tenants import sql as tenants_sql

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from uuid import UUID

    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Database, Listener, Tx
    from rota.events import Bus
    from rota.library.declaration import Declaration
    from rota.library.settings import AllTenants
    from rota.runtime.handover import Handed
    from rota.runtime.opening import Opened
    from rota.runtime.parts import Engine, Stop
    from rota.tenants.tenant import Tenant
    from rota.workers.caller import Caller
    from rota.workers.tasks.registry import Registry

CONCURRENCY: Final = 100
"""Tasks at once in one process, unless the program says otherwise."""

_SESSION_TIMEOUT = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """All that a start of a program needs to know."""

    config: Config
    registry: Registry
    declaration: Declaration
    tenant: str | None = None
    tenants: tuple[str, ...] | AllTenants | None = None
    """The tenants that its worker serves; without them, its own alone."""
    queues: tuple[str, ...] | None = None
    """The lanes that its worker serves; without them, its own queues and all built-in lanes."""
    own_queues: frozenset[str] = frozenset()
    """The program's own queue, and those that its tasks name."""
    concurrency: int = CONCURRENCY
    stop_grace: timedelta
    is_terminal: bool = False
    """Whether what it prints is seen by a person and kept by nobody."""


@dataclass(slots=True)
class Started:
    """A program that runs, and who writes its schedules."""

    running: Running
    declarer: Declarer | None
    url: str | None = None
    sign_in: Handed | None = None
    new_key: Handed | None = None


@asynccontextmanager
async def started(start: Start, *, bus: Bus, stop: Stop) -> AsyncGenerator[Started]:
    """The program's part of the installation, for as long as the block lasts."""
    clock = SystemClock()
    if not start.config.roles:
        async with _client(start, bus=bus, clock=clock) as alone:
            yield alone
        return
    embedding = _Embedding(start)
    program = Program(
        lanes=embedding.built_in,
        open_callers=embedding.open_callers,
        declare=embedding.declare,
        served_tenants=lambda: embedding.tenants,
        concurrency=start.concurrency,
        has_client=True,
        has_secrets=bool(embedding.built_in) or "api" in start.config.roles,
        make_key="api" in start.config.roles,
        is_terminal=start.is_terminal,
    )
    async with running(
        start.config, bus=bus, clock=clock, stop=stop, grace=start.stop_grace, program=program
    ) as server:
        yield Started(
            embedding.running(server.opened, server.news, bus, clock),
            embedding.declarer,
            url=server.url,
            sign_in=server.sign_in,
            new_key=server.new_key,
        )


@asynccontextmanager
async def _client(start: Start, *, bus: Bus, clock: Clock) -> AsyncGenerator[Started]:
    """Only the database: for a process that enqueues, and leaves the work to others."""
    async with AsyncExitStack() as stack:
        opened = await open_database(stack, start.config, make_key=False, has_secrets=False)
        keep_up(stack, opened, start.config, bus=bus, clock=clock)
        tenant = await find_tenant(opened.db, start.tenant)
        shards = opened.prepared.installation.shards
        await ensure_tasks(opened.db, tenant, start.declaration, shards=shards)
        yield Started(_running(opened, tenant, None, bus, clock), None)


class _Embedding:
    """What a program adds to the engine that runs inside it."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._tenant: Tenant | None = None
        self.tenants: frozenset[UUID] | None = frozenset()
        """The tenants that the worker serves, its own among them; None for all of them."""
        self.declarer: Declarer | None = None

    @property
    def built_in(self) -> tuple[str, ...]:
        queues = self._start.queues
        return BUILT_IN if queues is None else tuple(q for q in BUILT_IN if q in queues)

    def open_callers(self, stack: AsyncExitStack, engine: Engine) -> Mapping[str, Caller]:
        stack.callback(tell_failures(engine.bus))
        queues = self._start.queues
        own = self._start.own_queues if queues is None else queues
        lanes = [lane for lane in own if lane not in BUILT_IN]
        return open_callers(
            stack, engine, self._start.registry, lanes, concurrency=self._start.concurrency
        )

    async def declare(self, stack: AsyncExitStack, engine: Engine) -> None:
        """Before anything fires, and once the others can see that this node is there."""
        opened = engine.opened
        self._tenant = await find_tenant(opened.db, self._start.tenant)
        named = await self._named_tenants(opened.db)
        self.tenants = None if named is None else named | {self._tenant.id}
        await set_or_late(engine.session.made, _SESSION_TIMEOUT, engine.clock)
        self.declarer = Declarer(
            opened.db,
            self._tenant,
            self._start.declaration,
            node_id=engine.node.id,
            shards=opened.prepared.installation.shards,
            bus=engine.bus,
            served=named or (),
        )
        await self.declarer.declare()
        service = Service(
            "declared",
            self.declarer.run_once,
            wait=declaring.INTERVAL,
            bus=engine.bus,
            clock=engine.clock,
        )
        service.start()
        stack.push_async_callback(service.stop)

    async def _named_tenants(self, db: Database) -> frozenset[UUID] | None:
        wanted = self._start.tenants
        if wanted == "all":
            return None
        found = [await find_tenant(db, name, "tenants") for name in wanted or ()]
        return frozenset(each.id for each in found)

    def running(self, opened: Opened, news: Listener, bus: Bus, clock: Clock) -> Running:
        assert self._tenant is not None, "declare comes first"
        return _running(opened, self._tenant, news, bus, clock)


def _running(
    opened: Opened, tenant: Tenant, news: Listener | None, bus: Bus, clock: Clock
) -> Running:
    return Running(
        db=opened.api_db,
        dsn=opened.dsn,
        tenant=unlimited(tenant),
        shards=opened.prepared.installation.shards,
        news=news,
        loop=asyncio.get_running_loop(),
        bus=bus,
        clock=clock,
        pid=os.getpid(),
    )


async def find_tenant(db: Database, name: str | None, setting: str = "tenant") -> Tenant:
    """The tenant of this name, which must exist; the default one without a name.

    `setting` is where the name was given, for the error.
    """

    async def find(tx: Tx) -> Tenant | None:
        if name is None:
            return await tenants.default_tenant(tx)
        return await tenants_sql.tenant_named(tx, name)

    found = await db.run(find, read_only=False)
    if found is None:
        raise InvalidConfig(
            (f"{setting}: expected one that exists, got {name!r}: make it with `rota tenant add`",)
        )
    return found
