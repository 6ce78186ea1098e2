"""`Idempotency-Key`: a request that is sent again is answered again, not carried out again.

The key, the work and the answer are one transaction: there is no moment at which the work is done
and the answer not yet kept. What is refused is not kept, so that a corrected request may follow.

An answer that holds a secret is kept sealed, with a key made of the caller's own credentials, which
are stored nowhere: whoever reads the table learns nothing, and whoever may repeat the request does.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec
from litestar import MediaType, Response

from rota.api.problems import FieldError, Refused
from rota.tenants import answers
from rota.tenants.secrets.cipher import NONCE_BYTES, BrokenSecret, Sealed, seal, unseal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from uuid import UUID

    from rota.api.engine import Engine
    from rota.api.given import AnyRequest
    from rota.db import Tx
    from rota.tenants.tenant import Principal

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = {"Idempotency-Replayed": "true"}
MAX_KEY: Final = 255


@dataclass(frozen=True, slots=True)
class Done:
    """What is answered when the work is done."""

    value: Any
    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A request that came with a key: its earlier answer, or a place for its own."""

    tenant_id: UUID
    key: str
    fingerprint: bytes
    seal_key: bytes | None = None
    """What the answer is sealed with; None for one without secrets."""

    async def earlier(self, tx: Tx) -> Response[bytes] | None:
        """What was answered before; None when this is the first time, and then `keep` follows.

        Whoever comes while the first is at it waits here until that commits or gives up.
        """
        if await answers.reserve(tx, self.tenant_id, self.key, self.fingerprint):
            return None
        return await self.found(tx) or _refuse_used()

    async def found(self, tx: Tx) -> Response[bytes] | None:
        """What was answered before, without waiting for whoever is at it."""
        answer = await answers.find(tx, self.tenant_id, self.key)
        if answer is None:
            return None
        if answer.fingerprint != self.fingerprint:
            _refuse_used()
        return _response(answer.status, self._open(answer.content), answer.headers | REPLAYED)

    async def keep(self, tx: Tx, done: Done) -> Response[bytes]:
        """Answer so from now on."""
        content = msgspec.json.encode(done.value)
        await answers.keep(
            tx,
            self.tenant_id,
            self.key,
            status=done.status,
            content=self._closed(content),
            headers=done.headers,
        )
        return _response(done.status, content, done.headers)

    async def give_up(self, tx: Tx) -> None:
        """Nothing came of it: the next time is the first again."""
        await answers.release(tx, self.tenant_id, self.key)

    def _closed(self, content: bytes) -> bytes:
        if self.seal_key is None:
            return content
        return b"".join(seal(self.seal_key, content, place=self.fingerprint))

    def _open(self, content: bytes) -> bytes:
        if self.seal_key is None:
            return content
        sealed = Sealed(content[:NONCE_BYTES], content[NONCE_BYTES:])
        try:
            return unseal(self.seal_key, sealed, place=self.fingerprint)
        except BrokenSecret:
            # The same tenant, and another credential than that which the answer was given to.
            _refuse_used()


async def asked(
    request: AnyRequest, tenant_id: UUID, *, sealed_with: str | None = None, space: str = ""
) -> Once | None:
    """The key that a request came with; None without one.

    `sealed_with` is the credential that the answer is for, when it holds a secret; `space` keeps
    keys of other kinds of callers apart.
    """
    key = _key(request)
    if key is None:
        return None
    fingerprint = await _fingerprint(request)
    seal_key = None
    if sealed_with is not None:
        seal_key = hmac.digest(sealed_with.encode(), b"rota answer\0" + key.encode(), "sha256")
    # A header is ASCII, so the sign between the two can be in no key.
    return Once(
        tenant_id=tenant_id,
        key=f"{space}§{key}" if space else key,
        fingerprint=fingerprint,
        seal_key=seal_key,
    )


async def once(
    request: AnyRequest,
    engine: Engine,
    caller: Principal,
    work: Callable[[Tx], Awaitable[Done]],
    *,
    repeatable: bool = False,
    sealed: bool = False,
    across: bool = False,
    after: Callable[[Done], None] | None = None,
) -> Response[bytes]:
    """Do the work, or find that it was done. With a key, a commit in doubt may be tried again.

    `sealed` when the answer holds a secret. `across` lets an operator's work reach over tenants.
    `after` is called once the work is committed, and not when an answer is repeated.
    """
    credential = request.headers.get("authorization", "") if sealed else None
    keyed = await asked(request, caller.tenant.id, sealed_with=credential)
    tenant = None if across and caller.is_operator else caller.tenant.id

    async def carried_out(tx: Tx) -> tuple[Response[bytes], Done | None]:
        if keyed is None:
            done = await work(tx)
            return response(done), done
        earlier = await keyed.earlier(tx)
        if earlier is not None:
            return earlier, None
        done = await work(tx)
        return await keyed.keep(tx, done), done

    answer, done = await engine.db.run(
        carried_out,
        repeatable=repeatable or keyed is not None,
        tenant=tenant,
        actor=caller.actor,
    )
    if done is not None and after is not None:
        after(done)
    return answer


async def kept_afterwards(engine: Engine, keyed: Once | None, done: Done) -> Response[bytes]:
    """Keep the answer to work that was done in parts, each of which does no harm when repeated.

    When a twin was faster, its answer is this one's too.
    """
    if keyed is None:
        return response(done)

    async def keep(tx: Tx) -> Response[bytes]:
        return await keyed.earlier(tx) or await keyed.keep(tx, done)

    return await engine.db.run(keep, repeatable=True, tenant=keyed.tenant_id)


def response(done: Done) -> Response[bytes]:
    """The answer that says it."""
    return _response(done.status, msgspec.json.encode(done.value), done.headers)


def _response(status: int, content: bytes, headers: Mapping[str, str]) -> Response[bytes]:
    return Response(content, status_code=status, media_type=MediaType.JSON, headers=dict(headers))


def _key(request: AnyRequest) -> str | None:
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        message = f"expected 1 to {MAX_KEY} visible characters of ASCII"
        raise Refused(
            HTTPStatus.BAD_REQUEST,
            f"{HEADER}: {message}",
            errors=(FieldError(HEADER, message),),
        )
    return key


async def _fingerprint(request: AnyRequest) -> bytes:
    """The same for the same request: its method, its address and its body."""
    scope = request.scope
    head = f"{request.method} {scope['path']}?{scope['query_string'].decode('latin-1')}\n"
    return hashlib.sha256(head.encode() + await request.body()).digest()


def _refuse_used() -> NoReturn:
    message = "expected a new key for another request, got one that was used before"
    raise Refused(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"{HEADER}: {message}",
        errors=(FieldError(HEADER, message),),
    )
