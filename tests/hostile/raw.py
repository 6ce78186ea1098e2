"""Targets with bad manners: real sockets, in threads, that do exactly what a test says."""

from __future__ import annotations

import re
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Behave = Callable[["Visit"], object]

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
LIMIT = 300.0
"""Seconds after which even the most patient target gives up, so that no test hangs."""


@dataclass
class Visit:
    """One connection, and the time the server has left."""

    socket: socket.socket
    ended: threading.Event
    requests: list[bytes]

    def read(self) -> bytes:
        """The next request, whole; empty when the caller has left."""
        data = b""
        while b"\r\n\r\n" not in data:
            part = self.socket.recv(65_536)
            if not part:
                return b""
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        found = _LENGTH.search(head + b"\r\n")
        while found and len(body) < int(found[1]):
            body += self.socket.recv(65_536)
        self.requests.append(head + b"\r\n\r\n" + body)
        return self.requests[-1]

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_for_ever(self, data: bytes, *, every: float = 0.0) -> None:
        """Until the caller has had enough, or the test has."""
        while not self.ended.wait(every):
            self.send(data)

    def wait(self) -> None:
        """Say nothing, for as long as the test lasts."""
        self.ended.wait(LIMIT)

    def wait_until_read(self) -> None:
        """Until the caller, on this machine, has read all that was sent."""
        caller = self.socket.getpeername()[1]
        while not self.ended.wait(0.01):
            if not _unread(caller):
                return

    def reset(self) -> None:
        """Not the polite end but an RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def _unread(port: int) -> int:
    """How many bytes wait to be read at this port's connections (the kernel's table of sockets)."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    mine = [row for row in rows if int(row[1].rpartition(":")[2], 16) == port]
    return sum(int(row[4].rpartition(":")[2], 16) for row in mine)


@dataclass
class Server:
    """How often it was called, and what it was told."""

    host: str
    port: int
    connections: int = 0
    requests: list[bytes] = field(default_factory=list[bytes])

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@contextmanager
def serving(
    behave: Behave, *, host: str = "127.0.0.1", port: int = 0, backlog: int = 128
) -> Generator[Server]:
    """A server that behaves so at every connection."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ended = threading.Event()
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(backlog)
        listener.settimeout(0.05)
        server = Server(host, listener.getsockname()[1])

        def visit(connection: socket.socket) -> None:
            connection.settimeout(LIMIT)
            with connection, suppress(OSError):
                behave(Visit(connection, ended, server.requests))

        def accept() -> None:
            while not ended.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    continue
                server.connections += 1
                threading.Thread(target=visit, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            ended.set()
            thread.join()


def answering(data: bytes, *, then: Behave | None = None) -> Behave:
    """Reads every request and sends these bytes."""

    def behave(visit: Visit) -> None:
        while visit.read():
            visit.send(data)
            if then is not None:
                then(visit)
                return

    return behave


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
