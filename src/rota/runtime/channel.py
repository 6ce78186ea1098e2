"""What the engine's process and the web process say to each other, over a pair of sockets.

The web process reads what strangers send, so nothing it says is more than data to the engine: plain
structs of numbers and texts, of bounded size.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    import socket

_MAX_FRAME: Final = 16 * 1024 * 1024
_MAX_UNSENT: Final = 1024 * 1024
_LENGTH: Final = 4


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """To the web process: what to serve."""

    start: bytes
    """A pickled `WebStart`; from the process that started this one, over a socket of its own."""


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """From the web process: it answers."""

    url: str


class Stopping(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """To the web process: a stop was asked for. Whoever waits for work is answered."""


class Leave(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """To the web process: answer what is in hand, and end."""


class WorkEnded(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """From the web process: a firing ended by the word of whoever did its work."""

    status: str


class AskFigures(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """From the web process: the figures of both, for whoever scrapes them."""

    number: int
    connections: int
    """Open connections of callers."""
    pool_busy: int
    pool_most: int
    resident_bytes: int


class Figures(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """To the web process: what was asked for."""

    number: int
    kind: str
    content: bytes


Message = Begin | Ready | Stopping | Leave | WorkEnded | AskFigures | Figures

_DECODER: Final = msgspec.msgpack.Decoder(Message)
_ENCODER: Final = msgspec.msgpack.Encoder()


class Channel:
    """One end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, end: socket.socket) -> Channel:
        """Take over this end."""
        return cls(*await asyncio.open_connection(sock=end))

    def send(self, message: Message) -> None:
        """Never waits: for a process that does not read any more, it is dropped."""
        transport = self._writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > _MAX_UNSENT:
            return
        frame = _ENCODER.encode(message)
        self._writer.write(len(frame).to_bytes(_LENGTH, "big") + frame)

    async def receive(self) -> Message | None:
        """The next message; None when the other end is gone."""
        try:
            size = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
            if size > _MAX_FRAME:
                return None
            return _DECODER.decode(await self._reader.readexactly(size))
        except (OSError, asyncio.IncompleteReadError, msgspec.MsgspecError):
            return None

    def close(self) -> None:
        self._writer.close()
