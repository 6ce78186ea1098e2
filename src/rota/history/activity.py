"""How a tenant's firings went, minute by minute: how many of each status, and how late they began.

A minute that is over does not change any more (a firing ends once, and now), so it is counted once
and remembered: who looks again pays for the current minute alone.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from rota.history import activity_sql as sql
from rota.queue.states import ENDED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from rota.db import Tx

MINUTE: Final = timedelta(minutes=1)
SPAN: Final = 60
"""Minutes that are looked at."""
# An end is written a moment after it happened, and commits a moment after that.
_SETTLED: Final = timedelta(seconds=30)
_MOST_TENANTS: Final = 200


@dataclass(frozen=True, slots=True)
class Minute:
    """The firings that ended within one minute."""

    at: datetime
    """When it began."""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    """By status."""
    late_ms: tuple[float, float] | None = None
    """How late they began, in the middle and at worst but for one in a hundred."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class Activity:
    """The last hour of any tenant, remembered."""

    def __init__(self) -> None:
        self._known: OrderedDict[UUID, dict[datetime, Minute]] = OrderedDict()

    async def last_hour(self, tx: Tx, tenant_id: UUID) -> list[Minute]:
        """Sixty minutes, the oldest first, the current one last."""
        now: datetime = await tx.fetch_value("SELECT clock_timestamp()")
        known = self._of(tenant_id)
        wanted = _minutes(now)
        unknown = [at for at in wanted if at not in known]
        found = await _read(tx, tenant_id, unknown[0], now) if unknown else {}
        for at in unknown:
            if at + MINUTE + _SETTLED <= now:
                known[at] = found.get(at, Minute(at))
        for at in [at for at in known if at < wanted[0]]:
            del known[at]
        return [known.get(at) or found.get(at) or Minute(at) for at in wanted]

    def _of(self, tenant_id: UUID) -> dict[datetime, Minute]:
        known = self._known.setdefault(tenant_id, {})
        self._known.move_to_end(tenant_id)
        while len(self._known) > _MOST_TENANTS:
            self._known.popitem(last=False)
        return known


def _minutes(now: datetime) -> list[datetime]:
    current = now.replace(second=0, microsecond=0)
    return [current - MINUTE * back for back in range(SPAN - 1, -1, -1)]


async def _read(tx: Tx, tenant_id: UUID, since: datetime, now: datetime) -> dict[datetime, Minute]:
    rows = await tx.fetch(sql.MINUTES, tenant_id, list(ENDED), since, now + MINUTE)
    counts: dict[datetime, dict[str, int]] = {}
    late: dict[datetime, list[tuple[float, float]]] = {}
    for row in rows:
        counts.setdefault(row["minute"], {})[row["status"]] = row["count"]
        if row["late_ms"] is not None:
            late.setdefault(row["minute"], []).append(tuple(row["late_ms"]))
    return {at: Minute(at, counts[at], _worst(late.get(at, []))) for at in counts}


def _worst(late: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Of each status one: together no better than the worst of them."""
    if not late:
        return None
    return max(each[0] for each in late), max(each[1] for each in late)
