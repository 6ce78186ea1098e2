"""The same rows without Rota: what the database alone takes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import asyncpg  # pyright: ignore[reportMissingTypeStubs] - it has none

from bench.api.items import item
from rota import ids
from rota.clock import SystemClock
from rota.schedules.bulk_parser import BulkParser
from rota.schedules.definition import encode
from rota.schedules.fields import Parsed
from rota.schedules.schedule import anchor, shard_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bench.api.stand import Stand

#: A row of schedules, and one of timers.
Rows = list[tuple[tuple[Any, ...], tuple[Any, ...]]]

_SHARDS = 64
_CLOCK = SystemClock()
_untyped: Any = asyncpg

_SCHEDULES = (
    *("id", "tenant_id", "key", "name", "tags", "job_type", "status", "shard", "anchor_at"),
    *("definition", "created_at", "updated_at"),
)
_TIMERS = ("schedule_id", "shard", "scheduled_for", "due_at", "version")

_INSERT_SCHEDULE = """
    INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at,
                           definition, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""
_INSERT_TIMER = """
    INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
    VALUES ($1, $2, $3, $4, $5)
"""
_INSERT_BOTH = """
    WITH made AS (
        INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at,
                               definition, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        RETURNING id, shard
    )
    INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
    SELECT id, shard, $13::timestamptz, $14::timestamptz, $15::integer FROM made
"""


def rows(stand: Stand, numbers: Sequence[int], series: str) -> Rows:
    """What Rota would store of these items."""
    now = anchor(_CLOCK.now())
    parser = BulkParser(now=now, min_interval=timedelta(seconds=60))
    made: Rows = []
    for id_, number in zip(ids.several(len(numbers), at=now), numbers, strict=True):
        read = parser.parse(item(number, series))
        assert isinstance(read, Parsed)
        each = read.definition
        status = "active" if each.enabled else "paused"
        shard, tags = shard_of(id_, _SHARDS), list(each.tags)
        schedule = (id_, stand.tenant_id, each.key, each.name, tags, each.job_type, status, shard)
        slot = read.next_slot
        made.append(((*schedule, now, encode(each), now, now), (id_, shard, slot, slot, 1)))
    return made


async def insert_each(stand: Stand, made: Rows, *, clients: int, together: bool) -> float:
    """One by one, from so many connections that take turns; how many seconds it took.

    `together` is one statement for both tables; otherwise a transaction with one for each.
    """
    async with _connections(stand, clients) as connections:
        left = iter(made)

        async def work(connection: Any) -> None:
            for schedule, timer in left:
                if together:
                    await connection.execute(_INSERT_BOTH, *schedule, *timer[2:])
                    continue
                async with connection.transaction():
                    await connection.execute(_INSERT_SCHEDULE, *schedule)
                    await connection.execute(_INSERT_TIMER, *timer)

        start = _CLOCK.monotonic()
        await asyncio.gather(*(work(each) for each in connections))
        return _CLOCK.monotonic() - start


async def copy(stand: Stand, batches: Sequence[Rows], *, clients: int) -> float:
    """Batch by batch, each a transaction with a COPY into each table; how many seconds."""
    async with _connections(stand, clients) as connections:
        left = iter(batches)

        async def work(connection: Any) -> None:
            for batch in left:
                async with connection.transaction():
                    await connection.copy_records_to_table(
                        "schedules",
                        records=[schedule for schedule, _ in batch],
                        columns=_SCHEDULES,
                        schema_name="rota",
                    )
                    await connection.copy_records_to_table(
                        "timers",
                        records=[timer for _, timer in batch],
                        columns=_TIMERS,
                        schema_name="rota",
                    )

        start = _CLOCK.monotonic()
        await asyncio.gather(*(work(each) for each in connections))
        return _CLOCK.monotonic() - start


@asynccontextmanager
async def _connections(stand: Stand, count: int) -> AsyncGenerator[list[Any]]:
    made = [
        await _untyped.connect(stand.dsn, server_settings={"search_path": "rota"})
        for _ in range(count)
    ]
    try:
        yield made
    finally:
        for each in made:
            await each.close()
