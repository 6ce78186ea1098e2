"""Connections that are opened shortly before their requests are due.

At the instant only the request is left to be written: no look-up, no handshake, no round trip.
Shortly: a server that gives each connection a process of its own has it occupied until then. How
shortly is learned from how long it has taken before, and depends on how many are to be opened.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary, WeakSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from rota.workers.delivery.http.connection import Connection
    from rota.workers.delivery.http.pool import Key, Pool

MOST: Final = 100
"""Opened for one origin at an instant: as many as are called at once."""
MOST_WAITING: Final = 1000
"""To be opened, for all tenants together."""
MOST_AT_ONCE: Final = 100
"""Being opened. Of these and the above, one tenant has half at the most, two have a third each, and
so on: one whose hosts do not answer leaves room for one more."""
LEAST_LEAD: Final = 0.1
MOST_LEAD: Final = 1.2
FIRST_LEAD: Final = 0.25
"""Before how long it takes is known."""
_EACH: Final = 0.001
"""Seconds of work for each one that is to be opened."""
_RINGS: Final = 100
"""Instants are told apart to a hundredth of a second."""
_FAILED_SECONDS: Final = 5.0
"""After one that failed, no other is opened ahead to its origin: the requests will tell."""
_TIMEOUT: Final = 5.0
_MOST_KNOWN: Final = 10_000


@dataclass(slots=True, eq=False)
class _Origin:
    """What is known of one origin, for one tenant."""

    expected: WeakKeyDictionary[object, tuple[float, bool]] = field(
        default_factory=WeakKeyDictionary[object, tuple[float, bool]]
    )
    """The requests to come: when, and whether on a connection that was never used."""
    rings: set[int] = field(default_factory=set[int])
    """The instants for which a timer is set, in hundredths of a second."""
    dials: int = 0
    """Under way."""

    def count(self, until: float) -> tuple[int, int]:
        """How many requests there are up to this instant: those that may be sent on a connection
        that was used, and the others."""
        kinds = [unused for at, unused in self.expected.values() if at < until]
        return len(kinds) - sum(kinds), sum(kinds)


class EarlyDial:
    """Opens connections with `connect` and leaves them in the pool."""

    def __init__(self, pool: Pool, connect: Callable[[Key], Awaitable[Connection]]) -> None:
        self._pool = pool
        self._connect = connect
        self._origins: dict[Key, _Origin] = {}
        """Those that have something to come."""
        self._timers: set[asyncio.TimerHandle] = set()
        self._waiting: dict[UUID, deque[tuple[Key, _Origin, float]]] = {}
        """By tenant: to be opened, each before this instant."""
        self._dials: set[asyncio.Task[None]] = set()
        self._dialling: Counter[UUID] = Counter()
        """By tenant: how many are being opened."""
        self._took: OrderedDict[Key, float] = OrderedDict()
        """How long it took to connect, the last time."""
        self._failed: OrderedDict[Key, float] = OrderedDict()
        """Until when nothing is opened ahead."""
        self._requests: WeakSet[object] = WeakSet()
        """All that are to come, to whatever origin."""
        self._closed = False

    def expect(self, request: object, key: Key, at: float, *, unused: bool) -> None:
        """`request` is to be sent at this instant, by the loop's clock, if it still exists then.

        With `unused`, on a connection on which nothing else was sent before.
        """
        if self._closed:
            return
        one = self._origins.get(key)
        if one is None:
            one = self._origins[key] = _Origin()
        one.expected[request] = at, unused
        self._requests.add(request)
        ring = int(at * _RINGS)
        if ring not in one.rings:
            one.rings.add(ring)
            self._at(at - MOST_LEAD, self._look, key, ring)

    async def close(self) -> None:
        self._closed = True
        for timer in self._timers:
            timer.cancel()
        for dial in self._dials:
            dial.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)

    def _look(self, key: Key, ring: int) -> None:
        """By now it is known how many there are: open connections now, or shortly before."""
        took = self._took.get(key)
        lead = (FIRST_LEAD if took is None else 3 * took) + _EACH * len(self._requests)
        lead = min(max(lead, LEAST_LEAD), MOST_LEAD)
        self._at(ring / _RINGS - lead, self._open, key, ring)

    def _at(self, at: float, do: Callable[[Key, int], None], key: Key, ring: int) -> None:
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def go() -> None:
            self._timers.discard(timer)
            do(key, ring)

        timer = loop.call_at(at, go)
        self._timers.add(timer)

    def _open(self, key: Key, ring: int) -> None:
        loop = asyncio.get_running_loop()
        one, now, until = self._origins[key], loop.time(), (ring + 1) / _RINGS
        one.rings.discard(ring)
        loop.call_at(until, self._forget, key)
        self._forget(key)
        used, unused = one.count(until)
        if self._failed.get(key, 0.0) > now:
            return
        # What may be sent on a used connection may be sent on an unused one as well.
        wanted = max(0, used - self._pool.ready(key, until, unused=False)) + unused
        missing = min(wanted, MOST) - self._pool.ready(key, until, unused=True) - one.dials
        waiting = self._waiting.setdefault(key[0], deque())
        room = min(self._pool.room, self._share(MOST_WAITING) - len(waiting))
        for _ in range(min(missing, room)):
            one.dials += 1
            waiting.append((key, one, until))
        self._go_on(key[0])

    def _share(self, most: int) -> int:
        """What one tenant may have of something: there is always room for one more."""
        return max(1, most // (len(self._waiting.keys() | self._dialling.keys()) + 1))

    def _go_on(self, tenant: UUID) -> None:
        """A few at once: a herd of handshakes would hold up those of the first that are due."""
        waiting, now = self._waiting.get(tenant), asyncio.get_running_loop().time()
        while waiting and self._dialling[tenant] < self._share(MOST_AT_ONCE) and not self._closed:
            key, one, until = waiting.popleft()
            if now >= until:
                # The request is being sent without it.
                one.dials -= 1
                self._forget(key)
                continue
            self._dialling[tenant] += 1
            dial = asyncio.create_task(self._dial(key, one))
            self._dials.add(dial)
            dial.add_done_callback(self._dials.discard)
        if not waiting:
            self._waiting.pop(tenant, None)
        if not self._dialling[tenant]:
            del self._dialling[tenant]

    def _forget(self, key: Key) -> None:
        """The requests whose instant has passed, and the origin when there is nothing more."""
        one = self._origins.get(key)
        if one is None:
            return
        now = asyncio.get_running_loop().time()
        for request, (at, _) in list(one.expected.items()):
            if at < now:
                del one.expected[request]
                self._requests.discard(request)
        if not (one.expected or one.rings or one.dials):
            del self._origins[key]

    async def _dial(self, key: Key, one: _Origin) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(_TIMEOUT):
                connection = await self._connect(key)
        except Exception:  # noqa: BLE001 - the request itself will meet it, and say so
            _remember(self._failed, key, loop.time() + _FAILED_SECONDS)
            return
        finally:
            one.dials -= 1
            self._dialling[key[0]] -= 1
            self._forget(key)
            self._go_on(key[0])
        _remember(self._took, key, loop.time() - began)
        self._pool.give_unused(key, connection)


def _remember(known: OrderedDict[Key, float], key: Key, value: float) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _MOST_KNOWN:
        known.popitem(last=False)
