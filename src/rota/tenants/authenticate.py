"""From the key in a request to who is asking."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from rota.clock import Clock, SystemClock
from rota.tenants import keys, sql
from rota.tenants.tenant import Principal

if TYPE_CHECKING:
    from rota.db import Database, Tx
    from rota.tenants.keys import ApiKey
    from rota.tenants.sql import StoredKey

TTL = timedelta(seconds=0.8)
"""How long an answer of the database is believed. A revoked key must be refused within 1 s (S9)."""

_MOST_REMEMBERED = 4096
# Compared with when there is no such key, so that a wrong prefix takes the time of a wrong secret.
_NOBODY = bytes(32)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the database said about a prefix, and until when that is believed."""

    stored: StoredKey | None
    heard: float
    trusted_until: float

    def now(self, monotonic: float) -> datetime | None:
        """The database's clock by our reckoning."""
        if self.stored is None:
            return None
        return self.stored.read_at + timedelta(seconds=monotonic - self.heard)


class Authenticator:
    """Knows keys by their prefix, and remembers each for less than a second.

    What is remembered are rows and never secrets, and only so many: neither a dump of the memory
    nor a flood of made-up keys gains anything by it.
    """

    def __init__(self, db: Database, *, clock: Clock | None = None, ttl: timedelta = TTL) -> None:
        self._db = db
        self._clock = clock or SystemClock()
        self._ttl = ttl.total_seconds()
        self._answers: OrderedDict[str, _Answer] = OrderedDict()

    async def authenticate(self, text: str) -> Principal | None:
        """Who speaks with this key; None when it is not one, is revoked or has expired."""
        key = keys.read(text)
        if key is None:
            return None
        answer = await self._answer(key)
        stored = answer.stored
        matches = key.matches(stored.sha256 if stored else _NOBODY)
        if stored is None or not matches or self._has_expired(answer, stored):
            return None
        return Principal(tenant=stored.tenant, scopes=stored.scopes, key_id=stored.id)

    def forget(self) -> None:
        """Ask the database again for every key, as if nothing had been asked before."""
        self._answers.clear()

    async def _answer(self, key: ApiKey) -> _Answer:
        # Read before the request: a slow reply must shorten our trust, never stretch it.
        asked = self._clock.monotonic()
        answer = self._answers.get(key.prefix)
        if answer is not None and asked < answer.trusted_until:
            return answer
        stored = await self._look_up(key)
        answer = _Answer(stored, heard=self._clock.monotonic(), trusted_until=asked + self._ttl)
        self._answers[key.prefix] = answer
        self._answers.move_to_end(key.prefix)
        while len(self._answers) > _MOST_REMEMBERED:
            self._answers.popitem(last=False)
        return answer

    async def _look_up(self, key: ApiKey) -> StoredKey | None:
        async def look(tx: Tx) -> StoredKey | None:
            stored = await sql.key_by_prefix(tx, key.prefix)
            if stored is not None and key.matches(stored.sha256):
                await sql.mark_used(tx, stored.id)
            return stored

        return await self._db.run(look, repeatable=True)

    def _has_expired(self, answer: _Answer, stored: StoredKey) -> bool:
        now = answer.now(self._clock.monotonic())
        return stored.expires_at is not None and now is not None and now >= stored.expires_at


_of: WeakKeyDictionary[Database, Authenticator] = WeakKeyDictionary()


async def authenticate(db: Database, text: str) -> Principal | None:
    """Who speaks with this key; None when it is not one, is revoked or has expired."""
    authenticator = _of.get(db)
    if authenticator is None:
        authenticator = _of[db] = Authenticator(db)
    return await authenticator.authenticate(text)
