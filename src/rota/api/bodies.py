"""Reading a request's body: bounded before it is read, JSON and nothing else, one object."""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from litestar.exceptions import HTTPException

from rota.api.problems import FieldError, Refused, shown

if TYPE_CHECKING:
    from litestar import Request

T = TypeVar("T")

MAX_PAYLOAD = 256 * 1024
MAX_BODY = 2 * MAX_PAYLOAD
"""A payload, and whatever else a schedule is made of."""
MAX_BULK_BODY = 10 * 1024 * 1024

_MAX_DISCARDED = 64 * 1024 * 1024
_DISCARD_SECONDS = 5.0


async def read(request: Request[Any, Any, Any], *, limit: int = MAX_BODY) -> Any:
    """The JSON value of the body; None for an empty one."""
    content = await _content(request, limit)
    if not content.strip():
        return None
    _require_json(request)
    try:
        value: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "values nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(
            HTTPStatus.BAD_REQUEST, f"expected a body of JSON, got something else: {reason}"
        ) from error
    return value


async def read_object(
    request: Request[Any, Any, Any], *, limit: int = MAX_BODY, optional: bool = False
) -> dict[str, Any]:
    """The JSON object of the body; {} for an empty body where that is `optional`."""
    value = await read(request, limit=limit)
    if value is None and optional:
        return {}
    if not isinstance(value, dict):
        got = "nothing" if value is None else "another kind of value"
        raise Refused(HTTPStatus.BAD_REQUEST, f"expected a JSON object as the body, got {got}")
    return cast("dict[str, Any]", value)


async def read_as(request: Request[Any, Any, Any], kind: type[T], *, optional: bool = False) -> T:
    """The body as a Struct that forbids unknown fields; what does not fit is named."""
    return msgspec.convert(await read_object(request, optional=optional), kind)


async def _content(request: Request[Any, Any, Any], limit: int) -> bytes:
    # The route's own limit (request_max_body_size) stops the reading; this is what is said of it.
    try:
        return await request.body()
    except HTTPException as error:
        if error.status_code != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise
        await _discard(request)
        raise too_large(limit) from error


async def _discard(request: Request[Any, Any, Any]) -> None:
    """Read on for a while: a client that is still sending would see a reset and not our answer."""
    left = _MAX_DISCARDED
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while left > 0:
                message = await request.receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                left -= len(message["body"])


def too_large(limit: int) -> Refused:
    """More than the route takes."""
    kilobytes = f"{limit // 1024:,} kB"
    message = f"expected at most {MAX_PAYLOAD // 1024} kB, and a body of at most {kilobytes}"
    return Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"expected a body of at most {kilobytes}, got more; "
        f"a payload may have {MAX_PAYLOAD // 1024} kB",
        errors=(FieldError("payload", message),),
        # There may be more of the body than was read, so the connection cannot be used again.
        headers={"Connection": "close"},
    )


def _require_json(request: Request[Any, Any, Any]) -> None:
    # A form of another site's page can send text/plain, but not JSON, without asking first.
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Refused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"expected Content-Type: application/json, got {shown(kind)}",
        )
