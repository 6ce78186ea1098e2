"""What happens, told to every page that is open: one look at the database a second for a tenant,
however many look on, and none at all when nobody does.

A page that is slow to read misses beats, never the newest one; what it shows comes from the latest.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from rota.history import log, stats
from rota.history.activity import Activity
from rota.queue.states import ENDED
from rota.schedules import list as listing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.history.activity import Minute
    from rota.history.firing import Firing
    from rota.history.stats import Stats

INTERVAL: Final = timedelta(seconds=1)
MOST: Final = 50
"""Firings in one beat."""
MOST_READERS: Final = 100
"""Pages of one tenant that may follow: each keeps a connection."""
_PENDING: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """How things are, and what ended since the beat before."""

    stats: Stats
    minutes: list[Minute]
    """The last hour in the first beat, the last two minutes in later ones."""
    firings: list[Firing]
    """The newest first."""
    names: dict[UUID, str]
    """Of the schedules whose firings these are."""


@dataclass(slots=True, eq=False)
class _Feed:
    readers: set[asyncio.Queue[Beat | None]] = field(
        default_factory=set[asyncio.Queue[Beat | None]]
    )
    task: asyncio.Task[None] | None = None
    seen_at: datetime | None = None
    """The latest end that was told of."""
    seen: dict[UUID, None] = field(default_factory=dict["UUID", None])
    """The firings that were told of lately, the newest first."""


class Feeds:
    """The feeds of all tenants that somebody looks at."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._activity = Activity()
        self._feeds: dict[UUID, _Feed] = {}
        self._is_closed = False

    def is_full(self, tenant_id: UUID) -> bool:
        """Whether as many follow the tenant as may."""
        feed = self._feeds.get(tenant_id)
        return feed is not None and len(feed.readers) >= MOST_READERS

    @asynccontextmanager
    async def follow(self, tenant_id: UUID) -> AsyncGenerator[asyncio.Queue[Beat | None]]:
        """Beats as they come; None when the process ends."""
        feed = self._feeds.setdefault(tenant_id, _Feed())
        queue: asyncio.Queue[Beat | None] = asyncio.Queue(_PENDING)
        feed.readers.add(queue)
        if self._is_closed:
            _put(queue, None)
        if feed.task is None:
            feed.task = asyncio.create_task(self._run(tenant_id, feed), name="rota feed")
        try:
            yield queue
        finally:
            feed.readers.discard(queue)
            if not feed.readers:
                self._feeds.pop(tenant_id, None)
                feed.task.cancel()

    def close(self) -> None:
        """Tell everybody that this is the end: a page that waits must not hold up a stop."""
        self._is_closed = True
        for feed in self._feeds.values():
            if feed.task is not None:
                # A beat after it would push it out of the queue of whoever is slow to read.
                feed.task.cancel()
            for reader in feed.readers:
                _put(reader, None)

    async def first(self, tenant_id: UUID) -> Beat:
        """How things are now, with the whole last hour."""
        return await self._look(tenant_id, _Feed(), whole=True)

    async def _run(self, tenant_id: UUID, feed: _Feed) -> None:
        while True:
            # The database may be away: the page says how old its figures are.
            with contextlib.suppress(Exception):
                beat = await self._look(tenant_id, feed, whole=False)
                for reader in feed.readers:
                    _put(reader, beat)
            await self._clock.sleep(INTERVAL)

    async def _look(self, tenant_id: UUID, feed: _Feed, *, whole: bool) -> Beat:
        async def work(tx: Tx) -> Beat:
            found = await stats.of_tenant(tx, tenant_id)
            minutes = await self._activity.last_hour(tx, tenant_id)
            firings = await _ended(tx, tenant_id, feed, found.now)
            ids = list({each.schedule_id for each in firings})
            standings = await listing.find_many(tx, tenant_id, ids) if ids else []
            return Beat(
                stats=found,
                minutes=minutes if whole else minutes[-2:],
                firings=firings,
                names={each.schedule.id: each.schedule.name for each in standings},
            )

        beat = await self._db.run(work, read_only=True, tenant=tenant_id)
        _note(feed, beat.firings)
        return beat


async def _ended(tx: Tx, tenant_id: UUID, feed: _Feed, now: datetime) -> list[Firing]:
    """What ended since the last look, and was not told of. A commit may come late: look back."""
    since = (feed.seen_at or now) - timedelta(seconds=2)
    wanted = log.Wanted(statuses=ENDED, since=since if feed.seen_at else None)
    page = await log.of_tenant(tx, tenant_id, wanted, limit=MOST)
    return [each for each in page.firings if each.id not in feed.seen]


def _note(feed: _Feed, firings: list[Firing]) -> None:
    ends = [each.finished_at for each in firings if each.finished_at is not None]
    feed.seen_at = max([*ends, feed.seen_at] if feed.seen_at else ends, default=None)
    told = dict.fromkeys(each.id for each in firings) | feed.seen
    feed.seen = dict.fromkeys(islice(told, MOST * 5))


def _put(reader: asyncio.Queue[Beat | None], beat: Beat | None) -> None:
    if reader.full():
        reader.get_nowait()
    reader.put_nowait(beat)
