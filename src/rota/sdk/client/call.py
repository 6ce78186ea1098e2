"""A request to the API, as a value: what is sent, how its answer reads, if it may be repeated.

Nothing here touches the network. The routes (`rota.sdk.client.routes`) build calls and listings;
`sending` decides what to do with an answer; `client` has the two classes that send.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from urllib.parse import quote

import msgspec
from ulid import ULID

from rota.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.sdk.client.results import Page

T = TypeVar("T")

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Query = dict[str, str]

REQUEST_KEY = "Idempotency-Key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """A request whose answer reads as a `T`. What may be secret does not show."""

    method: Method
    path: str
    answer: type[T]
    query: Query = field(default_factory=dict[str, str])
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    is_safe: bool = False
    """Sent twice, it does no more than sent once."""
    has_key: bool = True
    """The API key goes along; not where a token, or nothing, is asked for."""
    also: tuple[int, ...] = ()
    """Statuses that are answers here and errors elsewhere."""
    patience: float = 0.0
    """Seconds that the server may take beyond the usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[T]):
    """A list that is read page by page."""

    first: Call[Page[T]]

    def page(self, cursor: str | None) -> Call[Page[T]]:
        """The page that a cursor names; the first without one."""
        if cursor is None:
            return self.first
        return replace(self.first, query=self.first.query | {"cursor": cursor})


def get(answer: type[T], path: str, **query: object) -> Call[T]:
    """Read something; parameters that are None are left out."""
    return Call(method="GET", path=path, answer=answer, query=written(query), is_safe=True)


def listing(
    answer: type[Page[T]], path: str, page_size: int | None = None, **query: object
) -> Listing[T]:
    """Read a list; pages are as large as the server makes them unless `page_size` is given."""
    return Listing(first=get(answer, path, limit=page_size, **query))


def post(answer: type[T], path: str, body: object = None) -> Call[T]:
    """Do something, once: it is never sent again."""
    return Call(method="POST", path=path, answer=answer, body=encoded(body))


def post_once(answer: type[T], path: str, key: str | None, body: object = None) -> Call[T]:
    """Do something that the server does once for each key, so that it may be sent again."""
    headers = {REQUEST_KEY: visible("request_key", str(ULID()) if key is None else key)}
    return replace(post(answer, path, body), headers=headers, is_safe=True)


def put(answer: type[T], path: str, body: object, version: int | str | None = None) -> Call[T]:
    """Make something what is given."""
    return _edit("PUT", answer, path, body, version)


def patch(answer: type[T], path: str, body: object, version: int | str | None = None) -> Call[T]:
    """Change something. Not repeated: it re-arms from now, and from later the second time."""
    return replace(_edit("PATCH", answer, path, body, version), is_safe=False)


def delete(path: str, version: int | str | None = None) -> Call[None]:
    """Take something away."""
    return _edit("DELETE", type(None), path, None, version)


def _edit(
    method: Method, answer: type[T], path: str, body: object, version: int | str | None
) -> Call[T]:
    headers: dict[str, str] = {}
    if version is not None:
        tag = f'"v{version}"' if isinstance(version, int) else version
        headers["If-Match"] = visible("if_version", tag)
    # With a version it is not safe: had the first try worked and its answer been lost, a second
    # would find the version it made itself and be refused.
    return Call(
        method=method,
        path=path,
        answer=answer,
        body=encoded(body),
        headers=headers,
        is_safe=version is None,
    )


def at(template: str, *parts: str) -> str:
    """A path with each {} filled by one part, escaped."""
    for part in parts:
        # An empty id would make it the path of something else: the list of all.
        if not part:
            raise InvalidInput(f"expected an id or a name for {template}, got an empty text")
    return template.format(*(quote(part, safe="") for part in parts))


def written(query: Mapping[str, object]) -> Query:
    """Parameters as they stand in an address."""
    return {name: _word(value) for name, value in query.items() if value is not None}


def given(fields: Mapping[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """Fields given as a mapping, as keywords or both; a keyword wins."""
    return {**(fields or {}), **more}


def some(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def encoded(body: object) -> bytes | None:
    """A body of JSON; instants and lengths of time are written as ISO 8601 has them."""
    if body is None:
        return None
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"expected values that JSON can hold: {error}") from error


def visible(name: str, value: str) -> str:
    """A text that may stand in a header. It may be secret, so what is wrong is not shown."""
    if not value or not value.isascii() or not value.isprintable() or value != value.strip():
        raise InvalidInput(f"{name}: expected visible characters of ASCII", field=name)
    return value


def _word(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case _:
            return str(value)
