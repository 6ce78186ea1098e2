"""A call of a URL: what is sent, checked byte by byte before anybody could be harmed by it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from rota.targets import placeholders
from rota.targets.errors import InvalidTarget, Problem, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")

MAX_URL = 2_000
MAX_HEADERS = 50
MAX_HEADER_BYTES = 8_192
MAX_BODY_BYTES = 256 * 1024

#: Ours or the connection's to set: another value would change what the request means (S4).
FORBIDDEN_HEADERS = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade"),
        *("te", "trailer", "expect", "proxy-connection", "proxy-authorization", "accept-encoding"),
        "idempotency-key",
    }
)
FORBIDDEN_PREFIXES = ("rota-", "webhook-")

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
# Visible ASCII, spaces and tabs within; no CR, LF or NUL, which would begin another header.
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?", re.ASCII)
# Neither white space nor control characters: some clients strip them, and call another address.
_URL = re.compile(r"[\x21-\x7e]+", re.ASCII)
_HOST = re.compile(
    r"(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*\.?", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTarget:
    """Send `method` to `url`, with `headers`, and `body` in place of the schedule's payload."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    body: str | None = None

    @staticmethod
    def read(
        url: str,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> HttpTarget:
        """The target; `InvalidTarget` with everything that is wrong with it."""
        headers = headers or {}
        method = method.upper()
        problems = (
            *_url_problems(url),
            *_method_problems(method, body),
            *_header_problems(headers),
            *_body_problems(body),
        )
        if problems:
            raise InvalidTarget(problems)
        return HttpTarget(url=url, method=method, headers=headers, body=body)

    @property
    def host(self) -> str:
        """The host it calls, in lower case, with the port unless it is the scheme's own.

        One host for limits and circuits: `example.com`, `127.0.0.1:8080`, `[::1]:81`.
        """
        parts = urlsplit(self.url)
        name = (parts.hostname or "").rstrip(".")
        name = f"[{name}]" if ":" in name else name
        usual = 443 if parts.scheme == "https" else 80
        return name if parts.port in {None, usual} else f"{name}:{parts.port}"


def _url_problems(url: str) -> Iterator[Problem]:
    wrong = _wrong_with_url(url)
    if wrong:
        yield Problem("target_url", f"Invalid target_url: {wrong}")


def _wrong_with_url(url: str) -> str | None:
    if len(url) > MAX_URL:
        return f"expected at most {MAX_URL} characters, got {len(url)}"
    if not _URL.fullmatch(url) or "\\" in url:
        return f"expected ASCII without spaces (the rest as %XX, a host as xn--…), got {show(url)}"
    if wrong := placeholders.wrong_in_url(url):
        return wrong
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as problem:
        return f"{problem}, got {show(url)}"
    return _wrong_with_parts(url, parts, port)


def _wrong_with_parts(url: str, parts: SplitResult, port: int | None) -> str | None:
    if parts.scheme not in {"http", "https"} or not url[len(parts.scheme) :].startswith("://"):
        return f"expected one that begins with https:// or http://, got {show(url)}"
    if "@" in parts.netloc:
        # It would be stored and shown; and "https://good.example@evil.example" deceives readers.
        return "expected no user or password in it; send them in the Authorization header"
    if port == 0:
        return f"expected a port from 1 to 65535, got {show(url)}"
    return _wrong_with_host(parts.hostname or "", parts.netloc, url)


def _wrong_with_host(host: str, netloc: str, url: str) -> str | None:
    if netloc.startswith("["):
        # urlsplit has checked what is between the brackets.
        return None if "%" not in host else f"expected an address without a zone, got {show(url)}"
    return None if _HOST.fullmatch(host) else f"expected a host such as example.com in {show(url)}"


def _method_problems(method: str, body: str | None) -> Iterator[Problem]:
    if method not in METHODS:
        yield Problem(
            "method", f"Invalid method: expected one of {', '.join(METHODS)}, got {show(method)}"
        )
    elif body is not None and method in {"GET", "HEAD"}:
        yield Problem("body", f"Invalid body: expected none with the method {method}")


def _header_problems(headers: Mapping[str, str]) -> Iterator[Problem]:
    if len(headers) > MAX_HEADERS:
        yield Problem(
            "headers", f"Invalid headers: expected at most {MAX_HEADERS}, got {len(headers)}"
        )
        return
    seen: set[str] = set()
    for name, value in headers.items():
        lower = name.lower()
        wrong = _wrong_with_header(lower, name, value)
        if lower in seen:
            wrong = "is given twice, in different cases"
        seen.add(lower)
        if wrong:
            yield Problem(f"headers.{_plain(name)}", f"Invalid header: {show(name)} {wrong}")
    size = sum(len(name) + len(value) + 4 for name, value in headers.items())
    if size > MAX_HEADER_BYTES:
        yield Problem(
            "headers", f"Invalid headers: expected at most {MAX_HEADER_BYTES} bytes, got {size}"
        )


def _plain(name: str) -> str:
    """A stranger's name for a header, fit to be a part of a field's name."""
    return "".join(c if c.isprintable() else "?" for c in name[:60])


def _wrong_with_header(lower: str, name: str, value: str) -> str | None:
    if not _TOKEN.fullmatch(name):
        return "is not a header's name"
    if lower in FORBIDDEN_HEADERS or lower.startswith(FORBIDDEN_PREFIXES):
        return "is set by Rota or by the connection itself"
    if not _HEADER_VALUE.fullmatch(value):
        # The value may be a password: it is never repeated.
        return "has a value with characters other than visible ASCII"
    wrong = placeholders.wrong_with(value)
    return f"has a placeholder that is none: {wrong}" if wrong else None


def _body_problems(body: str | None) -> Iterator[Problem]:
    if body is None:
        return
    if wrong := placeholders.wrong_with(body):
        yield Problem("body", f"Invalid body: {wrong}")
    try:
        size = len(body.encode())
    except UnicodeEncodeError:
        yield Problem("body", "Invalid body: expected text, got half of a surrogate pair")
        return
    if size > MAX_BODY_BYTES:
        yield Problem("body", f"Invalid body: expected at most {MAX_BODY_BYTES} bytes, got {size}")
