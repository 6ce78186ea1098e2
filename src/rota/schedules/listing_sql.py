"""The statements that read pages of schedules: one for each way to find them, and one to read them.

One for each way, because a statement that takes every filter or none is planned once for all of
them, and then walks all of a tenant's schedules for a page of a hundred. One to read them, because
it takes longer to plan than to run, and with nothing but ids in it, it is planned once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, LiteralString, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from datetime import timedelta

    from rota.db import Row, Tx

MAX_LARGE: Final = 2
"""Schedules with large definitions that one statement reads."""
LAST: Final = UUID(int=2**128 - 1)
"""After every schedule: where a list begins."""

# A slot that is prepared but not started yet is still to come: the scheduler works ahead of time.
# What was skipped or missed has not fired, so it is not the last firing.
_BY_IDS: LiteralString = """
    WITH page AS (
        SELECT s.* FROM schedules s WHERE s.tenant_id = $1 AND s.id = ANY ($2::uuid[])
    )
    SELECT s.id, s.tenant_id, s.key, s.name, s.status, s.version, s.shard, s.anchor_at,
           s.definition::text AS definition, s.created_at, s.updated_at, s.status_reason,
           m.last_ping_at,
           CASE WHEN m.deadline_at < 'infinity' THEN m.expected_at END AS expected_at,
           CASE WHEN m.state <> 'down' AND m.deadline_at < 'infinity' AND m.expected_at <= now()
                THEN 'late' ELSE m.state END AS monitor_state,
           s.calendar, c.version AS calendar_version, c.days::text AS calendar_days,
           CASE WHEN s.status = 'paused' THEN s.paused_until END AS paused_until,
           least(ahead.scheduled_for, CASE WHEN s.status = 'active' THEN t.scheduled_for END)
               AS next_fire_at,
           CASE WHEN live.scheduled_for >= ended.scheduled_for OR ended.scheduled_for IS NULL
                THEN live.scheduled_for ELSE ended.scheduled_for END AS last_fire_at,
           CASE WHEN live.scheduled_for >= ended.scheduled_for OR ended.scheduled_for IS NULL
                THEN live.state ELSE ended.status END AS last_status
      FROM page s
      LEFT JOIN timers t ON t.schedule_id = s.id
      LEFT JOIN monitors m ON m.schedule_id = s.id
      LEFT JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
      LEFT JOIN LATERAL (
           SELECT q.scheduled_for FROM queue q
            WHERE q.schedule_id = s.id AND q.scheduled_for > now()
            ORDER BY q.scheduled_for LIMIT 1) ahead ON true
      LEFT JOIN LATERAL (
           SELECT q.scheduled_for, q.state FROM queue q
            WHERE q.schedule_id = s.id AND q.attempt > 0 AND q.scheduled_for <= now()
            ORDER BY q.scheduled_for DESC LIMIT 1) live ON true
      LEFT JOIN LATERAL (
           SELECT f.scheduled_for, f.status FROM firings f
            WHERE f.schedule_id = s.id AND f.status IN ('succeeded', 'dead', 'cancelled')
            ORDER BY f.scheduled_for DESC LIMIT 1) ended ON true
     ORDER BY s.id DESC
"""

# Stored compressed or elsewhere, and so perhaps large; its size is not known without reading it.
_LARGE: LiteralString = """
    SELECT id FROM schedules
     WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
       AND (pg_column_size(definition) > 1000 OR calendar IS NOT NULL)
"""

# Each status by itself: the newest of each are side by side in the index, those of two are not. By
# two bounds in place of one value: the order then says which index it is, and rare ones are not
# looked for along the index of all.
_BY_STATUS: LiteralString = """
    SELECT s.id
      FROM unnest($4::text[]) AS wanted(status),
           LATERAL (SELECT e.id FROM schedules e
                     WHERE e.tenant_id = $1 AND e.id < $2
                       AND e.status >= wanted.status AND e.status <= wanted.status
                     ORDER BY e.status DESC, e.id DESC
                     LIMIT $3) AS s
     ORDER BY s.id DESC
     LIMIT $3
"""

_STATUSES: Final = ["active", "paused", "completed"]

_BY_TYPE: LiteralString = """
    SELECT s.id
      FROM schedules s
     WHERE s.tenant_id = $1 AND s.id < $2 AND s.job_type >= $4 AND s.job_type <= $4
       AND ($5::text[] IS NULL OR s.status = ANY ($5))
     ORDER BY s.job_type DESC, s.id DESC
     LIMIT $3
"""

_BY_KEY: LiteralString = """
    SELECT s.id
      FROM schedules s
     WHERE s.tenant_id = $1 AND s.key = $4 AND s.id < $2
       AND ($5::text[] IS NULL OR s.status = ANY ($5))
       AND ($6::text IS NULL OR s.job_type = $6)
     LIMIT $3
"""

# By a word, a tag or a name: see migration 0014.
_FOUND: LiteralString = """
    SELECT id
      FROM find_schedules($1, $5, words_wanted($1, $4, $6, $7), $7, $6, $8, $9, $10, $2, $3)
           AS found(id)
"""

# From the oldest on, some at a time: a range may hold millions.
_WRITE_WORDS: LiteralString = """
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


async def by_ids(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> list[Row]:
    return await tx.fetch(_BY_IDS, tenant_id, list(ids))


async def in_parts(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> AsyncGenerator[list[Row]]:
    """The same in a few statements, in the order of the ids: no answer holds many large ones."""
    if len(ids) <= MAX_LARGE:
        yield await by_ids(tx, tenant_id, ids)
        return
    large = {row[0] for row in await tx.fetch(_LARGE, tenant_id, list(ids))}
    part: list[UUID] = []
    count = 0
    for id_ in ids:
        if count == MAX_LARGE and id_ in large:
            yield await by_ids(tx, tenant_id, part)
            part, count = [], 0
        part.append(id_)
        count += id_ in large
    yield await by_ids(tx, tenant_id, part)


async def all_of(tx: Tx, tenant_id: UUID, after: UUID, limit: int) -> list[UUID]:
    return await by_status(tx, tenant_id, after, limit, statuses=_STATUSES)


async def by_status(
    tx: Tx, tenant_id: UUID, after: UUID, limit: int, *, statuses: list[str]
) -> list[UUID]:
    rows = await tx.fetch(_BY_STATUS, tenant_id, after, limit, statuses)
    return [row[0] for row in rows]


async def by_type(
    tx: Tx, tenant_id: UUID, after: UUID, limit: int, *, job_type: str, statuses: list[str] | None
) -> list[UUID]:
    rows = await tx.fetch(_BY_TYPE, tenant_id, after, limit, job_type, statuses)
    return [row[0] for row in rows]


async def by_key(
    tx: Tx,
    tenant_id: UUID,
    after: UUID,
    limit: int,
    *,
    key: str,
    statuses: list[str] | None,
    job_type: str | None,
) -> list[UUID]:
    rows = await tx.fetch(_BY_KEY, tenant_id, after, limit, key, statuses, job_type)
    return [row[0] for row in rows]


async def found(
    tx: Tx,
    tenant_id: UUID,
    after: UUID,
    limit: int,
    *,
    q: str | None,
    name: str | None,
    tag: str | None,
    key: str | None,
    job_type: str | None,
    statuses: list[str] | None,
) -> list[UUID]:
    rows = await tx.fetch(
        _FOUND,
        tenant_id,
        after,
        limit,
        q,
        None if q is None else containing(q),
        name,
        tag,
        key,
        job_type,
        statuses,
    )
    return [row[0] for row in rows]


class Written(NamedTuple):
    """A step of writing words."""

    written: int
    any_left: bool
    """Whether there was any to do."""
    more_come: bool
    """Whether somebody has just made thousands."""


async def write_words(tx: Tx, *, limit: int, lately: timedelta) -> Written:
    """Write the words of some that have none yet."""
    row = await tx.fetch_row(_WRITE_WORDS, limit, lately)
    assert row is not None, "a count is always there"
    return Written(row["written"], row["any_left"], row["more_come"])


def containing(text: str) -> str:
    """A pattern for LIKE in which nothing but the ends is special."""
    plain = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"
