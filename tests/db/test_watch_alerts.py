"""Alerts: one trouble is one alert, opened once, told with a count, and closed on recovery."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.db.queue_support import make_schedule
from tests.db.watch_kit import end, make_channel, notice, rows, run, watch

from rota.events import Bus, Recorder
from rota.watch import alerts
from rota.watch.events import AlertOpened
from rota.watch.outcomes import Noticer

if TYPE_CHECKING:
    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule

URL = "https://hooks.example.com/T0/SECRET"


async def _said(db: Database) -> list[tuple[str, str]]:
    return [(row["event"], row["title"]) for row in await rows(db, "notifications")]


def _type(row: Row) -> str:
    return msgspec.json.decode(row["content"])["type"]


async def test_a_dead_firing_opens_an_alert_and_is_told_once(db: Database) -> None:
    """RT5, NO1: the owner hears of what is dead, with the reason; a repeat is counted."""
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, URL)
    await end(db, schedule)
    bus = Bus()
    recorder = Recorder(bus)
    assert await Noticer(db, bus).run_once() == 1
    (alert,) = await rows(db, "alerts")
    assert (alert["kind"], alert["count"], alert["closed_at"]) == ("dead", 1, None)
    assert "HTTP 503, after 3 attempts" in alert["detail"]
    assert await _said(db) == [("dead", f"{schedule.name}: firings have failed for good")]
    assert [each.alert_id for each in recorder.all(AlertOpened)] == [alert["id"]]
    assert await rows(db, "unnoticed") == []

    for _ in range(3):
        await end(db, schedule)
    assert await notice(db) == 3
    assert await notice(db) == 0
    (alert,) = await rows(db, "alerts")
    assert (alert["count"], alert["told"]) == (4, 1)
    assert len(await _said(db)) == 1, "told again within a minute"


async def test_a_herd_is_one_notification_and_the_rest_follows_with_a_count(db: Database) -> None:
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, URL)
    for _ in range(25):
        await end(db, schedule)
    await notice(db)
    for _ in range(4):
        await end(db, schedule)
    await notice(db)
    await run(db, "UPDATE alerts SET told_at = told_at - interval '1 minute'")
    await notice(db)
    first, second = await rows(db, "notifications")
    assert "(25)" in first["title"]
    assert "(4 more)" in second["title"]
    assert (_type(first), _type(second)) == ("alert.opened", "alert.again")


async def test_many_schedules_at_once_are_one_notification(db: Database) -> None:
    first = await make_schedule(db)
    await make_channel(db, first.tenant_id, URL)
    for _ in range(20):
        await end(db, await make_schedule(db, tenant_id=first.tenant_id))
    await notice(db)
    assert len(await rows(db, "alerts")) == 20
    assert await _said(db) == [("dead", "20 schedules: firings have failed for good")]


async def test_a_success_afterwards_closes_it_and_is_told_as_recovered(db: Database) -> None:
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, URL)
    await end(db, schedule, "succeeded", ago=timedelta(minutes=1))
    await end(db, schedule)
    await notice(db)
    await watch(db)
    assert [row["closed_at"] for row in await rows(db, "alerts")] == [None], "by an older success"
    await end(db, schedule, "succeeded")
    await watch(db)
    (alert,) = await rows(db, "alerts")
    assert alert["closed_at"] is not None
    assert [event for event, _ in await _said(db)] == ["dead", "recovered"]
    await end(db, schedule)
    await notice(db)
    assert len(await rows(db, "alerts")) == 2, "a new trouble is a new alert"


async def test_missed_slots_are_told_with_how_many_there_were(db: Database) -> None:
    """MO2."""
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, URL)
    await end(db, schedule, "missed", reason="older than the window", slots=7)
    await end(db, schedule, "skipped")
    await notice(db)
    assert await _said(db) == [("missed", f"{schedule.name}: slots were missed (7)")]


async def test_a_deleted_schedule_has_no_open_alert(db: Database) -> None:
    schedule = await make_schedule(db)
    await end(db, schedule)
    await notice(db)
    await run(db, "DELETE FROM schedules WHERE id = $1", schedule.id)
    await watch(db)
    (alert,) = await rows(db, "alerts")
    assert alert["closed_at"] is not None


async def test_what_a_tenant_left_behind_is_in_nobodys_way(db: Database) -> None:
    gone, here = await make_schedule(db), await make_schedule(db)
    await end(db, gone)
    await end(db, here)
    await run(db, "DELETE FROM schedules WHERE id = $1", gone.id)
    await run(db, "DELETE FROM tenants WHERE id = $1", gone.tenant_id)
    assert await notice(db) == 1
    assert [row["tenant_id"] for row in await rows(db, "alerts")] == [here.tenant_id]
    assert await rows(db, "unnoticed") == []


async def test_nodes_that_notice_at_the_same_time_open_one_alert(db: Database) -> None:
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, URL)
    for _ in range(40):
        await end(db, schedule)
    taken = await asyncio.gather(*(notice(db) for _ in range(4)))
    assert sum(taken) == 40
    (alert,) = await rows(db, "alerts")
    assert alert["count"] == 40
    assert len(await _said(db)) == 1


async def test_channels_hear_what_they_want_and_nothing_of_others(db: Database) -> None:
    tagged = await make_schedule(db)
    other = await make_schedule(db)
    await run(db, "UPDATE schedules SET tags = '{billing}' WHERE id = $1", tagged.id)
    mine = tagged.tenant_id
    await make_channel(db, mine, URL, name="all")
    await make_channel(db, mine, URL, name="billing", tags=["billing", "x"])
    await make_channel(db, mine, URL, name="search", tags=["search"])
    await make_channel(db, mine, URL, name="missed", events=["missed"])
    await make_channel(db, mine, URL, name="off", enabled=False)
    await make_channel(db, other.tenant_id, URL, name="others")
    await end(db, tagged)
    await notice(db)
    async with db.transaction() as tx:
        heard = await tx.fetch(
            "SELECT c.name FROM notifications n JOIN channels c ON c.id = n.channel_id ORDER BY 1"
        )
    assert [row["name"] for row in heard] == ["all", "billing"]


async def test_successes_are_told_once_to_those_who_ask(db: Database) -> None:
    schedule = await make_schedule(db)
    await end(db, schedule, "succeeded")
    await make_channel(db, schedule.tenant_id, URL, events=["succeeded"])
    await make_channel(db, schedule.tenant_id, URL, name="usual")
    firing = await end(db, schedule, "succeeded")
    for _ in range(3):
        await notice(db)
    (said,) = await rows(db, "notifications")
    assert (said["event"], said["firing_id"]) == ("succeeded", firing)


async def test_the_outcome_and_its_note_are_one_transaction(db: Database) -> None:
    """What is in history has been noted; what is not in history has not."""
    schedule = await make_schedule(db)

    async def record() -> None:
        async with db.transaction(tenant=schedule.tenant_id) as tx:
            await tx.execute(
                """INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                                        triggered_by, finished_at)
                   VALUES (gen_random_uuid(), $1, $2, 1, now(), 'dead', 'api', now())""",
                schedule.id,
                schedule.tenant_id,
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await record()
    assert await rows(db, "unnoticed") == []


async def _open_alerts(
    db: Database, schedule: Schedule, count: int, *, told: int, ago: str
) -> None:
    """Alerts of its tenant with more to tell, last told of so long ago."""
    await run(
        db,
        """INSERT INTO alerts (id, tenant_id, kind, subject, detail, count, told_count, told,
                               told_at)
           SELECT gen_random_uuid(), $1, 'dead', gen_random_uuid()::text, 'x', 9, 5, $3::integer,
                  CASE WHEN $3 > 0 THEN now() - $4::text::interval END
             FROM generate_series(1, $2)""",
        schedule.tenant_id,
        count,
        told,
        ago,
    )


@pytest.mark.parametrize(
    ("told", "ago", "again"),
    [
        (1, "59 seconds", False),
        (1, "61 seconds", True),
        (2, "9 minutes", False),
        (2, "11 minutes", True),
        (5, "23 hours", False),
        (5, "25 hours", True),
        (900, "25 hours", True),
    ],
)
async def test_a_trouble_that_lasts_is_told_ever_less_often(
    db: Database, told: int, ago: str, again: bool
) -> None:
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, URL)
    await _open_alerts(db, schedule, 1, told=told, ago=ago)
    async with db.transaction() as tx:
        assert await alerts.tell(tx) == int(again)
    assert len(await _said(db)) == int(again)


async def test_what_may_not_be_told_yet_is_in_nobodys_way(db: Database) -> None:
    """S12: more than a batch that waits for its day must not hide what is due now."""
    old, new = await make_schedule(db), await make_schedule(db)
    for each in (old, new):
        await make_channel(db, each.tenant_id, URL)
    await _open_alerts(db, old, 600, told=5, ago="20 hours")
    await _open_alerts(db, new, 1, told=1, ago="2 minutes")
    async with db.transaction() as tx:
        assert await alerts.tell(tx) == 1
    assert [row["tenant_id"] for row in await rows(db, "notifications")] == [new.tenant_id]


async def test_a_tenant_with_very_many_troubles_delays_its_own(db: Database) -> None:
    """S12: the first of each tenant, then the second of each."""
    loud, quiet = await make_schedule(db), await make_schedule(db)
    for each in (loud, quiet):
        await make_channel(db, each.tenant_id, URL)
    await _open_alerts(db, loud, 1_200, told=1, ago="3 hours")
    await _open_alerts(db, quiet, 2, told=1, ago="2 minutes")
    async with db.transaction() as tx:
        assert await alerts.tell(tx) == 500
    told = [row["tenant_id"] for row in await rows(db, "notifications")]
    assert told.count(quiet.tenant_id) == 2
