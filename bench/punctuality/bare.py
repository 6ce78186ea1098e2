"""Bare loops that send the same requests at the same instants, and do nothing else.

One connects at the instant, the other has connected before it. Both send from one uvloop loop, as
Rota does; neither has a database, claims anything or records anything.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rota.clock import SystemClock

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

_CLOCK = SystemClock()
_BODY = b'{"team": "ops"}'
#: How long before the instant the second loop connects: all of a herd have to be connected by then.
_AHEAD = 2.0
_PATIENCE = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A request that is to be on the wire at an instant."""

    at: datetime
    port: int
    path: str
    tls: bool = False


class _Sending(asyncio.Protocol):
    """Waits for any answer to its one request."""

    def __init__(self) -> None:
        self.answered = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        if not self.answered.done():
            self.answered.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answered.done():
            self.answered.set_exception(exc or ConnectionResetError("the target hung up"))


async def send(sends: Sequence[Send], *, ahead: bool, trusted: ssl.SSLContext) -> None:
    """Send each at its instant, over a connection made then or `ahead` of it."""
    async with asyncio.timeout(_PATIENCE + (sends[-1].at - _CLOCK.now()).total_seconds()):
        await asyncio.gather(*(_send(each, ahead=ahead, trusted=trusted) for each in sends))


async def _send(each: Send, *, ahead: bool, trusted: ssl.SSLContext) -> None:
    data = request(each)
    if ahead:
        await _until(each.at, _AHEAD)
        transport, protocol = await _connect(each, trusted)
        await _until(each.at)
    else:
        await _until(each.at)
        transport, protocol = await _connect(each, trusted)
    transport.write(data)
    await protocol.answered
    transport.close()


async def _connect(each: Send, trusted: ssl.SSLContext) -> tuple[asyncio.Transport, _Sending]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(
        _Sending,
        "127.0.0.1",
        each.port,
        ssl=trusted if each.tls else None,
        server_hostname="127.0.0.1" if each.tls else None,
    )
    return transport, protocol


async def _until(at: datetime, before: float = 0.0) -> None:
    """Until so many seconds before the instant; never earlier."""
    loop = asyncio.get_running_loop()
    while (left := (at - _CLOCK.now()).total_seconds() - before) > 0:
        reached = loop.create_future()
        loop.call_later(left, reached.set_result, None)
        await reached


def request(each: Send) -> bytes:
    """About what Rota sends: its headers, a signature and a short body."""
    slot = each.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    head = (
        f"POST {each.path} HTTP/1.1\r\nHost: 127.0.0.1:{each.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(_BODY)}\r\n"
        "User-Agent: bare\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"
        f"Rota-Scheduled-For: {slot}\r\nRota-Attempt: 1\r\n"
        f"Idempotency-Key: {'0' * 30}\r\nwebhook-id: {'0' * 30}\r\nwebhook-timestamp: 1\r\n"
        f"webhook-signature: v1,{'0' * 44}\r\nRota-Signature: v1,{'0' * 44}\r\n\r\n"
    )
    return head.encode() + _BODY
