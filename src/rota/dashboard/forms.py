"""What a form says. Every value is text from outside.

A form is bounded before it is read: each route has a limit (`request_max_body_size`; SMALL unless
it names another), which `require_small_enough` holds against the announced length and the framework
against what comes in. The framework's own reading of forms is not used: it remembers the bodies of
the last 1,024 forms, with the keys and secrets in them.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl

from litestar import Request
from litestar.datastructures import Headers
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler

from rota.dashboard.refusals import PageRefused

AnyRequest = Request[Any, Any, Any]

TINY: Final = 4 * 1024
"""Of signing in: a key or a token, and where to go next."""
SMALL: Final = 16 * 1024
"""A handful of short fields."""
MEDIUM: Final = 128 * 1024
"""A page full of ticked boxes, a secret, a calendar."""
LARGE: Final = 512 * 1024
"""A whole schedule, with its payload."""

_MAX_FIELDS: Final = 2_000
_ON_THE_LOOP: Final = 8 * 1024
"""What is read at once; reading more takes milliseconds, and the loop has schedules to fire."""
_READ: Final = "rota_form"


class Form:
    """The fields of a form that was sent."""

    def __init__(self, values: dict[str, list[str]]) -> None:
        self._values = values

    @classmethod
    async def read(cls, request: AnyRequest) -> "Form":
        """The request's form, read once however often it is asked for."""
        scope: dict[str, Any] = request.scope  # pyright: ignore[reportAssignmentType] - a dict
        if _READ not in scope:
            body = await _body(request)
            fits = len(body) <= _ON_THE_LOOP
            scope[_READ] = cls(_parsed(body) if fits else await asyncio.to_thread(_parsed, body))
        return scope[_READ]

    def text(self, name: str) -> str:
        """The field without blanks around it; empty when it was left empty or out."""
        return self._values.get(name, [""])[0].strip()

    def lines(self, name: str) -> str:
        """The field as it was written."""
        return self._values.get(name, [""])[0].replace("\r\n", "\n")

    def all(self, name: str) -> list[str]:
        """Every value of the name, such as of a row of boxes."""
        return self._values.get(name, [])

    def ticked(self, name: str) -> bool:
        return bool(self.text(name))


def require_small_enough(headers: Headers, handler: BaseRouteHandler) -> None:
    """Refuse a form that says it is larger than the route takes, before any of it is read."""
    limit = _limit(handler)
    length = headers.get("content-length", "")
    if length.isascii() and length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(limit)


async def _body(request: AnyRequest) -> bytes:
    try:
        return await request.body()
    except HTTPException as error:
        if error.status_code != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise
        raise _too_large(_limit(request.route_handler)) from error


def _limit(handler: BaseRouteHandler) -> int:
    return getattr(handler, "resolve_request_max_body_size")() or SMALL  # noqa: B009 - of routes


def _too_large(limit: int) -> PageRefused:
    return PageRefused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"Expected a form of at most {limit // 1024} kB, got more. Nothing was changed.",
    )


def _parsed(body: bytes) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        raise PageRefused(
            HTTPStatus.BAD_REQUEST, f"Expected at most {_MAX_FIELDS:,} fields, got more."
        ) from None
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values
