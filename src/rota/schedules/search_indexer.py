"""Writes the search index of schedules that were created by the thousand.

It takes longer than creating them does, so it follows in small steps, with pauses: other creates
must not wait for it. What is not in the index yet is found all the same, only more slowly.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString, NamedTuple

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.db import Database, Tx

INTERVAL: Final = timedelta(seconds=5)
STEP: Final = 1_000
LATELY: Final = timedelta(seconds=2)


class SearchIndexer:
    """Any number of nodes may run one; each takes what no other is working on."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def run_once(self) -> int:
        """Write all that is missing. Returns how many schedules were looked at."""
        count = 0
        while True:
            start = self._clock.monotonic()
            step = await self._db.run(
                lambda tx: _write(tx, limit=STEP, lately=LATELY), repeatable=True
            )
            count += step.written
            if not step.any_left:
                return count
            # Half of a core at most, and hardly any of it while more are being created.
            rest = 15 if step.more_come else 1
            took = self._clock.monotonic() - start
            await self._clock.sleep(timedelta(seconds=took * rest))


class _Step(NamedTuple):
    """What one step did."""

    written: int
    any_left: bool
    """Whether there was any to do."""
    more_come: bool
    """Whether thousands have just been created."""


# From the oldest on, some at a time: a range may hold millions.
_WRITE: LiteralString = """
    WITH todo AS (
        SELECT id, tenant_id, low_id, high_id FROM wordless
         ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
    ), few AS MATERIALIZED (
        SELECT s.id, s.tenant_id, s.name, s.key, s.tags, s.job_type, s.definition
          FROM todo, LATERAL (SELECT e.* FROM schedules e
                               WHERE e.tenant_id = todo.tenant_id
                                 AND e.id BETWEEN todo.low_id AND todo.high_id
                               ORDER BY e.id LIMIT $1) AS s
    ), written AS (
        INSERT INTO schedule_words (tenant_id, schedule_id, words)
        SELECT tenant_id, id, words_of(tenant_id, name, key, tags, job_type, definition) FROM few
            ON CONFLICT (tenant_id, schedule_id) DO NOTHING
    ), moved AS (
        UPDATE wordless b SET low_id = (SELECT id FROM few ORDER BY id DESC LIMIT 1)
          FROM todo WHERE b.id = todo.id AND (SELECT count(*) FROM few) = $1
    ), done AS (
        DELETE FROM wordless b
         USING todo WHERE b.id = todo.id AND (SELECT count(*) FROM few) < $1
    )
    SELECT count(*) AS written, EXISTS (SELECT FROM todo) AS any_left,
           EXISTS (SELECT FROM wordless
                    WHERE high_id >= (id_prefix(clock_timestamp() - $2::interval)
                                      || repeat('0', 20))::uuid) AS more_come
      FROM few
"""


async def _write(tx: Tx, *, limit: int, lately: timedelta) -> _Step:
    """Index some that are not indexed yet."""
    row = await tx.fetch_row(_WRITE, limit, lately)
    assert row is not None, "a count is always there"
    return _Step(row["written"], row["any_left"], row["more_come"])
