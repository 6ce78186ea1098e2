"""A short memory of what the database says, for those who would ask it thousands of times a second.

What was read is believed for a second, so that a change is seen within about that, and at once by
those that hear of it (`expire`). All that is wanted while a read is under way is read together by
the next: a herd of firings asks once.

What will be needed at an instant is kept fresh until then (`warm`), so that nothing has to be asked
for at the instant. A database that hangs delays nobody: what was known is used, up to a minute old.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from rota.clock import Clock, SystemClock
from rota.errors import DatabaseUnavailable, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

K = TypeVar("K")
V = TypeVar("V")

TTL: Final = timedelta(seconds=1)
STALE_TTL: Final = timedelta(seconds=60)
"""While the database is away or does not answer, what was known is still good for this long."""
PATIENCE: Final = timedelta(seconds=1)
"""How long an answer is waited for when there is something to go by without it."""
READ_TIMEOUT: Final = timedelta(seconds=5)
WARM_FOR: Final = timedelta(seconds=5)
MOST: Final = 10_000


class Remembered(Generic[K, V]):
    """`read` is given keys and returns the values of those that there are. Of one event loop."""

    def __init__(
        self,
        read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]],
        *,
        clock: Clock | None = None,
        ttl: timedelta = TTL,
        most: int = MOST,
    ) -> None:
        self._read = read
        self._clock = clock or SystemClock()
        self._ttl = ttl.total_seconds()
        self._most = most
        self._kept: OrderedDict[K, tuple[float, V | None]] = OrderedDict()
        self._expired = 0
        self._wanted: dict[K, None] = {}
        self._next: asyncio.Task[dict[K, V]] | None = None
        self._turn = asyncio.Lock()
        self._reading_since: float | None = None
        self._warm: dict[K, float] = {}
        """Until when each of these is kept fresh."""
        self._warming: asyncio.Task[None] | None = None

    def known(self, key: K) -> V | None:
        """The value, if it is remembered; None when it has to be asked for, or there is none."""
        entry = self._kept.get(key)
        if entry is None or self._clock.monotonic() - entry[0] >= self._ttl:
            return None
        return entry[1]

    def last(self, key: K) -> V | None:
        """What was last read, however long ago; None when nothing was, or there was none."""
        entry = self._kept.get(key)
        return None if entry is None else entry[1]

    def expire(self, is_old: Callable[[K], bool]) -> None:
        """Believe these no longer; they stay good enough for when the database is away."""
        now = self._clock.monotonic()
        for key, (asked, value) in self._kept.items():
            if is_old(key):
                self._kept[key] = min(asked, now - self._ttl), value
        self._expired += 1

    async def of(self, keys: Iterable[K]) -> dict[K, V]:
        """The values of those keys that have one. Waits for nothing when all are remembered."""
        keys = tuple(keys)
        unknown = [key for key in keys if not self._is_known(key, self._ttl)]
        known = self._remembered(keys)
        if not unknown:
            return known
        asked = self._ask(unknown)
        is_stale = all(self._is_known(key, STALE_TTL.total_seconds()) for key in keys)
        try:
            async with asyncio.timeout(self._patience() if is_stale else None):
                # Shielded: an attempt that is cancelled must not take the others' answer away.
                found = await asyncio.shield(asked)
        except (TemporaryError, TimeoutError):
            if is_stale:
                return self._remembered(keys)
            raise
        fresh = {key: found[key] for key in unknown if key in found}
        return {key: known[key] for key in known if key not in unknown} | fresh

    def warm(self, keys: Iterable[K]) -> None:
        """Keep these fresh for the next seconds: they will be asked for, and should be known."""
        until = self._clock.monotonic() + WARM_FOR.total_seconds()
        for key in keys:
            self._warm[key] = until
        if self._warming is None and self._warm:
            self._warming = asyncio.create_task(self._keep_warm())

    async def _keep_warm(self) -> None:
        try:
            while True:
                now = self._clock.monotonic()
                self._warm = {key: until for key, until in self._warm.items() if until > now}
                if not self._warm:
                    return
                old = [key for key in self._warm if not self._is_known(key, self._ttl / 2)]
                if old:
                    # What goes wrong is for those who ask in earnest.
                    await asyncio.wait([self._ask(old)])
                await self._clock.sleep(timedelta(seconds=self._ttl / 4))
        finally:
            self._warming = None

    def _patience(self) -> float:
        """Seconds to wait for an answer: none while the database is slow to give the one before."""
        since = self._reading_since
        waited = 0.0 if since is None else self._clock.monotonic() - since
        return max(0.0, PATIENCE.total_seconds() - waited)

    def _remembered(self, keys: Iterable[K]) -> dict[K, V]:
        kept = ((key, self._kept.get(key)) for key in keys)
        return {key: entry[1] for key, entry in kept if entry and entry[1] is not None}

    def _is_known(self, key: K, ttl: float) -> bool:
        entry = self._kept.get(key)
        return entry is not None and self._clock.monotonic() - entry[0] < ttl

    def _ask(self, keys: Iterable[K]) -> asyncio.Task[dict[K, V]]:
        self._wanted.update(dict.fromkeys(keys))
        if self._next is None:
            self._next = asyncio.create_task(self._load())
            self._next.add_done_callback(_heard)
        return self._next

    async def _load(self) -> dict[K, V]:
        async with self._turn:
            keys, self._wanted, self._next = tuple(self._wanted), {}, None
            # Read before the request: a slow reply must shorten our trust, never stretch it.
            self._reading_since = asked = self._clock.monotonic()
            expired = self._expired
            try:
                async with asyncio.timeout(READ_TIMEOUT.total_seconds()):
                    found = dict(await self._read(keys))
            except TimeoutError as error:
                raise DatabaseUnavailable("the database does not answer") from error
            finally:
                self._reading_since = None
        if expired != self._expired:
            asked -= self._ttl  # Perhaps read before the change that was heard of since.
        for key in keys:
            self._kept[key] = asked, found.get(key)
            self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found


def _heard(task: asyncio.Task[object]) -> None:
    """An error is for those who wait; when all have gone, it is for nobody."""
    if not task.cancelled():
        task.exception()
