"""The connection pool, and transactions that are tried again when trouble passes."""

from __future__ import annotations

import asyncio
import contextlib
import random
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString, NamedTuple, Self, TypeVar

from rota.backoff import Retry
from rota.clock import Clock, SystemClock
from rota.db import block, driver
from rota.db.session import LOCK_TIMEOUT, STATEMENT_TIMEOUT, Session
from rota.db.transient import CommitUnknown, Conflict, as_temporary, describe, is_session_gone
from rota.db.tx import ENGINE, Tx
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
    """One database with Rota's schema: its pool, its settings, and what is cached about it.

    A value that is passed to every part that works on it. A process may have several, and nothing
    about a database is global to the process: caches are parts of their users, or `companion`s.
    """

    def __init__(
        self, pool: Pool, *, dsn: str, session: Session, retry: Retry, clock: Clock
    ) -> None:
        self._pool = pool
        self._retry = retry
        self._clock = clock
        self._hearers: dict[str, list[Callable[[str | None], None]]] = {}
        self._companions: dict[type[object], object] = {}
        self.dsn = dsn
        self.session = session
        self._settings = session.on_begin() if session.is_pooled else ""

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        pool_size: int = 10,
        application_name: str = "rota",
        is_pooled: bool = False,
        by_index: bool = False,
        statement_timeout: timedelta = STATEMENT_TIMEOUT,
        lock_timeout: timedelta = LOCK_TIMEOUT,
        retry: Retry | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Connect. A server that is away is tried again, then `DatabaseUnavailable` is raised.

        A DSN that cannot be read or that the server refuses is an `InvalidConfig`. `is_pooled` says
        that the DSN leads to a pooler that shares the server's sessions between transactions.
        `by_index` is as in `Session`.
        """
        retry = retry or Retry()
        clock = clock or SystemClock()
        session = Session(
            application_name=application_name,
            is_pooled=is_pooled,
            by_index=by_index,
            statement_timeout=statement_timeout,
            lock_timeout=lock_timeout,
        )

        async def connect() -> Pool:
            try:
                return await driver.open_pool(dsn, session, size=pool_size)
            except (*driver.ERRORS, ValueError) as error:
                raise cannot_connect(error) from error

        pool = await with_retries(connect, retry=retry, clock=clock)
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
        by_index: bool = False,
        tenant: UUID | None = None,
        actor: str = ENGINE,
    ) -> AsyncGenerator[Tx]:
        """One transaction: committed when the block ends, undone when it raises.

        With a `tenant` the server itself shows and takes the rows of that tenant alone, whatever
        the statements ask for; without one it is the engine's, which sees all. `by_index` is for
        reads of tables that grow within moments: like writes, they never scan one in full. `actor`
        is who the audit trail names for its changes.
        `DatabaseUnavailable` or `Conflict` from here means that nothing was changed, except
        `CommitUnknown`: the session ended during the commit itself.
        """
        async with self._connection() as connection:
            opening = block.opening(
                isolation=isolation,
                read_only=read_only,
                tenant=tenant,
                by_index=by_index,
                settings=self._settings,
            )
            await _begin(connection, opening)
            tx = Tx(connection, read_only=read_only, actor=actor)
            try:
                yield tx
                tx.require_sound()
            except BaseException as error:
                await _roll_back(connection, because=error)
                raise
            finally:
                tx.end()
            try:
                await _commit(connection)
            finally:
                # Also when the outcome is unknown: to read again does no harm.
                for channel, payload in tx.announced:
                    self.tell(channel, payload)

    def companion(self, kind: type[T], make: Callable[[], T]) -> T:
        """The one object of this kind that belongs to this database, made when it is first used.

        For caches whose users do not know each other. It ends with the database.
        """
        found = self._companions.get(kind)
        if not isinstance(found, kind):
            found = self._companions[kind] = make()
        return found

    def on_notice(self, channel: str, hear: Callable[[str | None], None]) -> Callable[[], None]:
        """Call `hear` with the payload of each notice that a transaction announces here, or that
        a `Listener` passes on; with None when notices of others may have been lost.

        Returns what ends that.
        """
        hearers = self._hearers.setdefault(channel, [])
        hearers.append(hear)
        return lambda: hearers.remove(hear)

    def tell(self, channel: str, payload: str | None) -> None:
        """Pass a notice on to those who asked for it."""
        for hear in tuple(self._hearers.get(channel, ())):
            hear(payload)

    async def run(
        self,
        work: Callable[[Tx], Awaitable[T]],
        *,
        isolation: Isolation = "read_committed",
        read_only: bool = False,
        repeatable: bool = False,
        tenant: UUID | None = None,
        actor: str = ENGINE,
        retry: Retry | None = None,
    ) -> T:
        """Do `work` in a transaction, and the whole again while trouble is of the passing kind.

        `work` may be called several times, so it must not change anything but the database.
        `repeatable` says that its changes, too, do no harm when made twice (they compare before
        they set, or have their own key): then even a commit of unknown outcome is tried again;
        otherwise that raises `CommitUnknown`. After the last try: `DatabaseUnavailable`.
        `tenant` and `actor` are as in `transaction`.
        """

        async def once() -> T:
            async with self.transaction(
                isolation=isolation, read_only=read_only, tenant=tenant, actor=actor
            ) as tx:
                return await work(tx)

        return await with_retries(
            once,
            retry=retry or self._retry,
            clock=self._clock,
            repeatable=repeatable or read_only,
        )

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[Tx]:
        """For statements that read, each a transaction by itself: one round trip, not three.

        Nothing lasts from one to the next: no lock, no setting. Through a pooler this is a
        read-only transaction, because the statements depend on what those begin with.
        """
        if self.session.is_pooled:
            async with self.transaction(read_only=True) as tx:
                yield tx
            return
        async with self._connection() as connection:
            tx = Tx(connection, read_only=True)
            try:
                yield tx
            except BaseException as error:
                # A session in doubt is never given to the next one.
                if isinstance(error, DatabaseUnavailable) or not isinstance(error, Exception):
                    _drop(connection)
                raise
            finally:
                tx.end()

    async def fetch_alone(
        self,
        statement: LiteralString,
        *args: object,
        repeatable: bool = False,
        retry: Retry | None = None,
    ) -> list[Row]:
        """The rows of a statement that is a transaction by itself: one round trip, not three.

        It is tried again as in `run`; `repeatable` and `retry` are as there. Through a pooler it is
        a transaction like any other, because the statement depends on what those begin with.
        """
        if self.session.is_pooled:
            return await self.run(
                lambda tx: tx.fetch(statement, *args), repeatable=repeatable, retry=retry
            )

        async def once() -> list[Row]:
            async with self._connection() as connection:
                with _committing(connection):
                    return await connection.fetch(statement, *args)

        return await with_retries(
            once, retry=retry or self._retry, clock=self._clock, repeatable=repeatable
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
            raise cannot_connect(error) from error


async def with_retries(
    attempt: Callable[[], Awaitable[T]], *, retry: Retry, clock: Clock, repeatable: bool = False
) -> T:
    """Attempt it again while trouble is of the passing kind; then `DatabaseUnavailable`."""
    failures = 0
    while True:
        try:
            return await attempt()
        except (Conflict, DatabaseUnavailable) as error:
            if isinstance(error, CommitUnknown) and not repeatable:
                raise
            failures += 1
            if retry.tries == 1:
                raise
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


def cannot_connect(error: Exception, setting: str = "dsn") -> Exception:
    """What to raise when there is no connection by the DSN of this setting."""
    temporary = as_temporary(error)
    if temporary is not None:
        return temporary
    if isinstance(error, ValueError):
        # The parser's own words may quote a part of the password.
        expected = "postgresql://user:password@host:port/database, special characters as %XX"
        return InvalidConfig((f"{setting}: expected {expected}, got one that cannot be read",))
    return InvalidConfig((f"{setting}: expected a server that lets us in, got {describe(error)}",))
