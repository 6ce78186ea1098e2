"""Monitors as troubles: a ping that is missing or tells of a failure is told, and so is its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.db.schedules import Office
from tests.db.test_monitors import HOUR, MINUTE, make, move, say
from tests.db.watch_kit import make_channel, notice, rows, watch

from rota.events import Bus
from rota.watch import alerts
from rota.watch.monitor_pings import ping
from rota.watch.monitors import Monitors

if TYPE_CHECKING:
    from rota.db import Database

URL = "https://hooks.example.com/T0/SECRET"


async def _told(db: Database) -> list[str]:
    return [row["event"] for row in await rows(db, "notifications")]


async def test_a_ping_that_does_not_come_is_told_and_the_next_one_ends_it(db: Database) -> None:
    """NO1: the owner of a monitor hears of it as of any other slot that was missed."""
    office = await Office.open(db)
    await make_channel(db, office.tenant.id, URL)
    made = await make(office)
    await move(db, made, HOUR + 11 * MINUTE)
    assert await Monitors(db, Bus()).run_once() == 1
    await notice(db)
    (alert,) = await rows(db, "alerts")
    assert (alert["kind"], alert["schedule_id"]) == ("missed", made.id)
    assert "no ping" in alert["detail"]
    async with db.transaction(read_only=True) as tx:
        (listed,) = await alerts.listed(
            tx, office.tenant.id, installation=False, open_=True, kind=None, before=None, limit=9
        )
    assert listed.is_monitor
    await watch(db)
    assert await _told(db) == ["missed"]
    assert (await say(office, made)).counted
    await watch(db)
    assert await _told(db) == ["missed", "recovered"]


async def test_a_ping_that_tells_of_a_failure_is_told_and_one_of_the_same_window_ends_it(
    db: Database,
) -> None:
    """The second counts for no slot, and yet all is well again."""
    office = await Office.open(db)
    await make_channel(db, office.tenant.id, URL)
    made = await make(office)
    await move(db, made, 30 * MINUTE)
    assert (await say(office, made, said="failed", note="disk full")).counted
    await notice(db)
    (alert,) = await rows(db, "alerts")
    assert (alert["kind"], "disk full" in alert["detail"]) == ("dead", True)
    await watch(db)
    assert await _told(db) == ["dead"]
    assert not (await say(office, made)).counted
    await watch(db)
    assert await _told(db) == ["dead", "recovered"]


async def test_a_failure_after_all_was_well_is_told_once(db: Database) -> None:
    """The slot has its outcome, so history has no row of it; its owner hears of it all the same."""
    office = await Office.open(db)
    await make_channel(db, office.tenant.id, URL)
    made = await make(office)
    await move(db, made, 30 * MINUTE)
    assert (await say(office, made)).counted
    for _ in range(3):
        # As the API does it: the tenant may leave the note, and no more.
        async with db.transaction(tenant=office.tenant.id) as tx:
            done = await ping(tx, office.tenant.id, made.id, said="failed", note="half of it")
        assert (done.counted, done.state) == (False, "down")
    assert await notice(db) == 1
    (alert,) = await rows(db, "alerts")
    assert (alert["kind"], "half of it" in alert["detail"]) == ("dead", True)
    await watch(db)
    assert await _told(db) == ["dead"]
    await say(office, made)
    await watch(db)
    assert await _told(db) == ["dead", "recovered"]


async def test_a_paused_monitor_troubles_nobody(db: Database) -> None:
    office = await Office.open(db)
    await make_channel(db, office.tenant.id, URL)
    made = await make(office)
    await office.pause(made)
    await say(office, made, said="failed")
    assert await notice(db) == 0
    assert await rows(db, "alerts") == []
