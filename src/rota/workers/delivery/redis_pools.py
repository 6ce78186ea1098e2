"""Connections to strangers' Redis servers: to addresses that passed the policy, and read in bounds.

The only module that imports redis, which is an extra: import it where it is used.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections import OrderedDict
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from redis.asyncio import BlockingConnectionPool, Connection, Redis

from rota.targets import TargetRefused
from rota.workers.delivery.http.dial import Place
from rota.workers.delivery.http.failures import CallFailed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.targets import StreamTarget
    from rota.tenants.secrets import Masked
    from rota.workers.delivery.http.dial import Dialler

MAX_CONNECTIONS: Final = 4
"""Of one pool. An entry takes less than a millisecond, so a few are enough for thousands."""
MAX_POOLS: Final = 256
MAX_REPLY: Final = 64 * 1024
"""Bytes of one answer. Ours has a few dozen; a hostile server's may have no end (S5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """How to get to a server: by whom, and with which TLS."""

    dialler: Dialler
    tls: ssl.SSLContext | None


class Pools:
    """Small pools, one for each tenant, server, database and password; idle ones are let go of.

    Tenants never share a connection: what one sends is no matter of another's (S2).
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._pools: OrderedDict[tuple[Any, ...], _Pool] = OrderedDict()

    @asynccontextmanager
    async def client(
        self, tenant: UUID, target: StreamTarget, password: Masked | None
    ) -> AsyncGenerator[Redis]:
        """A client whose commands go to the target's server and database."""
        key = (tenant, target.place, target.is_tls, target.db, target.user, _digest(password))
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = _Pool(self._guard, tenant, target, password)
        self._pools.move_to_end(key)
        pool.users += 1
        try:
            yield pool.client
        finally:
            pool.users -= 1
            await self._trim()

    async def close(self) -> None:
        pools = list(self._pools.values())
        self._pools.clear()
        for pool in pools:
            await pool.close()

    async def _trim(self) -> None:
        """Let go of those that were not used for longest, until few enough are left."""
        while len(self._pools) > MAX_POOLS:
            idle = next((key for key, each in self._pools.items() if not each.users), None)
            if idle is None:
                return
            await self._pools.pop(idle).close()


class _Pool:
    def __init__(
        self, guard: Guard, tenant: UUID, target: StreamTarget, password: Masked | None
    ) -> None:
        self.users = 0
        self._pool: Any = BlockingConnectionPool(
            connection_class=_Pinned,
            max_connections=MAX_CONNECTIONS,
            timeout=None,  # the attempt's own deadline covers the wait
            guard=guard,
            tenant=tenant,
            target=target,
            host=target.host,
            port=target.port,
            db=target.db,
            username=target.user,
            password=None if password is None else password.reveal(),
            protocol=2,
            socket_timeout=None,
            socket_connect_timeout=None,
        )
        self.client = Redis(connection_pool=self._pool)

    async def close(self) -> None:
        await self.client.aclose()
        await self._pool.aclose()


class _Pinned(Connection):
    """A connection that looks a host up, has every address judged, and connects to that address."""

    def __init__(
        self, *, guard: Guard, tenant: UUID, target: StreamTarget, **settings: Any
    ) -> None:
        super().__init__(**settings)  # pyright: ignore[reportUnknownMemberType]
        self._guard = guard
        self._tenant = tenant
        self._target = target

    async def _connect(self) -> None:
        target, guard = self._target, self._guard
        if wrong := target.wrong_by(guard.dialler.policy):
            raise TargetRefused(wrong)
        loop = asyncio.get_running_loop()
        reader = _Reader(limit=MAX_REPLY, loop=loop)
        place = Place(
            host=target.host,
            port=target.port,
            tls=(guard.tls or _usual_tls()) if target.is_tls else None,
            server_name=target.host.rstrip("."),
        )
        transport, protocol = await guard.dialler.dial(
            self._tenant, place, lambda: asyncio.StreamReaderProtocol(reader, loop=loop)
        )
        self._reader = reader
        self._writer = asyncio.StreamWriter(transport, protocol, reader, loop)

    async def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        if isinstance(self._reader, _Reader):
            self._reader.heard = 0
        await super().send_packed_command(*args, **kwargs)


class _Reader(asyncio.StreamReader):
    """Counts what comes since the last command, and ends a connection that will not stop."""

    heard = 0

    def feed_data(self, data: Any) -> None:
        self.heard += len(data)
        if self.heard > MAX_REPLY:
            self.set_exception(CallFailed(f"the server's answer is longer than {MAX_REPLY} bytes"))
            return
        super().feed_data(data)


@cache
def _usual_tls() -> ssl.SSLContext:
    """What the system trusts; read once, as that takes longer than connecting."""
    return ssl.create_default_context()


def _digest(password: Masked | None) -> bytes | None:
    """Tells passwords apart without keeping them in a key."""
    return None if password is None else hashlib.sha256(password.reveal().encode()).digest()
