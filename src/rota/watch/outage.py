"""Notifies the operator while the database is away, from what was kept in memory.

Alerts and their notifications are rows: during an outage nobody can write or read them. So every
engine keeps the operator's channels ready, with all that it takes to call them, and sends one
notice itself when the outage lasts. What happened is recorded when the database is back, and the
recovery is notified in the usual way.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from rota import ids
from rota.errors import OperatorError, TemporaryError
from rota.events import Event
from rota.watch import channels_sql, words
from rota.watch.outbox import Notification
from rota.watch.pacing import retry_interval

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.events import Bus
    from rota.tenants.secrets import Masked
    from rota.watch.channels import Channels
    from rota.watch.sender import Told

INTERVAL: Final = timedelta(seconds=1)
REFRESH_INTERVAL: Final = timedelta(seconds=15)
"""How old the channels in memory are when an outage begins, at most."""
_PATIENCE: Final = timedelta(seconds=3)


class Deliver(Protocol):
    """Sends to a channel without the database. Failure is an answer; nothing is raised."""

    async def __call__(self, each: Notification, url: Masked) -> Told: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorChannelsReady(Event):
    """So many channels are kept in memory, to be called in an outage; published when it changes."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageNotified(Event):
    """A channel was notified that this node cannot reach the database."""

    channel_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageUnnotified(Event):
    """A channel could not be notified of an outage; it is tried again unless it is given up."""

    channel_id: UUID
    attempt: int
    given_up: bool
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A channel, with all that is needed to call it."""

    id: UUID
    tenant_id: UUID
    url: Masked


@dataclass(slots=True, kw_only=True)
class _Outage:
    began_at: datetime
    notice_at: float
    """When to send, by the monotonic clock."""
    left: list[tuple[Ready, UUID]]
    """The channels to notify still, each with the id of its notification."""
    attempt: int = 0


class OutageNotifier:
    """Of one node. `away` and `back` are called as it happens, `run_once` every second."""

    def __init__(
        self,
        db: Database,
        channels: Channels,
        *,
        deliver: Deliver,
        prepare: Callable[[Tx, list[UUID]], Awaitable[None]],
        on_told: Callable[[], None],
        node: str,
        after: timedelta,
        bus: Bus,
        clock: Clock,
    ) -> None:
        """`prepare` reads what it takes to call channels of these tenants; `on_told` is called when
        all channels know; `node` names this one in the notice, which is sent `after` so long."""
        self._db = db
        self._channels = channels
        self._deliver = deliver
        self._prepare = prepare
        self._on_told = on_told
        self._node = node
        self._after = after
        self._bus = bus
        self._clock = clock
        self._ready: list[Ready] = []
        self._refresh_at = float("-inf")
        self._outage: _Outage | None = None

    def away(self, *, unanswered_for: timedelta = timedelta()) -> None:
        """The database does not answer, since so long ago."""
        if self._outage is not None:
            return
        began_at = self._clock.now() - unanswered_for
        wait = (self._after - unanswered_for).total_seconds()
        self._outage = _Outage(
            began_at=began_at,
            notice_at=self._clock.monotonic() + wait,
            left=[(each, ids.new(at=began_at)) for each in self._ready],
        )

    def back(self) -> None:
        """It answers again."""
        self._outage = None
        self._refresh_at = float("-inf")

    async def run_once(self) -> None:
        """Send what is due; while all is well, keep the channels fresh."""
        outage, now = self._outage, self._clock.monotonic()
        if outage is not None:
            if outage.left and now >= outage.notice_at:
                await self._notify(outage)
        elif now >= self._refresh_at:
            self._refresh_at = now + REFRESH_INTERVAL.total_seconds()
            await self._refresh()

    async def _refresh(self) -> None:
        try:
            # A database that hangs must not keep this from noticing that it does.
            async with asyncio.timeout(_PATIENCE.total_seconds()):
                self._keep(await self._db.run(self._read))
        except OperatorError:
            # Without the keys that open their URLs there is no channel to call; the vault says so.
            self._keep([])
        except (TemporaryError, TimeoutError):
            self._refresh_at = float("-inf")

    def _keep(self, ready: list[Ready]) -> None:
        if len(ready) != len(self._ready):
            self._bus.publish(OperatorChannelsReady(count=len(ready)))
        self._ready = ready

    async def _read(self, tx: Tx) -> list[Ready]:
        found = await channels_sql.of_installation(tx)
        if not found:
            return []
        urls = await self._channels.open(tx, [id_ for id_, _ in found])
        await self._prepare(tx, sorted({tenant_id for _, tenant_id in found}))
        return [
            Ready(id=id_, tenant_id=tenant_id, url=urls[id_])
            for id_, tenant_id in found
            if id_ in urls
        ]

    async def _notify(self, outage: _Outage) -> None:
        outage.attempt += 1
        told = await asyncio.gather(*(self._send(outage, *each) for each in outage.left))
        again = retry_interval(outage.attempt)
        for (channel, _), answer in zip(outage.left, told, strict=True):
            self._publish(channel, answer, outage.attempt, given_up=again is None or answer.gone)
        failed = [
            each
            for each, answer in zip(outage.left, told, strict=True)
            if answer.error is not None and not answer.gone
        ]
        outage.left = failed if again is not None else []
        if again is not None:
            outage.notice_at = self._clock.monotonic() + again.total_seconds()
        if not failed and self._outage is outage:
            self._on_told()

    async def _send(self, outage: _Outage, channel: Ready, id_: UUID) -> Told:
        message = words.away(self._node, since=outage.began_at, now=self._clock.now())
        notification = Notification(
            id=id_,
            tenant_id=channel.tenant_id,
            channel_id=channel.id,
            event="installation",
            attempt=outage.attempt,
            title=message.title,
            content=message.content,
        )
        return await self._deliver(notification, channel.url)

    def _publish(self, channel: Ready, told: Told, attempt: int, *, given_up: bool) -> None:
        if told.error is None:
            self._bus.publish(OutageNotified(channel_id=channel.id))
            return
        self._bus.publish(
            OutageUnnotified(
                channel_id=channel.id, attempt=attempt, given_up=given_up, error=told.error
            )
        )
