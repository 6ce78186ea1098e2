"""A wire between a process and PostgreSQL that the test can cut: TCP on loopback.

A cut wire is a black hole: connections stay open and are still accepted, and nothing arrives. What
was sent meanwhile arrives when it is mended, as TCP has it.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

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
    held_back: int = 0
    """How many bytes were kept while it was cut: zero would prove nothing."""
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when `stop_at` has happened."""
    _whole: asyncio.Event = field(default_factory=_whole)
    _let_go: asyncio.Event = field(default_factory=asyncio.Event)
    _needle: bytes | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    def stop_at(self, words: str) -> None:
        """Hold back the next statement with these words, and nothing else, until `let_go`."""
        self._needle = words.encode()

    def let_go(self) -> None:
        self._let_go.set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection: it is carried in the background, until either end hangs up."""
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
                group.create_task(self._pump(reader, far_writer, outward=True))
                group.create_task(self._pump(far_reader, writer, outward=False))
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

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, outward: bool
    ) -> None:
        while data := await reader.read(65_536):
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
