"""Taking firings for somebody outside, who works on them and reports by token.

Beside the fair claim of Rota's own workers (`claim`): this one is for one tenant alone, so there
is nothing to share out, and never ahead of time, as nobody here waits for the instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.queue import pull_sql as sql
from rota.queue.claim import Claim

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Tx


@dataclass(frozen=True, slots=True)
class Pulled:
    """A claim, and since when it is held."""

    claim: Claim
    at: datetime


async def pull(
    tx: Tx,
    tenant_id: UUID,
    lane: str,
    worker: UUID,
    *,
    limit: int,
    visibility: timedelta,
    name: str | None = None,
) -> list[Pulled]:
    """Up to `limit` of the tenant's firings in the lane whose instant has come.

    By priority, then the oldest first; never more than the tenant's cap, over all workers (TN2).
    Nobody else has or gets them for `visibility`; then they are rescued as any worker's are.
    `name` is what the worker calls itself.
    """
    standing = await tx.fetch_row(sql.STANDING, tenant_id)
    if standing is None:
        return []
    cap = standing["max_concurrency"]
    if cap is not None:
        await tx.fetch(sql.LOCK_CAPPED, tenant_id)
    rows = await tx.fetch(sql.PULL, tenant_id, lane, worker, limit, visibility, cap, name)
    pulled: list[Pulled] = []
    for row in rows:
        values = dict(row.items())
        at = values.pop("pulled_at")
        pulled.append(Pulled(Claim(**values, weight=standing["weight"]), at))
    pulled.sort(key=lambda each: _turn(each.claim))
    return pulled


async def next_in(tx: Tx, tenant_id: UUID, lane: str) -> timedelta | None:
    """How long until the next one in the lane is due; None when the queue knows of none."""
    return await tx.fetch_value(sql.NEXT_AT, tenant_id, lane)


def _turn(claim: Claim) -> tuple[int, datetime, UUID]:
    return (-claim.priority, claim.available_at, claim.id)
