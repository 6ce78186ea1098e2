"""Waking up: by NOTIFY, after a lost connection, and in any case in time (QW17)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.backoff import Backoff
from rota.clock import ManualClock
from rota.db import Cause, Database, Listener, Notice, Subscription, Wake

LONG = timedelta(minutes=5)
QUICK = Backoff(first_interval=timedelta(milliseconds=1), max_interval=timedelta(milliseconds=20))

_END_LISTENERS = """
    SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'rota listen'
"""


async def notify(db: Database, channel: str, payload: str = "") -> None:
    async with db.transaction() as tx:
        await tx.execute("SELECT pg_notify($1, $2)", channel, payload)


async def test_a_new_connection_counts_as_news(dsn: str) -> None:
    async with Listener(dsn, ["timers"]) as listener:
        assert await listener.subscribe("timers").wait(LONG) == Wake(Cause.MISSED)
        assert listener.connected
        assert (await listener.subscribe("timers").wait(LONG)).cause is Cause.MISSED


async def test_a_notice_wakes_whoever_waits_for_its_channel(dsn: str, db: Database) -> None:
    async with Listener(dsn, ["timers", "queue"]) as listener:
        timers, queue = listener.subscribe("timers"), listener.subscribe("queue", "timers")
        await timers.wait(LONG)
        await queue.wait(LONG)
        await notify(db, "timers", "due")
        expected = Wake(Cause.NOTIFIED, frozenset({Notice("timers", "due")}))
        assert await timers.wait(LONG) == expected
        assert await queue.wait(LONG) == expected
        await notify(db, "queue", "a")
        await notify(db, "timers", "b")
        assert (await timers.wait(LONG)).notices == frozenset({Notice("timers", "b")})


async def test_notices_that_came_between_two_waits_end_the_next_one(dsn: str, db: Database) -> None:
    async with Listener(dsn, ["timers"]) as listener:
        timers, witness = listener.subscribe("timers"), listener.subscribe("timers")
        await timers.wait(LONG)
        await witness.wait(LONG)
        await notify(db, "timers", "while busy")
        await witness.wait(LONG)
        assert (await timers.wait(LONG)).notices == frozenset({Notice("timers", "while busy")})


async def test_a_lost_connection_comes_back_and_counts_as_news(dsn: str, db: Database) -> None:
    """What was said while it was away is lost, so the waiter has to look for itself."""
    async with Listener(dsn, ["timers"], backoff=QUICK) as listener:
        timers = listener.subscribe("timers")
        for _ in range(3):
            assert await timers.wait(LONG) == Wake(Cause.MISSED)
            async with db.transaction() as tx:
                assert await tx.fetch_value(_END_LISTENERS) == 1
        assert await timers.wait(LONG) == Wake(Cause.MISSED)
        await notify(db, "timers", "again")
        assert (await timers.wait(LONG)).cause is Cause.NOTIFIED


async def test_without_any_database_a_wait_ends_in_time() -> None:
    nowhere = "postgresql://rota@/rota?host=%2Fno%2Fsuch%2Ffolder"
    async with Listener(nowhere, ["timers"], backoff=QUICK) as listener:
        wake = await listener.subscribe("timers").wait(timedelta(milliseconds=20))
        assert wake == Wake(Cause.POLLED)
        assert not listener.connected
        assert isinstance(listener.last_error, FileNotFoundError)


async def test_without_news_a_wait_ends_in_time(dsn: str) -> None:
    async with Listener(dsn, ["timers"]) as listener:
        timers = listener.subscribe("timers")
        await timers.wait(LONG)
        assert await timers.wait(timedelta(milliseconds=5)) == Wake(Cause.POLLED)


async def test_a_connection_that_is_only_asked_now_and_then_is_kept(dsn: str, db: Database) -> None:
    async with Listener(dsn, ["timers"], ping_interval=timedelta(milliseconds=1)) as listener:
        timers = listener.subscribe("timers")
        await timers.wait(LONG)
        assert await timers.wait(timedelta(milliseconds=50)) == Wake(Cause.POLLED)
        await notify(db, "timers")
        assert (await timers.wait(LONG)).cause is Cause.NOTIFIED


async def test_more_notices_than_can_be_kept_count_as_missed() -> None:
    subscription = Subscription(
        frozenset({"timers"}), ManualClock(datetime(2025, 1, 1, tzinfo=UTC))
    )
    for number in range(5_000):
        subscription.tell(Notice("timers", str(number)))
    wake = await subscription.wait(LONG)
    assert wake.cause is Cause.MISSED
    assert len(wake.notices) == 1_000


async def test_only_known_channels_can_be_waited_for(dsn: str) -> None:
    listener = Listener(dsn, ["timers"])
    with pytest.raises(ValueError, match="expected some of"):
        listener.subscribe("timer")
    with pytest.raises(ValueError, match="expected some of"):
        listener.subscribe()


async def test_closing_twice_or_before_starting_is_harmless(dsn: str) -> None:
    listener = Listener(dsn, ["timers"])
    await listener.close()
    await listener.start()
    await listener.close()
    await listener.close()
