"""HTTP with bounds (S6): how long an address and how large all headers may be.

The server beneath knows no such bounds and would gather an endless header in memory. What is
refused here has reached no application, so this speaks for it: `application/problem+json`, as
everywhere.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rota.api.problems import MEDIA_TYPE, Refused, to_problem

MAX_TARGET: Final = 8 * 1024
"""Of the address: the path and what follows the `?`."""
MAX_HEADERS: Final = 32 * 1024
"""Of all names and values together."""
MAX_COUNT: Final = 100
_MAX_HEAD: Final = 2 * (MAX_TARGET + MAX_HEADERS)
"""What may come in before the headers have ended."""


class BoundedHttp(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pending = 0
        self._in_head = True
        self._refused = False

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._in_head:
            self._pending += len(data)
        super().data_received(data)
        if self._in_head and self._pending > _MAX_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _LARGE)

    def on_headers_complete(self) -> None:
        self._in_head = False
        size = sum(len(name) + len(value) for name, value in self.headers)
        if len(self.url) > MAX_TARGET:
            detail = f"expected an address of at most {MAX_TARGET:,} bytes, got {len(self.url):,}"
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG, detail)
        elif size > MAX_HEADERS or len(self.headers) > MAX_COUNT:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _LARGE)
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._pending = True, 0
        if not self._refused:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if not self._refused:
            self._refuse(HTTPStatus.BAD_REQUEST, f"expected HTTP/1.1, got something else: {msg}")

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer and hang up: what is still to come of the request is not wanted."""
        self._refused = True
        body = msgspec.json.encode(to_problem(Refused(status, detail)))
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


_LARGE: Final = (
    f"expected at most {MAX_COUNT} headers, of {MAX_HEADERS // 1024} kB together, got more"
)
