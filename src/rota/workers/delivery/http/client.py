"""Sending a request: on a connection that is there, or on a new one to an address that passed."""

from __future__ import annotations

import asyncio
import re
import ssl
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from rota.targets import TargetRefused
from rota.workers.caller import always
from rota.workers.deadlines import Deadlines
from rota.workers.delivery.http.connection import MAX_BODY, Connection
from rota.workers.delivery.http.dial import Dialler, Place
from rota.workers.delivery.http.early_dial import EarlyDial
from rota.workers.delivery.http.pool import (
    KEEP_MARGIN,
    KEEP_SECONDS,
    MAX_KEEP_SECONDS,
    Pool,
)
from rota.workers.delivery.http.resolver import Resolver

if TYPE_CHECKING:
    from rota.targets import TargetPolicy
    from rota.workers.caller import Begin, Reply
    from rota.workers.delivery.http.pool import Key
    from rota.workers.delivery.http.resolver import Lookup, Report

_TIMEOUT: Final = re.compile(r"\btimeout=([0-9]{1,6})\b", re.IGNORECASE)


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
        self._deadlines: Deadlines[Connection] = Deadlines(
            lambda: asyncio.get_running_loop().time()
        )
        self._early_dial = EarlyDial(self._pool, self._connect)
        self._tls = tls
        self._max_body = max_body

    def expect(self, request: object, key: Key, at: float, *, once: bool) -> None:
        """This request is to be sent at this instant of the loop's clock: have a connection open
        then. Not for one that exists no more by that time."""
        self._early_dial.expect(request, key, at, unused=once)

    async def exchange(
        self,
        key: Key,
        data: bytes,
        *,
        is_head: bool,
        once: bool,
        begin: Begin = always,
        until: float | None = None,
    ) -> Reply:
        """The answer to the request, which is sent once. `begin` is asked right before.

        TimeoutError when there is none `until` this instant of the loop's clock.

        A connection that had been used before may end before a byte of the answer comes. The reply
        says so (`stale_connection`), and the other idle connections to the origin are closed: they
        are likely to be as stale. With `once`, the connection is always one that was never used.
        """
        connection = self._pool.take(key, unused=once)
        if connection is None:
            async with asyncio.timeout_at(until):
                connection = await self._connect(key)
        was_used = connection.was_used
        connection.ends = inf if until is None else until
        self._deadlines.add(connection)
        try:
            reply = await connection.exchange(data, is_head=is_head, begin=begin)
        finally:
            self._deadlines.remove(connection)
        if was_used and connection.went_away:
            self._pool.drop(key)
            return msgspec.structs.replace(reply, stale_connection=True)
        if connection.is_open:
            if connection.was_used:
                self._pool.give(key, connection, _keep_seconds(reply))
            else:
                self._pool.give_unused(key, connection)
        return reply

    async def close(self) -> None:
        self._deadlines.close()
        await self._early_dial.close()
        self._pool.close()
        await self._resolver.close()

    async def _connect(self, key: Key) -> Connection:
        tenant, origin = key
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


def _keep_seconds(reply: Reply) -> float:
    """For how long the server keeps the connection open, as far as is known."""
    text = reply.header("keep-alive")
    said = _TIMEOUT.search(text) if text else None
    if said is None:
        return KEEP_SECONDS
    return max(0.0, min(int(said[1]) - KEEP_MARGIN, MAX_KEEP_SECONDS))
