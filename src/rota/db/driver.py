"""The typed face of asyncpg: what Rota uses of it, and nothing else.

asyncpg ships without type information, so the few calls into it are made here and their results
are seen through protocols.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import parse_qs, urlsplit

import asyncpg  # pyright: ignore[reportMissingTypeStubs] - it has none; hence this module

if TYPE_CHECKING:
    from rota.db.session import Session

STATEMENT_CACHE_SIZE = 200
"""Prepared statements kept for each connection, found again by their exact text.

Statements here are literals, so a process has a fixed number of texts (far fewer than this) and
each is planned once per connection. A text put together at run time would push out the others;
`LiteralString` forbids it. Behind a pooler that shares sessions between transactions there are
none: each statement is parsed and planned when it is run.
"""

_CLOSE_TIMEOUT = 2.0

_ANYWHERE = "*:*:*:"

_untyped: Any = asyncpg

WrongPassword: type[Exception] = asyncpg.InvalidPasswordError
"""The server asks for another password, or for one where none was given."""

ServerError: type[Exception] = asyncpg.PostgresError
"""What the server, or a pooler in its place, answers when it will not."""

ERRORS: tuple[type[Exception], ...] = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # includes TimeoutError: no reply in time
)
"""All that a call of the driver raises for reasons outside the program."""


class Row(Protocol):
    """One row of a result, by column name or position; a slice is a tuple."""

    def __getitem__(self, key: str | int | slice) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def keys(self) -> Iterator[str]: ...
    def values(self) -> Iterator[Any]: ...
    def items(self) -> Iterator[tuple[str, Any]]: ...


# ruff: noqa: ASYNC109 - the driver's own parameters


class Connection(Protocol):
    async def fetch(self, query: str, *args: object) -> list[Row]: ...
    async def fetchrow(self, query: str, *args: object) -> Row | None: ...
    async def fetchval(self, query: str, *args: object, timeout: float | None = None) -> Any: ...
    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str: ...
    def is_closed(self) -> bool: ...
    def get_server_pid(self) -> int: ...
    def terminate(self) -> None: ...
    async def close(self, *, timeout: float | None = None) -> None: ...
    async def add_listener(self, channel: str, callback: OnNotice) -> None: ...
    def add_termination_listener(self, callback: Callable[[Connection], None]) -> None: ...


OnNotice = Callable[[Connection, int, str, str], None]


class Pool(Protocol):
    async def acquire(self, *, timeout: float | None = None) -> Connection: ...
    async def release(self, connection: Connection) -> None: ...
    async def close(self) -> None: ...
    def terminate(self) -> None: ...
    def get_size(self) -> int: ...
    def get_idle_size(self) -> int: ...
    def get_max_size(self) -> int: ...


async def connect(dsn: str, session: Session) -> Connection:
    """One connection of its own, outside any pool."""
    opened = _untyped.connect(dsn, **_options(dsn, session))
    connection = await cast("Awaitable[Connection]", opened)
    try:
        await _set_up(session)(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def open_pool(dsn: str, session: Session, *, size: int) -> Pool:
    """A pool with one connection made, and up to `size` when they are needed."""
    pool = _untyped.create_pool(
        dsn,
        min_size=1,
        max_size=size,
        init=_set_up(session),
        reset=_keep_session,
        **_options(dsn, session),
    )
    return await cast("Awaitable[Pool]", pool)


def is_closed(connection: Connection) -> bool:
    """Whether nothing more can be said on it.

    Also when the pool has taken it back, as it does the moment a session in use is lost: then the
    driver raises for any question, even this one.
    """
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        return True


async def hang_up(connection: Connection) -> None:
    """Close within a moment: a server that is gone must not keep us from connecting again."""
    try:
        await connection.close(timeout=_CLOSE_TIMEOUT)
    except ERRORS:
        connection.terminate()
    except BaseException:
        connection.terminate()
        raise


def _set_up(session: Session) -> Callable[[Connection], Awaitable[None]]:
    """What to do with a new connection."""

    async def set_up(connection: Connection) -> None:
        if session.is_pooled:
            # When the driver meets a type for the first time, it turns jit off for the session and
            # on again, unless the server has none. The session is not ours to set.
            untyped: Any = connection
            untyped._server_caps = untyped._server_caps._replace(jit=False)  # noqa: SLF001
        else:
            await connection.execute(session.on_connect())

    return set_up


async def _keep_session(connection: Connection) -> None:
    """Nothing to undo when a connection goes back to the pool.

    Rota only ever uses SET LOCAL and locks that end with the transaction, so the driver's reset
    would cost every transaction a round trip for nothing.
    """


def _options(dsn: str, session: Session) -> dict[str, Any]:
    return {
        "password": _password(dsn),
        "timeout": session.connect_timeout.total_seconds(),
        "command_timeout": session.reply_timeout.total_seconds(),
        "statement_cache_size": 0 if session.is_pooled else STATEMENT_CACHE_SIZE,
        # Poolers know this parameter and refuse most others.
        "server_settings": {"application_name": session.application_name},
    }


def _password(dsn: str) -> str | None:
    """The password in a file that the DSN names, if it is for any server; None leaves it to the
    driver.

    The driver would prefer PGPASSWORD, which is there for another server than the embedded one.
    """
    parts = urlsplit(dsn)
    named = parse_qs(parts.query).get("passfile")
    if named is None or parts.password is not None:
        return None
    try:
        line = Path(named[0]).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    user, _, password = line.removeprefix(_ANYWHERE).partition(":")
    is_ours = line.startswith(_ANYWHERE) and "\n" not in line and user == parts.username
    return password if is_ours and "\\" not in password else None
