"""Waking up when something changed, without trusting that the news arrives.

NOTIFY is a hint, not a delivery: notices sent while the connection was away are lost, and a
pooler may swallow them all. So a wait always ends when its time is up, and every new connection
counts as news, because nobody knows what was said before it. A waiter that looks at its table after
every wake, whatever the cause, misses nothing and is merely later without NOTIFY.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from rota.backoff import Backoff
from rota.clock import Clock, SystemClock, set_or_late
from rota.db import driver
from rota.db.session import Session

if TYPE_CHECKING:
    from rota.db.driver import Connection
    from rota.db.pool import Database

_MAX_NOTICES = 1_000


class Cause(enum.Enum):
    """Why a wait ended."""

    NOTIFIED = "notified"
    """Notices arrived; they are in `Wake.notices`."""
    POLLED = "polled"
    """The time was up."""
    MISSED = "missed"
    """The connection is new, or there were too many notices to keep: look at everything."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What someone said on a channel."""

    channel: str
    payload: str


@dataclass(frozen=True, slots=True)
class Wake:
    """The end of a wait. Equal notices are told once; order means nothing."""

    cause: Cause
    notices: frozenset[Notice] = frozenset()


class Subscription:
    """One waiter's view of some channels. Not for two waiters at once: make one for each."""

    def __init__(self, channels: frozenset[str], clock: Clock) -> None:
        self.channels = channels
        self._clock = clock
        self._bell = asyncio.Event()
        self._notices: set[Notice] = set()
        self._missed = False

    async def wait(self, timeout: timedelta) -> Wake:  # noqa: ASYNC109 - time is the clock's here
        """Return at the next notice, at once when some came since the last wait, or in time."""
        await set_or_late(self._bell, timeout, self._clock)
        self._bell.clear()
        notices, self._notices = frozenset(self._notices), set()
        missed, self._missed = self._missed, False
        if missed:
            return Wake(Cause.MISSED, notices)
        return Wake(Cause.NOTIFIED if notices else Cause.POLLED, notices)

    def tell(self, notice: Notice) -> None:
        """Keep a notice of one of the channels for the next wait."""
        if notice.channel not in self.channels:
            return
        if len(self._notices) < _MAX_NOTICES:
            self._notices.add(notice)
        else:
            self._missed = True
        self._bell.set()

    def tell_missed(self) -> None:
        """Notices may have been lost."""
        self._missed = True
        self._bell.set()


class Listener:
    """LISTEN on some channels, over one connection that comes back by itself.

    async with Listener(dsn, ["timers"]) as listener:
        timers = listener.subscribe("timers")
        wake = await timers.wait(timedelta(seconds=1))

    Never raises because of the database: while it is away, waits end when their time is up.
    """

    def __init__(
        self,
        dsn: str,
        channels: list[str],
        *,
        session: Session | None = None,
        backoff: Backoff | None = None,
        ping_interval: timedelta = timedelta(seconds=10),
        clock: Clock | None = None,
    ) -> None:
        self._dsn = dsn
        self._channels = tuple(dict.fromkeys(channels))
        self._session = session or Session(application_name="rota listen")
        self._backoff = backoff or Backoff(max_interval=timedelta(seconds=5))
        self._ping_interval = ping_interval
        self._clock = clock or SystemClock()
        self._subscriptions: list[Subscription] = []
        self._databases: dict[str, list[Database]] = {}
        self._task: asyncio.Task[None] | None = None
        self.connected = False
        """Whether notices arrive at present."""
        self.last_error: Exception | None = None
        """Why they did not, the last time; None while connected."""

    def subscribe(self, *channels: str) -> Subscription:
        """Wait for these channels. The first wait ends at once when the connection stands."""
        unknown = set(channels) - set(self._channels)
        if unknown or not channels:
            raise ValueError(f"expected some of {self._channels}, got {channels}")
        subscription = Subscription(frozenset(channels), self._clock)
        self._subscriptions.append(subscription)
        if self.connected:
            subscription.tell_missed()
        return subscription

    def pass_on(self, channel: str, db: Database) -> None:
        """Hand notices of this channel to what this process has at `db.on_notice`."""
        databases = self._databases.setdefault(channel, [])
        if db not in databases:
            databases.append(db)

    async def start(self) -> None:
        """Begin to connect, in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep_listening(), name="rota listen")

    async def close(self) -> None:
        """Stop listening. Waits still end when their time is up."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _keep_listening(self) -> None:
        failures = 0
        while True:
            try:
                connection = await driver.connect(self._dsn, self._session)
            except (*driver.ERRORS, ValueError) as error:
                self.last_error = error
            else:
                if await self._listen_until_lost(connection):
                    failures = 0
            failures += 1
            await self._clock.sleep(self._backoff.interval(failures, draw=random.random()))

    async def _listen_until_lost(self, connection: Connection) -> bool:
        """Whether it came to listening at all."""
        lost = asyncio.Event()
        listened = False
        try:
            connection.add_termination_listener(lambda _: lost.set())
            for channel in self._channels:
                await connection.add_listener(channel, self._on_notice)
            # Only now: what is said from here on is heard, what was said before may be lost.
            self._set_connected()
            listened = True
            await self._watch(connection, lost)
        except driver.ERRORS as error:
            self.last_error = error
        finally:
            self.connected = False
            await driver.hang_up(connection)
        return listened

    async def _watch(self, connection: Connection, lost: asyncio.Event) -> None:
        """Return when the connection is lost.

        Asks from time to time: an idle connection whose server vanished says nothing by itself.
        """
        while not lost.is_set():
            await set_or_late(lost, self._ping_interval, self._clock)
            if not lost.is_set():
                await connection.fetchval("SELECT 1", timeout=5.0)

    def _set_connected(self) -> None:
        self.connected = True
        self.last_error = None
        for channel, databases in self._databases.items():
            for db in databases:
                db.tell(channel, None)
        for subscription in self._subscriptions:
            subscription.tell_missed()

    def _on_notice(self, _: Connection, _pid: int, channel: str, payload: str) -> None:
        for db in self._databases.get(channel, ()):
            db.tell(channel, payload)
        for subscription in self._subscriptions:
            subscription.tell(Notice(channel, payload))
