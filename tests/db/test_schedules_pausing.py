"""Pausing one schedule with a reason and an end: it resumes by itself, and only then."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.schedules import Office

from rota.errors import InvalidInput
from rota.events import Bus, Recorder
from rota.runtime.resuming import PausesEnded, Resumer
from rota.schedules import bulk_pause
from rota.schedules.bulk_pause import PauseRequest
from rota.schedules.pause import pause as pause_schedule

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db import Database
    from rota.schedules.schedule import Schedule

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def pause(office: Office, schedule: Schedule, **more: Any) -> None:
    async with office.db.transaction(tenant=office.tenant.id) as tx:
        await pause_schedule(tx, office.tenant, schedule.id, **more)


async def told(office: Office, schedule: Schedule) -> tuple[str, str | None, datetime | None]:
    now = await office.standing(schedule)
    return now.schedule.status, now.status_reason, now.paused_until


async def let_it_end(office: Office, schedule: Schedule) -> None:
    """As if the instant had come."""
    async with office.db.transaction() as tx:
        await tx.execute(
            "UPDATE schedules SET paused_until = now() - interval '1 s' WHERE id = $1", schedule.id
        )


async def test_the_last_word_on_why_and_until_when_counts(office: Office) -> None:
    made, later = await office.create(), await office.now() + HOUR
    await pause(office, made, reason="  the database moves ", until=later)
    assert await told(office, made) == ("paused", "the database moves", later)
    await pause(office, made, until=later + HOUR)
    assert await told(office, made) == ("paused", None, later + HOUR)
    await pause(office, made, reason="for good")
    assert await told(office, made) == ("paused", "for good", None)
    await pause(office, made, reason="for now", until=later)
    # Without a word its end is taken back: it was to be paused, and that is all.
    await pause(office, made)
    assert await told(office, made) == ("paused", "for now", None)
    await office.resume(made)
    assert await told(office, made) == ("active", None, None)


async def test_it_resumes_by_itself_as_if_somebody_had_asked(office: Office) -> None:
    """MF1: what passed meanwhile is recorded as skipped."""
    over, other, endless = [await office.create(key=key) for key in "abc"]
    now = await office.now()
    await pause(office, over, until=now + HOUR)
    await pause(office, other, until=now + HOUR)
    await pause(office, endless, reason="until somebody says so")
    await let_it_end(office, over)
    await office.set_timer(over, now - SECOND)
    bus = Bus()
    recorder = Recorder(bus)
    resumers = [Resumer(office.db, bus) for _ in range(4)]
    counts = await asyncio.gather(*(each.run_once() for each in resumers))
    assert sum(counts) == 1
    assert [each.count for each in recorder.all(PausesEnded)] == [1]
    assert await told(office, over) == ("active", None, None)
    (skipped,) = await office.firings(over)
    assert (skipped["status"], skipped["reason"]) == ("skipped", "paused")
    assert (await told(office, other))[0] == "paused"
    assert (await told(office, endless))[0] == "paused"


async def test_resuming_all_leaves_it_alone_and_its_end_comes_before_theirs(
    office: Office,
) -> None:
    """One that was paused by itself is neither resumed with the others nor in their way."""
    own, with_all = await office.create(key="own"), await office.create(key="all")
    now = await office.now()
    await pause(office, own, reason="mine", until=now + HOUR)
    wish = PauseRequest(tenant_id=office.tenant.id, until=now + HOUR)
    async with office.db.transaction() as tx:
        await bulk_pause.pause_some(tx, wish)
    async with office.db.transaction() as tx:
        await bulk_pause.renew_some(tx, wish)
    assert await told(office, own) == ("paused", "mine", now + HOUR)
    async with office.db.transaction() as tx:
        await bulk_pause.resume_some(tx, wish)
    assert (await told(office, own))[0] == "paused"
    async with office.db.transaction() as tx:
        await bulk_pause.pause_some(tx, wish)
    for each in (own, with_all):
        await let_it_end(office, each)
    assert await Resumer(office.db, Bus()).run_once() == 2
    assert (await told(office, own))[0] == (await told(office, with_all))[0] == "active"


@pytest.mark.parametrize(
    ("field", "value"),
    [("reason", " "), ("reason", "two\nlines"), ("reason", "x" * 201), ("until", "past")],
)
async def test_what_cannot_be_taken_pauses_nothing(office: Office, field: str, value: str) -> None:
    made = await office.create()
    given = await office.now() - SECOND if value == "past" else value
    with pytest.raises(InvalidInput) as refused:
        await pause(office, made, **{field: given})
    assert refused.value.field == field
    assert (await told(office, made))[0] == "active"
