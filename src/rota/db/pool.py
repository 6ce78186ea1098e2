"""The connection pool, and transactions that are tried again when trouble passes."""

from __future__ import annotations

import asyncio
import contextlib
import random
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString, NamedTuple, Self, TypeVar

from rota.clock import Clock, SystemClock
from rota.db import block, driver
from rota.db.backoff import Retry
from rota.db.session import LOCK_TIMEOUT, STATEMENT_TIMEOUT, Session
from rota.db.transient import CommitUnknown, Conflict, as_temporary, describe, is_session_gone
from rota.db.tx import Tx
from rota.errors import DatabaseUnavailable, InvalidConfig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from uuid import UUID

    from rota.db.block import Isolation
    from rota.db.driver import Connection, Pool, Row

T = TypeVar("T")

_CLOSE_TIMEOUT = timedelta(seconds=10)
_ROLLBACK_TIMEOUT = timedelta(seconds=2)


class Use(NamedTuple):
    """Of a pool's connections, how many are busy and how many there may be."""

    busy: int
    most: int


class Database:
    """A PostgreSQL server and what it takes to talk to it."""

    def __init__(
        self, pool: Pool, *, dsn: str, session: Session, retry: Retry, clock: Clock
    ) -> None:
        self._pool = pool
        self._retry = retry
        self._clock = clock
        self.dsn = dsn
        self.session = session

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        pool_size: int = 10,
        application_name: str = "rota",
        statement_timeout: timedelta = STATEMENT_TIMEOUT,
        lock_timeout: timedelta = LOCK_TIMEOUT,
        retry: Retry | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Connect. A server that is away is tried again, then `DatabaseUnavailable` is raised.

        A DSN that cannot be read or that the server refuses is an `InvalidConfig`.
        """
        retry = retry or Retry()
        clock = clock or SystemClock()
        session = Session(
            application_name=application_name,
            statement_timeout=statement_timeout,
            lock_timeout=lock_timeout,
        )

        async def connect() -> Pool:
            try:
                return await driver.open_pool(dsn, session, size=pool_size)
            except (*driver.ERRORS, ValueError) as error:
                raise _cannot_connect(error) from error

        pool = await _with_retries(connect, retry=retry, clock=clock)
        return cls(pool, dsn=dsn, session=session, retry=retry, clock=clock)

    @property
    def use(self) -> Use:
        """How much of the pool is in use at this moment."""
        pool = self._pool
        return Use(pool.get_size() - pool.get_idle_size(), pool.get_max_size())

    async def close(self) -> None:
        """End all sessions: politely at first, by force when a transaction does not end."""
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT.total_seconds()):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def transaction(
        self,
        *,
        isolation: Isolation = "read_committed",
        read_only: bool = False,
        tenant: UUID | None = None,
    ) -> AsyncGenerator[Tx]:
        """One transaction: committed when the block ends, undone when it raises.

        With a `tenant` the server itself shows and takes the rows of that tenant alone, whatever
        the statements ask for; without one it is the engine's, which sees all.
        `DatabaseUnavailable` or `Conflict` from here means that nothing was changed, except
        `CommitUnknown`: the session ended during the commit itself.
        """
        async with self._connection() as connection:
            opening = block.opening(isolation=isolation, read_only=read_only, tenant=tenant)
            await _begin(connection, opening)
            tx = Tx(connection, read_only=read_only)
            try:
                yield tx
                tx.require_sound()
            except BaseException as error:
                await _roll_back(connection, because=error)
                raise
            finally:
                tx.end()
            await _commit(connection)

    async def run(
        self,
        work: Callable[[Tx], Awaitable[T]],
        *,
        isolation: Isolation = "read_committed",
        read_only: bool = False,
        repeatable: bool = False,
        tenant: UUID | None = None,
        retry: Retry | None = None,
    ) -> T:
        """Do `work` in a transaction, and the whole again while trouble is of the passing kind.

        `work` may be called several times, so it must not change anything but the database.
        `repeatable` says that its changes, too, do no harm when made twice (they compare before
        they set, or have their own key): then even a commit of unknown outcome is tried again;
        otherwise that raises `CommitUnknown`. After the last try: `DatabaseUnavailable`.
        `tenant` is as in `transaction`.
        """

        async def once() -> T:
            async with self.transaction(
                isolation=isolation, read_only=read_only, tenant=tenant
            ) as tx:
                return await work(tx)

        return await _with_retries(
            once,
            retry=retry or self._retry,
            clock=self._clock,
            repeatable=repeatable or read_only,
        )

    async def fetch_alone(
        self, statement: LiteralString, *args: object, repeatable: bool = False
    ) -> list[Row]:
        """The rows of a statement that is a transaction by itself: one round trip, not three.

        It is tried again as in `run`, and `repeatable` is as there.
        """

        async def once() -> list[Row]:
            async with self._connection() as connection:
                with _committing(connection):
                    return await connection.fetch(statement, *args)

        return await _with_retries(
            once, retry=self._retry, clock=self._clock, repeatable=repeatable
        )

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Connection]:
        connection = await self._acquire()
        try:
            yield connection
        finally:
            # What was committed stays so, whatever happens to the session afterwards; the pool
            # has ended a session that it could not take back.
            with contextlib.suppress(*driver.ERRORS):
                await self._pool.release(connection)

    async def _acquire(self) -> Connection:
        try:
            timeout = self.session.connect_timeout.total_seconds()
            return await self._pool.acquire(timeout=timeout)
        except (*driver.ERRORS, ValueError) as error:
            raise _cannot_connect(error) from error


async def _with_retries(
    attempt: Callable[[], Awaitable[T]], *, retry: Retry, clock: Clock, repeatable: bool = False
) -> T:
    failures = 0
    while True:
        try:
            return await attempt()
        except (Conflict, DatabaseUnavailable) as error:
            if isinstance(error, CommitUnknown) and not repeatable:
                raise
            failures += 1
            if failures >= retry.tries:
                raise DatabaseUnavailable(f"gave up after {failures} tries: {error}") from error
        await clock.sleep(retry.backoff.interval(failures, draw=random.random()))


async def _begin(connection: Connection, opening: str) -> None:
    try:
        await connection.execute(opening)
    except driver.ERRORS as error:
        temporary = as_temporary(error, closed=driver.is_closed(connection))
        _drop(connection)
        if temporary is None:
            raise
        raise temporary from error
    except BaseException:
        _drop(connection)  # cancelled: it may or may not be in a transaction by now
        raise


async def _commit(connection: Connection) -> None:
    with _committing(connection):
        await connection.execute("COMMIT")


@contextmanager
def _committing(connection: Connection) -> Generator[None]:
    """While something is under way that ends with a commit."""
    if driver.is_closed(connection):
        raise DatabaseUnavailable("the session ended before the transaction could commit")
    try:
        yield
    except driver.ERRORS as error:
        if is_session_gone(error, closed=driver.is_closed(connection)):
            _drop(connection)
            raise CommitUnknown(f"the session ended while committing: {describe(error)}") from error
        # The server itself said no, so it is known that nothing was changed.
        temporary = as_temporary(error)
        if temporary is None:
            raise
        raise temporary from error
    except BaseException:
        _drop(connection)  # cancelled in the middle: never give a session in doubt to the next
        raise


async def _roll_back(connection: Connection, *, because: BaseException) -> None:
    """Undo; the error that led here is the one to tell about, so this raises none of its own."""
    if isinstance(because, DatabaseUnavailable) or driver.is_closed(connection):
        _drop(connection)
        return
    try:
        # The server may have missed the word that a statement was cancelled, when it came before
        # the statement: waiting for that to end would make a shutdown as slow as the statement.
        async with asyncio.timeout(_ROLLBACK_TIMEOUT.total_seconds()):
            await connection.execute("ROLLBACK")
    except driver.ERRORS:
        _drop(connection)
    except BaseException:
        _drop(connection)
        raise


def _drop(connection: Connection) -> None:
    """Let the pool make a new session instead of handing this one out again."""
    with contextlib.suppress(*driver.ERRORS):
        connection.terminate()


def _cannot_connect(error: Exception) -> Exception:
    temporary = as_temporary(error)
    if temporary is not None:
        return temporary
    if isinstance(error, ValueError):
        # The parser's own words may quote a part of the password.
        expected = "postgresql://user:password@host:port/database, special characters as %XX"
        return InvalidConfig((f"dsn: expected {expected}, got one that cannot be read",))
    return InvalidConfig((f"dsn: expected a server that lets us in, got {describe(error)}",))
