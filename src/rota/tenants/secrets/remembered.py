"""A short memory of what the database says, for those who would ask it thousands of times a second.

What was read is believed for a second, so that a change is seen within about that. All that is
wanted while a read is under way is read together by the next: a herd of firings asks once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from rota.clock import Clock, SystemClock
from rota.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

K = TypeVar("K")
V = TypeVar("V")

TTL: Final = timedelta(seconds=1)
STALE_TTL: Final = timedelta(seconds=60)
"""While the database is away, what was known is still good for this long."""
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
        self._wanted: dict[K, None] = {}
        self._next: asyncio.Task[dict[K, V]] | None = None
        self._turn = asyncio.Lock()

    def known(self, key: K) -> V | None:
        """The value, if it is remembered; None when it has to be asked for, or there is none."""
        entry = self._kept.get(key)
        if entry is None or self._clock.monotonic() - entry[0] >= self._ttl:
            return None
        return entry[1]

    async def of(self, keys: Iterable[K]) -> dict[K, V]:
        """The values of those keys that have one. Waits for nothing when all are remembered."""
        keys = tuple(keys)
        unknown = [key for key in keys if not self._is_known(key, self._ttl)]
        known = self._remembered(keys)
        if not unknown:
            return known
        try:
            # Shielded: an attempt that is cancelled must not take the others' answer away.
            found = await asyncio.shield(self._ask(unknown))
        except TemporaryError:
            if all(self._is_known(key, STALE_TTL.total_seconds()) for key in keys):
                return self._remembered(keys)
            raise
        fresh = {key: found[key] for key in unknown if key in found}
        return {key: known[key] for key in known if key not in unknown} | fresh

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
            asked = self._clock.monotonic()
            found = dict(await self._read(keys))
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
