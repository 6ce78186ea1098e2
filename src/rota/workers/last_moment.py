"""What is done to a request right before it is sent: secrets filled in, and signed.

    request_of → begin (still a template, and shown) → complete (the real one, never shown)

Values come from a memory that asks the database once a second at most, however many firings want
them; a request without placeholders, of a tenant whose signing secret is known, waits for nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

from rota.errors import OperatorError
from rota.targets import signing_host
from rota.tenants.secrets.remembered import Remembered
from rota.tenants.signing import SigningSecrets
from rota.workers import fill, sign
from rota.workers.request import HIDDEN_HEADERS, STEP_HEADER, Request
from rota.workers.scrub import Hidden, scrub

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from rota.db import Database
    from rota.db.server_clock import DatabaseClock
    from rota.queue.claim import Claim
    from rota.tenants.secrets import Masked, Vault
    from rota.tenants.signing import SigningSecret
    from rota.workers.calls import Reply

K = TypeVar("K")
V = TypeVar("V")

_Name = tuple[UUID, str]
_NOTHING = Hidden()
_LONG: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A request to be sent as it is, and what must not show in what comes back."""

    request: Request
    hidden: Hidden = _NOTHING

    async def scrub(self, reply: Reply) -> Reply:
        """The reply as it may be seen."""
        if self.hidden and len(reply.body) > _LONG:
            # A target that means ill can make this slow: not at the cost of everybody else.
            return await asyncio.to_thread(scrub, reply, self.hidden)
        return scrub(reply, self.hidden)


@dataclass(frozen=True, slots=True)
class _Known:
    """A value, and the forms in which it may come back."""

    value: Masked
    hidden: Hidden


class LastMoment:
    """Of one worker. Without a key ring nothing is signed, and a request for a secret fails.

    Signed by the database's time: receivers refuse a timestamp that is minutes off, and this node's
    own clock may be.
    """

    def __init__(self, db: Database, vault: Vault, *, time: DatabaseClock) -> None:
        self._db = db
        self._vault = vault
        self._signing = SigningSecrets(vault)
        self._time = time
        self._values: Remembered[_Name, _Known | OperatorError] = Remembered(
            self._read_values, clock=time.local
        )
        self._keys: Remembered[UUID, Sequence[SigningSecret] | OperatorError] = Remembered(
            self._read_keys, clock=time.local
        )

    def begin(self, request: Request) -> Request:
        """The template with the headers that its signature will cover."""
        if not self._signing.is_on:
            return request
        id_ = request.headers["Rota-Firing-Id"]
        if (step := request.headers.get(STEP_HEADER)) is not None:
            # A receiver that has seen one step must not take the next for a duplicate.
            id_ = f"{id_}:{step}"
        return _with_headers(request, sign.unsigned_headers(id_, self._time.now()))

    async def complete(self, claim: Claim, request: Request) -> Ready:
        """The request as it is sent; `fill.Unsendable` when it cannot be made."""
        hidden: list[Hidden] = []
        names = fill.names_in(request)
        if names:
            self._vault.require_on()
            known = await self._known(claim.tenant_id, names)
            request = fill.fill(request, {name: each.value for name, each in known.items()})
            hidden += [each.hidden for each in known.values()]
        if sign.SIGNATURE in request.headers:
            request = await self._signed(claim, request)
        hidden.append(_own(request.headers))
        return Ready(request=request, hidden=Hidden.all(hidden) if names else hidden[0])

    async def _signed(self, claim: Claim, request: Request) -> Request:
        now = self._time.now()
        secrets = self._keys.known(claim.tenant_id)
        if secrets is None:
            secrets = (await self._keys.of((claim.tenant_id,)))[claim.tenant_id]
        if isinstance(secrets, Exception):
            raise secrets.with_traceback(None)
        host = signing_host.of_url(request.url)
        keys = [each.key_for(host) for each in secrets if each.signs_at(now)]
        signed = sign.signed_headers(keys, request.method, request.headers, request.body)
        return _with_headers(request, signed)

    async def _known(self, tenant_id: UUID, names: Collection[str]) -> dict[str, _Known]:
        known: dict[str, _Known] = {}
        for (_, name), each in (await self._values.of((tenant_id, n) for n in names)).items():
            if isinstance(each, Exception):
                raise each.with_traceback(None)
            known[name] = each
        return known

    async def _read_values(self, names: Sequence[_Name]) -> Mapping[_Name, _Known | OperatorError]:
        async def read(some: Sequence[_Name]) -> Mapping[_Name, _Known]:
            async with self._db.transaction(read_only=True) as tx:
                found = await self._vault.values(tx, some)
            return {name: _Known(value, Hidden.of(value.reveal())) for name, value in found.items()}

        return await _together_or_apart(read, names)

    async def _read_keys(
        self, tenants: Sequence[UUID]
    ) -> Mapping[UUID, Sequence[SigningSecret] | OperatorError]:
        async def read(some: Sequence[UUID]) -> Mapping[UUID, Sequence[SigningSecret]]:
            async with self._db.transaction() as tx:
                return await self._signing.of_all(tx, some)

        return await _together_or_apart(read, tenants)


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


def _own(headers: Mapping[str, str]) -> Hidden:
    """Rota's own headers that are nobody else's to see. Users cannot set any of these names."""
    values = (headers.get(name) for name in HIDDEN_HEADERS)
    forms = [form for value in values if value is not None for form in value.encode().split()]
    return Hidden(tuple(forms))


def _with_headers(request: Request, more: Mapping[str, str]) -> Request:
    # Not `replace`, which takes three times as long: this is done for every request.
    return Request(
        method=request.method,
        url=request.url,
        headers={**request.headers, **more},
        body=request.body,
        is_payload=request.is_payload,
    )
