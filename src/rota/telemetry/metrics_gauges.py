"""How the installation stands, read from the database when somebody scrapes, and kept a while."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, LiteralString

from rota.errors import RotaError
from rota.leases import standing
from rota.schedules.definition import CELERY_LANE, HTTP_LANE, STREAM_LANE
from rota.timers import lags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.clock import Clock
    from rota.db import Database, Tx

KEPT_SECONDS: Final = 5.0
"""Several scrapers, or one that is in a hurry, cost the database no more than one."""
_PATIENCE_SECONDS: Final = 3.0
_COUNTED: Final = 100_000

# Counting stops at a bound. Other lanes have the names of tenants' own queues, which are theirs.
_QUEUE: LiteralString = """
    SELECT CASE WHEN lane = ANY ($2::text[]) THEN lane ELSE 'task' END AS lane, state,
           count(*) AS count,
           coalesce(max(extract(epoch FROM clock_timestamp() - available_at))
                        FILTER (WHERE state IN ('waiting', 'retrying')), 0)::float8 AS late
      FROM (SELECT lane, state, available_at FROM queue LIMIT $1) AS q
     GROUP BY 1, 2
"""

_CIRCUITS: LiteralString = "SELECT count(DISTINCT host) FROM circuits WHERE opened_at IS NOT NULL"

_ALERTS: LiteralString = """
    SELECT kind, count(*) AS count FROM alerts WHERE closed_at IS NULL GROUP BY kind
"""

_NOTIFICATIONS: LiteralString = "SELECT count(*) FROM notifications WHERE status = 'pending'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The figures of one look; all of nothing while the database is away."""

    database_up: bool = False
    queue: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """By lane and state."""
    waiting_seconds: float = 0.0
    timer_lag_seconds: float = 0.0
    shards: int = 0
    shards_held: int = 0
    nodes: int = 0
    circuits_open: int = 0
    alerts: Mapping[str, int] = field(default_factory=dict[str, int])
    notifications: int = 0


class Gauges:
    """Looks at most every few seconds, one at a time."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._seen: Standing | None = None
        self._seen_at = float("-inf")
        self._looking = asyncio.Lock()

    async def now(self) -> Standing:
        """How it stands, or stood a moment ago. Never raises: being away is a figure."""
        async with self._looking:
            if self._seen is None or self._clock.monotonic() - self._seen_at > KEPT_SECONDS:
                self._seen = await self._look()
                self._seen_at = self._clock.monotonic()
            return self._seen

    async def _look(self) -> Standing:
        try:
            async with (
                asyncio.timeout(_PATIENCE_SECONDS),
                self._db.transaction(read_only=True, by_index=True) as tx,
            ):
                return await _read(tx)
        except (RotaError, TimeoutError):
            return Standing()


async def _read(tx: Tx) -> Standing:
    lanes = [HTTP_LANE, STREAM_LANE, CELERY_LANE]
    queue = await tx.fetch(_QUEUE, _COUNTED, lanes)
    behind = await lags(tx)
    shards = await standing.shards(tx)
    return Standing(
        database_up=True,
        queue={(row["lane"], row["state"]): row["count"] for row in queue},
        waiting_seconds=max([0.0, *(row["late"] for row in queue)]),
        timer_lag_seconds=max([0.0, *(each.total_seconds() for each in behind.values())]),
        shards=len(shards),
        shards_held=sum(each.is_held for each in shards),
        nodes=sum(each.is_alive for each in await standing.nodes(tx)),
        circuits_open=await tx.fetch_value(_CIRCUITS),
        alerts={row["kind"]: row["count"] for row in await tx.fetch(_ALERTS)},
        notifications=await tx.fetch_value(_NOTIFICATIONS),
    )
