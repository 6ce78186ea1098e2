"""A tenant's figures, cheap at any size: counts stop at a bound, instants are found by an index."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from rota.history import stats_sql as sql
from rota.queue.states import ENDED, LIVE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from rota.db import Tx

BOUND: Final = 10_000
"""Where counting stops: a count of this much means as many or more."""
WINDOW: Final = timedelta(hours=1)

_STATUSES: Final = ("active", "paused", "completed")
_FEW = 2_000
"""Schedules whose timers can be looked at one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The figures, all read at one instant."""

    now: datetime
    schedules: Mapping[str, int]
    """By status."""
    queue: Mapping[str, int]
    """Live firings, by state."""
    firings: Mapping[str, int]
    """That ended within the last hour, by status."""
    oldest_waiting_at: datetime | None
    """Since when the one that has waited longest could have begun; None when none waits."""
    next_due_at: datetime | None
    """When the next timer is due; None when none is armed."""

    @property
    def lateness(self) -> timedelta:
        """How long the oldest one has waited for a worker."""
        if self.oldest_waiting_at is None:
            return timedelta()
        return max(self.now - self.oldest_waiting_at, timedelta())


async def of_tenant(tx: Tx, tenant_id: UUID) -> Stats:
    """The tenant's figures."""
    now: datetime = await tx.fetch_value("SELECT clock_timestamp()")
    schedules = await tx.fetch(sql.SCHEDULES, tenant_id, list(_STATUSES), BOUND)
    by_status = {row["status"]: row["count"] for row in schedules}
    queue = {row["state"]: row["count"] for row in await tx.fetch(sql.QUEUE, tenant_id, BOUND)}
    firings = await tx.fetch(sql.FIRINGS, tenant_id, list(ENDED), BOUND, now - WINDOW)
    oldest: datetime | None = await tx.fetch_value(sql.OLDEST, tenant_id)
    few = by_status["active"] < _FEW
    next_due = sql.NEXT_DUE_OF_FEW if few else sql.NEXT_DUE_OF_MANY
    return Stats(
        now=now,
        schedules={status: by_status[status] for status in _STATUSES},
        queue={state: queue.get(state, 0) for state in LIVE},
        firings={row["status"]: row["count"] for row in firings},
        oldest_waiting_at=oldest if oldest is not None and oldest <= now else None,
        next_due_at=await tx.fetch_value(next_due, tenant_id),
    )
