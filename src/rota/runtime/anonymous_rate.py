"""A rate for requests without a known credential, per peer address.

Whoever has a key is limited by tenant and by cost; this is for everybody else. A request is charged
before anything is done for it, and the charge is taken back when its credential proves to be good.
One that was good lately is not charged at all: a flood from behind the same address does not lock
out those who are known. What is remembered is bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec

from rota.api.problems import MEDIA_TYPE, Refused, to_problem

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.runtime.connections import Peers

MAX_PEERS: Final = 10_000
MAX_KNOWN: Final = 10_000
BURST_SECONDS: Final = 10
"""So many seconds' worth of requests may come at once."""
_KNOWN_SECONDS: Final = 60.0


class AnonymousRate:
    """An ASGI application around another."""

    def __init__(self, app: Any, *, rate: int, peers: Peers, clock: Clock) -> None:
        self._app = app
        self._peers = peers
        self._clock = clock
        self._buckets = Buckets(rate=rate, burst=rate * BURST_SECONDS)
        self._known: OrderedDict[int, float] = OrderedDict()
        """Hashes of credentials that were good, with the instant until which they count as such."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        peer = self._peers.name(client[0]) if client else ""
        credential = _credential(scope["headers"])
        is_charged = not self._is_known(credential)
        if is_charged and not self._buckets.take(peer, self._clock.monotonic()):
            await _refuse(send)
            return
        await self._app(scope, receive, send)
        if scope.get("auth") is None:
            return
        if is_charged:
            self._buckets.give_back(peer)
        self._remember(credential)

    def _is_known(self, credential: int | None) -> bool:
        if credential is None:
            return False
        return self._known.get(credential, 0.0) > self._clock.monotonic()

    def _remember(self, credential: int | None) -> None:
        if credential is None:
            return
        self._known[credential] = self._clock.monotonic() + _KNOWN_SECONDS
        self._known.move_to_end(credential)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)


class Buckets:
    """A token bucket per peer; those heard of longest ago are forgotten first."""

    def __init__(self, *, rate: int, burst: int, most: int = MAX_PEERS) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What was left, and when."""

    def take(self, peer: str, now: float) -> bool:
        """Whether there was one left."""
        left, at = self._left.get(peer, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._rate)
        has_one = left >= 1.0
        self._left[peer] = (left - 1.0 if has_one else left, now)
        self._left.move_to_end(peer)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return has_one

    def give_back(self, peer: str) -> None:
        """It was not a stranger's request after all."""
        if peer in self._left:
            left, at = self._left[peer]
            self._left[peer] = (min(self._burst, left + 1.0), at)


def _credential(headers: list[tuple[bytes, bytes]]) -> int | None:
    """What the request shows of who sends it, as a number that cannot be turned back into it."""
    found = [value for name, value in headers if name in (b"authorization", b"cookie")]
    return hash(tuple(found)) if found else None


_REFUSAL: Final = Refused(
    HTTPStatus.TOO_MANY_REQUESTS,
    "expected fewer requests without a valid key from one address: try again in a second",
)


async def _refuse(send: Any) -> None:
    body = msgspec.json.encode(to_problem(_REFUSAL))
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", b"1"),
        (b"x-content-type-options", b"nosniff"),
    ]
    status = _REFUSAL.status.value
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
