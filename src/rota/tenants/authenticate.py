"""From the key in a request to who is asking."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.clock import Clock, SystemClock
from rota.tenants import keys, sql
from rota.tenants.tenant import Principal

if TYPE_CHECKING:
    from rota.db import Database, Tx
    from rota.tenants.keys import ApiKey
    from rota.tenants.sql import StoredKey

TTL = timedelta(seconds=0.8)
"""How long an answer of the database is believed, unless a notice says sooner that it changed: a
revoked key must be refused within 1 s also where notices are lost."""

_MOST_REMEMBERED = 4096
# Compared with when there is no such key, so that a wrong prefix takes the time of a wrong secret.
_NOBODY = bytes(32)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the database said about a prefix, and until when that is believed."""

    stored: StoredKey | None
    heard: float
    trusted_until: float
    principal: Principal | None
    """Who speaks with the key, if it matches and has not expired."""

    def has_expired(self, monotonic: float) -> bool:
        """By the database's clock, as far as we can tell."""
        if self.stored is None or self.stored.expires_at is None:
            return False
        now = self.stored.read_at + timedelta(seconds=monotonic - self.heard)
        return now >= self.stored.expires_at


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
        self._forgotten = 0
        db.on_notice(sql.CHANNEL, self._hear)

    async def authenticate(self, text: str) -> Principal | None:
        """Who speaks with this key; None when it is not one, is revoked or has expired."""
        key = keys.read(text)
        if key is None:
            return None
        answer = await self._answer(key)
        stored = answer.stored
        matches = key.matches(stored.sha256 if stored else _NOBODY)
        if not matches or answer.has_expired(self._clock.monotonic()):
            return None
        return answer.principal

    def forget(self) -> None:
        """Ask the database again for every key, as if nothing had been asked before."""
        self._answers.clear()
        self._forgotten += 1

    def _hear(self, tenant_id: str | None) -> None:
        """Of one tenant all is forgotten; without one, of all."""
        if tenant_id is None:
            self.forget()
            return
        for prefix, answer in list(self._answers.items()):
            if answer.stored is None or str(answer.stored.tenant.id) == tenant_id:
                del self._answers[prefix]
        self._forgotten += 1

    async def _answer(self, key: ApiKey) -> _Answer:
        # Read before the request: a slow reply must shorten our trust, never stretch it.
        asked = self._clock.monotonic()
        answer = self._answers.get(key.prefix)
        if answer is not None and asked < answer.trusted_until:
            return answer
        forgotten = self._forgotten
        stored = await self._look_up(key)
        answer = _Answer(
            stored,
            heard=self._clock.monotonic(),
            trusted_until=asked + self._ttl,
            principal=stored and _principal(stored),
        )
        if forgotten != self._forgotten:
            return answer  # Perhaps read before the change that was heard of since: not kept.
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


def _principal(stored: StoredKey) -> Principal:
    return Principal(
        tenant=stored.tenant,
        scopes=stored.scopes,
        key_id=stored.id,
        key_prefix=stored.prefix,
    )


async def authenticate(db: Database, text: str) -> Principal | None:
    """Who speaks with this key; None when it is not one, is revoked or has expired."""
    authenticator = db.companion(Authenticator, lambda: Authenticator(db))
    return await authenticator.authenticate(text)
