"""Schedules without a timer: active, and never armed, whatever is done to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.db.schedules import Office

from rota.errors import InvalidInput
from rota.schedules import bulk_pause
from rota.schedules.backfill import backfill
from rota.schedules.bulk_pause import PauseRequest
from rota.time_slicer import TimeSlicer

if TYPE_CHECKING:
    from rota.db import Database
    from rota.schedules.schedule import Schedule


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def on_demand(office: Office, **fields: object) -> Schedule:
    return await office.create(interval=None, on_demand=True, **fields)


async def timers(office: Office) -> int:
    async with office.db.transaction() as tx:
        return await tx.fetch_value("SELECT count(*) FROM timers")


async def queued(office: Office) -> list[tuple[object, ...]]:
    async with office.db.transaction() as tx:
        rows = await tx.fetch(
            "SELECT version, priority, lane, state, attempt FROM queue ORDER BY id"
        )
    return [tuple(row.values()) for row in rows]


async def test_it_is_active_without_a_timer_through_pause_and_resume(office: Office) -> None:
    made = await on_demand(office)
    assert (made.status, await timers(office)) == ("active", 0)
    assert (await office.pause(made)).status == "paused"
    assert (await office.resume(made)).status == "active"
    assert await timers(office) == 0


async def test_resumed_with_all_the_others_it_is_active_again(office: Office) -> None:
    made = await on_demand(office)
    wish = PauseRequest(tenant_id=office.tenant.id)
    async with office.db.transaction() as tx:
        assert (await bulk_pause.pause_some(tx, wish)).changed == 1
        part = await bulk_pause.resume_some(tx, wish)
    assert (part.changed, part.completed) == (1, 0)
    assert (await office.standing(made)).schedule.status == "active"


async def test_an_edit_arms_and_disarms_it(office: Office) -> None:
    made = await on_demand(office)
    timed = (await office.update(made, interval="1h")).schedule
    assert (timed.status, await timers(office)) == ("active", 1)
    again = (await office.update(made, on_demand=True)).schedule
    assert (again.status, await timers(office)) == ("active", 0)


async def test_one_that_had_come_to_its_end_is_active_once_it_is_on_demand(office: Office) -> None:
    made = await office.create(interval="1h", max_firings=1)
    async with office.db.transaction() as tx:
        await tx.execute("UPDATE schedules SET status = 'completed', fired = 1")
        await tx.execute("DELETE FROM timers")
    edited = await office.update(made, on_demand=True, max_firings=None)
    assert edited.schedule.status == "active"


async def test_a_run_is_asked_for_and_the_overlap_policy_counts(office: Office) -> None:
    """OV1: the default skips."""
    made = await on_demand(office)
    assert (await office.trigger(made)).status == "waiting"
    assert (await office.trigger(made)).status == "skipped"


async def test_runs_that_wait_are_carried_over_by_an_edit(office: Office) -> None:
    """A changed policy must not take back what somebody asked for."""
    made = await on_demand(office, overlap_policy="allow")
    await office.trigger(made, payload={"n": 1})
    await office.trigger(made, payload={"n": 2})
    await office.update(made, max_attempts=7, priority=8, queue="reports")
    assert await queued(office) == [(2, 8, "reports", "waiting", 0)] * 2


async def test_one_that_was_tried_goes_on_where_the_edit_sends_the_same(office: Office) -> None:
    """I6: never another request under the same idempotency key."""
    made = await on_demand(office, overlap_policy="allow")
    await office.trigger(made)
    async with office.db.transaction() as tx:
        await tx.execute("UPDATE queue SET attempt = 1, state = 'retrying'")
    await office.update(made, max_attempts=7)
    assert await queued(office) == [(2, 5, "default", "retrying", 1)]
    await office.update(made, payload={"another": True})
    assert await queued(office) == []


async def test_there_are_no_slots_to_backfill(office: Office) -> None:
    made = await on_demand(office)
    since, until = made.created_at.replace(year=2020), made.created_at
    with pytest.raises(InvalidInput, match="fires when somebody asks"):
        await office.db.run(
            lambda tx: backfill(
                tx, office.tenant, made.id, since=since, until=until, slicer=TimeSlicer()
            )
        )
