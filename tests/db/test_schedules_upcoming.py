"""What is due next, found one by one for few schedules and along the timers for many."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from rota.schedules.upcoming import FEW, upcoming
from rota.tenants import service as tenants
from rota.tenants import sql as tenants_sql

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database

HOUR = timedelta(hours=1)
# Minutes from now; what is past the hour, paused or another tenant's is not in it.
_MADE = (("b", 5.0), ("a", 0.3), ("far", 90.0), ("c", 5.5), ("d", 50.0))


@pytest.fixture
async def tenant(db: Database) -> UUID:
    async with db.transaction() as tx:
        owner = (await tenants.default_tenant(tx)).id
        other = uuid4()
        await tenants_sql.make_tenant(tx, other, "other", timedelta(seconds=1))
        for number, (name, minutes) in enumerate(_MADE):
            for whose, status in ((owner, "active"), (other, "active"), (owner, "paused")):
                label = name if status == "active" and whose == owner else f"not {name}"
                await tx.execute(_MAKE, uuid4(), whose, label, status, number, minutes)
    return owner


@pytest.mark.parametrize("active", [0, FEW])
async def test_the_soonest_come_first_and_only_the_tenants_own(
    db: Database, tenant: UUID, active: int
) -> None:
    async with db.transaction() as tx:
        found = await upcoming(tx, tenant, HOUR, active=active, limit=50)
        assert [each.name for each in found] == ["a", "b", "c", "d"]
        assert {each.timezone for each in found} == {"Europe/Berlin"}
        first = await upcoming(tx, tenant, HOUR, active=active, limit=2)
    assert [each.name for each in first] == ["a", "b"]


@pytest.mark.parametrize("limit", [1, 33, 100, 400])
async def test_of_many_they_are_the_first_of_all_however_they_are_spread(
    db: Database, tenant: UUID, limit: int
) -> None:
    """One shard has more than its part of them, and others of the tenants are in between."""
    rng = Random(limit)
    async with db.transaction() as tx:
        for number in range(150):
            shard = 7 if number % 3 else rng.randrange(64)
            minutes = rng.choice([rng.uniform(0.5, 70.0), 30.0])
            await tx.execute(_MAKE, uuid4(), tenant, f"s{number}", "active", shard, minutes)
    async with db.transaction(read_only=True, tenant=tenant) as tx:
        one_by_one = await upcoming(tx, tenant, HOUR, active=0, limit=limit)
        along = await upcoming(tx, tenant, HOUR, active=FEW, limit=limit)
        assert await tx.fetch_value("SHOW enable_bitmapscan") == "on"
    # Those of one instant, at the end of what was asked for, may be others of the same.
    assert [each.due_at for each in along] == [each.due_at for each in one_by_one]
    sooner = {each.id for each in one_by_one if each.due_at < one_by_one[-1].due_at}
    assert sooner <= {each.id for each in along}


# A paused schedule has no timer.
_MAKE = """
    WITH made AS (
        INSERT INTO schedules (id, tenant_id, key, name, status, shard, anchor_at, definition)
        VALUES ($1::uuid, $2, $1::uuid::text, $3, $4, $5, now(), '{"timezone": "Europe/Berlin"}')
        RETURNING id, shard, status)
    INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
    SELECT id, shard, now() + at, now() + at, 1
      FROM made, make_interval(secs => 60 * $6::float8) AS at
     WHERE status = 'active'
"""
