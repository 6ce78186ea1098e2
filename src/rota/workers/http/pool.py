"""Connections that wait for the next request to the same origin, of the same tenant.

Never another tenant's: what one has said on a connection must not shape what the other hears (S2).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

    from rota.workers.http.connection import Connection
    from rota.workers.http.origin import Origin

# Servers close connections that are idle for a few seconds, and a request sent into that moment
# fails. Below the shortest usual limit (2 s) only bursts share connections, which is what counts.
KEEP_SECONDS: Final = 1.5
MAX_IDLE: Final = 1000
_SWEEP_SECONDS: Final = 0.5


class Pool:
    """The last to come is the first to go: it is the least likely to have been closed."""

    def __init__(self, *, max_idle: int = MAX_IDLE) -> None:
        self._idle: defaultdict[tuple[UUID, Origin], list[Connection]] = defaultdict(list)
        self._count = 0
        self._max_idle = max_idle
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def __len__(self) -> int:
        return self._count

    def take(self, tenant: UUID, origin: Origin) -> Connection | None:
        """One that is open and has not waited for long; None without any."""
        waiting = self._idle.get((tenant, origin))
        oldest = asyncio.get_running_loop().time() - KEEP_SECONDS
        while waiting:
            connection = waiting.pop()
            self._count -= 1
            if connection.is_open and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    def give(self, tenant: UUID, origin: Origin, connection: Connection) -> None:
        """Keep it for the next, if there is room."""
        if self._closed or self._count >= self._max_idle:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle[tenant, origin].append(connection)
        self._count += 1
        if self._sweep is None:
            self._sweep = loop.call_later(_SWEEP_SECONDS, self._swept)

    def close(self) -> None:
        """End them all; those given back later are ended too."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for waiting in self._idle.values():
            for connection in waiting:
                connection.abort()
        self._idle.clear()
        self._count = 0

    def _swept(self) -> None:
        """One timer for all of them: one each would cost more than the request."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - KEEP_SECONDS
        for key, waiting in list(self._idle.items()):
            kept = [each for each in waiting if each.is_open and each.idle_since > oldest]
            for each in waiting:
                if each not in kept:
                    each.abort()
            self._count -= len(waiting) - len(kept)
            if kept:
                self._idle[key] = kept
            else:
                del self._idle[key]
        self._sweep = loop.call_later(_SWEEP_SECONDS, self._swept) if self._count else None
