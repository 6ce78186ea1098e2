"""Entering the queue: slots as they fire, manual runs, replays, backfills, dependents, and tasks.

Runs of a task are entered by functions of the database (`rota.enqueue`), so that any program can do
the same in its own transaction, in any language.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

from rota.db import locks
from rota.queue import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.queue.overlap import State

MAX_ROWS: Final = 2_000
"""Entered by one statement: more is not faster, and holds up others for longer."""

KEY_PREFIX: Final = "task:"
"""A task's schedule has this and the task's name as its key."""

ENQUEUE_MANY: LiteralString = """
    SELECT rota.enqueue_many($1, $2::jsonb, $3, $4, $5, $6, $7)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiring:
    """A firing that no timer fires, and what becomes of it (`overlap`)."""

    id: UUID
    schedule_id: UUID
    tenant_id: UUID
    version: int
    scheduled_for: datetime
    state: State
    priority: int
    lane: str
    host: str | None
    triggered_by: str
    at: datetime | None = None
    """When it was asked for, if it is to run in this order; now, without it."""
    reason: str | None = None
    """Why it is skipped."""
    payload: str | None = None
    replay_of: UUID | None = None
    catch_up: bool = False


_COLUMNS: LiteralString = """
               id, schedule_id, tenant_id, version, scheduled_for, available_at, priority,
               catch_up, state, triggered_by, lane, host"""


def entered(rows: LiteralString, *, also: LiteralString) -> LiteralString:
    """The one INSERT INTO queue, of rows that have the columns of every firing and `also` these.

    A part of the statements here and of `firing.fire`. What is there already stays as it is.
    """
    columns = _COLUMNS + ", " + also
    return (
        """
        INSERT INTO queue ("""
        + columns
        + """)
        SELECT """
        + columns
        + """
          FROM """
        + rows
        + """ AS entered_rows
            ON CONFLICT DO NOTHING
"""
    )


WAKE_WITHIN: LiteralString = "interval '500 milliseconds'"
"""What enters with less time to its instant wakes the workers of its lane: their poll would find it
too late to prepare it, or too late altogether."""


def wake(lanes: LiteralString) -> LiteralString:
    """Wake the workers of these lanes, each lane once: a part of the statement that enters rows."""
    return "SELECT " + locks.notify(locks.QUEUE, "lane") + ", lane FROM " + lanes + " AS lanes"


# Each lane is woken once, however many rows there are. A dependent may be there already: its id is
# made from the end that it follows, which may be recorded twice.
_ENTER: LiteralString = (
    """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[],
                      $6::text[], $7::smallint[], $8::text[], $9::text[], $10::text[],
                      $11::timestamptz[], $12::text[], $13::jsonb[], $14::uuid[], $15::boolean[])
               AS x(id, schedule_id, tenant_id, version, scheduled_for, state, priority, lane, host,
                    triggered_by, at, reason, payload, replay_of, catch_up)
    ), entered AS ("""
    + entered(
        """(SELECT x.*, least(x.at, clock_timestamp()) AS available_at
                  FROM x WHERE x.state <> 'skipped')""",
        also="payload, replay_of",
    )
    + """
     RETURNING lane
    ), skipped AS ("""
    + record.withdrawn(
        "(SELECT x.*, 0 AS attempt FROM x WHERE x.state = 'skipped')",
        status="'skipped'",
        reason="w.reason",
    )
    + """
    )
    """
    + wake("(SELECT DISTINCT lane FROM entered)")
)


async def enter(tx: Tx, firings: Sequence[NewFiring]) -> None:
    """Put these into the queue, or into history where they are skipped, and wake the workers."""
    if firings:
        woken = await tx.fetch(
            _ENTER,
            [each.id for each in firings],
            [each.schedule_id for each in firings],
            [each.tenant_id for each in firings],
            [each.version for each in firings],
            [each.scheduled_for for each in firings],
            [each.state for each in firings],
            [each.priority for each in firings],
            [each.lane for each in firings],
            [each.host for each in firings],
            [each.triggered_by for each in firings],
            [each.at for each in firings],
            [each.reason for each in firings],
            [each.payload for each in firings],
            [each.replay_of for each in firings],
            [each.catch_up for each in firings],
        )
        for row in woken:
            tx.notified(locks.QUEUE, row["lane"])


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueRequest:
    """Runs of a task that somebody wants, all for the same instant."""

    task: str
    """Its name, or the key of its schedule."""
    payloads: Sequence[bytes | None]
    """JSON; None for none."""
    delay: timedelta | None = None
    at: datetime | None = None
    """In place of a delay."""
    priority: int | None = None
    """From 0 to 9; the task's own without it."""
    key: str | None = None
    """Of one run: while it is live no other of this key is entered."""
    tenant_id: UUID | None = None
    """The default tenant without it."""

    def parts(self) -> list[tuple[object, ...]]:
        """The arguments of `rota.enqueue_many`, once for each statement."""
        return [
            (
                self.task,
                _array(self.payloads[start : start + MAX_ROWS]),
                self.delay,
                self.at,
                self.priority,
                self.key,
                self.tenant_id,
            )
            for start in range(0, len(self.payloads), MAX_ROWS)
        ]


async def enqueue(tx: Tx, order: EnqueueRequest) -> list[UUID]:
    """Enter them, in the caller's transaction; their firings' ids, in order."""
    return await _enqueue(tx, order.parts())


async def enqueue_alone(db: Database, order: EnqueueRequest) -> list[UUID]:
    """The same in a transaction of their own."""
    # A key makes it safe to do again: the second finds the first.
    repeatable = order.key is not None
    parts = order.parts()
    if len(parts) != 1:
        return await db.run(lambda tx: _enqueue(tx, parts), repeatable=repeatable)
    (row,) = await db.fetch_alone(ENQUEUE_MANY, *parts[0], repeatable=repeatable)
    return list(row[0])


async def _enqueue(tx: Tx, parts: Sequence[tuple[object, ...]]) -> list[UUID]:
    entered: list[UUID] = []
    for part in parts:
        entered += await tx.fetch_value(ENQUEUE_MANY, *part)
    return entered


def _array(payloads: Sequence[bytes | None]) -> str:
    return f"[{b','.join(each or b'null' for each in payloads).decode()}]"
