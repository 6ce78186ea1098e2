"""A wire between a process and PostgreSQL that the test can cut or make slow: TCP on loopback.

A cut wire is a black hole: connections stay open and are still accepted, and nothing arrives. What
was sent in the meantime arrives when it is mended, as TCP has it. A slow wire delays every answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from rota.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_CLOCK = SystemClock()
_HEAD = 5
_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def _whole() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class Wire:
    """What goes through, until it is cut."""

    upstream: str
    dsn: str = ""
    """The database as seen from behind the wire."""
    delay: float = 0.0
    """Seconds that every byte of an answer is under way: added to each round trip."""
    round_trips: int = 0
    """How many answers were complete (ReadyForQuery), on all connections."""
    held_back: int = 0
    """How many bytes were kept while it was cut: zero would prove nothing."""
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when `stop_at` has happened."""
    _whole: asyncio.Event = field(default_factory=_whole)
    _let_go: asyncio.Event = field(default_factory=asyncio.Event)
    _needle: bytes | None = None
    _refuses: bool = False
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._refuses = False
        self._whole.set()

    async def reset(self) -> None:
        """End every connection, and refuse new ones until it is mended."""
        self._refuses = True
        await self.end()

    def stop_at(self, words: str) -> None:
        """Hold back the next statement with these words, and nothing else, until `let_go`."""
        self._needle = words.encode()

    def let_go(self) -> None:
        self._let_go.set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection: it is carried in the background, until either end hangs up."""
        if self._refuses:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            await self._whole.wait()
            far_reader, far_writer = await self._reach()
            writers.append(far_writer)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(_chunks(reader), far_writer, outward=True))
                group.create_task(self._pump(self._answers(far_reader), writer, outward=False))
        except* OSError:
            pass  # either end has hung up; the other hears of it below
        finally:
            for each in writers:
                each.close()

    async def end(self) -> None:
        tasks = [*self._tasks]
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answers(self, reader: asyncio.StreamReader) -> AsyncGenerator[bytes]:
        """What the server says, each piece no earlier than `delay` after it was said."""
        counter = _Answers()
        said: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def listen() -> None:
            async for data in _chunks(reader):
                self.round_trips += counter.complete(data)
                said.put_nowait((_CLOCK.monotonic() + self.delay, data))
            said.put_nowait((0.0, b""))

        listening = asyncio.create_task(listen())
        try:
            while True:
                at, data = await said.get()
                if not data:
                    break
                late = at - _CLOCK.monotonic()
                if late > 0:
                    await _CLOCK.sleep(timedelta(seconds=late))
                yield data
            await listening
        finally:
            listening.cancel()

    async def _pump(
        self, pieces: AsyncGenerator[bytes], writer: asyncio.StreamWriter, *, outward: bool
    ) -> None:
        async for data in pieces:
            if outward and self._needle is not None and self._needle in data:
                self._needle = None
                self.stopped.set()
                await self._let_go.wait()
            if not self._whole.is_set():
                self.held_back += len(data)
            await self._whole.wait()
            writer.write(data)
            await writer.drain()
        # A farewell does not get through a black hole either.
        await self._whole.wait()
        with contextlib.suppress(OSError):
            writer.write_eof()

    async def _reach(self) -> _Ends:
        parts = urlsplit(self.upstream)
        query = parse_qs(parts.query)
        if "host" in query:
            port = query.get("port", ["5432"])[0]
            return await asyncio.open_unix_connection(f"{query['host'][0]}/.s.PGSQL.{port}")
        return await asyncio.open_connection(parts.hostname, parts.port or 5432)


async def _chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    while data := await reader.read(65_536):
        yield data


class _Answers:
    """Counts the messages ReadyForQuery in what a server says: a type, a length, the rest."""

    def __init__(self) -> None:
        self._rest = b""

    def complete(self, data: bytes) -> int:
        """How many of them were completed by this piece."""
        found, rest = 0, self._rest + data
        while len(rest) >= _HEAD:
            end = 1 + int.from_bytes(rest[1:_HEAD])
            if len(rest) < end:
                break
            found += rest[:1] == b"Z"
            rest = rest[end:]
        self._rest = rest
        return found


@asynccontextmanager
async def wire(dsn: str) -> AsyncGenerator[Wire]:
    """A wire to the database, for as long as the block lasts."""
    made = Wire(dsn)
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    parts = urlsplit(dsn)
    user = parts.netloc.rpartition("@")[0]
    port = server.sockets[0].getsockname()[1]
    netloc = f"{user}@127.0.0.1:{port}" if user else f"127.0.0.1:{port}"
    kept = [each for each in parts.query.split("&") if each.startswith("passfile=")]
    made.dsn = parts._replace(netloc=netloc, query="&".join([*kept, "sslmode=disable"])).geturl()
    try:
        yield made
    finally:
        server.close()
        await made.end()
        await server.wait_closed()
