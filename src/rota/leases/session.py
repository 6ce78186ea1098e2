"""The sign of life that a crash takes away at once: a session, and a lock that it holds.

When a process is killed, its kernel closes its connections and the server frees the session's
advisory lock within milliseconds. The others see that the lock is free and need not wait for any
lease or claim to run out. A session that is lost while its node lives is made again, lock and all.

A worker may begin an attempt only while its session is confirmed: the server has said within the
last second that nobody has declared the node gone (docs/decisions/right-to-begin.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from rota.backoff import Backoff
from rota.clock import Clock, SystemClock, set_or_late
from rota.db import Session, driver
from rota.events import Bus, Event
from rota.leases import sql
from rota.leases.node import LOCK_CLASS, SCHEDULER

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db.driver import Connection
    from rota.leases.node import Node

CONFIRMED_FOR: Final = timedelta(seconds=1)
"""For how long a confirmation gives the right to begin, counted from before it was asked for.
Shorter than `queue.rescue.GONE_FOR`, after which others may take the node's claims."""

_CLOSE_TIMEOUT = timedelta(seconds=2)
_CONFIRM_TIMEOUT = timedelta(seconds=5)
_WANTED_FOR: Final = timedelta(seconds=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMade(Event):
    """The node's lock is held: the others can see that it lives."""

    node: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLost(Event):
    """The node's session ended, or could not be made; it is tried again."""

    node: UUID
    error: str


class NodeSession:
    """A node's row and its advisory lock, on a connection of their own.

    async with NodeSession(dsn, node) as session:
        await session.made.wait()
    """

    def __init__(
        self,
        dsn: str,
        node: Node,
        *,
        bus: Bus | None = None,
        clock: Clock | None = None,
        backoff: Backoff | None = None,
        idle_interval: timedelta = timedelta(seconds=2),
        wanted_interval: timedelta = timedelta(milliseconds=250),
    ) -> None:
        self._dsn = dsn
        self._node = node
        self._bus = bus or Bus()
        self._clock = clock or SystemClock()
        self._backoff = backoff or Backoff()
        self._idle_interval = idle_interval
        self._wanted_interval = wanted_interval
        self._wanted_until = float("-inf")
        self._confirmed_until = float("-inf")
        self._ask = asyncio.Event()
        """Set to confirm now, or when the session has ended."""
        self._confirmation = asyncio.Event()
        """Set at the next confirmation, and then replaced."""
        self.epoch = 0
        """Counts registrations. Claims made in an earlier epoch may be somebody else's by now."""
        self._task: asyncio.Task[None] | None = None
        self.made = asyncio.Event()
        """Set while the lock is held."""

    @property
    def is_held(self) -> bool:
        """Whether the others can see that this node lives."""
        return self.made.is_set()

    @property
    def is_confirmed(self) -> bool:
        """Whether the server has said within the last second that nobody declared the node gone."""
        return self._clock.monotonic() < self._confirmed_until

    def want(self) -> None:
        """Somebody holds claims: for the next seconds, keep the session confirmed all the time."""
        now = self._clock.monotonic()
        if now >= self._wanted_until or now >= self._confirmed_until:
            self._ask.set()
        self._wanted_until = now + _WANTED_FOR.total_seconds()

    async def confirmation(self) -> None:
        """Wait for the next confirmation."""
        await self._confirmation.wait()

    async def start(self) -> None:
        """Begin to connect, in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep(), name="rota node session")

    async def close(self) -> None:
        """Leave: the row goes with the session. Never raises because of the database."""
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

    async def _keep(self) -> None:
        failures = 0
        while True:
            try:
                connection = await driver.connect(self._dsn, Session("rota node"))
            except (*driver.ERRORS, ValueError) as error:
                self._lose(error)
            else:
                if await self._hold_until_lost(connection):
                    failures = 0
            failures += 1
            await self._clock.sleep(self._backoff.interval(failures, draw=random.random()))

    async def _hold_until_lost(self, connection: Connection) -> bool:
        """Whether the lock was held at all."""
        held = False
        try:
            await connection.execute(sql.LOCK_SESSION, LOCK_CLASS, self._node.lock_key)
            await self._register(connection)
            self.made.set()
            self._bus.publish(SessionMade(node=self._node.id))
            held = True
            await self._watch(connection)
        except driver.ERRORS as error:
            self._lose(error)
        except asyncio.CancelledError:
            await self._leave(connection)
            raise
        finally:
            self._end()
            await driver.hang_up(connection)
        return held

    async def _register(self, connection: Connection) -> None:
        # Read before the request: a slow reply must shorten our trust, never stretch it.
        asked_at = self._clock.monotonic()
        timeout = _CONFIRM_TIMEOUT.total_seconds()
        await connection.execute(sql.REGISTER, *sql.appearance(self._node), timeout=timeout)
        self.epoch += 1
        self._confirm(asked_at)

    async def _watch(self, connection: Connection) -> None:
        """Confirm from time to time; raises when the session is lost.

        A scheduler's elector says itself that it is there: one that is stuck must lose its share,
        even though its session lives.
        """
        beats = SCHEDULER not in self._node.roles
        timeout = _CONFIRM_TIMEOUT.total_seconds()
        connection.add_termination_listener(lambda _: self._ask.set())
        asked_at = self._clock.monotonic()
        while True:
            await self._until_next(asked_at)
            asked_at = self._clock.monotonic()
            kept = await connection.fetchval(sql.CONFIRM, self._node.id, beats, timeout=timeout)
            if kept:
                self._confirm(asked_at)
            else:
                await self._register(connection)

    async def _until_next(self, asked_at: float) -> None:
        now = self._clock.monotonic()
        wanted = now < self._wanted_until
        interval = self._wanted_interval if wanted else self._idle_interval
        left = interval - timedelta(seconds=now - asked_at)
        if left > timedelta():
            await set_or_late(self._ask, left, self._clock)
        self._ask.clear()

    def _confirm(self, asked_at: float) -> None:
        self._confirmed_until = asked_at + CONFIRMED_FOR.total_seconds()
        self._confirmation.set()
        self._confirmation = asyncio.Event()

    def _end(self) -> None:
        """The right to begin ends with the session, a second early."""
        self.made.clear()
        self._confirmed_until = float("-inf")

    async def _leave(self, connection: Connection) -> None:
        with contextlib.suppress(*driver.ERRORS):
            timeout = _CLOSE_TIMEOUT.total_seconds()
            await connection.execute(sql.LEAVE, self._node.id, timeout=timeout)

    def _lose(self, error: Exception) -> None:
        self._end()
        # The type alone: what the driver says of a DSN may quote the password.
        self._bus.publish(SessionLost(node=self._node.id, error=type(error).__name__))
