"""One connection to the server, kept for as long as a command has something to ask."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from http.client import HTTPConnection

TIMEOUT_SECONDS: Final = 30.0


class Line:
    """Made when it is first needed, and again when the server has hung up."""

    __slots__ = ("_connection", "_timeout")

    def __init__(self, timeout: float = TIMEOUT_SECONDS) -> None:
        self._timeout = timeout
        self._connection: HTTPConnection | None = None

    def __del__(self) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether there is one that was used before."""
        return self._connection is not None

    def connection(self, url: str) -> HTTPConnection:
        """The connection to this server."""
        if self._connection is not None and _is_over(self._connection):
            self.close()
        if self._connection is None:
            self._connection = _made(url, self._timeout)
        return self._connection

    def close(self) -> None:
        """The next request gets a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _made(url: str, timeout: float) -> HTTPConnection:
    from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415 - slow, see app.py

    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return kind(parts.hostname or "", parts.port, timeout=timeout)


def _is_over(connection: HTTPConnection) -> bool:
    """Whether the server has hung up: nothing else is there to be read between two answers."""
    if connection.sock is None:
        return True
    readable, _, _ = select.select([connection.sock], [], [], 0)
    return bool(readable)
