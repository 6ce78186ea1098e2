"""Reading firings and attempts: one, or a page, the newest first, the live ones among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID  # noqa: TC003 - a Place can be decoded by its annotations

import msgspec

from rota.errors import InvalidInput
from rota.history import sql
from rota.history.firing import Attempt, Firing
from rota.queue.complete import CUT_MARK
from rota.queue.states import ENDED, LIVE

if TYPE_CHECKING:
    from collections.abc import Collection

    from rota.db import Row, Tx

STATUSES: tuple[str, ...] = (*LIVE, *ENDED)

EVER = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
_DAY = timedelta(days=1)
_FEW_ATTEMPTS = 4
"""In one statement: each may have a megabyte of a response."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list goes on: after this firing."""

    scheduled_for: datetime
    id: UUID


@dataclass(frozen=True, slots=True)
class Page:
    """Some firings, and where the next ones begin; None when these were the last."""

    firings: list[Firing]
    next_place: Place | None


async def find(tx: Tx, firing_id: UUID, *, tenant_id: UUID | None = None) -> Firing | None:
    """The firing with this id, live or ended; None when the tenant has none."""
    row = await tx.fetch_row(sql.ONE, firing_id, *near(firing_id))
    if row is None:
        # A manual run's id is from when it was asked for, which need not be its slot's day.
        row = await tx.fetch_row(sql.ONE, firing_id, *EVER)
    if row is None or (tenant_id is not None and row["tenant_id"] != tenant_id):
        return None
    found = firing_of(row)
    if found.is_live and found.steps is None:
        return replace(found, steps=await tx.fetch_value(sql.FIRST_STEP, firing_id))
    return found


async def of_schedule(
    tx: Tx,
    schedule_id: UUID,
    *,
    statuses: Collection[str] | None = None,
    after: Place | None = None,
    limit: int = 100,
) -> Page:
    """The schedule's firings, the newest slot first, live ones included.

    `after` goes on behind an earlier page. Rows that come and go between two pages neither repeat
    nor hide others: a place is a firing, not a number.
    """
    rows = await tx.fetch(
        sql.OF_SCHEDULE, schedule_id, _checked(statuses), *_after(after), limit + 1
    )
    return _page(rows, limit)


async def dead(
    tx: Tx,
    tenant_id: UUID,
    *,
    schedule_id: UUID | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: Place | None = None,
    limit: int = 100,
) -> Page:
    """The tenant's dead letters, the newest slot first (RT5).

    Of all schedules or one; of slots from `since` on and before `until`.
    """
    rows = await tx.fetch(sql.DEAD, tenant_id, *_after(after), limit + 1, schedule_id, since, until)
    return _page(rows, limit)


async def attempts(tx: Tx, firing: Firing) -> list[Attempt]:
    """Every try of a firing that has ended or was taken on, in order."""
    at = firing.scheduled_for
    found: list[Attempt] = []
    while True:
        rows = await tx.fetch(sql.ATTEMPTS, firing.id, at, at, _FEW_ATTEMPTS, len(found))
        found += [_attempt(row) for row in rows]
        if len(rows) < _FEW_ATTEMPTS:
            return found


async def at_slot(tx: Tx, schedule_id: UUID, slot: datetime) -> Firing | None:
    """What there is of the schedule's slot: its own firing, or the run of slots it lies in."""
    row = await tx.fetch_row(sql.AT_SLOT, schedule_id, slot)
    return None if row is None else firing_of(row)


async def within(tx: Tx, schedule_id: UUID, at: datetime, length: timedelta) -> Firing | None:
    """The first firing from `at` on, and within this length of time."""
    row = await tx.fetch_row(sql.WITHIN, schedule_id, at, at + length)
    return None if row is None else firing_of(row)


def _checked(statuses: Collection[str] | None) -> list[str] | None:
    if statuses is None:
        return None
    for status in statuses:
        if status not in STATUSES:
            expected = ", ".join(STATUSES)
            raise InvalidInput(
                f"Invalid status: expected one of {expected}, got {status[:40]!r}", field="status"
            )
    return list(statuses)


def near(firing_id: UUID) -> tuple[datetime, datetime]:
    """Around the instant in a firing's id."""
    try:
        at = _EPOCH + timedelta(milliseconds=int.from_bytes(firing_id.bytes[:6], "big"))
        return max(at - _DAY, EVER[0] + _DAY), at + _DAY
    except OverflowError:
        # Whatever somebody asks for: an id can say the year 10889, a datetime cannot.
        return EVER


def _after(place: Place | None) -> tuple[datetime | None, UUID | None]:
    return (None, None) if place is None else (place.scheduled_for, place.id)


def _page(rows: list[Row], limit: int) -> Page:
    firings = [firing_of(row) for row in rows[:limit]]
    more = len(rows) > limit
    return Page(firings, Place(firings[-1].scheduled_for, firings[-1].id) if more else None)


def firing_of(row: Row) -> Firing:
    """A row of LIVE or ENDED."""
    return Firing(**dict(row.items()))


def _attempt(row: Row) -> Attempt:
    values = dict(row.items())
    request, headers = values["request"], values["response_headers"]
    values["request"] = request and msgspec.json.decode(request, type=dict[str, Any])
    # Kept there, and not in a column: a server of the version before reads them all by position.
    values["capture_cut"] = bool(request) and values["request"].pop(CUT_MARK, False)
    values["response_headers"] = headers and msgspec.json.decode(
        headers, type=list[tuple[str, str]]
    )
    return Attempt(**values)
