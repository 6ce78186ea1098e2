"""Advisory locks and NOTIFY channels: every number and every name, once.

The order in which they and rows are locked is docs/lock-order.md. PostgreSQL keeps (class, object)
pairs apart from single numbers, so the two cannot collide.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import Final, LiteralString

# Classes of locks on a pair: "rota" in ASCII, and the numbers that follow it.

SESSIONS: Final = 0x726F7461
"""A node's session, held while it lives; the object is drawn by each node."""

_SINGLE: LiteralString = "1919906913"
"""The class of `SESSIONS`, whose objects are random and greater than these few."""

PARTITIONS: LiteralString = f"{_SINGLE}, 1"
"""Making and dropping partitions of history."""

RESUMES: LiteralString = f"{_SINGLE}, 2"
"""Resuming schedules whose pause is over: one node at a time."""

CLAIMS: LiteralString = "1919906914"
"""By tenant: claiming for a tenant that has a cap."""

FOLLOWERS: LiteralString = "1919906915"
"""By tenant: changing which schedules follow which."""

DEAD_LETTERS: LiteralString = "1919906916"
"""By tenant: choosing dead letters to replay."""

# Locks on a single number.

MIGRATIONS: LiteralString = "7682000100010001"
"""Applying migrations."""

WATCH: LiteralString = "hashtextextended('rota watch', 0)"
"""Looking for trouble: one node at a time."""

SLOTS: LiteralString = "hashtextextended('rota slots', 0)"
"""Auditing slots: one node at a time."""

DECLARATIONS: LiteralString = "hashtextextended('rota declarations ' || $1::text, 0)"
"""By program ($1): writing the schedules that it declares."""

# Channels.

TIMERS: Final = "rota_timers"
"""A timer has become due soon; its shard."""

QUEUE: Final = "rota_queue"
"""A firing waits that was not planned ahead, such as a manual run; its lane."""

RECALL: Final = "rota_recall"
"""Claims of a schedule that have not begun are wanted back; the schedule's id."""

CANCEL: Final = "rota_cancel"
"""A firing is to be ended; its id."""

CIRCUITS: Final = "rota_circuits"
"""A circuit has changed; its host."""

TENANTS: Final = "rota_tenants"
"""Terms, keys or secrets of a tenant have changed; its id."""


def notify(channel: LiteralString, payload: LiteralString) -> LiteralString:
    """The call of pg_notify, as a part of a statement; `payload` is an expression of type text."""
    return "pg_notify('" + channel + "', " + payload + ")"


def notify_each(
    channel: LiteralString, column: LiteralString, rows: LiteralString
) -> LiteralString:
    """A query that notifies once for each distinct value of this column of these rows."""
    distinct = "(SELECT DISTINCT " + column + " FROM " + rows + ") AS payloads"
    return "SELECT " + notify(channel, column + "::text") + " FROM " + distinct
