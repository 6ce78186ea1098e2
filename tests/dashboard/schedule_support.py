"""Schedules for the tests of their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.dashboard.shown import schedule_id
from rota.history.retention import ensure
from rota.schedules import create
from rota.schedules import list as listing
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from rota.api.engine import Engine
    from rota.schedules.schedule import Schedule

EVIL = '"><script>alert(1)</script>'

_INSERT = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                         triggered_by, attempt, started_at, finished_at, due_at, result_code)
    SELECT gen_random_uuid(), $1, $2, 1, at, $5, $6, 'schedule', 1, at + interval '2 ms',
           at + interval '42 ms', at, 200
      FROM generate_series(1, $4::integer) AS n,
           LATERAL (SELECT $3::timestamptz - n * interval '1 minute') AS t(at)
"""


async def made(engine: Engine, **given: Any) -> Schedule:
    """A schedule of the default tenant's that calls a URL."""
    async with engine.db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        fields = {"name": "report", "target_url": "https://x.example/hook", **given}
        return (await create.create(tx, tenant, fields, shards=engine.shards)).schedule


async def only(engine: Engine) -> Schedule:
    """The one that there is."""
    async with engine.db.transaction(read_only=True) as tx:
        tenant = await tenants.default_tenant(tx)
        page = await listing.page(tx, tenant.id, listing.Filter(), after=None, limit=2)
        [found] = page.found
        return found.schedule


async def fired(
    engine: Engine,
    schedule: Schedule,
    count: int,
    status: str = "succeeded",
    reason: str | None = None,
) -> None:
    """So many firings, one a minute up to now."""
    async with engine.db.transaction() as tx:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        await ensure(tx, now.date())
        await tx.execute(_INSERT, schedule.id, schedule.tenant_id, now, count, status, reason)


def path(schedule: Schedule, rest: str = "") -> str:
    """The address of its page, or of something below it."""
    return f"/schedules/{schedule_id(schedule.id)}{rest}"
