"""Claim and record with no Python between: the server's own limit, from one connection."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString
from uuid import uuid4

from bench.tasks.part import now
from rota.db.pool import Database
from rota.history import retention
from rota.queue import complete_fast
from rota.queue.claim import CLAIM, look_arguments
from rota.queue.enqueue import EnqueueRequest, enqueue
from rota.queue.low_watermarks import everything
from rota.schedules import update
from rota.tenants.service import default_tenant
from rota.workers.settings import WorkerSettings

if TYPE_CHECKING:
    from datetime import datetime

BATCH = 1_000
_TODAY: LiteralString = "SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date"


async def drain(dsn: str, count: int) -> float:
    """Seconds for so many: the two statements of a worker, a transaction each, and nothing else."""
    settings, worker = WorkerSettings(), uuid4()
    async with await Database.open(dsn) as db:
        async with db.transaction() as tx:
            await retention.ensure(tx, await tx.fetch_value(_TODAY))
            tenant = await default_tenant(tx)
            fields = {"name": "t", "job_type": "t", "on_demand": True, "overlap_policy": "allow"}
            await update.upsert_by_key(tx, tenant, "task:t", fields, shards=8)
            await enqueue(tx, EnqueueRequest(task="t", payloads=[None] * count))
        began = now()
        looks = look_arguments(everything(["default"], None))
        done = 0
        while done < count:
            lead, visibility = timedelta(), settings.visibility
            async with db.transaction() as tx:
                rows = await tx.fetch(CLAIM, *looks, lead, worker, visibility, BATCH)
            claims = [row for row in rows if row["id"] is not None]
            ids = sorted(row["id"] for row in claims)
            at: list[datetime] = [claims[0]["began_at"]] * len(ids)
            async with db.transaction() as tx:
                await tx.fetch(complete_fast.COMPLETE_FAST, worker, ids, at, at, ["t"], [], [], [])
            done += len(ids)
        return now() - began
