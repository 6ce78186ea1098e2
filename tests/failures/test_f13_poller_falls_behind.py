"""F13: a scheduler comes to more overdue timers than it can fire at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cluster.nodes import cluster, eventually, holds
from tests.failures.scenes import SECOND, alerted, calls, many

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule

pytestmark = pytest.mark.timeout(60)

BACKLOG = 10_000
LAG = 90 * SECOND
"""Three times what is put up with before the alert."""


async def test_f13_poller_falls_behind(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F13, MF7, MO9: an alert; live slots go first, the backlog follows, and an all-clear.

    The live one is the youngest in its shard: in the order of their instants it would be among the
    last.
    """
    await _backlog(office, target)
    slot = (await office.now()).replace(microsecond=0)
    live = await calls(office, target, "live", start_at=slot.isoformat())
    await office.set_timer(live, slot)
    async with cluster(tmp_path, dsn) as nodes:
        (scheduler,) = await nodes.start("scheduler")
        await holds(lambda: "falling_behind lag=" in scheduler.log)
        row = await _all_fired(db, live)
        await holds(lambda: "caught_up" in scheduler.log)
        await alerted(db, "behind", "stalled")
    assert row["fired"] == BACKLOG + 1
    assert row["before"] == 0, f"{row['before']} of the backlog were served before the live slot"


async def _backlog(office: Office, target: Target) -> None:
    """Timers that nobody has looked at since a slot of theirs, which has passed long ago."""
    slot = (await office.now()).replace(microsecond=0) - LAG
    await many(office, target, BACKLOG, interval="1h", start_at=slot.isoformat())
    async with office.db.transaction() as tx:
        await tx.execute("UPDATE timers SET scheduled_for = $1, due_at = $1", slot)


async def _all_fired(db: Database, live: Schedule) -> Row:
    """Once all are: how many there are, and how many were written before the live one.

    Nobody claims them, so that a row's transaction is still the one that fired it; the numbers of
    transactions are in the order of their first write.
    """

    async def look() -> Row | None:
        async with db.transaction(read_only=True) as tx:
            row = await tx.fetch_row(
                """SELECT count(*) AS fired,
                          count(*) FILTER (WHERE q.xmin::text::bigint < f.xid) AS before
                     FROM queue q, (SELECT xmin::text::bigint AS xid FROM queue
                                     WHERE schedule_id = $1) AS f""",
                live.id,
            )
        return row if row is not None and row["fired"] > BACKLOG else None

    return await eventually(look)
