"""Notifications: written beside the alert they are about, sent by whoever comes for them first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota import ids
from rota.watch import outbox_sql as sql
from rota.watch import words
from rota.watch.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.watch.alert import Alert
    from rota.watch.channel import Channel
    from rota.watch.words import Message

TAKEN_FOR: Final = timedelta(seconds=60)
"""How long a sending may take before others try."""
KEEP: Final = timedelta(days=7)
EXPIRE: Final = timedelta(days=2)
MOST_APART: Final = 10
_SUCCESSES: Final = 200
"""Of one channel in one pass."""
MOST_WAITING: Final = 200
"""Of one channel, before it hears of no more successes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One that was taken, to be sent now."""

    id: UUID
    tenant_id: UUID
    channel_id: UUID
    event: str
    attempt: int
    title: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What may be shown of a notification."""

    id: UUID
    event: str
    title: str
    status: str
    attempt: int
    error: str | None
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanting:
    """A channel, and what it wants to hear."""

    id: UUID
    tenant_id: UUID
    events: frozenset[str]
    tags: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _New:
    channel_id: UUID
    event: str
    message: Message
    alert_id: UUID | None = None
    firing_id: UUID | None = None


def wants(channel: Wanting, alert: Alert, *, recovered: bool) -> bool:
    """Whether the channel is to hear of it: of the right tenant, event and tags. Pure."""
    event = KINDS[alert.kind].event
    if event not in channel.events or (recovered and "recovered" not in channel.events):
        return False
    if KINDS[alert.kind].is_installation:
        return not channel.tags
    if channel.tenant_id != alert.tenant_id:
        return False
    return not channel.tags or bool(channel.tags & set(alert.tags))


async def say(tx: Tx, alerts: Sequence[Alert], *, recovered: bool, at: datetime) -> None:
    """Put into the outbox what there is to say about these, for each channel that wants it."""
    if not alerts:
        return
    new: list[_New] = []
    for channel in await _wanting(tx, alerts):
        heard = [each for each in alerts if wants(channel, each, recovered=recovered)]
        new += _words(channel, heard, recovered=recovered, at=at)
    await _add(tx, new, at=at)


def _words(
    channel: Wanting, alerts: Sequence[Alert], *, recovered: bool, at: datetime
) -> Iterator[_New]:
    """One notification for each; one for all of a kind where there are too many to read."""
    kinds: dict[str, list[Alert]] = {}
    for each in alerts:
        kinds.setdefault(each.kind, []).append(each)
    for kind, some in kinds.items():
        event = "recovered" if recovered else KINDS[kind].event
        if len(some) > MOST_APART:
            message = words.together(some, recovered=recovered, now=at)
            yield _New(channel_id=channel.id, event=event, message=message)
            continue
        for each in some:
            word = words.closed if recovered else words.opened
            message = word(each, now=at)
            yield _New(channel_id=channel.id, event=event, message=message, alert_id=each.id)


async def say_successes(tx: Tx, *, at: datetime) -> int:
    """For channels that asked for it: firings that have succeeded since the last time."""
    rows = await tx.fetch(sql.SUCCESSES, _SUCCESSES, MOST_WAITING)
    new = [
        _New(
            channel_id=row["channel_id"],
            event="succeeded",
            firing_id=row["firing_id"],
            message=words.succeeded(
                firing_id=row["firing_id"],
                schedule_id=row["schedule_id"],
                schedule_name=row["name"],
                ended_at=row["finished_at"],
            ),
        )
        for row in rows
    ]
    await _add(tx, new, at=at)
    await tx.execute(sql.TOLD_UNTIL)
    return len(new)


async def say_test(tx: Tx, channel: Channel, *, at: datetime) -> UUID:
    """A word that says nothing; the id of the notification."""
    (made,) = await _add(
        tx,
        [_New(channel_id=channel.id, event="test", message=words.test(channel.name, now=at))],
        at=at,
    )
    return made


async def listed(
    tx: Tx,
    tenant_id: UUID,
    channel_id: UUID,
    *,
    before: tuple[datetime, UUID] | None,
    limit: int,
    only: UUID | None = None,
) -> list[Said]:
    """What was to be said on a channel and what became of it, the newest first."""
    at, id_ = before or (None, None)
    rows = await tx.fetch(sql.LIST, tenant_id, channel_id, at, id_, limit, only)
    return [
        Said(
            id=row["id"],
            event=row["event"],
            title=row["title"],
            status=row["status"],
            attempt=row["attempt"],
            error=row["error"],
            created_at=row["created_at"],
            ended_at=row["ended_at"],
        )
        for row in rows
    ]


_IS_ANY_DUE: LiteralString = """
    SELECT EXISTS (SELECT FROM notifications
                    WHERE status = 'pending' AND available_at <= clock_timestamp())
"""


async def is_any_due(tx: Tx) -> bool:
    """Whether `take` may find something; asked every second, mostly in vain."""
    return await tx.fetch_value(_IS_ANY_DUE)


async def take(tx: Tx, *, limit: int) -> list[Notification]:
    """Those that are due, for this caller alone until `TAKEN_FOR` is over."""
    rows = await tx.fetch(sql.TAKE, limit, TAKEN_FOR)
    return [
        Notification(
            id=row["id"],
            tenant_id=row["tenant_id"],
            channel_id=row["channel_id"],
            event=row["event"],
            attempt=row["attempt"],
            title=row["title"],
            content=row["content"],
        )
        for row in rows
    ]


async def sent(tx: Tx, each: Notification) -> None:
    """It has been told."""
    await tx.execute(sql.SENT, each.id, each.attempt)


async def failed(tx: Tx, each: Notification, error: str, *, again: timedelta | None) -> None:
    """It could not be told; it is tried again after a while, or given up without one."""
    await tx.execute(sql.FAILED, each.id, each.attempt, error, again)


async def turn_off(tx: Tx, channel_id: UUID) -> None:
    """Its receiver wants to hear no more (HTTP 410)."""
    await tx.execute(sql.TURN_OFF, channel_id)


async def forget(tx: Tx) -> None:
    """Give up what has waited for days, and drop what ended long ago."""
    await tx.execute(sql.EXPIRE, EXPIRE)
    await tx.execute(sql.FORGET, KEEP)


async def _wanting(tx: Tx, alerts: Collection[Alert]) -> list[Wanting]:
    tenants = {each.tenant_id for each in alerts if each.tenant_id is not None}
    installation = any(KINDS[each.kind].is_installation for each in alerts)
    rows = await tx.fetch(sql.WANTING, list(tenants), installation)
    return [
        Wanting(
            id=row["id"],
            tenant_id=row["tenant_id"],
            events=frozenset(row["events"]),
            tags=frozenset(row["tags"]),
        )
        for row in rows
    ]


async def _add(tx: Tx, new: Sequence[_New], *, at: datetime) -> list[UUID]:
    if not new:
        return []
    made = [ids.new(at=at) for _ in new]
    await tx.execute(
        sql.ADD,
        made,
        [each.channel_id for each in new],
        [each.event for each in new],
        [each.alert_id for each in new],
        [each.firing_id for each in new],
        [each.message.title for each in new],
        [each.message.content for each in new],
    )
    return made
