"""History: the one INSERT INTO firings, of firings that have ended and of slots never fired.

Statements of other modules that end firings are built from the parts here: `ended`, `withdrawn` and
`unfired`. Each takes a relation and turns its rows into rows of `firings`.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, LiteralString

from rota import ids

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx

_COLUMNS: LiteralString = """
               id, schedule_id, tenant_id, version, scheduled_for, status, reason, attempt,
               triggered_by, catch_up, started_at, finished_at, replay_of, payload"""

WITHDRAWN_COLUMNS: LiteralString = """
           id, schedule_id, tenant_id, version, scheduled_for, attempt, triggered_by, catch_up,
           replay_of, payload
"""
"""The columns of `queue` that `withdrawn` reads."""


def ended(rows: LiteralString, *, also: LiteralString = "") -> LiteralString:
    """Record rows that have the columns of every firing, and `also` these.

    Without ON CONFLICT, which the caller adds.
    """
    columns = _COLUMNS + ", " + also if also else _COLUMNS
    return (
        """
        INSERT INTO firings ("""
        + columns
        + """)
        SELECT """
        + columns
        + """
          FROM """
        + rows
        + """ AS ended_rows
"""
    )


def withdrawn(
    rows: LiteralString, *, status: LiteralString, reason: LiteralString
) -> LiteralString:
    """Record rows that left the queue, or never entered it, instead of running.

    `status` is for those whose target was never called. Nothing is recorded as skipped whose target
    was called: it is cancelled, with its attempts and its start.
    """
    # OFFSET 0: the start is looked up once for each row, not once for each use.
    return (
        ended(
            """(
               SELECT w.id, w.schedule_id, w.tenant_id, w.version, w.scheduled_for,
                      CASE WHEN w.started_at IS NULL THEN """
            + status
            + """ ELSE 'cancelled' END AS status,
                      """
            + reason
            + """ AS reason, w.attempt, w.triggered_by, w.catch_up, w.started_at,
                      clock_timestamp() AS finished_at, w.replay_of, w.payload
                 FROM (SELECT r.*, CASE WHEN r.attempt > 0 THEN (
                              SELECT min(a.started_at) FROM attempts a
                               WHERE a.firing_id = r.id AND a.scheduled_for = r.scheduled_for)
                              END AS started_at
                         FROM """
            + rows
            + """ AS r OFFSET 0) AS w)"""
        )
        + " ON CONFLICT DO NOTHING"
    )


def unfired(rows: LiteralString) -> LiteralString:
    """Record slots that were skipped or missed: one row for each, or for a run of them.

    The rows have id, schedule_id, tenant_id, version, scheduled_for, last_slot_at, slot_count,
    status and reason.
    """
    return (
        ended(
            """(
               SELECT u.id, u.schedule_id, u.tenant_id, u.version, u.scheduled_for, u.last_slot_at,
                      u.slot_count, u.status, u.reason, 0 AS attempt, 'schedule' AS triggered_by,
                      false AS catch_up, NULL::timestamptz AS started_at,
                      clock_timestamp() AS finished_at, NULL::uuid AS replay_of,
                      NULL::jsonb AS payload
                 FROM """
            + rows
            + """ AS u)""",
            also="last_slot_at, slot_count",
        )
        + " ON CONFLICT DO NOTHING"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfiredSlots:
    """A run of a schedule's slots that were not fired, both ends included."""

    schedule_id: UUID
    tenant_id: UUID
    version: int
    first: datetime
    last: datetime
    count: int
    status: Literal["skipped", "missed"] = "skipped"
    reason: str


_RECORD_UNFIRED: LiteralString = unfired(
    """(
               SELECT *
                 FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[],
                             $6::timestamptz[], $7::integer[], $8::text[], $9::text[])
                      AS x(id, schedule_id, tenant_id, version, scheduled_for, last_slot_at,
                           slot_count, status, reason))"""
)


async def record_unfired(tx: Tx, runs: Sequence[UnfiredSlots]) -> None:
    """Record each run as one row, unless its first slot has an outcome already."""
    if not runs:
        return
    await tx.execute(
        _RECORD_UNFIRED,
        [ids.firing_id(each.schedule_id, each.first) for each in runs],
        [each.schedule_id for each in runs],
        [each.tenant_id for each in runs],
        [each.version for each in runs],
        [each.first for each in runs],
        [each.last if each.count > 1 else None for each in runs],
        [each.count for each in runs],
        [each.status for each in runs],
        [each.reason for each in runs],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """The outcome of a monitor's slot, as a ping reported it."""

    id: UUID
    schedule_id: UUID
    tenant_id: UUID
    version: int
    scheduled_for: datetime
    at: datetime
    status: Literal["succeeded", "dead"]
    reason: str
    note: str | None


_RECORD_PING: LiteralString = (
    ended(
        """(
               SELECT $1::uuid AS id, $2::uuid AS schedule_id, $3::uuid AS tenant_id,
                      $4::integer AS version, $5::timestamptz AS scheduled_for, $6::text AS status,
                      $7::text AS reason, 1 AS attempt, 'api' AS triggered_by, false AS catch_up,
                      $8::timestamptz AS started_at, $8::timestamptz AS finished_at,
                      NULL::uuid AS replay_of, NULL::jsonb AS payload,
                      $9::text AS result_excerpt)""",
        also="result_excerpt",
    )
    + " ON CONFLICT DO NOTHING"
)


async def record_ping(tx: Tx, ping: Ping) -> None:
    """Record it, unless its slot has an outcome already."""
    await tx.execute(
        _RECORD_PING,
        ping.id,
        ping.schedule_id,
        ping.tenant_id,
        ping.version,
        ping.scheduled_for,
        ping.status,
        ping.reason,
        ping.at,
        ping.note,
    )


_KNOWN_SLOTS: LiteralString = """
    SELECT schedule_id, scheduled_for FROM queue
     WHERE schedule_id = ANY ($1::uuid[]) AND scheduled_for > $2 AND triggered_by = 'schedule'
     UNION
    SELECT schedule_id, scheduled_for FROM firings
     WHERE schedule_id = ANY ($1::uuid[]) AND scheduled_for > $2 AND triggered_by = 'schedule'
"""


async def known_slots(
    tx: Tx, schedule_ids: Sequence[UUID], *, after: datetime
) -> dict[UUID, set[datetime]]:
    """The slots of each schedule after the instant that are queued or have their outcome."""
    known: dict[UUID, set[datetime]] = {}
    for row in await tx.fetch(_KNOWN_SLOTS, list(schedule_ids), after):
        known.setdefault(row["schedule_id"], set()).add(row["scheduled_for"])
    return known
