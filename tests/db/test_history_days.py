"""What became of a schedule's slots, day by day, and how it has done lately."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from rota.history import days as history_days
from rota.history.days import Days, Span
from rota.history.record import record

if TYPE_CHECKING:
    import pytest

    from rota.db import Database

DAY = timedelta(days=1)
TODAY = datetime(2026, 11, 16, tzinfo=UTC)
NOW = TODAY + timedelta(hours=5)

_INSERT = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, slot_count, status,
                         triggered_by, started_at, finished_at, due_at)
    SELECT gen_random_uuid(), $1, $1, 1, at, $5, $6, 'schedule',
           at + interval '1 second', at + interval '1.5 seconds', at + interval '0.9 seconds'
      FROM generate_series($2::timestamptz, $3::timestamptz - interval '1 microsecond',
                           $4::interval) AS at
"""


async def ended(
    db: Database,
    schedule: UUID,
    since: datetime,
    until: datetime,
    every: timedelta,
    *,
    status: str = "succeeded",
    slots: int = 1,
) -> None:
    async with db.transaction() as tx:
        await tx.execute(_INSERT, schedule, since, until, every, slots, status)


def days_back(count: int) -> list[Span]:
    return [Span(TODAY - DAY * at, TODAY - DAY * (at - 1)) for at in range(count - 1, -1, -1)]


async def test_each_day_has_its_slots_by_what_became_of_them(db: Database) -> None:
    """A run of slots that were missed together counts as so many."""
    one, other = uuid4(), uuid4()
    await ended(db, one, TODAY - 2 * DAY, TODAY, timedelta(hours=1))
    await ended(db, one, TODAY - DAY, TODAY, DAY, status="missed", slots=30)
    await ended(db, other, TODAY - DAY, TODAY, timedelta(hours=1), status="dead")
    async with db.transaction(read_only=True) as tx:
        found = await Days().of_schedule(tx, one, days_back(4), now=NOW)
    assert [dict(found[span.at].slots) for span in days_back(4)] == [
        {},
        {"succeeded": 24},
        {"succeeded": 24, "missed": 30},
        {},
    ]


async def test_a_look_is_bounded_and_the_next_gets_further(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest days first; none is left out for good, and none is ever shown as empty."""
    monkeypatch.setattr(history_days, "MOST", 1_500)
    schedule = uuid4()
    await ended(db, schedule, TODAY - 5 * DAY, TODAY, DAY / 600)
    days, spans = Days(), days_back(6)
    seen: list[int] = []
    for _ in range(4):
        async with db.transaction(read_only=True) as tx:
            found = await days.of_schedule(tx, schedule, spans, now=NOW)
        assert sorted(found) == [span.at for span in spans[-len(found) :]]
        assert all(found[at].total == 600 for at in found if at < TODAY)
        seen.append(len(found))
    assert seen == sorted(seen)
    assert seen[0] < 6
    assert seen[-1] == 6


async def test_a_backfill_of_a_quiet_day_shows_at_once(db: Database) -> None:
    schedule, days = uuid4(), Days()
    async with db.transaction(read_only=True) as tx:
        await days.of_schedule(tx, schedule, days_back(4), now=NOW)
    await ended(db, schedule, TODAY - DAY, TODAY, timedelta(hours=6))
    async with db.transaction(read_only=True) as tx:
        found = await days.of_schedule(tx, schedule, days_back(4), now=NOW)
    assert found[TODAY - DAY].total == 4


async def test_a_record_says_how_often_how_long_and_how_late(db: Database) -> None:
    schedule = uuid4()
    await ended(db, schedule, TODAY - DAY, TODAY, timedelta(hours=1))
    await ended(db, schedule, TODAY - DAY, TODAY, timedelta(hours=3), status="dead")
    await ended(db, schedule, TODAY - DAY, TODAY, DAY, status="skipped", slots=5)
    await ended(db, schedule, TODAY - 90 * DAY, TODAY - 89 * DAY, DAY, status="dead")
    async with db.transaction(read_only=True) as tx:
        found = await record(tx, schedule, now=NOW)
        nothing = await record(tx, uuid4(), now=NOW)
    assert (found.succeeded, found.dead, found.skipped) == (24, 8, 5)
    assert found.success == 0.75
    assert found.took_ms == (500.0, 500.0)
    assert found.late_ms == (100.0, 100.0)
    assert not found.is_cut
    assert (nothing.success, nothing.took_ms, nothing.late_ms) == (None, None, None)


async def test_a_day_of_very_many_is_counted_up_to_a_bound_and_says_so(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_days, "MOST", 100)
    schedule = uuid4()
    await ended(db, schedule, TODAY - DAY, TODAY, DAY / 300)
    async with db.transaction(read_only=True) as tx:
        found = await Days().of_schedule(tx, schedule, days_back(2), now=NOW)
    assert (found[TODAY - DAY].is_cut, found[TODAY - DAY].total) == (True, 101)
    assert not found[TODAY].is_cut


async def test_who_cannot_wait_gets_what_is_counted_soon(db: Database) -> None:
    schedule, days = uuid4(), Days()
    await ended(db, schedule, TODAY - 3 * DAY, TODAY + timedelta(hours=1), timedelta(minutes=1))
    async with db.transaction(read_only=True) as tx:
        soon = await days.of_schedule(tx, schedule, days_back(4), now=NOW, most=1_000)
        whole = await days.of_schedule(tx, schedule, days_back(4), now=NOW)
        again = await days.of_schedule(tx, schedule, days_back(4), now=NOW, most=1_000)
    assert [soon[at].total for at in soon] == [60]
    assert {whole[at].total for at in whole} == {60, 1440}
    assert again == whole
