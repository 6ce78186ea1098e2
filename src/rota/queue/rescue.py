"""Taking claims from workers that are gone (QW11, QW13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rota.queue import held_sql, sql
from rota.queue.follow import End, follow
from rota.queue.states import NOBODY, RECALLS

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from rota.db import Row, Tx

LAST_ATTEMPT: Final = 35
"""A firing lost with its worker at this attempt ends: it may well be what kills the workers."""

BATCH: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescued:
    """A claim that was taken from its worker."""

    id: UUID
    """The firing's."""
    worker: UUID
    attempt: int
    state: str
    """waiting: somebody else may claim it now. dead, cancelled, skipped: it has ended."""


async def gone_workers(tx: Tx) -> frozenset[UUID]:
    """Workers that hold claims and whose session with the database has ended.

    Ask twice, a moment apart, before believing it: when the server restarts, every session ends
    and those who live make new ones.
    """
    return frozenset(row["id"] for row in await tx.fetch(sql.GONE_WORKERS))


async def rescue(tx: Tx, *, gone: Collection[UUID] = ()) -> list[Rescued]:
    """Claims that have run out, and all claims of the workers that are `gone`.

    They wait again, with the attempt counted. What may have begun and is to be delivered at most
    once is dead instead; what somebody wanted ended is ended. What is left to its target is not
    anybody's to rescue. Many processes may do this at the
    same time: each claim is rescued by one of them.
    """
    rows = await tx.fetch(sql.RESCUE, BATCH, LAST_ATTEMPT, sorted(RECALLS), list(gone), NOBODY)
    dead = [_end(row) for row in rows if row["state"] == "dead"]
    if dead:
        await follow(tx, dead)
    return [
        Rescued(id=row["id"], worker=row["worker"], attempt=row["attempt"], state=row["state"])
        for row in rows
    ]


def _end(row: Row) -> End:
    return End(
        id=row["id"],
        schedule_id=row["schedule_id"],
        scheduled_for=row["ended_for"],
        status="dead",
        reason="worker lost",
    )


async def free_stranded(tx: Tx) -> int:
    """Let go what is blocked behind nothing, and say how many.

    Who ends a firing frees the next, but cannot see what is written at that very moment.
    """
    count: int = await tx.fetch_value(sql.FREE_STRANDED)
    return count


async def free_held(tx: Tx) -> int:
    """Let go what was enqueued for a paused task that is paused no more, and say how many.

    Who resumes a task lets go what waits for it, but cannot see what a transaction that is still
    open has enqueued meanwhile.
    """
    count: int = await tx.fetch_value(held_sql.FREE_HELD)
    return count
