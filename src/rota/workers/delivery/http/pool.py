"""Connections that wait for the next request to the same origin, of the same tenant.

Never another tenant's: what one has said on a connection must not shape what the other hears.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from rota.workers.delivery.http.connection import Connection
    from rota.workers.delivery.http.origin import Origin

# Servers close connections that are idle for a few seconds, and a request sent into that moment
# fails. Without a word from the server, connections wait for less than the shortest usual limit
# (2 s); one that has said how long it waits (`Keep-Alive: timeout=5`) is believed, less a second.
KEEP_SECONDS: Final = 1.5
MAX_KEEP_SECONDS: Final = 60.0
KEEP_MARGIN: Final = 1.0
OPENED_AHEAD_SECONDS: Final = 3.0
"""For which a connection waits that was opened ahead of its request."""
MAX_IDLE: Final = 1000
_SWEEP_SECONDS: Final = 0.5

Key = tuple["UUID", "Origin"]


class Pool:
    """The last to come is the first to go: it is the least likely to have been closed."""

    def __init__(self, *, max_idle: int = MAX_IDLE) -> None:
        self._used: defaultdict[Key, list[Connection]] = defaultdict(list)
        self._unused: defaultdict[Key, list[Connection]] = defaultdict(list)
        """Opened ahead: nothing was ever sent on these."""
        self._count = 0
        self._max_idle = max_idle
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def __len__(self) -> int:
        return self._count

    @property
    def room(self) -> int:
        """How many more it takes."""
        return 0 if self._closed else self._max_idle - self._count

    def ready(self, key: Key, at: float, *, unused: bool) -> int:
        """How many will be there at this instant of the loop's clock."""
        waiting = (self._unused if unused else self._used).get(key, ())
        return sum(1 for each in waiting if each.is_open and each.idle_until > at)

    def take(self, key: Key, *, unused: bool = False) -> Connection | None:
        """One that is open and has not waited for long; None without any.

        With `unused`, only one on which nothing was ever sent.
        """
        now = asyncio.get_running_loop().time()
        found = None if unused else self._take(self._used.get(key), now)
        return self._take(self._unused.get(key), now) if found is None else found

    def _take(self, waiting: list[Connection] | None, now: float) -> Connection | None:
        while waiting:
            connection = waiting.pop()
            self._count -= 1
            if connection.is_open and connection.idle_until > now:
                return connection
            connection.abort()
        return None

    def give(self, key: Key, connection: Connection, keep: float = KEEP_SECONDS) -> None:
        """Keep it for the next, for so many seconds, if there is room."""
        self._add(self._used, key, connection, keep)

    def give_unused(self, key: Key, connection: Connection) -> None:
        """The same of one that was opened ahead."""
        self._add(self._unused, key, connection, OPENED_AHEAD_SECONDS)

    def _add(
        self,
        idle: defaultdict[Key, list[Connection]],
        key: Key,
        connection: Connection,
        keep: float,
    ) -> None:
        if self.room <= 0:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        connection.idle_until = loop.time() + keep
        idle[key].append(connection)
        self._count += 1
        if self._sweep is None:
            self._sweep = loop.call_later(_SWEEP_SECONDS, self._swept)

    def drop(self, key: Key) -> None:
        """End those that wait for this origin."""
        for idle in (self._used, self._unused):
            for connection in idle.pop(key, ()):
                self._count -= 1
                connection.abort()

    def close(self) -> None:
        """End them all; those given back later are ended too."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for key in (*self._used, *self._unused):
            self.drop(key)

    def _swept(self) -> None:
        """One timer for all of them: one each would cost more than the request."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for idle in (self._used, self._unused):
            for key, waiting in list(idle.items()):
                kept: list[Connection] = []
                for each in waiting:
                    if each.is_open and each.idle_until > now:
                        kept.append(each)
                    else:
                        each.abort()
                self._count -= len(waiting) - len(kept)
                if kept:
                    idle[key] = kept
                else:
                    del idle[key]
        self._sweep = loop.call_later(_SWEEP_SECONDS, self._swept) if self._count else None
