"""Sending a request: on a connection that is there, or on a new one to an address that passed."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from rota.targets import TargetRefused
from rota.workers.http.connection import MAX_BODY, Connection
from rota.workers.http.dial import Dialler, Place
from rota.workers.http.pool import Pool
from rota.workers.http.resolver import Resolver

if TYPE_CHECKING:
    from uuid import UUID

    from rota.targets import TargetPolicy
    from rota.workers.calls import Reply
    from rota.workers.http.origin import Origin
    from rota.workers.http.resolver import Lookup, Report


class Client:
    """Bound to one event loop, and to one policy for all its life.

    `report` hears what tenants must not be told: why a host of theirs is not called.
    """

    def __init__(
        self,
        policy: TargetPolicy,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        max_body: int = MAX_BODY,
        report: Report | None = None,
    ) -> None:
        self._policy = policy
        self._resolver = Resolver(policy, lookup, report)
        self._dialler = Dialler(policy, self._resolver)
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
        policy = self._policy.of_tenant(tenant)
        wrong = policy.wrong_with_place(origin.scheme, origin.host, origin.port)
        if wrong is not None:
            raise TargetRefused(wrong)
        loop = asyncio.get_running_loop()
        place = Place(
            host=origin.host,
            port=origin.port,
            tls=self._trusted() if origin.is_tls else None,
            server_name=origin.server_name if origin.is_tls else None,
        )
        _, connection = await self._dialler.dial(
            tenant, place, lambda: Connection(loop, max_body=self._max_body)
        )
        return connection

    def _trusted(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls
