"""What an answer is written to: its head leaves together with the beginning of its body.

Uvicorn writes the two one after the other, and each write is a system call, a packet, and a caller
that wakes up. A head without a body, or with one that takes its time, leaves when the loop has
done what it had at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


class AnswerWriter:
    """One connection's transport, as far as uvicorn's cycle of a request and its answer uses it."""

    __slots__ = ("_head", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        """Write it now, or with what comes next."""
        head = self._head
        if head is not None:
            self._head = None
            # Not joined: what follows may be a page of megabytes.
            self._transport.writelines((head, data))
        elif data.startswith(b"HTTP/1.1 "):
            self._head = data
            self._loop.call_soon(self.flush)
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Write what is held back, if anything is."""
        head, self._head = self._head, None
        if head is not None and not self._transport.is_closing():
            self._transport.write(head)

    def close(self) -> None:
        """Write what is held back, and close."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is gone, or going."""
        return self._transport.is_closing()
