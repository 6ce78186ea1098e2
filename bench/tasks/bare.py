"""Claim and record with no Python between: the server's own limit, from one connection."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString
from uuid import uuid4

from bench.tasks.part import now
from rota.db.pool import Database
from rota.history import retention
from rota.queue import claim_sql, plain_sql
from rota.queue.enqueue import Order, enqueue
from rota.queue.states import NOBODY
from rota.schedules import service as schedules
from rota.tenants.service import default_tenant
from rota.workers.pace import Pace

if TYPE_CHECKING:
    from datetime import datetime

BATCH = 1_000
_TODAY: LiteralString = "SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date"


async def drain(dsn: str, count: int) -> float:
    """Seconds for so many: the two statements of a worker, a transaction each, and nothing else."""
    pace, worker = Pace(), uuid4()
    async with await Database.open(dsn) as db:
        async with db.transaction() as tx:
            await retention.ensure(tx, await tx.fetch_value(_TODAY))
            tenant = await default_tenant(tx)
            fields = {"name": "t", "job_type": "t", "on_demand": True, "overlap_policy": "allow"}
            await schedules.upsert_by_key(tx, tenant, "task:t", fields, shards=8)
            await enqueue(tx, Order(task="t", payloads=[None] * count))
        began = now()
        done = 0
        while done < count:
            lead, visibility = timedelta(), pace.visibility
            async with db.transaction() as tx:
                rows = await tx.fetch(
                    claim_sql.CLAIM, ["default"], worker, BATCH, lead, visibility, NOBODY
                )
            ids = sorted(row["id"] for row in rows)
            at: list[datetime] = [rows[0]["began_at"]] * len(ids)
            async with db.transaction() as tx:
                await tx.fetch(plain_sql.PLAIN, worker, ids, at, at, ["t"], [], [], [])
            done += len(ids)
        return now() - began
