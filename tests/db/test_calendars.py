"""Calendars: their days travel with the schedules that have them, and a change arms anew."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.firing_kit import fleet
from tests.db.queue_support import until_waiting
from tests.db.schedules import SHARDS, Office, heard

from rota.events import Bus
from rota.schedules import backfill, bulk_pause
from rota.schedules.calendars import countries, rearm, service
from rota.schedules.calendars.refresher import CalendarRenewed, Refresher, rearm_all
from rota.schedules.calendars.service import CalendarInUse, NoSuchCalendar
from rota.schedules.create import create, create_many
from rota.schedules.errors import InvalidSchedule
from rota.schedules.schedule_cache import ScheduleCache
from rota.time_slicer import TimeSlicer

if TYPE_CHECKING:
    from rota.db import Database
    from rota.schedules.schedule import Schedule

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
DAILY: dict[str, Any] = {"interval": None, "cron_expr": "0 12 * * *"}


async def put(office: Office, name: str, **given: Any) -> int:
    """Make or change a calendar, as the API does; how many schedules were armed anew."""
    today = (await office.now()).date()
    draft = await service.read(name, given, today=today)
    async with office.db.transaction() as tx:
        created = await service.put(tx, office.tenant.id, draft)
    return 0 if created else await rearm_all(office.db, office.tenant.id, name)


async def noons(office: Office, *days_ahead: int) -> list[datetime]:
    """Noon of those days from tomorrow on."""
    today = (await office.now()).replace(hour=12, minute=0, second=0, microsecond=0)
    return [today + each * DAY for each in days_ahead]


async def slot(office: Office, schedule: Schedule) -> datetime | None:
    timer = await office.timer(schedule)
    return None if timer is None else timer["scheduled_for"]


def iso(*instants: datetime) -> list[str]:
    return [each.date().isoformat() for each in instants]


async def test_a_schedule_is_armed_past_the_dates_that_are_left_out(db: Database) -> None:
    office = await Office.open(db)
    today, tomorrow, third, fourth = await noons(office, 0, 1, 2, 3)
    await put(office, "off", dates=iso(today, tomorrow, third))
    made = await office.create(**DAILY, calendar="off")
    assert await slot(office, made) == fourth
    standing = await office.standing(made)
    assert standing.next_fire_at == fourth
    assert standing.schedule == made
    assert standing.schedule.trigger.next_after(await office.now()) == fourth


async def test_a_change_arms_anew_from_now_and_firing_sees_it(db: Database) -> None:
    """The version moves, so whoever has the schedule in a cache reads it again."""
    office = await Office.open(db)
    today, tomorrow, third, fourth = await noons(office, 0, 1, 2, 3)
    await put(office, "off", dates=iso(today, tomorrow))
    made = await office.create(**DAILY, calendar="off")
    plain = await office.create(name="plain", **DAILY)
    assert await slot(office, made) == third
    assert await put(office, "off", dates=iso(today, tomorrow, third)) == 1
    assert await slot(office, made) == fourth
    timer, other = await office.timer(made), await office.timer(plain)
    assert timer is not None
    assert other is not None
    assert (timer["version"], other["version"]) == (2, 1)
    cache = ScheduleCache()
    assert await cache.refresh(db, [made.id, plain.id]) == {}
    assert cache.snapshot(made.id, 1) is None
    snapshot = cache.snapshot(made.id, 2)
    assert snapshot is not None
    assert snapshot.trigger.next_after(today - DAY) == fourth
    assert await office.firings(made) == []
    # The same again changes nothing.
    assert await put(office, "off", dates=iso(today, tomorrow, third)) == 0
    assert await put(office, "off", dates=iso(today, tomorrow, third), description="x") == 0


@pytest.mark.parametrize("state", ["waiting", "running"])
async def test_what_is_prepared_for_a_date_left_out_now_is_taken_back(
    db: Database, state: str
) -> None:
    office = await Office.open(db)
    today, tomorrow, third = await noons(office, 0, 1, 2)
    await put(office, "off", dates=iso(today))
    made = await office.create(**DAILY, calendar="off")
    firing = await office.enqueue(made, slot=tomorrow, state=state, attempt=int(state == "running"))
    await office.set_timer(made, third)
    async with heard(db, "rota_recall") as payloads:
        await put(office, "off", dates=iso(today, tomorrow))
    if state == "running":
        # A worker holds it ahead of its instant, and is asked to give it back.
        assert payloads == [str(made.id)]
        (row,) = await office.queue(made)
        assert (row["id"], row["cancel_reason"]) == (firing, "edited")
    else:
        (ended,) = await office.firings(made)
        assert (ended["id"], ended["status"], ended["reason"]) == (firing, "skipped", "edited")
    assert await slot(office, made) == third


async def test_what_is_live_otherwise_goes_on_as_it_was(db: Database) -> None:
    office = await Office.open(db)
    (far,) = await noons(office, 20)
    await put(office, "off", dates=iso(far))
    made = await office.create(interval="1h", calendar="off")
    ahead = made.anchor_at + HOUR
    await office.enqueue(made, slot=ahead)
    await office.enqueue(made, state="retrying", attempt=1)
    run = await office.trigger(made)
    await put(office, "off", dates=iso(far, far + DAY))
    rows = await office.queue(made)
    assert {row["version"] for row in rows} == {2}
    assert run.id in {row["id"] for row in rows} or run.status == "skipped"
    assert [row["state"] for row in rows if row["cancel_reason"]] == []
    assert await slot(office, made) == ahead + HOUR


async def test_nothing_is_fired_for_the_past_and_a_pause_stays_one(db: Database) -> None:
    office = await Office.open(db)
    today, tomorrow, third = await noons(office, 0, 1, 2)
    yesterday = today - DAY
    await put(office, "off", dates=iso(yesterday, today, tomorrow))
    made = await office.create(**DAILY, calendar="off")
    paused = await office.pause(await office.create(name="p", **DAILY, calendar="off"))
    await put(office, "off", dates=iso(today + 40 * DAY))
    found = await slot(office, made)
    assert found is not None
    assert found > await office.now()
    assert await office.firings(made) == []
    timer = await office.timer(paused)
    assert timer is not None
    assert timer["parked"]
    assert (await office.standing(paused)).schedule.status == "paused"
    resumed = await office.resume(paused)
    assert resumed.status == "active"
    assert third is not None


async def test_one_that_no_date_is_left_for_is_completed_and_comes_back_with_the_date(
    db: Database,
) -> None:
    office = await Office.open(db)
    (third,) = await noons(office, 2)
    await put(office, "off", dates=iso(third + DAY))
    made = await office.create(interval=None, run_at=third, calendar="off")
    await put(office, "off", dates=iso(third))
    assert (await office.standing(made)).schedule.status == "completed"
    assert await slot(office, made) is None
    await put(office, "off", dates=iso(third + DAY))
    assert (await office.standing(made)).schedule.status == "active"
    assert await slot(office, made) == third


async def test_an_edit_takes_a_calendar_and_takes_it_away(db: Database) -> None:
    office = await Office.open(db)
    today, tomorrow, third = await noons(office, 0, 1, 2)
    await put(office, "off", dates=iso(today, tomorrow))
    made = await office.create(**DAILY)
    await office.update(made, calendar="off")
    assert await slot(office, made) == third
    await office.update(made, calendar=None)
    assert await slot(office, made) in {today, tomorrow}
    with pytest.raises(InvalidSchedule, match="such as off"):
        await office.update(made, calendar="of")


async def test_many_at_once_are_armed_by_it_and_resumed_together_by_it(db: Database) -> None:
    office = await Office.open(db)
    today, tomorrow, third = await noons(office, 0, 1, 2)
    await put(office, "off", dates=iso(today, tomorrow))
    items = [
        {"name": f"n{n}", "cron_expr": "0 12 * * *", "job_type": "t", "calendar": "off"}
        for n in range(3)
    ]
    saved = await create_many(db, office.tenant, items, shards=64)
    assert [await slot(office, each.schedule) for each in saved] == [third] * 3
    wish = bulk_pause.PauseRequest(tenant_id=office.tenant.id)
    async with db.transaction() as tx:
        await bulk_pause.pause_some(tx, wish)
    async with db.transaction() as tx:
        await bulk_pause.resume_some(tx, wish)
    assert [await slot(office, each.schedule) for each in saved] == [third] * 3
    wrong = [{**items[0], "name": "x", "calendar": "nope"}]
    with pytest.raises(InvalidSchedule, match="calendar"):
        await create_many(db, office.tenant, wrong, shards=64)


async def test_a_backfill_leaves_the_dates_out_too(db: Database) -> None:
    office = await Office.open(db)
    (today,) = await noons(office, 0)
    await put(office, "off", dates=iso(today - 2 * DAY))
    made = await office.create(**DAILY, calendar="off")
    async with db.transaction() as tx:
        filled = await backfill.backfill(
            tx,
            office.tenant,
            made.id,
            since=today - 4 * DAY,
            until=today - DAY,
            slicer=TimeSlicer(),
        )
    assert [at for _, at in filled.firings] == [today - 4 * DAY, today - 3 * DAY]


async def test_a_calendar_that_comes_into_use_at_that_very_moment_stays(db: Database) -> None:
    """Who waits for a schedule that is being made with it sees that schedule afterwards."""
    office = await Office.open(db)
    (noon,) = await noons(office, 0)
    await put(office, "off", dates=iso(noon))

    async def delete() -> None:
        async with db.transaction() as tx:
            await service.delete(tx, office.tenant.id, "off")

    async with db.transaction() as tx:
        fields = {"name": "made", "target_url": "https://example.com", "cron_expr": "0 12 * * *"}
        await create(tx, office.tenant, fields | {"calendar": "off"}, shards=SHARDS)
        deleting = asyncio.create_task(delete())
        await until_waiting(tx, 1)
    with pytest.raises(CalendarInUse, match="1 schedule"):
        await deleting


async def test_a_calendar_that_is_in_use_stays(db: Database) -> None:
    office = await Office.open(db)
    await put(office, "off", weekdays=["sunday"])
    made = await office.create(**DAILY, calendar="off")
    with pytest.raises(CalendarInUse, match="1 schedule"):
        async with db.transaction() as tx:
            await service.delete(tx, office.tenant.id, "off")
    await office.delete(made)
    async with db.transaction() as tx:
        await service.delete(tx, office.tenant.id, "off")
    with pytest.raises(NoSuchCalendar):
        async with db.transaction() as tx:
            await service.find(tx, office.tenant.id, "off")


async def test_one_made_while_the_calendar_changes_is_armed_by_the_new_days(db: Database) -> None:
    """Whoever makes it holds the calendar, so the change comes after it and finds it."""
    office = await Office.open(db)
    today, tomorrow, third, fourth = await noons(office, 0, 1, 2, 3)
    await put(office, "off", dates=iso(today, tomorrow))
    from rota.schedules.create import create  # noqa: PLC0415 - beside its only use

    fields = {"name": "n", "cron_expr": "0 12 * * *", "job_type": "t", "calendar": "off"}
    async with db.transaction() as tx:
        made = (await create(tx, office.tenant, fields, shards=64)).schedule
        changing = asyncio.create_task(put(office, "off", dates=iso(today, tomorrow, third)))
        await asyncio.wait({changing}, timeout=0.2)
        assert not changing.done()
    assert await changing == 1
    assert await slot(office, made) == fourth


async def test_what_was_left_half_way_is_armed_by_the_loop(db: Database) -> None:
    office = await Office.open(db)
    today, tomorrow, third, fourth = await noons(office, 0, 1, 2, 3)
    await put(office, "off", dates=iso(today, tomorrow))
    made = [await office.create(name=f"n{n}", **DAILY, calendar="off") for n in range(3)]
    draft = await service.read("off", {"dates": iso(today, tomorrow, third)}, today=today.date())
    async with db.transaction() as tx:
        await service.put(tx, office.tenant.id, draft)
    async with db.transaction() as tx:
        part = await rearm.rearm_some(tx, office.tenant.id, "off", limit=1)
    assert part.changed == 1
    refresher = Refresher(db, Bus())
    assert await refresher.run_once() == 2
    assert [await slot(office, each) for each in made] == [fourth] * 3
    assert await refresher.run_once() == 0


async def test_holidays_are_written_out_anew_when_they_are_old(db: Database) -> None:
    office = await Office.open(db)
    await put(office, "us", country="US")
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE calendars SET package = '0.1', until_year = until_year - 1, days = '{}'"
        )
    made = await office.create(interval=None, cron_expr="0 12 4 7 *", calendar="us")
    christmas = date((await office.now()).year + 1, 12, 25)
    bus = Bus()
    renewed: list[CalendarRenewed] = []
    bus.subscribe(CalendarRenewed, renewed.append)
    assert await Refresher(db, bus).run_once() == 1
    assert [event.name for event in renewed] == ["us"]
    async with db.transaction() as tx:
        found = await service.find(tx, office.tenant.id, "us")
    assert found.package == countries.VERSION
    assert not found.days.includes(christmas)
    # The fourth of July is always one, as far as it is written out.
    upcoming = (await office.standing(made)).next_fire_at
    assert upcoming is not None
    assert found.until_year is not None
    assert upcoming.year == found.until_year + 1
    assert await Refresher(db, bus).run_once() == 0


async def test_an_outage_over_dates_that_are_left_out_misses_nothing_on_them(db: Database) -> None:
    """MF1: what is missed is counted without them."""
    async with fleet(db) as engine:
        office = await Office.open(db)
        now = (await engine.now()).replace(minute=0, second=0, microsecond=0)
        out = now.date() - DAY
        await put(office, "off", dates=[out.isoformat()])
        made = await office.create(
            interval=None, cron_expr="0 * * * *", calendar="off", misfire_policy="skip"
        )
        start = datetime.combine(out, datetime.min.time(), now.tzinfo) - 2 * HOUR
        await office.set_timer(made, start)
        await engine.drain()
        rows = await engine.firings(made.id)
        passed = sum(row["slot_count"] for row in rows) + len(await engine.queue(made.id))
        hours = (
            2 + (now - datetime.combine(now.date(), datetime.min.time(), now.tzinfo)) // HOUR + 1
        )
        assert passed == hours
