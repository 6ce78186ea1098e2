"""What a request needs from its tenant right before it is sent: secrets, and keys to sign with.

Values come from a memory that asks the database once a second at most, or when a tenant's secrets
have changed, however many firings want them; a request without placeholders, of a tenant whose
signing secret is known, waits for nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

import msgspec

from rota.errors import OperatorError
from rota.tenants import sql as tenants_sql
from rota.tenants.secrets.remembered import Remembered
from rota.tenants.signing import SigningSecrets
from rota.workers.delivery import secret_injection
from rota.workers.delivery.redaction import Hidden, scrub

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from rota.db import Database
    from rota.db.server_clock import DatabaseClock
    from rota.queue.claim import Claim
    from rota.tenants.secrets import Masked, Vault
    from rota.tenants.signing import SigningSecret
    from rota.workers.caller import Reply
    from rota.workers.delivery.request import Request

K = TypeVar("K")
V = TypeVar("V")

_Name = tuple[UUID, str]
_NOTHING = Hidden()
LONG: Final = 16 * 1024
"""Bytes of a body that is looked through in a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRequest:
    """A request to be sent as it is, and what must not show in what comes back."""

    request: Request
    hidden: Hidden = _NOTHING

    async def scrub(self, reply: Reply) -> Reply:
        """The reply as it may be seen."""
        return await redacted(reply, self.hidden)


async def redacted(reply: Reply, hidden: Hidden) -> Reply:
    """The reply as it may be seen."""
    if hidden and len(reply.body) > LONG:
        # A target that means ill can make this slow: not at the cost of everybody else.
        return await asyncio.to_thread(scrub, reply, hidden)
    return scrub(reply, hidden)


@dataclass(frozen=True, slots=True, eq=False)
class KnownSecret:
    """A value, and the forms in which it may come back. The same one for as long as the value is
    the same, so that what was made of it can be told to be up to date."""

    value: Masked
    hidden: Hidden


class Credentials(msgspec.Struct, frozen=True, gc=False):
    """What a request is completed with."""

    secrets: tuple[KnownSecret, ...]
    """In the order of their names."""
    keys: Sequence[SigningSecret]


class RequestSigner:
    """Of one worker. Without a key ring nothing is signed, and a request for a secret fails.

    Signed by the database's time: receivers refuse a timestamp that is minutes off, and this node's
    own clock may be.
    """

    def __init__(self, db: Database, vault: Vault, *, time: DatabaseClock) -> None:
        self._db = db
        self._vault = vault
        self._signing = SigningSecrets(vault)
        self._time = time
        self._values: Remembered[_Name, KnownSecret | OperatorError] = Remembered(
            self._read_values, clock=time.local
        )
        self._keys: Remembered[UUID, Sequence[SigningSecret] | OperatorError] = Remembered(
            self._read_keys, clock=time.local
        )
        self.changes = 0
        """Counts what it hears of: what was completed before the last one is to be made anew."""
        db.on_notice(tenants_sql.CHANNEL, self._expire)

    def _expire(self, tenant_id: str | None) -> None:
        self.changes += 1
        self._values.expire(lambda name: tenant_id in (None, str(name[0])))
        self._keys.expire(lambda id_: tenant_id in (None, str(id_)))

    @property
    def signs(self) -> bool:
        """Whether requests are signed: not without a key ring."""
        return self._signing.is_on

    def now_seconds(self) -> int:
        """The time that a request is signed at, in seconds since 1970."""
        return self._time.now_seconds()

    def warm(self, tenant_id: UUID, names: Collection[str]) -> None:
        """Have these secrets and the tenant's signing keys in memory when they are needed."""
        if names:
            self._values.warm((tenant_id, name) for name in names)
        if self._signing.is_on:
            self._keys.warm((tenant_id,))

    async def complete(self, claim: Claim, request: Request) -> PreparedRequest:
        """The request with its secrets filled in; `Unsendable` when it cannot be made. For targets
        that are not URLs: nothing is signed."""
        names = tuple(sorted(secret_injection.names_in(request)))
        if not names:
            return PreparedRequest(request=request)
        found = await self.credentials(claim.tenant_id, names, signed=False)
        return PreparedRequest(
            request=filled(request, names, found.secrets), hidden=hidden_of(found.secrets)
        )

    def known_credentials(
        self, tenant: UUID, names: Sequence[str], *, signed: bool, at: datetime | None = None
    ) -> Credentials | None:
        """What a request of the tenant needs that is sent now, or at this instant, if all of it is
        in memory."""
        secrets: tuple[KnownSecret, ...] = ()
        if names:
            self._vault.require_on()
            known = [self._values.known((tenant, name)) for name in names]
            found = [_opened(each) for each in known if each is not None]
            if len(found) < len(names):
                return None
            secrets = tuple(found)
        if not signed:
            return Credentials(secrets, ())
        keys = self._keys.known(tenant)
        return Credentials(secrets, self._in_use(_opened(keys), at)) if keys else None

    async def credentials(self, tenant: UUID, names: Sequence[str], *, signed: bool) -> Credentials:
        """The same, asked for where it is not in memory. Secrets that do not exist are left out."""
        values: Mapping[_Name, KnownSecret | OperatorError] = {}
        if names:
            self._vault.require_on()
            values = await self._values.of((tenant, name) for name in names)
        found = [values.get((tenant, name)) for name in names]
        for name, each in zip(names, found, strict=True):
            if each is None:
                raise secret_injection.unknown(name)
        secrets = tuple(_opened(each) for each in found if each is not None)
        if not signed:
            return Credentials(secrets, ())
        keys = self._keys.known(tenant) or (await self._keys.of((tenant,)))[tenant]
        return Credentials(secrets, self._in_use(_opened(keys)))

    def _in_use(
        self, keys: Sequence[SigningSecret], at: datetime | None = None
    ) -> Sequence[SigningSecret]:
        """Those that sign now, or at this instant."""
        if len(keys) == 1 and keys[0].retired_at is None:
            return keys
        at = at or self._time.now()
        return [each for each in keys if each.signs_at(at)]

    async def _read_values(
        self, names: Sequence[_Name]
    ) -> Mapping[_Name, KnownSecret | OperatorError]:
        async def read(some: Sequence[_Name]) -> Mapping[_Name, KnownSecret]:
            async with self._db.transaction(read_only=True) as tx:
                found = await self._vault.values(tx, some)
            return {name: self._kept_or_new(name, value) for name, value in found.items()}

        return await _together_or_apart(read, names)

    def _kept_or_new(self, name: _Name, value: Masked) -> KnownSecret:
        last, text = self._values.last(name), value.reveal()
        if isinstance(last, KnownSecret) and last.value.reveal() == text:
            return last
        return KnownSecret(value, Hidden.of(text))

    async def _read_keys(
        self, tenants: Sequence[UUID]
    ) -> Mapping[UUID, Sequence[SigningSecret] | OperatorError]:
        async def read(some: Sequence[UUID]) -> Mapping[UUID, Sequence[SigningSecret]]:
            async with self._db.transaction() as tx:
                return await self._signing.of_all(tx, some)

        return await _together_or_apart(read, tenants)


def _opened(each: V | OperatorError) -> V:
    if isinstance(each, OperatorError):
        raise each.with_traceback(None)
    return each


async def _together_or_apart(
    read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]], keys: Sequence[K]
) -> Mapping[K, V | OperatorError]:
    """What is read of all keys; where one cannot be opened, its own error in its place.

    Keys of many tenants are read together: what is wrong with one must not fail the others.
    """
    try:
        return await read(keys)
    except OperatorError:
        found: dict[K, V | OperatorError] = {}
        for key in keys:
            try:
                found |= await read((key,))
            except OperatorError as error:
                found[key] = error
        return found


def filled(request: Request, names: Sequence[str], secrets: Sequence[KnownSecret]) -> Request:
    """The request with these secrets, which have these names, or as it is written without any;
    `Unsendable` if they do not fit."""
    if not secrets:
        return request
    values = {name: each.value for name, each in zip(names, secrets, strict=True)}
    return secret_injection.fill(request, values)


def hidden_of(secrets: Sequence[KnownSecret]) -> Hidden:
    """What must not show of any of them."""
    return Hidden.all(each.hidden for each in secrets) if secrets else _NOTHING
