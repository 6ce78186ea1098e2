"""Programs for the tests: a `Rota` on a database, and what the database has of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rota import Rota
from rota.events import Bus
from rota.leases import Node, NodeSession
from rota.library.declaration import read_version
from rota.library.declaring import Declarer
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.db import Database, Row

RULES: dict[str, Any] = {"stop_grace": 1, "lease_ttl": "3s", "lease_renew_interval": "200ms"}


def program(dsn: str, *declare: Callable[[Rota], object], **options: Any) -> Rota:
    """A `Rota` of the app `billing`, whose code says what each of `declare` does."""
    chosen: dict[str, Any] = {"app": "billing", **RULES, **options}
    rota = Rota(dsn, **chosen)
    for each in declare:
        each(rota)
    return rota


def report(when: Any = "every day at 9am", key: str = "report", **policies: Any) -> Any:
    """Code that declares one schedule."""

    def declare(rota: Rota) -> None:
        def run() -> None:
            """Does nothing."""

        rota.schedule(when, key=key, **policies)(rota.task(name=key)(run))

    return declare


async def schedules(db: Database) -> dict[str, Row]:
    """Those that are not the tasks' own, by key."""
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch(
            """SELECT id, key, status, version, tags, definition ->> 'text' AS text,
                      updated_at, xmin::text AS writer
                 FROM schedules WHERE key NOT LIKE 'task:%' ORDER BY key"""
        )
    return {row["key"]: row for row in rows}


class Deploy:
    """Builds of one app as processes: each a node with a session of its own."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.bus = Bus()
        self._open: list[NodeSession] = []

    async def start(
        self, rota: Rota, *, version: int | None = None
    ) -> tuple[Declarer, NodeSession]:
        """A process that has started; it looks no more by itself."""
        node = Node.start(("worker",))
        session = NodeSession(self.db.dsn, node, bus=self.bus)
        await session.start()
        self._open.append(session)
        await session.made.wait()
        async with self.db.transaction() as tx:
            tenant = await tenants.default_tenant(tx)
        ours = rota._collected.declaration(version=read_version(version), prune=rota._prune)
        declarer = Declarer(
            self.db,
            tenant,
            ours,
            node_id=node.id,
            shards=64,
            bus=self.bus,
            grace=timedelta(milliseconds=1),
        )
        await declarer.declare()
        return declarer, session

    async def run(self, *declare: Callable[[Rota], object], **options: Any) -> None:
        """A process that starts and ends."""
        _, session = await self.start(program(self.db.dsn, *declare, **options))
        await session.close()

    async def text(self) -> str:
        return (await schedules(self.db))["report"]["text"]

    async def close(self) -> None:
        for session in self._open:
            await session.close()
