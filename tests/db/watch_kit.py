"""What the tests of watching share: outcomes as a worker records them, channels, a receiver."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web
from tests.db.queue_support import database_now
from tests.db.secrets_kit import vault

from rota import ids
from rota.clock import SystemClock
from rota.events import Bus
from rota.runtime.notifying import Webhooks
from rota.targets import OPEN
from rota.watch import channel as channels
from rota.watch.channels import Channels
from rota.watch.kinds import DEFAULT_EVENTS
from rota.watch.outcomes import Noticer
from rota.watch.sender import Sender
from rota.watch.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule
    from rota.targets import TargetPolicy
    from rota.watch.channel import Channel
    from rota.watch.sender import Say

VAULT = vault()

_END = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                         attempt, triggered_by, started_at, finished_at, slot_count)
    VALUES ($1, $2, $3, 1, $4, $5, $6, 1, 'schedule', $7, $8, $9)
"""


async def end(
    db: Database,
    schedule: Schedule,
    status: str = "dead",
    *,
    reason: str | None = "HTTP 503, after 3 attempts",
    ago: timedelta = timedelta(),
    took: timedelta = timedelta(seconds=1),
    slots: int = 1,
) -> UUID:
    """Record an outcome of the schedule."""
    at = await database_now(db) - ago
    id_ = ids.new(at=at)
    async with db.transaction() as tx:
        await tx.execute(
            _END, id_, schedule.id, schedule.tenant_id, at, status, reason, at - took, at, slots
        )
    return id_


async def make_channel(db: Database, tenant_id: UUID, url: str, **fields: Any) -> Channel:
    given = {"name": "ops", "url": url, **fields}
    terms = channels.read(given, events=DEFAULT_EVENTS)
    async with db.transaction(tenant=tenant_id) as tx:
        return await Channels(VAULT).create(tx, tenant_id, terms)


async def notice(db: Database) -> int:
    return await Noticer(db, Bus()).run_once()


async def watch(db: Database) -> bool:
    return await Watchdog(db, Bus(), SystemClock()).run_once()


async def rows(db: Database, table: str) -> list[Row]:
    async with db.transaction(read_only=True) as tx:
        found = await tx.fetch(f"SELECT * FROM {table}")  # pyright: ignore[reportArgumentType]
    return sorted(found, key=lambda row: row["id"])


async def run(db: Database, statement: str, *args: object) -> None:
    async with db.transaction() as tx:
        await tx.execute(statement, *args)  # pyright: ignore[reportArgumentType]


@dataclass
class Receiver:
    """A webhook on loopback."""

    url: str = ""
    status: int = 200
    calls: list[tuple[dict[str, str], dict[str, Any]]] = field(
        default_factory=list[tuple[dict[str, str], dict[str, Any]]]
    )
    bodies: list[bytes] = field(default_factory=list[bytes])
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.bodies.append(body)
        self.calls.append((headers, msgspec.json.decode(body)))
        self.arrived.set()
        return web.Response(status=self.status, text=f"you called {request.path_qs}")

    @property
    def types(self) -> list[str]:
        return [body["type"] for _, body in self.calls]


@asynccontextmanager
async def receiving() -> AsyncGenerator[Receiver]:
    made = Receiver()
    app = web.Application()
    app.router.add_post("/{rest:.*}", made.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}/hook"
    try:
        yield made
    finally:
        await runner.cleanup()


@asynccontextmanager
async def sending(
    db: Database,
    *,
    policy: TargetPolicy = OPEN,
    say: Say | None = None,
    say_for: UUID | None = None,
    bus: Bus | None = None,
) -> AsyncGenerator[Sender]:
    webhooks = Webhooks(db, VAULT, policy=policy, clock=SystemClock())
    try:
        yield Sender(db, Channels(VAULT), post=webhooks, say=say, say_for=say_for, bus=bus or Bus())
    finally:
        await webhooks.close()


async def an_hour_ago(db: Database) -> datetime:
    return await database_now(db) - timedelta(hours=1)
