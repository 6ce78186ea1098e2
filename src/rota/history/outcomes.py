"""How firings ended, many at once, for those who wait for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota.history.queries import EVER, near

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx

# One statement, so one snapshot: a firing is live or has ended, never neither. The last attempt has
# what it gave.
_OUTCOMES: LiteralString = """
    SELECT x.id, q.id IS NOT NULL AS is_live, f.status, f.reason, f.attempt, f.finished_at,
           coalesce(a.response_body, f.result) AS body, a.error
      FROM unnest($1::uuid[]) AS x(id)
      LEFT JOIN queue q ON q.id = x.id
      LEFT JOIN LATERAL (
           SELECT *
             FROM firings f
            WHERE f.id = x.id AND f.scheduled_for BETWEEN $2 AND $3
            LIMIT 1) AS f ON true
      LEFT JOIN attempts a ON a.firing_id = f.id AND a.scheduled_for = f.scheduled_for
                          AND a.attempt = f.attempt AND f.attempt > 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a firing ended, and what its last attempt gave."""

    id: UUID
    status: str
    reason: str | None
    attempt: int
    finished_at: datetime
    body: bytes | None
    """A task's result as JSON, or the traceback of its failure; None when it was not kept."""
    error: str | None


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is to say about some firings; of those that are live, nothing."""

    ended: dict[UUID, Outcome]
    unknown: frozenset[UUID]
    """Never there, or forgotten since."""


async def outcomes(tx: Tx, ids: Collection[UUID]) -> Seen:
    """Which of these firings have ended, and how."""
    if not ids:
        return Seen({}, frozenset())
    spans = [near(each) for each in ids]
    ended, missing = await _look(
        tx, list(ids), min(first for first, _ in spans), max(last for _, last in spans)
    )
    if missing:
        # Enqueued for a day far from the one in their id.
        more, missing = await _look(tx, missing, *EVER)
        ended |= more
    return Seen(ended, frozenset(missing))


async def _look(
    tx: Tx, ids: list[UUID], first: datetime, last: datetime
) -> tuple[dict[UUID, Outcome], list[UUID]]:
    rows = await tx.fetch(_OUTCOMES, ids, first, last)
    ended = {row["id"]: _outcome(row) for row in rows if row["status"] is not None}
    return ended, [row["id"] for row in rows if row["status"] is None and not row["is_live"]]


def _outcome(row: Row) -> Outcome:
    values = dict(row.items())
    del values["is_live"]
    return Outcome(**values)
