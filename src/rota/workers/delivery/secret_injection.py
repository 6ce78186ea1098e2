"""Filling secrets into a request: `${secrets.NAME}`, at the last moment. Pure.

Each value is written the way its place wants it, so that it is a value there and nothing more:
percent-encoded in the path and the query, escaped within JSON, and checked in a header. Values are
filled in once: what looks like a placeholder in a value stays as it is. No message repeats a value.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from rota.targets.http import (
    FORBIDDEN_HEADERS,
    FORBIDDEN_PREFIXES,
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
)
from rota.targets.placeholders import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rota.tenants.secrets import Masked
    from rota.workers.delivery.request import Request

MAX_URL: Final = 8_192
"""Once it is filled in. Many servers take no longer one."""
MAX_BODY: Final = 2 * MAX_BODY_BYTES
"""Once it is filled in: as long a template as there may be, and as much again of secrets."""

_NONE: Final[frozenset[str]] = frozenset()
BEGINNING: Final = "${secrets."
"""Of a placeholder: what has none of these wants no secret."""
_BEGINNING_BYTES: Final = BEGINNING.encode()
_PLACEHOLDER_BYTES = re.compile(PLACEHOLDER.pattern.encode())
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*", re.ASCII)
# As in targets.http: visible ASCII, spaces and tabs within.
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?", re.ASCII)
# What RFC 3986 lets stand for itself in a path; quote() keeps letters, digits and -._~ by itself.
_PATH_SAFE: Final = "/:@!$&'()*+,;="


class Unsendable(Exception):
    """The request cannot be made of its template and these secrets; another attempt could neither.

    The text is a sentence for people, and repeats no value.
    """


def names_in(request: Request) -> frozenset[str]:
    """The secrets that the request wants. Cheap when it wants none: that is most of them."""
    parts = [value for value in (request.url, *request.headers.values()) if BEGINNING in value]
    if not parts and _BEGINNING_BYTES not in request.body:
        return _NONE
    parts = [request.url, *(value for _, value in _fillable(request.headers))]
    found = {name for part in parts for name in PLACEHOLDER.findall(part)}
    if _BEGINNING_BYTES in request.body:
        found |= {name.decode() for name in _PLACEHOLDER_BYTES.findall(request.body)}
    return frozenset(found)


def fill(request: Request, values: Mapping[str, Masked]) -> Request:
    """The request as it is sent; Unsendable for an unknown name or a value that does not fit."""
    for name in sorted(names_in(request)):
        if name not in values:
            raise unknown(name)
    return replace(
        request,
        url=_url(request.url, values),
        headers=_headers(request.headers, values),
        body=_body(request, values),
    )


def unknown(name: str) -> Unsendable:
    """There is no secret of this name."""
    return Unsendable(f"unknown secret {name}; `rota secret set {name}` makes it")


def _fillable(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The user's own headers that want a secret: Rota's are not theirs to fill."""
    for name, value in headers.items():
        if BEGINNING in value:
            lower = name.lower()
            if lower not in FORBIDDEN_HEADERS and not lower.startswith(FORBIDDEN_PREFIXES):
                yield name, value


def _with(text: str, values: Mapping[str, Masked], write: Callable[[str], str]) -> str:
    return PLACEHOLDER.sub(lambda match: write(values[match[1]].reveal()), text)


def _url(url: str, values: Mapping[str, Masked]) -> str:
    """The host stays as it was checked: only what comes after it is filled."""
    authority = _AUTHORITY.match(url)
    if BEGINNING not in url or authority is None:
        return url
    path, mark, query = url[authority.end() :].partition("?")
    filled = authority[0] + _with(path, values, in_path) + mark + _with(query, values, in_query)
    if len(filled) > MAX_URL:
        raise Unsendable(
            f"the URL is too long once its secrets are filled in: expected at most {MAX_URL} "
            f"characters, got {len(filled)}"
        )
    return filled


def _headers(headers: Mapping[str, str], values: Mapping[str, Masked]) -> Mapping[str, str]:
    filled = {name: _with(value, values, str) for name, value in _fillable(headers)}
    if not filled:
        return headers
    for name, value in filled.items():
        if not _HEADER_VALUE.fullmatch(value):
            raise Unsendable(
                f"the header {name} cannot be sent once its secrets are filled in: expected "
                "visible ASCII, got other characters, such as the end of a line"
            )
    merged = {**headers, **filled}
    size = sum(len(name) + len(value) + 4 for name, value in filled.items())
    if size > MAX_HEADER_BYTES:
        raise Unsendable(
            "the headers are too long once their secrets are filled in: expected at most "
            f"{MAX_HEADER_BYTES} bytes, got {size}"
        )
    return merged


def _body(request: Request, values: Mapping[str, Masked]) -> bytes:
    if _BEGINNING_BYTES not in request.body:
        return request.body
    write = _body_writer(request)
    filled = _PLACEHOLDER_BYTES.sub(
        lambda match: write(values[match[1].decode()].reveal()).encode(), request.body
    )
    if len(filled) > MAX_BODY:
        raise Unsendable(
            "the body is too long once its secrets are filled in: expected at most "
            f"{MAX_BODY} bytes, got {len(filled)}"
        )
    return filled


def _body_writer(request: Request) -> Callable[[str], str]:
    """By what the body is: JSON, a form, or text that is sent as it stands."""
    kind = next((v for name, v in request.headers.items() if name.lower() == "content-type"), "")
    kind = kind.partition(";")[0].strip().lower()
    if request.is_payload or kind == "application/json" or kind.endswith("+json"):
        return in_json
    return in_query if kind == "application/x-www-form-urlencoded" else str


def in_path(value: str) -> str:
    return quote(value, safe=_PATH_SAFE)


def in_query(value: str) -> str:
    return quote(value, safe="")


def in_json(value: str) -> str:
    """Within the quotes of a JSON string."""
    return msgspec.json.encode(value)[1:-1].decode()
