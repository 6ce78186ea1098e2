"""Reading schedules for their owners: one, or a page of those that fit a filter.

Everything is read for one tenant; a schedule of another looks like none at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rota.schedules import listing_sql as listing
from rota.schedules import sql
from rota.schedules.calendars.sql import known

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.schedules.saved import Saved
    from rota.schedules.schedule import Schedule

MAX_PAGE_BYTES: Final = 2 * 1024 * 1024
_STATUSES: Final = ("active", "paused", "completed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A schedule, and where it stands."""

    schedule: Schedule
    next_fire_at: datetime | None
    last_fire_at: datetime | None
    last_status: str | None
    status_reason: str | None = None
    """Why it is paused, as Rota or whoever paused it said; None when nobody said."""
    paused_until: datetime | None = None
    """When it is resumed without being asked; None for never."""
    monitor_state: str | None = None
    """Of a monitor: waiting (for its first ping), up, late (its grace runs), or down."""
    expected_at: datetime | None = None
    """Of a monitor: when the next ping is due."""
    last_ping_at: datetime | None = None


class Page(NamedTuple):
    """Some schedules, the newest first, and whether there are more."""

    found: list[Standing]
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which schedules are asked for; None asks for all."""

    status: str | None = None
    enabled: bool | None = None
    job_type: str | None = None
    tag: str | None = None
    key: str | None = None
    name: str | None = None
    q: str | None = None

    @property
    def statuses(self) -> list[str] | None:
        """The statuses that it leaves; None for all."""
        left = [
            each
            for each in _STATUSES
            if self.status in {None, each} and self.enabled in {None, each != "paused"}
        ]
        return None if len(left) == len(_STATUSES) else left


async def page(tx: Tx, tenant_id: UUID, wanted: Filter, *, after: UUID | None, limit: int) -> Page:
    """The newest schedules that fit, from the one after `after` on.

    The page ends early when it has `MAX_PAGE_BYTES` of definitions: a thousand payloads at their
    limit would be 256 MB. A transaction that sees one snapshot misses none between the statements.
    """
    # One more than asked for tells whether there is another page.
    found = await _find(tx, tenant_id, wanted, after=after or listing.LAST, limit=limit + 1)
    has_more = len(found) > limit
    ids = found[:limit]
    standings: list[Standing] = []
    size = 0
    async for rows in listing.in_parts(tx, tenant_id, ids):
        standings += [_standing(row) for row in rows]
        size += sum(len(row["definition"]) for row in rows)
        if size > MAX_PAGE_BYTES:
            break
    return Page(standings, has_more or len(standings) < len(ids))


async def find(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> Standing | None:
    """One schedule; None when the tenant has none of this id."""
    found = await several(tx, tenant_id, [schedule_id])
    return found[0] if found else None


async def several(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> list[Standing]:
    """These schedules, as far as the tenant has them, the newest first."""
    return [_standing(row) for row in await listing.by_ids(tx, tenant_id, ids)]


def fresh(saved: Saved) -> Standing:
    """A schedule that was created just now, as `find` would have it."""
    return Standing(
        schedule=saved.schedule,
        next_fire_at=saved.next_slot if saved.schedule.status == "active" else None,
        last_fire_at=None,
        last_status=None,
    )


async def _find(tx: Tx, tenant_id: UUID, wanted: Filter, *, after: UUID, limit: int) -> list[UUID]:
    """By the filter that leaves the least, as far as can be told without looking."""
    statuses = wanted.statuses
    place = (tx, tenant_id, after, limit)
    if wanted.q is not None or wanted.tag is not None or wanted.name is not None:
        return await listing.found(
            *place,
            q=wanted.q,
            name=wanted.name,
            tag=wanted.tag,
            key=wanted.key,
            job_type=wanted.job_type,
            statuses=statuses,
        )
    if wanted.key is not None:
        return await listing.by_key(
            *place, key=wanted.key, statuses=statuses, job_type=wanted.job_type
        )
    if wanted.job_type is not None:
        return await listing.by_type(*place, job_type=wanted.job_type, statuses=statuses)
    if statuses is not None:
        return await listing.by_status(*place, statuses=statuses)
    return await listing.all_of(*place)


def _standing(row: Row) -> Standing:
    calendar = None
    if row["calendar"] is not None:
        calendar = known(row["calendar"], row["calendar_version"], row["calendar_days"])
    return Standing(
        schedule=sql.of_row(row, calendar=calendar),
        next_fire_at=row["next_fire_at"],
        last_fire_at=row["last_fire_at"],
        last_status=row["last_status"],
        status_reason=row["status_reason"],
        paused_until=row["paused_until"],
        monitor_state=row["monitor_state"],
        expected_at=row["expected_at"],
        last_ping_at=row["last_ping_at"],
    )
