"""Calling URLs.

One deadline covers everything from the name's look-up to the last byte read; a limit on single
reads would let a target that drips bytes hold on for ever. Redirects are never followed, cookies
never kept, bodies never unpacked (S3, S5).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import aiohttp
from yarl import URL

from rota.workers.calls import Reply
from rota.workers.request import request_of

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.request import Request

MAX_BODY: Final = 1024 * 1024
"""How much of a response is read and kept (HX3); the connection is then closed."""

# Servers close connections that are idle for a few seconds, and a request sent into that moment
# fails. Below the shortest usual limit (2 s) only bursts share connections, which is what counts.
_KEEP_ALIVE = 1.5
_READ = 64 * 1024


class Gate(Protocol):
    """Decides, at the moment of connecting, whether an address may be called."""

    def admit(self, address: str, port: int) -> None:
        """Raise OSError to refuse. Asked about every address that is connected to."""
        ...


class HttpCaller:
    """The caller of the lane `http`.

    async with HttpCaller() as http: ...
    """

    def __init__(
        self,
        *,
        gate: Gate | None = None,
        resolver: AbstractResolver | None = None,
        max_body: int = MAX_BODY,
    ) -> None:
        self._gate = gate
        self._resolver = resolver
        self._max_body = max_body
        self._session: aiohttp.ClientSession | None = None

    def prepare(self, claim: Claim, schedule: Schedule) -> HttpCall:
        return HttpCall(
            session=self._opened(),
            request=request_of(claim, schedule),
            timeout=schedule.definition.timeout.total_seconds(),
            max_body=self._max_body,
        )

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0,  # the worker's own concurrency is the limit
                keepalive_timeout=_KEEP_ALIVE,
                resolver=self._resolver,
                socket_factory=self._socket if self._gate else None,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                # Cookies would carry one schedule's session into another's.
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                skip_auto_headers=("Content-Type",),
            )
        return self._session

    def _socket(self, address: Any) -> socket.socket:
        """A socket for an address that was admitted.

        Here and not in the resolver, which is never asked about literal addresses.
        """
        family, kind, protocol, _, place = address
        assert self._gate is not None
        self._gate.admit(str(place[0]), int(place[1]))
        return socket.socket(family, kind, protocol)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """One request, ready to be sent."""

    session: aiohttp.ClientSession
    request: Request
    timeout: float
    max_body: int

    @property
    def shown(self) -> str:
        return self.request.shown

    async def send(self) -> Reply:
        try:
            async with asyncio.timeout(self.timeout):
                return await self._exchange()
        except TimeoutError:
            return Reply(error=f"timed out after {self.timeout:g} s", timed_out=True)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Reply(error=described(error))

    async def _exchange(self) -> Reply:
        request = self.request
        async with self.session.request(
            request.method,
            # As it was checked and stored: quoting it anew could break a signed URL.
            URL(request.url, encoded=True),
            headers=request.headers,
            data=request.body or None,
            allow_redirects=False,
        ) as response:
            body, error = await self._read(response)
            return Reply(
                code=response.status,
                headers=tuple(response.headers.items()),
                body=body,
                error=error,
            )

    async def _read(self, response: aiohttp.ClientResponse) -> tuple[bytes, str | None]:
        """The first bytes of the body as they came, and what went wrong while reading them."""
        parts: list[bytes] = []
        size = 0
        try:
            while size < self.max_body:
                part = await response.content.read(min(_READ, self.max_body - size))
                if not part:
                    return b"".join(parts), None
                parts.append(part)
                size += len(part)
        except (aiohttp.ClientError, OSError) as error:
            return b"".join(parts), described(error)
        # There may be no end to it.
        response.close()
        return b"".join(parts), None


def described(error: Exception) -> str:
    """One line about a failure of the network, for people."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        return f"the certificate was not accepted: {error}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection without an answer"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__
