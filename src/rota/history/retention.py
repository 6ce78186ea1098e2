"""A partition for each day: made ahead of time, dropped whole when it is old (DM9)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from rota.history import sql
from rota.schedules import audit

if TYPE_CHECKING:
    from rota.db import Database, Tx

DAYS_AHEAD: Final = 7
KEEP: Final = timedelta(days=30)

_CHILD = re.compile(r"(?:firings|attempts)_(\d{8})")
_TABLES = 2
_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Swept:
    """What was done."""

    made: int
    dropped: int
    """Days."""


async def ensure(tx: Tx, today: date, *, days_ahead: int = DAYS_AHEAD) -> int:
    """Make what partitions are missing from yesterday to `days_ahead` days from today.

    How many days it were. To be called before anything fires, and at least daily from then on; by
    any number of processes at once. Rows that came too early are moved from the default partition.
    """
    wanted = [today + timedelta(days=each) for each in range(-1, days_ahead + 1)]
    if not _missing(wanted, await _days(tx)):
        return 0
    await tx.execute(sql.IMPATIENT)
    await tx.execute(sql.LOCK_PARTITIONS)
    # Again, now that nobody else makes any.
    missing = _missing(wanted, await _days(tx))
    for day in missing:
        await tx.execute(sql.SET_DAY, day.isoformat())
        await tx.execute(sql.MAKE_DAY)
    return len(missing)


async def drop(tx: Tx, today: date, *, keep: timedelta = KEEP) -> int:
    """Drop the partitions of days that ended longer than `keep` ago; how many days it were."""
    oldest = today - keep
    old = sorted(day for day in await _days(tx) if day < oldest)
    if not old:
        return 0
    await tx.execute(sql.IMPATIENT)
    await tx.execute(sql.LOCK_PARTITIONS)
    old = sorted(day for day in await _days(tx) if day < oldest)
    for day in old:
        await tx.execute(sql.SET_DAY, day.isoformat())
        await tx.execute(sql.DROP_DAY)
    return len(old)


async def forget(tx: Tx, today: date, *, keep: timedelta = KEEP) -> int:
    """Delete what has no partition and was recorded longer than `keep` ago, and the audit trail.

    Some of it: call again while it returns more than 0.
    """
    before = datetime(today.year, today.month, today.day, tzinfo=UTC) - keep
    firings = await tx.execute(sql.FORGET_FIRINGS, before, _BATCH)
    attempts = await tx.execute(sql.FORGET_ATTEMPTS, before, _BATCH)
    return firings + attempts + await audit.forget(tx, before, limit=_BATCH)


async def sweep(db: Database, today: date, *, keep: timedelta = KEEP) -> Swept:
    """All of it, in transactions of their own; for a loop that runs every hour or so."""
    made = await db.run(lambda tx: ensure(tx, today), repeatable=True)
    dropped = await db.run(lambda tx: drop(tx, today, keep=keep), repeatable=True)
    while await db.run(lambda tx: forget(tx, today, keep=keep), repeatable=True):
        pass
    return Swept(made, dropped)


async def days(tx: Tx) -> set[date]:
    """The days that have all of their partitions."""
    return {day for day, count in (await _days(tx)).items() if count == _TABLES}


async def _days(tx: Tx) -> dict[date, int]:
    """Days that have partitions, and how many of the two they have."""
    days: dict[date, int] = {}
    for row in await tx.fetch(sql.PARTITIONS):
        child = _CHILD.fullmatch(row["name"])
        if child is not None:
            day = date.fromisoformat(child[1])
            days[day] = days.get(day, 0) + 1
    return days


def _missing(wanted: list[date], present: dict[date, int]) -> list[date]:
    return [day for day in wanted if present.get(day, 0) < _TABLES]
