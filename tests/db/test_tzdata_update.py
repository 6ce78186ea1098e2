"""A newer tzdata: the timers of a shard are moved before they fire, once, and only forward."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from tests.db.firing_kit import HOUR, Fleet, fleet
from tests.db.leases_kit import member, write

from rota.clock import SystemClock
from rota.firing import Scheduler, Settings
from rota.leases import hold
from rota.runtime.tzdata_updater import TimersMoved, TzdataOutdated, TzdataUpdater
from rota.schedules import tzdata
from rota.triggers import zones
from rota.triggers.cron import Cron
from rota.watch import alerts

if TYPE_CHECKING:
    from uuid import UUID

    import pytest

    from rota.db import Database
    from rota.schedules.tzdata import Package

MADRID = "Europe/Madrid"
TICK = timedelta(microseconds=1)


def package(version: str, rules: str = "Europe/Athens") -> Package:
    """As if Madrid had the rules of another zone: by those of Athens, 09:00 is an hour earlier."""
    files = {**tzdata.installed().files, MADRID: zones.package_files()[rules]}
    return tzdata.Package(version, f"digest of {version}", files)


OLD = package("2001a")


async def armed_by(db: Database, old: Package) -> None:
    """All shards have been armed by these rules."""
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO tzdata_versions (digest, version, files) VALUES ($1, $2, $3)",
            old.digest,
            old.version,
            zlib.compress(msgspec.msgpack.encode(dict(old.files))),
        )
        await tx.execute(
            """INSERT INTO shard_tzdata (shard, digest) SELECT shard, $1 FROM leases
                   ON CONFLICT (shard) DO UPDATE SET digest = excluded.digest""",
            old.digest,
        )


def updater(engine: Fleet) -> TzdataUpdater:
    holder = engine.member
    return TzdataUpdater(engine.db, holder.elector, bus=holder.bus, clock=SystemClock())


def by_old_rules(expression: str, after: datetime) -> datetime:
    zone = OLD.zone(MADRID)
    assert zone is not None
    slot = Cron(expression, zone).next_after(after)
    assert slot is not None
    return slot


async def daily(engine: Fleet, after: datetime) -> tuple[UUID, datetime]:
    """A schedule for each day at some local time to come, armed by the old rules."""
    hour = (after + timedelta(hours=5)).hour
    expression = f"30 {hour} * * *"
    slot = by_old_rules(expression, after)
    made = await engine.add(slot=slot, cron_expr=expression, timezone=MADRID)
    return made, slot


async def test_what_moved_is_armed_anew_and_its_owner_gets_an_alert(db: Database) -> None:
    async with fleet(db) as engine:
        await armed_by(db, OLD)
        now = await engine.now()
        schedule, slot = await daily(engine, now)
        utc = await engine.add(slot=now + HOUR, cron_expr="0 3 * * *")
        update = updater(engine)
        assert len(await update.admit(engine.member.elector.held())) == 64
        assert await update.run_once() == 1
        assert await engine.slot(schedule) == slot + HOUR
        assert await engine.slot(utc) == now + HOUR
        async with db.transaction() as tx:
            [alert] = await alerts.are_open(tx, "moved")
        assert alert.schedule_id == schedule
        assert MADRID in alert.detail
        assert (slot + HOUR).isoformat().replace("+00:00", "Z") in alert.detail
        moved = engine.member.heard.all(TimersMoved)
        assert [(each.shards, each.moved) for each in moved] == [(64, 1)]


async def test_it_is_done_once_for_an_installation(db: Database) -> None:
    async with fleet(db) as engine:
        await armed_by(db, OLD)
        schedule, slot = await daily(engine, await engine.now())
        for moved in (1, 0):
            update = updater(engine)
            await update.admit(engine.member.elector.held())
            assert await update.run_once() == moved
            assert await engine.slot(schedule) == slot + HOUR


async def test_a_timer_waits_until_it_was_looked_at_and_others_fire(db: Database) -> None:
    """The issue's fault: 09:00 fired at the instant of the old rules, and then at the new one."""
    async with fleet(db) as engine:
        await armed_by(db, OLD)
        now = (await engine.now()).replace(microsecond=0)
        zone = OLD.zone(MADRID)
        assert zone is not None
        local = now.timestamp() + zone.offset_at(int(now.timestamp()))
        hour, minute = divmod(int(local) % 86_400 // 60, 60)
        expression = f"{minute} {hour} * * *"
        due = by_old_rules(expression, now - timedelta(seconds=60) - TICK)
        assert due <= now
        schedule = await engine.add(slot=due, cron_expr=expression, timezone=MADRID)
        utc = await engine.add(slot=due, cron_expr="* * * * *")
        update = updater(engine)
        settings = Settings(sweep_interval=timedelta())
        scheduler = Scheduler(
            db, engine.member.elector, bus=engine.member.bus, settings=settings, gate=update
        )
        await scheduler.run_once()
        assert await engine.queue(schedule) == []
        assert len(await engine.queue(utc)) == 1
        await update.run_once()
        await scheduler.run_once()
        assert await engine.queue(schedule) == []
        assert await engine.slot(schedule) == due + HOUR


async def test_a_local_day_that_has_fired_does_not_fire_again(db: Database) -> None:
    async with fleet(db) as engine:
        await armed_by(db, OLD)
        now = await engine.now()
        # What fired half an hour ago by the old rules comes in half an hour by the new ones.
        zone = OLD.zone(MADRID)
        assert zone is not None
        fired_at = now - HOUR / 2
        local = int(fired_at.timestamp()) + zone.offset_at(int(fired_at.timestamp()))
        hour, minute = divmod(local % 86_400 // 60, 60)
        expression = f"{minute} {hour} * * *"
        armed = by_old_rules(expression, now)
        assert armed - now > timedelta(hours=22)
        schedule = await engine.add(slot=armed, cron_expr=expression, timezone=MADRID)
        update = updater(engine)
        await update.admit(engine.member.elector.held())
        await update.run_once()
        assert await engine.slot(schedule) == armed + HOUR


async def test_it_goes_on_where_a_node_has_died(db: Database) -> None:
    """In batches, each with its place in the same transaction: nothing is moved twice."""
    async with fleet(db) as engine:
        await armed_by(db, OLD)
        now = await engine.now()
        # 10:30 by the old rules is 09:30 by the new: to look twice would be to move twice.
        slot = by_old_rules("30 9,10,11 * * *", now)
        made = [
            await engine.add(slot=slot, cron_expr="30 9,10,11 * * *", timezone=MADRID)
            for _ in range(5)
        ]
        leases = engine.member.elector.held()
        package_ = tzdata.installed()
        async with db.transaction() as tx:
            standing = await tzdata.standing(tx, [each.shard for each in leases], package_)
            [update] = standing.to_move
            fenced = await hold(tx, leases)
            moved, left = await tzdata.move_some(fenced, update, package_, limit=3)
        assert len(moved) == 3
        assert left is not None
        successor = updater(engine)
        await successor.admit(leases)
        assert await successor.run_once() == 2
        found = {await engine.slot(each) for each in made}
        assert len(found) == 1
        assert found == {slot + HOUR}


async def test_a_node_that_has_lost_its_shards_moves_nothing(db: Database) -> None:
    async with fleet(db) as engine:
        await armed_by(db, OLD)
        schedule, slot = await daily(engine, await engine.now())
        update = updater(engine)
        await update.admit(engine.member.elector.held())
        await write(db, "UPDATE leases SET fence = fence + 1")
        assert await update.run_once() == 0
        assert await engine.slot(schedule) == slot
        assert engine.member.elector.held() == ()
        async with db.transaction() as tx:
            assert await alerts.are_open(tx, "moved") == []


async def test_a_node_with_older_rules_moves_nothing_back_and_says_so(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rolling deploy: timers only ever move forward, also when the older node fires them."""
    async with fleet(db) as engine:
        await armed_by(db, OLD)
        schedule, slot = await daily(engine, await engine.now())
        newer = updater(engine)
        await newer.admit(engine.member.elector.held())
        await newer.run_once()
        with monkeypatch.context() as patched:
            patched.setattr(tzdata, "installed", lambda: OLD)
            older = updater(engine)
            await older.admit(engine.member.elector.held())
            assert await older.run_once() == 0
        [said] = engine.member.heard.all(TzdataOutdated)
        assert (said.version, said.newer) == (OLD.version, tzdata.installed().version)
        assert await engine.slot(schedule) == slot + HOUR
        # The older one fires another of them, and arms it by its own rules.
        other, behind = await daily(engine, await engine.now())
        again = updater(engine)
        await again.admit(engine.member.elector.held())
        assert await again.run_once() == 1
        assert await engine.slot(schedule) == slot + HOUR
        assert await engine.slot(other) == behind + HOUR


async def test_the_first_start_records_the_rules_and_moves_what_no_longer_is_a_slot(
    db: Database,
) -> None:
    """A database of an older Rota: nobody knows by which rules it was armed."""
    async with fleet(db) as engine:
        schedule, slot = await daily(engine, await engine.now())
        update = updater(engine)
        await update.admit(engine.member.elector.held())
        assert await update.run_once() == 1
        assert await engine.slot(schedule) == slot + HOUR
        async with db.transaction() as tx:
            shards = await tx.fetch_value(
                "SELECT count(*) FROM shard_tzdata WHERE digest = $1", tzdata.installed().digest
            )
        assert shards == 64


async def test_two_nodes_move_the_timers_of_their_own_shards(db: Database) -> None:
    async with fleet(db) as engine:
        await armed_by(db, OLD)
        now = await engine.now()
        made = [await daily(engine, now) for _ in range(20)]
        async with member(db) as second:
            await engine.member.elector.run_once()
            await second.elector.run_once()
            assert len(second.shards) == 32
            ours = updater(engine)
            theirs = TzdataUpdater(db, second.elector, bus=second.bus, clock=SystemClock())
            await ours.admit(engine.member.elector.held())
            await theirs.admit(second.elector.held())
            assert await ours.run_once() + await theirs.run_once() == 20
        for schedule, slot in made:
            assert await engine.slot(schedule) == slot + HOUR
