"""`why`, from what is really in the database."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from tests.db.queue_support import database_now, ended, fire, make_schedule, some_worker, take

from rota import ids
from rota.history.why import why
from rota.queue.complete import settle
from rota.schedules import list as listing
from rota.schedules import update
from rota.tenants import administer

if TYPE_CHECKING:
    from rota.db import Database, Tx
    from rota.history.why import Why
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant

MINUTE = timedelta(minutes=1)

_RUN = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, last_slot_at,
                         slot_count, status, reason, triggered_by, finished_at)
    VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, 'schedule', now())
"""


async def ask(db: Database, schedule: Schedule, at: datetime) -> Why:
    async with db.transaction(read_only=True) as tx:
        return await why(tx, schedule, at)


async def tenant_of(tx: Tx, schedule: Schedule) -> Tenant:
    found = await administer.find(tx, schedule.tenant_id)
    assert found is not None
    return found


async def last_slot(db: Database) -> datetime:
    now = await database_now(db)
    return now.replace(second=0, microsecond=0)


async def made(db: Database) -> Schedule:
    """Fires every minute, since yesterday."""
    return await make_schedule(db, at=await database_now(db) - timedelta(days=1))


@pytest.mark.parametrize(
    ("status", "reason", "sentence"),
    [
        ("succeeded", None, "It ran and succeeded: attempt 1"),
        ("dead", "HTTP 500, after 3 attempts", "It failed for good: HTTP 500, after 3 attempts."),
        ("cancelled", "asked for", "It was cancelled: asked for."),
        ("skipped", "overlap", "It was skipped: the firing before it was still under way"),
    ],
)
async def test_a_slot_that_ended(
    db: Database, status: str, reason: str | None, sentence: str
) -> None:
    schedule, slot = await made(db), await last_slot(db)
    await fire(db, schedule, slot)
    me = some_worker()
    (claim,) = await take(db, me)
    async with db.transaction() as tx:
        await settle(tx, me, [ended(claim, status, reason=reason)])
    answer = await ask(db, schedule, slot)
    assert answer.outcome == status
    assert answer.sentence.startswith(sentence)
    assert answer.firing is not None
    assert answer.firing.id == claim.id


async def test_a_slot_that_is_live(db: Database) -> None:
    schedule, slot = await made(db), await last_slot(db)
    await fire(db, schedule, slot)
    assert (await ask(db, schedule, slot)).outcome == "waiting"
    await take(db, some_worker())
    assert (await ask(db, schedule, slot)).outcome == "running"


async def test_slots_within_a_run_that_was_missed_or_paused(db: Database) -> None:
    schedule, slot = await made(db), await last_slot(db)
    async with db.transaction() as tx:
        for first, last, status, reason in (
            (slot - 50 * MINUTE, slot - 40 * MINUTE, "missed", "older than the cap"),
            (slot - 30 * MINUTE, slot - 20 * MINUTE, "skipped", "paused"),
        ):
            id_ = ids.firing_id(schedule.id, first)
            owner = (id_, schedule.id, schedule.tenant_id)
            await tx.execute(_RUN, *owner, first, last, 11, status, reason)
    for ago, outcome in ((50, "missed"), (45, "missed"), (40, "missed"), (25, "skipped")):
        answer = await ask(db, schedule, slot - ago * MINUTE)
        assert answer.outcome == outcome
        assert "one of 11 slots" in answer.sentence
    assert (await ask(db, schedule, slot - 35 * MINUTE)).outcome == "unrecorded"


async def test_a_slot_that_is_armed_and_due_and_one_that_is_to_come(db: Database) -> None:
    schedule, slot = await made(db), await last_slot(db)
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)"
            " VALUES ($1, 0, $2, $2, 1)",
            schedule.id,
            slot,
        )
    assert (await ask(db, schedule, slot)).outcome == "due"
    assert (await ask(db, schedule, slot + 5 * MINUTE)).outcome == "future"


async def test_a_manual_run_at_the_same_instant_is_not_the_slots(db: Database) -> None:
    schedule, slot = await made(db), await last_slot(db)
    await fire(db, schedule, slot, triggered_by="manual")
    assert (await ask(db, schedule, slot)).outcome == "unrecorded"


async def test_an_instant_may_be_given_in_any_zone(db: Database) -> None:
    schedule, slot = await made(db), await last_slot(db)
    await fire(db, schedule, slot)
    there = slot.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert (await ask(db, schedule, there)).at == slot


async def test_a_pause_of_now_does_not_explain_a_slot_that_has_lost_its_record(
    db: Database,
) -> None:
    schedule, slot = await made(db), await last_slot(db)
    async with db.transaction(actor="cli:1a2b") as tx:
        await update.pause(tx, await tenant_of(tx, schedule), schedule.id)
    answer = await ask(db, schedule, slot)
    assert answer.outcome == "unrecorded"
    assert "although the schedule was active" in answer.sentence


async def test_a_slot_that_passed_while_paused_names_the_pause_though_it_is_active_now(
    db: Database,
) -> None:
    schedule, slot = await made(db), await last_slot(db)
    async with db.transaction(actor="cli:1a2b") as tx:
        await update.pause(tx, await tenant_of(tx, schedule), schedule.id)
    async with db.transaction(actor="dashboard:operator") as tx:
        await update.resume(tx, await tenant_of(tx, schedule), schedule.id)
        # As if that had been hours ago.
        await tx.execute("UPDATE audit SET at = at - interval '2 h' WHERE action = 'paused'")
        await tx.execute("UPDATE audit SET was_since = was_since - interval '2 h'")
        await tx.execute("DELETE FROM firings")
    answer = await ask(db, schedule, slot - 30 * MINUTE)
    assert answer.outcome == "paused"
    assert "on the command line (key 1a2b), until" in answer.sentence
    assert (await ask(db, schedule, slot - 180 * MINUTE)).outcome == "unrecorded"


async def test_a_slot_of_an_earlier_trigger_is_judged_by_that_trigger(db: Database) -> None:
    schedule, slot = await made(db), await last_slot(db)
    async with db.transaction() as tx:
        tenant = await tenant_of(tx, schedule)
        await update.update(tx, tenant, schedule.id, {"cron_expr": "0 0 1 1 *"})
    async with db.transaction() as tx:
        found = await listing.find(tx, tenant.id, schedule.id)
    assert found is not None
    answer = await ask(db, found.schedule, slot)
    assert answer.outcome == "unrecorded"  # every minute was a slot then
    answer = await ask(db, found.schedule, slot - timedelta(seconds=53))
    assert "as it was defined then" in answer.sentence
