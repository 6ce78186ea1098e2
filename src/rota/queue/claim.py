"""Taking firings for a worker, ahead of their instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.queue import sql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Row, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A firing that a worker holds. It may be begun at `available_at`, never before (I9)."""

    id: UUID
    """The firing's."""
    schedule_id: UUID
    tenant_id: UUID
    version: int
    """Of the schedule, when it fired."""
    scheduled_for: datetime
    available_at: datetime
    claimed_until: datetime
    """Somebody else may have it after that, unless it is extended."""
    attempt: int
    """1 for the first; higher for every later claim."""
    priority: int
    catch_up: bool
    triggered_by: str
    lane: str
    fence: int | None
    """Of the lease under which it was fired; None for a run that was asked for."""
    cancel_reason: str | None = None
    """Set while it waited: it is to be ended, not begun."""
    payload: str | None = None
    """JSON in place of the schedule's payload."""


async def claim(
    tx: Tx,
    lanes: Sequence[str],
    worker: UUID,
    *,
    limit: int,
    lead: timedelta,
    visibility: timedelta,
) -> list[Claim]:
    """Up to `limit` firings that are due within `lead`, by priority, then the oldest first.

    Exclusive: no other worker has or gets them until their claims run out. They run out
    `visibility` after their instant, or after now for those that are due already.
    """
    rows = await tx.fetch(sql.CLAIM, list(lanes), worker, limit, lead, visibility)
    claims = [_claim(row) for row in rows]
    return sorted(claims, key=lambda each: (-each.priority, each.available_at, each.id))


def _claim(row: Row) -> Claim:
    return Claim(**dict(row.items()))
