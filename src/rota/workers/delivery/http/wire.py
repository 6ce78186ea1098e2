"""The bytes of a request, and the last wall before they are sent. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rota.workers.delivery.http import origin
from rota.workers.delivery.http.failures import CallFailed

if TYPE_CHECKING:
    from rota.workers.delivery.http.origin import Origin
    from rota.workers.delivery.request import Request

_FIT: Final = bytes(range(0x20, 0x7F)) + b"\t"
_WITH_CONTENT: Final = frozenset({"POST", "PUT", "PATCH"})


def encode(request: Request, origin: Origin, target: str) -> bytes:
    """All that is sent, head and body, for one write.

    `CallFailed` when a name, a value or the target holds what would begin another line: then
    nothing is sent. They were checked before; a secret filled in since may bring it.
    """
    before, after = _around_more(request, origin, target)
    return before + after


@dataclass(frozen=True, slots=True, repr=False)
class Frame:
    """The bytes of a request around the headers that differ from firing to firing."""

    origin: Origin
    method: str
    before: bytes
    after: bytes
    body: bytes
    digest: str
    """The body's SHA-256 in hexadecimal."""

    @staticmethod
    def of(request: Request) -> Frame:
        """Of a request whose secrets are filled in; `CallFailed` and ValueError as for sending."""
        place, target = origin.split(request.url)
        before, after = _around_more(request, place, target)
        digest = hashlib.sha256(request.body).hexdigest()
        return Frame(place, request.method, before, after, request.body, digest)

    def with_lines(self, *lines: bytes) -> bytes:
        """All that is sent, with these lines of headers (`header_lines`)."""
        return b"".join((self.before, *lines, self.after))

    def __repr__(self) -> str:
        # Every part of it may hold a secret.
        return f"Frame({self.method} …)"


def _around_more(request: Request, origin: Origin, target: str) -> tuple[bytes, bytes]:
    """What is sent before and after the place where more headers may stand."""
    body, headers = request.body, request.headers
    lines = [f"{request.method} {target} HTTP/1.1\r\nHost: {origin.authority}\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in headers.items()]
    before = header_lines("".join(lines), len(headers) + 2)
    if " " in target:
        raise CallFailed(_UNFIT)
    if body or request.method in _WITH_CONTENT:
        return before, b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    return before, b"\r\n"


def header_lines(lines: str, count: int) -> bytes:
    """So many lines of a head, each with its end; `CallFailed` when there are more of them, or when
    they hold what does not fit."""
    try:
        head = lines.encode("ascii")
    except UnicodeEncodeError:
        raise CallFailed(_UNFIT) from None
    # All that is left without the fit ones: the ends of our own lines, and nothing else.
    if head.translate(None, _FIT) != b"\r\n" * count:
        raise CallFailed(_UNFIT)
    return head


_UNFIT: Final = (
    "not sent: expected visible ASCII in the URL and the headers, got another character; "
    "look at the secrets that were filled in"
)
