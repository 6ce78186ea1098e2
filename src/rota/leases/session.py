"""The sign of life that a crash takes away at once: a session, and a lock that it holds.

When a process is killed, its kernel closes its connections and the server frees the session's
advisory lock within milliseconds. The others see that the lock is free and need not wait for any
lease or claim to run out. A session that is lost while its node lives is made again, lock and all.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from rota.clock import Clock, SystemClock, set_or_late
from rota.db import Backoff, Session, driver
from rota.events import Bus, Event
from rota.leases import sql
from rota.leases.node import LOCK_CLASS, SCHEDULER

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db.driver import Connection
    from rota.leases.node import Node

_CLOSE_TIMEOUT = timedelta(seconds=2)
_PING_TIMEOUT = timedelta(seconds=5)


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
        ping_interval: timedelta = timedelta(seconds=2),
    ) -> None:
        self._dsn = dsn
        self._node = node
        self._bus = bus or Bus()
        self._clock = clock or SystemClock()
        self._backoff = backoff or Backoff()
        self._ping_interval = ping_interval
        self._task: asyncio.Task[None] | None = None
        self.made = asyncio.Event()
        """Set while the lock is held."""

    @property
    def is_held(self) -> bool:
        """Whether the others can see that this node lives."""
        return self.made.is_set()

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
            await connection.execute(sql.APPEAR, *sql.appearance(self._node))
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
            self.made.clear()
            await driver.hang_up(connection)
        return held

    async def _watch(self, connection: Connection) -> None:
        """Ask from time to time; raises when the session is lost.

        A scheduler's elector says itself that it is there: one that is stuck must lose its share,
        even though its session lives.
        """
        beats = SCHEDULER not in self._node.roles
        timeout = _PING_TIMEOUT.total_seconds()
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        while True:
            await set_or_late(lost, self._ping_interval, self._clock)
            if beats:
                await connection.execute(sql.APPEAR, *sql.appearance(self._node), timeout=timeout)
            else:
                await connection.fetchval("SELECT 1", timeout=timeout)

    async def _leave(self, connection: Connection) -> None:
        with contextlib.suppress(*driver.ERRORS):
            timeout = _CLOSE_TIMEOUT.total_seconds()
            await connection.execute(sql.LEAVE, self._node.id, timeout=timeout)

    def _lose(self, error: Exception) -> None:
        self.made.clear()
        # The type alone: what the driver says of a DSN may quote the password.
        self._bus.publish(SessionLost(node=self._node.id, error=type(error).__name__))
