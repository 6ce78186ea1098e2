"""What the watchdog sees of the tables, as readings: one function for each kind of trouble."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota import ids
from rota.durations import compact
from rota.queue import capture_usage
from rota.timers import lags
from rota.watch import facts_sql as sql
from rota.watch import rules
from rota.watch.rules import Reading

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rota.db import Row, Tx
    from rota.watch.alert import Alert

_OF_A_SHARD: Final = 10
_OF_A_PLACE: Final = 100
_COUNTED: Final = 1_000
_CIRCUITS: Final = 1_000
_HOUR: Final = 3_600.0
_LATE: Final = timedelta(seconds=1)
"""Firings are claimed ahead: one that waits for so long past its instant waits for a worker."""


async def overdue(tx: Tx, known: Collection[Alert]) -> list[Reading]:
    """Schedules whose slot has passed: nobody fired it, or no worker has taken it (MO8)."""
    of = [each.schedule_id for each in known if each.schedule_id is not None]
    timers = await tx.fetch(sql.OVERDUE_TIMERS, rules.OVERDUE_GRACE, _OF_A_SHARD, of)
    waiting = await tx.fetch(sql.OVERDUE_QUEUE, rules.WAITING_GRACE, _OF_A_PLACE, of)
    found = {row["schedule_id"]: _overdue(row, "has waited for a worker") for row in waiting}
    found |= {row["schedule_id"]: _overdue(row, "has not been fired") for row in timers}
    return list(found.values())


def _overdue(row: Row, what: str) -> Reading:
    due = row["due_at"].isoformat(timespec="seconds").replace("+00:00", "Z")
    return Reading(
        subject=ids.to_text(ids.Kind.SCHEDULE, row["schedule_id"]),
        tenant_id=row["tenant_id"],
        schedule_id=row["schedule_id"],
        value=row["late"].total_seconds(),
        detail=f"what was due at {due} {what} for {_length(row['late'])}",
    )


async def stalled(tx: Tx, _: Collection[Alert]) -> list[Reading]:
    """The shards whose oldest timer is late, together: one cause, one alert (MO1, MO9)."""
    behind = await lags(tx)
    late = {s: each for s, each in behind.items() if each > timedelta(seconds=5)}
    if not late:
        return []
    worst = max(late.values())
    some = ", ".join(str(shard) for shard in sorted(late)[:20])
    detail = f"{len(late)} shards are late, by up to {_length(worst)}: {some}"
    return [Reading(subject="shards", value=worst.total_seconds(), detail=detail)]


async def circuits(tx: Tx, _: Collection[Alert]) -> list[Reading]:
    """Hosts that are left alone, until they answer again (HX5)."""
    return [
        Reading(
            subject=row["host"],
            value=1,
            detail=f"{row['host']} has failed {row['failures']} times in a row",
        )
        for row in await tx.fetch(sql.CIRCUITS, _CIRCUITS)
    ]


async def deep(tx: Tx, _: Collection[Alert]) -> list[Reading]:
    """How much is past its instant and waits for a worker (MO7)."""
    late: int = await tx.fetch_value(sql.LATE, _LATE, _COUNTED)
    return [Reading(subject="queue", value=late, detail=f"{late} or more wait for a worker")]


async def failing(tx: Tx, _: Collection[Alert]) -> list[Reading]:
    """Which part of a tenant's firings failed within the hour (MO4)."""
    rows = await tx.fetch(sql.FAILING, _COUNTED * 10)
    return [
        Reading(
            subject="firings",
            tenant_id=row["tenant_id"],
            value=rules.failing(row["succeeded"], row["dead"]),
            detail=f"{row['dead']} of {row['succeeded'] + row['dead']} failed in the last hour",
        )
        for row in rows
    ]


async def captures(tx: Tx, _: Collection[Alert]) -> list[Reading]:
    """Tenants of whose attempts only excerpts are kept today: one alert for each day."""
    return [
        Reading(
            subject=f"captures of {each.day}",
            tenant_id=each.tenant_id,
            value=each.cut,
            detail=f"the capture budget of {each.day} (UTC) is used up, with "
            f"{each.bytes / 1024 / 1024:.0f} MB kept: of {each.cut} attempts or more only excerpts "
            "are kept",
        )
        for each in await capture_usage.cut_today(tx, limit=_COUNTED)
    ]


async def slow(tx: Tx, known: Collection[Alert]) -> list[Reading]:
    """How much of its timeout a schedule takes (MO6). What did not run again is as it was."""
    rows = await tx.fetch(sql.SLOW, _COUNTED)
    found = {row["schedule_id"]: _slow(row) for row in rows}
    for each in known:
        if each.schedule_id is not None and each.schedule_id not in found:
            limit = rules.THRESHOLDS["slow"]
            found[each.schedule_id] = Reading(
                subject=each.subject,
                tenant_id=each.tenant_id,
                schedule_id=each.schedule_id,
                value=(limit.healthy + limit.alarm) / 2,
                detail=each.detail,
            )
    return list(found.values())


def _slow(row: Row) -> Reading:
    took, timeout = float(row["took"]), float(row["timeout"])
    return Reading(
        subject=ids.to_text(ids.Kind.SCHEDULE, row["schedule_id"]),
        tenant_id=row["tenant_id"],
        schedule_id=row["schedule_id"],
        value=took / timeout,
        detail=f"took {took:.1f} s of the {timeout:g} s it may take",
    )


class Flaps:
    """How often each shard has changed hands within an hour, from what was seen of its fence.

    A fence only grows, by one for each change: two looks are enough, however long apart.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Mapping[int, int]]] = deque()

    async def look(self, tx: Tx, *, now: float) -> list[Reading]:
        """What there is to say by now (MO5)."""
        fences = {row["shard"]: row["fence"] for row in await tx.fetch(sql.FENCES)}
        return self.note(fences, now=now)

    def note(self, fences: Mapping[int, int], *, now: float) -> list[Reading]:
        """The same, of fences that were read. Pure but for what it remembers."""
        while self._seen and self._seen[0][0] < now - _HOUR:
            self._seen.popleft()
        self._seen.append((now, fences))
        first = self._seen[0][1]
        changes = {shard: fence - first.get(shard, fence) for shard, fence in fences.items()}
        worst = max(changes.values(), default=0)
        if not worst:
            return []
        some = ", ".join(str(shard) for shard, each in sorted(changes.items()) if each == worst)
        detail = f"shards {some[:100]} have changed hands {worst} times within an hour"
        return [Reading(subject="leases", value=worst, detail=detail)]


def _length(late: timedelta) -> str:
    return compact(timedelta(seconds=round(late.total_seconds())))
