"""What is said to the server: counted, and kept when asked to, so that it can be said again.

A pool for `rota.db.Database` that stands between it and the driver's pool. Keeping costs an append
for each statement, which is nothing beside the statement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rota.clock import SystemClock
from rota.db import Database, Retry, Session, driver

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.db.driver import Connection, OnNotice, Pool, Row

Kind = Literal["fetch", "fetchrow", "fetchval", "execute"]


@dataclass(frozen=True, slots=True)
class Said:
    """One statement, with the arguments it was said with."""

    kind: Kind
    text: str
    args: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """One transaction that was committed, or will be."""

    opening: str
    """The statement that began it; none for a statement that is a transaction by itself."""
    said: list[Said] = field(default_factory=list[Said])


@dataclass(slots=True)
class Tape:
    """What was said, while it is on; how much, always."""

    count: int = 0
    """Round trips, among them every BEGIN and COMMIT."""
    is_on: bool = False
    talks: list[Talk] = field(default_factory=list[Talk])

    def start(self) -> None:
        self.talks.clear()
        self.is_on = True

    def stop(self) -> list[Talk]:
        """All transactions since the start, in the order in which they began."""
        self.is_on = False
        return list(self.talks)

    def begin(self, opening: str) -> Talk:
        self.count += 1
        talk = Talk(opening)
        if self.is_on:
            self.talks.append(talk)
        return talk

    def note(self, talk: Talk | None, said: Said) -> None:
        self.count += 1
        if not self.is_on:
            return
        if talk is None:
            # A transaction by itself.
            self.talks.append(Talk("", [said]))
        else:
            talk.said.append(said)


async def open_taped(dsn: str, tape: Tape, *, size: int = 10) -> Database:
    """A database like any other, but that the tape hears what is said to it."""
    session = Session("rota bench", by_index=True)
    pool = _Pool(await driver.open_pool(dsn, session, size=size), tape)
    return Database(pool, dsn=dsn, session=session, retry=Retry(), clock=SystemClock())


async def say_again(connection: Connection, talks: list[Talk]) -> None:
    """Say all of it, one transaction after another; the answers are read and dropped."""
    for talk in talks:
        if talk.opening:
            await connection.execute(talk.opening)
        for each in talk.said:
            await getattr(connection, each.kind)(each.text, *each.args)
        if talk.opening:
            await connection.execute("COMMIT")


class _Pool:
    def __init__(self, pool: Pool, tape: Tape) -> None:
        self._pool = pool
        self._tape = tape

    # ruff: noqa: ASYNC109 - the driver's own parameters
    async def acquire(self, *, timeout: float | None = None) -> Connection:
        return _Connection(await self._pool.acquire(timeout=timeout), self._tape)

    async def release(self, connection: Connection) -> None:
        assert isinstance(connection, _Connection)
        await self._pool.release(connection.inner)

    async def close(self) -> None:
        await self._pool.close()

    def terminate(self) -> None:
        self._pool.terminate()

    def get_size(self) -> int:
        return self._pool.get_size()

    def get_idle_size(self) -> int:
        return self._pool.get_idle_size()

    def get_max_size(self) -> int:
        return self._pool.get_max_size()


class _Connection:
    def __init__(self, inner: Connection, tape: Tape) -> None:
        self.inner = inner
        self.talk: Talk | None = None
        self._tape = tape

    async def fetch(self, query: str, *args: object) -> list[Row]:
        self._tape.note(self.talk, Said("fetch", query, args))
        return await self.inner.fetch(query, *args)

    async def fetchrow(self, query: str, *args: object) -> Row | None:
        self._tape.note(self.talk, Said("fetchrow", query, args))
        return await self.inner.fetchrow(query, *args)

    async def fetchval(self, query: str, *args: object, timeout: float | None = None) -> Any:
        self._tape.note(self.talk, Said("fetchval", query, args))
        return await self.inner.fetchval(query, *args, timeout=timeout)

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:
        if query.startswith("BEGIN"):
            self.talk = self._tape.begin(query)
        elif query in ("COMMIT", "ROLLBACK"):
            self._tape.count += 1
            self.talk = None
        else:
            self._tape.note(self.talk, Said("execute", query, args))
        return await self.inner.execute(query, *args, timeout=timeout)

    def is_closed(self) -> bool:
        return self.inner.is_closed()

    def get_server_pid(self) -> int:
        return self.inner.get_server_pid()

    def terminate(self) -> None:
        self.inner.terminate()

    async def close(self, *, timeout: float | None = None) -> None:
        await self.inner.close(timeout=timeout)

    async def add_listener(self, channel: str, callback: OnNotice) -> None:
        await self.inner.add_listener(channel, callback)

    def add_termination_listener(self, callback: Callable[[Connection], None]) -> None:
        self.inner.add_termination_listener(callback)
