"""A tenant's firings as a log: the live ones first, then those that ended, the newest end first.

The order is by the end and not by the slot, so that whoever follows it misses nothing: a slot of
last year that is filled today, or of this morning that is caught up with, ends now. A place is a
firing. One that ends while its list is being read may come twice, as live and as ended; none that
was there at the beginning is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from rota.history import log_sql, queries
from rota.queue.states import ENDED, LIVE

if TYPE_CHECKING:
    from collections.abc import Collection

    from rota.db import Tx
    from rota.history.firing import Firing

GROUPS: Final = {"live": LIVE, "ended": ENDED}
"""Words for several statuses."""

_NEVER: Final = datetime(9999, 12, 31, tzinfo=UTC)
_EVER: Final = datetime(1, 1, 1, tzinfo=UTC)
_LAST_ID: Final = UUID(int=(1 << 128) - 1)


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where a log goes on: after this firing."""

    finished_at: datetime | None
    """None for one that was live."""
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which of the tenant's firings."""

    statuses: Collection[str] = queries.STATUSES
    schedule_id: UUID | None = None
    since: datetime | None = None
    """Ended then or later, or not at all."""


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some firings, and where the next ones begin; None when these were the last."""

    firings: list[Firing]
    next_place: LogPlace | None


async def of_tenant(
    tx: Tx, tenant_id: UUID, wanted: Wanted, *, after: LogPlace | None = None, limit: int = 100
) -> LogPage:
    """A page of the tenant's log.

    Those that ended are found by their index, however many there are. The live ones of the tenant
    are all looked at, page by page: there are as many as its queue is deep.
    """
    found = [] if after and after.finished_at else await _live(tx, tenant_id, wanted, after, limit)
    if len(found) <= limit:
        found += await _ended(tx, tenant_id, wanted, after, limit - len(found))
    firings = found[:limit]
    if len(found) <= limit:
        return LogPage(firings, None)
    return LogPage(firings, LogPlace(firings[-1].finished_at, firings[-1].id))


async def _live(
    tx: Tx, tenant_id: UUID, wanted: Wanted, after: LogPlace | None, limit: int
) -> list[Firing]:
    statuses = [each for each in wanted.statuses if each in LIVE]
    if not statuses:
        return []
    rows = await tx.fetch(
        log_sql.OF_TENANT_LIVE,
        tenant_id,
        statuses,
        None if after is None else after.id,
        wanted.schedule_id,
        limit + 1,
    )
    return [queries.firing_of(row) for row in rows]


async def _ended(
    tx: Tx, tenant_id: UUID, wanted: Wanted, after: LogPlace | None, limit: int
) -> list[Firing]:
    statuses = [each for each in wanted.statuses if each in ENDED]
    if not statuses:
        return []
    end, id_ = _NEVER, _LAST_ID
    if after is not None and after.finished_at is not None:
        end, id_ = after.finished_at, after.id
    rows = await tx.fetch(
        log_sql.OF_TENANT_ENDED,
        tenant_id,
        statuses,
        end,
        id_,
        wanted.schedule_id,
        wanted.since or _EVER,
        limit + 1,
    )
    return [queries.firing_of(row) for row in rows]
