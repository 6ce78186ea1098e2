"""The loop: wakes in time, hears of what is new, survives what goes wrong."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.firing_kit import HOUR, Fleet, fleet
from tests.db.leases_kit import write

from rota.db import Conflict, Listener
from rota.firing import CHANNEL, PassDone, Scheduler, Settings
from rota.firing import scheduler as scheduler_module
from rota.firing.fire import Reading, read_due
from rota.service import ServiceDelayed, ServiceFailed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from datetime import datetime

    from rota.db import Database

SECOND = timedelta(seconds=1)
NEVER = timedelta(hours=1)


@asynccontextmanager
async def running(scheduler: Scheduler) -> AsyncGenerator[None]:
    task = asyncio.create_task(scheduler.service().run())
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_the_loop_fires_a_schedule_again_and_again(db: Database) -> None:
    async with fleet(db, Settings(lead=timedelta(milliseconds=100))) as engine:
        now = (await engine.now()).replace(microsecond=0)
        schedule = await engine.add(slot=now, interval=1, overlap_policy="allow")
        async with running(engine.scheduler):
            for count in (1, 2, 3):
                await engine.member.heard.wait_for(
                    PassDone,
                    where=lambda _, n=count: (
                        sum(event.fired for event in engine.member.heard.all(PassDone)) >= n
                    ),
                )
        rows = await engine.queue(schedule)
        slots = [row["scheduled_for"] for row in rows]
        assert slots == [now + n * SECOND for n in range(len(slots))]


async def test_news_of_a_shard_wakes_the_loop(dsn: str, db: Database) -> None:
    """NOTIFY makes it prompt; the poll alone would take an hour here."""
    async with fleet(db) as engine, Listener(dsn, [CHANNEL]) as listener:
        news = listener.subscribe(CHANNEL)
        settings = Settings(poll_interval=NEVER, sweep_interval=NEVER)
        scheduler = Scheduler(
            db, engine.member.elector, bus=engine.member.bus, news=news, settings=settings
        )
        async with running(scheduler):
            first = await engine.add(slot=await engine.now())
            await write(db, "SELECT pg_notify('rota_timers', shard::text) FROM timers")
            await engine.member.heard.wait_for(PassDone)
            assert len(await engine.queue(first)) == 1
            # Below the mark by now, and found all the same.
            second = await engine.add(slot=await engine.now() - SECOND)
            await write(
                db,
                "SELECT pg_notify('rota_timers', shard::text) FROM timers WHERE schedule_id = $1",
                second,
            )
            await engine.member.heard.wait_for(
                PassDone, where=lambda _: len(engine.member.heard.all(PassDone)) == 2
            )
            assert len(await engine.queue(second)) == 1


async def test_without_news_a_sweep_finds_what_appeared_below_the_mark(db: Database) -> None:
    """A missed notice is recovered from."""
    settings = Settings(
        poll_interval=timedelta(milliseconds=20), sweep_interval=timedelta(milliseconds=50)
    )
    async with fleet(db, settings) as engine, running(engine.scheduler):
        for _ in range(3):
            heard = len(engine.member.heard.all(PassDone))
            await engine.add(slot=await engine.now() - SECOND)
            await engine.member.heard.wait_for(
                PassDone, where=lambda _, n=heard: len(engine.member.heard.all(PassDone)) > n
            )


async def test_reads_stay_above_the_mark_until_the_next_sweep(db: Database) -> None:
    async with fleet(db, Settings(sweep_interval=NEVER)) as engine:
        await engine.scheduler.run_once()
        late = await engine.add(slot=await engine.now() - HOUR)
        await engine.scheduler.run_once()
        assert await engine.queue(late) == [], "nobody announced it"
        ahead = await engine.add(slot=await engine.now() + 3 * SECOND)
        engine.scheduler._settings = Settings(lead=timedelta(seconds=5), sweep_interval=NEVER)
        await engine.scheduler.run_once()
        assert len(await engine.queue(ahead)) == 1


async def test_the_loop_goes_on_after_an_error(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    async def failing_twice(
        db: Database, lows: Mapping[int, datetime], *, lead: timedelta, limit: int
    ) -> Reading:
        nonlocal calls
        calls += 1
        if calls <= 2:
            raise (Conflict("passing trouble") if calls == 1 else RuntimeError("a bug"))
        return await read_due(db, lows, lead=lead, limit=limit)

    monkeypatch.setattr(scheduler_module, "read_due", failing_twice)
    async with fleet(db, Settings(poll_interval=timedelta(milliseconds=20))) as engine:
        schedule = await engine.add(slot=await engine.now())
        async with running(engine.scheduler):
            await engine.member.heard.wait_for(PassDone)
        assert len(engine.member.heard.all(ServiceDelayed)) == 1
        assert len(engine.member.heard.all(ServiceFailed)) == 1
        assert len(await engine.queue(schedule)) == 1


async def test_the_loop_survives_its_sessions_being_ended(db: Database) -> None:
    settings = Settings(poll_interval=timedelta(milliseconds=20), sweep_interval=timedelta())
    async with fleet(db, settings) as engine, running(engine.scheduler):
        await _end_all_other_sessions(engine)
        schedule = await engine.add(slot=await engine.now())
        await engine.member.heard.wait_for(PassDone)
        assert len(await engine.queue(schedule)) == 1


async def test_the_loop_wakes_a_lead_before_the_next_timer_is_due(db: Database) -> None:
    """No poll in between: the wait is worked out from the next timer, by the database's clock."""
    lead = timedelta(milliseconds=200)
    settings = Settings(lead=lead, poll_interval=NEVER, sweep_interval=NEVER)
    async with fleet(db, settings) as engine:
        slot = await engine.now() + timedelta(seconds=1)
        schedule = await engine.add(slot=slot)
        async with running(engine.scheduler):
            await engine.member.heard.wait_for(PassDone)
            assert await engine.now() >= slot - lead
        assert len(await engine.queue(schedule)) == 1


async def _end_all_other_sessions(engine: Fleet) -> None:
    async with engine.db.transaction() as tx:
        await tx.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                  AND application_name = 'rota tests'"""
        )
