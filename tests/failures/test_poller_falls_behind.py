"""A scheduler comes to more overdue timers than it can fire at once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.cluster.nodes import cluster, eventually, holds
from tests.db.schedules import SHARDS
from tests.failures.holding import hold_slot
from tests.failures.scenes import SECOND, alerted, calls, many

from rota.firing import Settings

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule


BACKLOG = 2_500
FEW = 8
"""Shards that have it all: more than one look reads of each."""
BATCH = Settings().batch
LAG = 3 * Settings().backlog_threshold


async def test_a_poller_that_falls_behind_serves_live_slots_first_and_says_so(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """An alert of this very kind; the backlog goes one batch at a time, with whatever is live by
    then before each; and an all-clear.

    The live ones are the youngest in their shards: in the order of their instants they would be
    among the last. The first batch of the backlog is held up, so that there is a moment in the
    middle of it.
    """
    first, missed = await _backlog(office, target)
    slot = (await office.now()).replace(microsecond=0)
    live, newcomer = [
        await calls(office, target, name, start_at=slot.isoformat()) for name in ("live", "new")
    ]
    await _in_few_shards(office)
    await office.set_timer(live, slot)
    await office.set_timer(newcomer, slot + timedelta(hours=1))
    async with cluster(tmp_path, dsn) as nodes:
        async with hold_slot(db, first, missed) as held:
            (scheduler,) = await nodes.start("scheduler")
            await held.runs_into("held AS MATERIALIZED")
            assert "falling_behind lag=" in scheduler.log
            # Nobody fires the rest past the batch that stands still: one at a time.
            in_the_middle = await _fired(db)
            await office.set_timer(newcomer, await office.now())
        fired = await _all_fired(db)
        await holds(lambda: "caught_up" in scheduler.log, within=60)
        before_live, before_newcomer = [await _before(db, each) for each in (live, newcomer)]
        await alerted(db, "behind")
        await eventually(lambda: _is_over(db, "behind"), within=60)
    assert fired == BACKLOG + 2
    assert in_the_middle == 1, "only the live slot"
    assert before_live == 0, f"{before_live} of the backlog were served before the live slot"
    assert before_newcomer <= BATCH + 1, "it came in the middle, and had to wait for one batch"


async def _backlog(office: Office, target: Target) -> tuple[Schedule, datetime]:
    """Timers that nobody has looked at since a slot of theirs, which has passed long ago.

    Returns the schedule whose timer is the oldest, and its slot: it is in the first batch.
    """
    slot = (await office.now()).replace(microsecond=0) - LAG
    made = await many(office, target, BACKLOG, interval="1h", start_at=slot.isoformat())
    async with office.db.transaction() as tx:
        await tx.execute("UPDATE timers SET scheduled_for = $1, due_at = $1", slot + SECOND)
    await office.set_timer(made[0], slot)
    return made[0], slot


async def _in_few_shards(office: Office) -> None:
    assert Settings().read / SHARDS < BACKLOG / FEW
    assert Settings().read / SHARDS * FEW > BATCH, "one look is more than a batch"
    async with office.db.transaction() as tx:
        await tx.execute("UPDATE timers SET shard = shard % $1", FEW)


async def _fired(db: Database) -> int:
    async with db.transaction(read_only=True) as tx:
        return await tx.fetch_value("SELECT count(*) FROM queue")


async def _all_fired(db: Database) -> int:
    """How many were, once nothing is overdue."""

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return not await tx.fetch_value(
                "SELECT count(*) FROM timers WHERE due_at < clock_timestamp()"
            )

    await eventually(look, within=120)
    return await _fired(db)


async def _before(db: Database, schedule: Schedule) -> int:
    """How many were fired before the schedule's only slot.

    Nobody claims them, so that a row's transaction is still the one that fired it; the numbers of
    transactions are in the order of their first write.
    """
    async with db.transaction(read_only=True) as tx:
        row: Row | None = await tx.fetch_row(
            """SELECT count(*) FILTER (WHERE q.xmin::text::bigint < f.xid) AS before
                 FROM queue q, (SELECT xmin::text::bigint AS xid FROM queue
                                 WHERE schedule_id = $1) AS f""",
            schedule.id,
        )
    assert row is not None
    return row["before"]


async def _is_over(db: Database, kind: str) -> bool:
    async with db.transaction(read_only=True) as tx:
        return not await tx.fetch_value(
            "SELECT count(*) FROM alerts WHERE kind = $1 AND closed_at IS NULL", kind
        )
