"""Reading a request's body: bounded before it is read, JSON and nothing else, one object."""

from __future__ import annotations

import asyncio
import contextlib
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

import msgspec
from litestar.exceptions import HTTPException

from rota.api import parsing
from rota.api.problems import FieldError, Refused, bad_field, shown
from rota.tenants.request_pace import BYTES
from rota.time_slicer import run_at_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar import Request

    from rota.api.engine import Engine
    from rota.tenants.tenant import Principal
    from rota.time_slicer import Steps

T = TypeVar("T")

MAX_PAYLOAD = 256 * 1024
MAX_BODY = 2 * MAX_PAYLOAD
"""A payload, and whatever else a schedule is made of."""
MAX_BULK_BODY = 10 * 1024 * 1024

ENGINE = "rota_engine"
"""Where the application keeps its engine."""

_NOBODY = UUID(int=0)
_MAX_DISCARDED = 64 * 1024 * 1024
_DISCARD_SECONDS = 5.0


async def read(request: Request[Any, Any, Any], *, limit: int = MAX_BODY) -> Any:
    """The JSON value of the body; None for an empty one."""
    content = await _content(request, limit)
    if not content.strip():
        return None
    _require_json(request)
    if len(content) <= parsing.CHUNK:
        return run_at_once(parsing.value(content))
    return await _sliced(request, parsing.value(content), len(content))


async def read_items(
    request: Request[Any, Any, Any], names: Sequence[str], *, most: int
) -> list[dict[str, Any]]:
    """The objects of a list of up to so many, or of an object with nothing but such a list."""
    content = await _content(request, MAX_BULK_BODY)
    if not content.strip():
        raise bad_field(names[0], f"expected a list of 1 to {most:,} schedules")
    _require_json(request)
    return await _sliced(request, parsing.items(content, names, most=most), len(content))


async def _sliced(request: Request[Any, Any, Any], steps: Steps[T], size: int) -> T:
    """Compute it for the request's tenant, a little at a time; a body of this size is charged."""
    engine: Engine = request.app.state[ENGINE]
    # Of a route without a key there is none.
    scope: dict[str, Any] = dict(request.scope)
    caller: Principal | None = scope.get("auth")
    if caller is None:
        return await engine.slicer.run(_NOBODY, steps)
    if engine.pace is not None:
        await engine.pace.spend_more(caller.tenant, size // BYTES)
    return await engine.slicer.run(caller.tenant.id, steps)


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
    given = cast("dict[str, Any]", value)
    parsing.require_few_fields(given, "body")
    return given


async def read_as(request: Request[Any, Any, Any], kind: type[T], *, optional: bool = False) -> T:
    """The body as a Struct that forbids unknown fields; what does not fit is named."""
    given = await read_object(request, optional=optional)
    for name in _whole(kind) & given.keys():
        # To JSON Schema, and so to many clients, 10.0 is an integer.
        if isinstance(value := given[name], float) and value.is_integer():
            given[name] = int(value)
    return msgspec.convert(given, kind)


@cache
def _whole(kind: type) -> frozenset[str]:
    """The fields of a Struct that are whole numbers."""
    found = msgspec.inspect.type_info(kind)
    assert isinstance(found, msgspec.inspect.StructType)
    return frozenset(each.encode_name for each in found.fields if _is_whole(each.type))


def _is_whole(kind: msgspec.inspect.Type) -> bool:
    match kind:
        case msgspec.inspect.Metadata():
            return _is_whole(kind.type)
        case msgspec.inspect.UnionType():
            return any(_is_whole(each) for each in kind.types)
        case _:
            return isinstance(kind, msgspec.inspect.IntType)


async def require_none(request: Request[Any, Any, Any]) -> None:
    """For an operation without fields: nothing, or an object with nothing in it."""
    given = await read_object(request, optional=True)
    for name in given:
        raise bad_field(name[:60], "there is no such field: nothing is expected here")


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
