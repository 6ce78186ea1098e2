"""Sending what is in the outbox: webhooks by Rota itself, other services through apprise."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from rota.errors import InvalidInput, OperatorError
from rota.watch import addresses, outbox, words
from rota.watch.events import NotificationFailed, NotificationSent
from rota.watch.pacing import retry_interval

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.events import Bus
    from rota.tenants.secrets import Masked
    from rota.watch.addresses import Webhook
    from rota.watch.channels import Channels
    from rota.watch.outbox import Notification

INTERVAL: Final = timedelta(seconds=1)
AT_ONCE: Final = 20
_MOST_ERROR: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a try. Without an error it has been told."""

    error: str | None = None
    wanted: timedelta | None = None
    """How long the receiver wants to be left alone."""
    gone: bool = False
    """The receiver wants to hear no more, ever."""


class Post(Protocol):
    """Calls a webhook, signed as a firing is. Failure is an answer; nothing is raised."""

    async def __call__(
        self, tenant_id: UUID, message_id: UUID, webhook: Webhook, content: bytes
    ) -> Told: ...


class Say(Protocol):
    """Tells another service. Failure is an answer; nothing is raised."""

    async def __call__(self, url: Masked, title: str, text: str) -> Told: ...


class Sender:
    """Of a worker. Any number of them share the outbox; each notification is one's alone."""

    def __init__(
        self,
        db: Database,
        channels: Channels,
        *,
        post: Post,
        say: Say | None,
        say_for: UUID | None = None,
        bus: Bus,
    ) -> None:
        """Without `say` only webhooks are sent; with `say_for`, other services to that tenant's
        channels alone."""
        self._db = db
        self._channels = channels
        self._post = post
        self._say = say
        self._say_for = say_for
        self._bus = bus

    async def run_once(self) -> int:
        """Send what is due; how many notifications it were."""
        async with self._db.reading() as tx:
            if not await outbox.is_any_due(tx):
                return 0
        total = 0
        while True:
            taken = await self._db.run(lambda tx: outbox.take(tx, limit=AT_ONCE))
            await asyncio.gather(*(self._send(each) for each in taken))
            total += len(taken)
            if len(taken) < AT_ONCE:
                return total

    async def _send(self, each: Notification) -> None:
        told = await self._tell(each)
        again = None
        if told.error is not None and not told.gone and each.event != "test":
            again = retry_interval(each.attempt, wanted=told.wanted)

        async def work(tx: Tx) -> None:
            if told.error is None:
                await outbox.sent(tx, each)
            else:
                await outbox.failed(tx, each, told.error, again=again)
            if told.gone:
                await outbox.turn_off(tx, each.channel_id)

        await self._db.run(work, repeatable=True)
        self._publish(each, told, given_up=again is None)

    async def _tell(self, each: Notification) -> Told:
        url = await self._url(each)
        return url if isinstance(url, Told) else await self.deliver(each, url)

    async def deliver(self, each: Notification, url: Masked) -> Told:
        """Send it to the URL; nothing is recorded."""
        told = await self._call(each, url)
        if told.error is None:
            return told
        # A stranger's words may repeat what they were sent (S8).
        error = addresses.scrubbed(told.error, url.reveal())[:_MOST_ERROR]
        return Told(error=error, wanted=told.wanted, gone=told.gone)

    async def _url(self, each: Notification) -> Masked | Told:
        try:
            found = await self._db.run(
                lambda tx: self._channels.open(tx, [each.channel_id]), read_only=True
            )
        except OperatorError as error:
            return Told(error=str(error))
        return found.get(each.channel_id) or Told(error="the channel is gone", gone=True)

    async def _call(self, each: Notification, url: Masked) -> Told:
        text = url.reveal()
        if addresses.scheme_of(text) not in addresses.WEBHOOKS:
            if self._say is None or self._say_for not in (None, each.tenant_id):
                return Told(error="other services are off here; ROTA_APPRISE=1 turns them on")
            return await self._say(url, each.title, words.plain(each.content))
        try:
            webhook = addresses.webhook(text)
        except InvalidInput as error:
            return Told(error=error.message)
        return await self._post(each.tenant_id, each.id, webhook, each.content.encode())

    def _publish(self, each: Notification, told: Told, *, given_up: bool) -> None:
        if told.error is None:
            self._bus.publish(
                NotificationSent(
                    notification_id=each.id, channel_id=each.channel_id, event=each.event
                )
            )
            return
        self._bus.publish(
            NotificationFailed(
                notification_id=each.id,
                channel_id=each.channel_id,
                attempt=each.attempt,
                given_up=given_up,
                error=told.error,
            )
        )
