"""Forecasts of tenants, made in a thread and kept for a minute: looking again costs nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.dashboard import forecast, forecast_herds
from rota.schedules import ahead

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime
    from uuid import UUID

    from rota.clock import Clock
    from rota.dashboard.forecast_herds import Herd
    from rota.db import Database

LIFETIME: Final = timedelta(minutes=1)
PATIENCE: Final = timedelta(seconds=5)
"""How long schedules are looked at; those seen until then stand for all."""
MOST: Final = 2_000
"""Schedules that are looked at one by one; of more, about so many are drawn."""
_TENANTS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The next seven days of a tenant."""

    made_at: datetime
    range: forecast.Range
    hours: list[int]
    """Firings expected in each hour."""
    herds: list[Herd]
    active: int
    """How many schedules are active,"""
    looked_at: int
    """and how many of them this is drawn from."""

    @property
    def is_exact(self) -> bool:
        return self.looked_at >= self.active


class Forecasts:
    """The latest forecast of each tenant that somebody has looked at."""

    def __init__(self) -> None:
        self._kept: dict[UUID, tuple[float, Forecast]] = {}
        # One at a time: a forecast takes a core, and the schedulers want theirs.
        self._turn = asyncio.Lock()

    async def of(
        self,
        tenant_id: UUID,
        *,
        db: Database,
        clock: Clock,
        charge: Callable[[], Awaitable[None]],
    ) -> Forecast:
        """At most a minute old; a new one is charged."""
        found = self._fresh(tenant_id, clock)
        if found is not None:
            return found
        await charge()
        async with self._turn:
            # Somebody may have asked for the same meanwhile.
            found = self._fresh(tenant_id, clock) or await _make(tenant_id, db, clock)
            self._keep(tenant_id, found, clock)
        return found

    def _fresh(self, tenant_id: UUID, clock: Clock) -> Forecast | None:
        made_at, found = self._kept.get(tenant_id, (0.0, None))
        is_old = found is None or clock.monotonic() - made_at > LIFETIME.total_seconds()
        return None if is_old else found

    def _keep(self, tenant_id: UUID, found: Forecast, clock: Clock) -> None:
        self._kept.pop(tenant_id, None)
        self._kept[tenant_id] = (clock.monotonic(), found)
        while len(self._kept) > _TENANTS:
            del self._kept[next(iter(self._kept))]


async def _make(tenant_id: UUID, db: Database, clock: Clock) -> Forecast:
    drawn = await db.run(
        lambda tx: ahead.sample(tx, tenant_id, most=MOST), read_only=True, tenant=tenant_id
    )
    return await asyncio.to_thread(made, drawn, clock)


def made(drawn: ahead.Sample, clock: Clock) -> Forecast:
    """The forecast from what was drawn; within the time there is."""
    ends_at = clock.monotonic() + PATIENCE.total_seconds()
    counted = forecast.count(
        (each.plan() for each in drawn.stored),
        now=drawn.now,
        in_time=lambda: clock.monotonic() < ends_at,
    )
    scale = drawn.active / max(counted.looked_at, 1)
    return Forecast(
        made_at=drawn.now,
        range=counted.range,
        hours=[round(each * scale) for each in counted.hours],
        herds=forecast_herds.herds(counted, scale=scale),
        active=drawn.active,
        looked_at=counted.looked_at,
    )
