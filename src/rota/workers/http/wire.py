"""The bytes of a request, and the last wall before they are sent (S4). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rota.workers.http.failures import CallFailed

if TYPE_CHECKING:
    from rota.workers.http.origin import Origin
    from rota.workers.request import Request

_FIT: Final = bytes(range(0x20, 0x7F)) + b"\t"
_WITH_CONTENT: Final = frozenset({"POST", "PUT", "PATCH"})


def encode(request: Request, origin: Origin, target: str) -> bytes:
    """All that is sent, head and body, for one write.

    `CallFailed` when a name, a value or the target holds what would begin another line: then
    nothing is sent. They were checked before; a secret filled in since may bring it.
    """
    body, headers = request.body, request.headers
    lines = [f"{request.method} {target} HTTP/1.1\r\nHost: {origin.authority}\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in headers.items()]
    count = len(headers) + 3
    if body or request.method in _WITH_CONTENT:
        lines.append(f"Content-Length: {len(body)}\r\n")
        count += 1
    lines.append("\r\n")
    try:
        head = "".join(lines).encode("ascii")
    except UnicodeEncodeError:
        raise CallFailed(_UNFIT) from None
    # All that is left without the fit ones: the ends of our own lines, and nothing else.
    if head.translate(None, _FIT) != b"\r\n" * count or " " in target:
        raise CallFailed(_UNFIT)
    return head + body if body else head


_UNFIT: Final = (
    "not sent: expected visible ASCII in the URL and the headers, got another character; "
    "look at the secrets that were filled in"
)
