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

from rota.targets import TargetRefused, addresses
from rota.workers.http.failures import CallFailed, reason_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.targets import StreamTarget, TargetPolicy
    from rota.tenants.secrets import Masked
    from rota.workers.http.resolver import Resolver

MAX_CONNECTIONS: Final = 4
"""Of one pool. An entry takes less than a millisecond, so a few are enough for thousands."""
MAX_POOLS: Final = 256
MAX_REPLY: Final = 64 * 1024
"""Bytes of one answer. Ours has a few dozen; a hostile server's may have no end (S5)."""
_NEXT_ADDRESS_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """How to get to a server: what may be connected to, by whose names, with which TLS."""

    policy: TargetPolicy
    resolver: Resolver
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
        if wrong := target.wrong_by(guard.policy):
            raise TargetRefused(wrong)
        found = await guard.resolver.addresses(self._tenant, target.host, target.port)
        failed: list[str] = []
        for address in found:
            # An address that does not answer must leave time for the next one.
            limit = None if address == found[-1] else _NEXT_ADDRESS_SECONDS
            try:
                async with asyncio.timeout(limit):
                    self._reader, self._writer = await self._open(address)
                    return
            except ssl.SSLError:
                raise
            except TimeoutError:
                failed.append(f"{address}: no answer")
            except OSError as error:
                failed.append(f"{address}: {reason_of(error)}")
        raise CallFailed(f"could not connect to {target.place}: {'; '.join(failed)}")

    async def _open(self, address: str) -> tuple[_Reader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = _Reader(limit=MAX_REPLY, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        is_tls = self._target.is_tls
        transport, _ = await loop.create_connection(
            lambda: protocol,
            address,
            self._target.port,
            ssl=(self._guard.tls or _usual_tls()) if is_tls else None,
            server_hostname=self._target.host.rstrip(".") if is_tls else None,
        )
        try:
            self._check_peer(address, transport)
        except BaseException:
            transport.abort()
            raise
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    def _check_peer(self, address: str, transport: asyncio.BaseTransport) -> None:
        """Once more, of the socket itself: whatever stands between a check and a connection."""
        peer = transport.get_extra_info("peername")
        if peer is None:
            raise CallFailed("the server closed the connection")
        if addresses.resolved(str(peer[0])) != addresses.resolved(address):
            raise TargetRefused(f"expected to be connected to {address}, got {peer[0]}")
        self._guard.policy.require(self._target.host, (str(peer[0]),))

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
