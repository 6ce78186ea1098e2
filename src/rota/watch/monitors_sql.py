"""The statements on monitors: what is past its deadline, and pings."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.schedules.schedule import COLUMNS

# Several schedulers share the work. The schedule is read without a lock: whoever edits it writes
# its monitor's row in the same transaction, so a row that is as it was is of the schedule read.
DUE: LiteralString = f"""
    SELECT m.schedule_id, m.expected_at, m.state, clock_timestamp() AS now, {COLUMNS}
      FROM monitors m
      JOIN schedules s ON s.id = m.schedule_id
     WHERE m.deadline_at < (SELECT clock_timestamp())
     ORDER BY m.deadline_at
     LIMIT $1
       FOR UPDATE OF m SKIP LOCKED
"""

# How far the next deadline is, if there is one.
NEXT: LiteralString = """
    SELECT min(deadline_at) - clock_timestamp() FROM monitors WHERE deadline_at < 'infinity'
"""

MOVE_ON: LiteralString = """
    UPDATE monitors m
       SET expected_at = coalesce(x.expected_at, m.expected_at),
           deadline_at = coalesce(x.deadline_at, 'infinity'),
           state = 'down'
      FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[])
           AS x(schedule_id, expected_at, deadline_at)
     WHERE m.schedule_id = x.schedule_id
"""

# Ours until the transaction ends: two pings at once are one after the other.
LOCK: LiteralString = """
    SELECT m.expected_at, m.deadline_at = 'infinity' AS parked, m.state, clock_timestamp() AS now,
           m.deadline_at < clock_timestamp() AS overdue
      FROM monitors m
     WHERE m.schedule_id = $1 AND m.tenant_id = $2
       FOR UPDATE
"""

OWNER: LiteralString = "SELECT tenant_id FROM monitors WHERE schedule_id = $1"

PINGED: LiteralString = """
    UPDATE monitors
       SET last_ping_at = $2, state = $3, expected_at = coalesce($4::timestamptz, expected_at),
           deadline_at = CASE WHEN $5 THEN coalesce($6::timestamptz, 'infinity')
                              ELSE deadline_at END
     WHERE schedule_id = $1
"""

# For a watcher, of a failure that history has no row of: the slot has its outcome already.
NOTE_FAILURE: LiteralString = """
    INSERT INTO unnoticed (tenant_id, schedule_id, firing_id, scheduled_for, status, reason,
                           slot_count, finished_at)
    VALUES ($1, $2, $3, $4, 'dead', left($5, 500), 1, $6)
"""
