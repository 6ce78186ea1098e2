"""`Idempotency-Key`: a request that is sent again is answered again, not carried out again.

The key, the work and the answer are one transaction: there is no moment at which the work is done
and the answer not yet kept. What is refused is not kept, so that a corrected request may follow.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import MediaType, Response

from rota.api.problems import FieldError, Refused
from rota.tenants import answers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

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


async def once(
    request: AnyRequest,
    engine: Engine,
    caller: Principal,
    work: Callable[[Tx], Awaitable[Done]],
    *,
    repeatable: bool = False,
) -> Response[bytes]:
    """Do the work, or find that it was done. With a key, a commit in doubt may be tried again."""
    key = _key(request)
    if key is None:
        done = await engine.db.run(work, repeatable=repeatable)
        return _response(done.status, msgspec.json.encode(done.value), done.headers)
    fingerprint = await _fingerprint(request)

    async def kept(tx: Tx) -> Response[bytes]:
        tenant_id = caller.tenant.id
        if await answers.reserve(tx, tenant_id, key, fingerprint):
            done = await work(tx)
            content = msgspec.json.encode(done.value)
            await answers.keep(tx, tenant_id, key, status=done.status, content=content)
            return _response(done.status, content, done.headers)
        answer = await answers.find(tx, tenant_id, key)
        if answer is None or answer.fingerprint != fingerprint:
            raise _used()
        return _response(answer.status, answer.content, REPLAYED)

    return await engine.db.run(kept, repeatable=True)


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


def _used() -> Refused:
    message = "expected a new key for another request, got one that was used before"
    return Refused(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"{HEADER}: {message}",
        errors=(FieldError(HEADER, message),),
    )
