"""Pausing and resuming many schedules at once does to each what doing it to one does."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.schedules import Office, heard

from rota.events import Bus, Recorder
from rota.runtime.resuming import PausesEnded, Resumer
from rota.schedules import bulk_pause
from rota.schedules import schedule as rows_of
from rota.schedules.bulk_pause import BatchResult, PauseRequest

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def pause_all(office: Office, **more: Any) -> int:
    return await _all(office, bulk_pause.pause_some, **more)


async def resume_all(office: Office, **more: Any) -> int:
    return await _all(office, bulk_pause.resume_some, **more)


async def _all(office: Office, step: Any, *, limit: int = 2, **more: Any) -> int:
    wish, after, count = PauseRequest(tenant_id=office.tenant.id, **more), bulk_pause.START, 0
    while True:
        async with office.db.transaction() as tx:
            part: BatchResult = await step(tx, wish, after=after, limit=limit)
        count += part.changed + part.completed
        if part.last is None:
            return count
        after = part.last


async def states(office: Office) -> dict[str, str]:
    async with office.db.transaction() as tx:
        rows = await tx.fetch("SELECT key, status FROM schedules")
    return {row["key"]: row["status"] for row in rows}


async def busy(office: Office, key: str, now: datetime) -> Schedule:
    """A schedule with a firing in every state that a pause finds one in."""
    schedule = await office.create(name=key, key=key, max_firings=50)
    async with office.db.transaction() as tx:
        await tx.execute("UPDATE timers SET fired = 5 WHERE schedule_id = $1", schedule.id)
    await office.enqueue(schedule, slot=now - 3 * SECOND, state="running", attempt=1)
    await office.enqueue(schedule, slot=now - 2 * SECOND, state="retrying", attempt=1)
    await office.enqueue(schedule, slot=now - SECOND, state="waiting")
    await office.enqueue(schedule, slot=now, state="blocked")
    await office.enqueue(schedule, slot=now + HOUR, state="running", attempt=1)
    return schedule


async def seen(office: Office, schedule: Schedule) -> dict[str, Any]:
    """All that a pause leaves behind, but for ids and when it was."""
    timer = await office.timer(schedule)
    assert timer is not None

    def some(row: Row, *names: str) -> tuple[Any, ...]:
        return tuple(row[name] for name in names)

    return {
        "timer": some(timer, "parked", "scheduled_for", "fired", "touched"),
        "queue": [
            some(row, "scheduled_for", "state", "cancel_reason", "attempt")
            for row in await office.queue(schedule)
        ],
        "firings": [
            some(row, "scheduled_for", "status", "reason", "attempt", "last_slot_at", "slot_count")
            for row in await office.firings(schedule)
        ],
        "next": (await office.standing(schedule)).next_fire_at,
    }


async def test_each_is_paused_and_resumed_as_if_alone(office: Office) -> None:
    """The same rows, whether it was paused by itself or with all; and again once resumed."""
    now = await office.now()
    alone = await busy(office, "alone", now)
    await office.pause(alone)
    with_all = await busy(office, "with-all", now)
    # Made a moment later, it counts from there; let both count from the same.
    timer = await office.timer(alone)
    assert timer is not None
    slot: datetime = timer["scheduled_for"]
    async with office.db.transaction() as tx:
        await tx.execute("UPDATE timers SET scheduled_for = $1", slot)
        await tx.execute("UPDATE schedules SET anchor_at = $1", alone.anchor_at)
    assert await pause_all(office) == 1
    assert await seen(office, with_all) == await seen(office, alone)
    assert len((await seen(office, alone))["firings"]) == 3
    for each in (alone, with_all):
        await office.set_timer(each, slot - 5 * HOUR)
    await office.resume(alone)
    assert await resume_all(office) == 1
    assert await seen(office, with_all) == await seen(office, alone)
    assert (await office.standing(with_all)).schedule.status == "active"
    assert (await seen(office, alone))["firings"][0][-1] > 1


async def test_workers_that_hold_one_ahead_are_told(office: Office) -> None:
    schedule = await busy(office, "held", await office.now())
    async with heard(office.db, "rota_recall") as said:
        await pause_all(office)
    assert said == [str(schedule.id)]


async def test_what_people_paused_by_themselves_stays_paused(office: Office) -> None:
    own = await office.create(name="own", key="own")
    await office.pause(own)
    for name in ("a", "b", "c"):
        await office.create(name=name, key=name)
    later = await office.create(name="later", key="later")
    assert await pause_all(office) == 4
    assert set((await states(office)).values()) == {"paused"}
    # Paused by its owner while all were: that is the owner's own wish from now on.
    await office.pause(later)
    assert await resume_all(office) == 3
    assert await states(office) == {
        "own": "paused",
        "later": "paused",
        "a": "active",
        "b": "active",
        "c": "active",
    }
    assert await resume_all(office) == 0


async def test_one_that_was_resumed_by_itself_is_paused_again_only_on_request(
    office: Office,
) -> None:
    first = await office.create(name="a", key="a")
    await pause_all(office, reason="maintenance", until=await office.now() + HOUR)
    assert (await office.standing(first)).status_reason == "maintenance"
    await office.resume(first)
    assert (await office.standing(first)).status_reason is None
    await office.pause(first)
    assert await resume_all(office) == 0
    assert (await office.standing(first)).schedule.status == "paused"


async def test_a_tag_narrows_both(office: Office) -> None:
    await office.create(name="a", key="a", tags=["red", "big"])
    await office.create(name="b", key="b", tags=["blue"])
    await office.create(name="c", key="c")
    assert await pause_all(office, tag="red") == 1
    assert await states(office) == {"a": "paused", "b": "active", "c": "active"}
    assert await pause_all(office) == 2
    assert await resume_all(office, tag="blue") == 1
    assert await states(office) == {"a": "paused", "b": "active", "c": "paused"}
    assert await resume_all(office) == 2


async def test_a_schedule_without_a_slot_left_is_completed(office: Office) -> None:
    now = await office.now()
    once = await office.create(name="o", key="o", interval=None, run_at=(now + HOUR).isoformat())
    await pause_all(office)
    past = now - SECOND
    async with office.db.transaction() as tx:
        await tx.execute(
            """UPDATE schedules
                  SET definition = jsonb_set(definition, '{run_at}', to_jsonb($1::text))""",
            past.isoformat(),
        )
    await office.set_timer(once, past)
    assert await resume_all(office) == 1
    assert await states(office) == {"o": "completed"}
    assert await office.timer(once) is None
    (firing,) = await office.firings(once)
    assert (firing["status"], firing["reason"]) == ("skipped", "paused")


async def test_another_reason_and_end_reach_those_that_are_paused_already(office: Office) -> None:
    schedule = await office.create(name="a", key="a")
    own = await office.create(name="own", key="own")
    await office.pause(own)
    now = await office.now()
    await pause_all(office, until=now + HOUR)
    assert await _all(office, bulk_pause.renew_some, reason="longer", until=now + 2 * HOUR) == 1
    assert await _all(office, bulk_pause.renew_some, reason="longer", until=now + 2 * HOUR) == 0
    assert (await office.standing(schedule)).status_reason == "longer"
    assert (await office.standing(own)).status_reason is None


async def test_when_the_time_is_up_they_resume_by_themselves(office: Office) -> None:
    for name in ("a", "b", "c"):
        await office.create(name=name, key=name, tags=[name])
    own = await office.create(name="own", key="own")
    await office.pause(own)
    now = await office.now()
    await pause_all(office, tag="a", until=now - SECOND)
    await pause_all(office, tag="b", until=now - SECOND)
    await pause_all(office, tag="c", until=now + HOUR)
    bus = Bus()
    recorder = Recorder(bus)
    resumers = [Resumer(office.db, bus) for _ in range(4)]
    counts = await asyncio.gather(*(each.run_once() for each in resumers))
    assert sum(counts) == 2
    assert (await recorder.wait_for(PausesEnded)).count == 2
    assert await states(office) == {"a": "active", "b": "active", "c": "paused", "own": "paused"}
    assert await resumers[0].run_once() == 0


async def test_a_pause_of_all_beside_changes_of_single_ones_comes_to_an_end(
    office: Office,
) -> None:
    """Locks are taken in one order, and whoever loses a deadlock tries again."""
    made = [await office.create(name=f"s{at}", key=f"s{at}") for at in range(30)]
    for each in made:
        await office.enqueue(each)

    async def back_and_forth(step: Any) -> None:
        wish, after = PauseRequest(tenant_id=office.tenant.id), bulk_pause.START
        while True:
            start = after
            part: BatchResult = await office.db.run(
                lambda tx, start=start: step(tx, wish, after=start, limit=10), repeatable=True
            )
            if part.last is None:
                return
            after = part.last

    async def single(schedule: Schedule) -> None:
        await office.db.run(
            lambda tx: rows_of.lock(tx, office.tenant.id, schedule.id), repeatable=True
        )
        await office.pause(schedule)
        await office.resume(schedule)

    await asyncio.gather(
        back_and_forth(bulk_pause.pause_some),
        back_and_forth(bulk_pause.resume_some),
        *(single(each) for each in made[::3]),
    )
    await back_and_forth(bulk_pause.pause_some)
    assert set((await states(office)).values()) == {"paused"}
    async with office.db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM queue") == 0
        assert await tx.fetch_value("SELECT count(*) FROM firings WHERE reason = 'paused'") == 30
