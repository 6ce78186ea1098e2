"""Sending a request: on a connection that is there, or on a new one to an address that passed."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Final

from rota.targets import TargetRefused, addresses
from rota.workers.http.connection import MAX_BODY, NO_ANSWER, Connection
from rota.workers.http.failures import CallFailed, reason_of
from rota.workers.http.pool import Pool
from rota.workers.http.resolver import Resolver

if TYPE_CHECKING:
    from uuid import UUID

    from rota.targets import TargetPolicy
    from rota.workers.calls import Reply
    from rota.workers.http.origin import Origin
    from rota.workers.http.resolver import Lookup

# An address that does not answer must leave time for the next one.
_NEXT_ADDRESS_SECONDS: Final = 2.0


class Client:
    """Bound to one event loop, and to one policy for all its life."""

    def __init__(
        self,
        policy: TargetPolicy,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        max_body: int = MAX_BODY,
    ) -> None:
        self._policy = policy
        self._resolver = Resolver(policy, lookup)
        self._pool = Pool()
        self._tls = tls
        self._max_body = max_body

    async def exchange(
        self, tenant: UUID, origin: Origin, data: bytes, *, is_head: bool, once: bool
    ) -> Reply:
        """The answer to the request. Sent a second time in one case only: the connection had been
        used before, and ended before a byte of the answer came. With `once`, never.
        """
        connection = None if once else self._pool.take(tenant, origin)
        if connection is not None:
            reply = await connection.exchange(data, is_head=is_head)
            if not connection.went_away:
                return self._kept(tenant, origin, connection, reply)
        connection = await self._connect(tenant, origin)
        reply = await connection.exchange(data, is_head=is_head)
        return self._kept(tenant, origin, connection, reply)

    async def close(self) -> None:
        self._pool.close()
        await self._resolver.close()

    def _kept(self, tenant: UUID, origin: Origin, connection: Connection, reply: Reply) -> Reply:
        if connection.is_open:
            self._pool.give(tenant, origin, connection)
        return reply

    async def _connect(self, tenant: UUID, origin: Origin) -> Connection:
        wrong = self._policy.wrong_with_place(origin.scheme, origin.host, origin.port)
        if wrong is not None:
            raise TargetRefused(wrong)
        found = await self._resolver.addresses(tenant, origin.host, origin.port)
        failed: list[str] = []
        for address in found:
            limit = None if address == found[-1] else _NEXT_ADDRESS_SECONDS
            try:
                async with asyncio.timeout(limit):
                    return await self._open(origin, address)
            except ssl.SSLError:
                raise
            except TimeoutError:
                failed.append(f"{_place(address, origin.port)}: no answer")
            except OSError as error:
                failed.append(f"{_place(address, origin.port)}: {reason_of(error)}")
        raise CallFailed(f"could not connect to {'; '.join(failed)}")

    async def _open(self, origin: Origin, address: str) -> Connection:
        """A connection to this very address, with the host's name only where it is said."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Connection(loop, max_body=self._max_body),
            address,
            origin.port,
            ssl=self._trusted() if origin.is_tls else None,
            server_hostname=origin.server_name if origin.is_tls else None,
        )
        self._check_peer(origin, address, connection)
        return connection

    def _check_peer(self, origin: Origin, address: str, connection: Connection) -> None:
        """Once more, of the socket itself: whatever stands between a check and a connection."""
        peer = connection.peer
        if peer is None:
            raise CallFailed(NO_ANSWER)
        if addresses.resolved(peer) != addresses.resolved(address):
            connection.abort()
            raise TargetRefused(f"expected to be connected to {address}, got {peer}")
        try:
            self._policy.require(origin.host, (peer,))
        except TargetRefused:
            connection.abort()
            raise

    def _trusted(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


def _place(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
