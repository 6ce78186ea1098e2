"""A transaction as the rest of the program sees it."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, LiteralString, NoReturn, Self

from rota.db import driver
from rota.db.block import Savepoint, holding
from rota.db.transient import as_temporary
from rota.errors import ContractBroken

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping
    from datetime import timedelta
    from uuid import UUID

    from rota.db.driver import Connection, Row


ENGINE: Final = "rota"
"""The actor of a transaction that nobody asked for: Rota's own."""


@dataclass(slots=True)
class _State:
    """What a `Tx` and the `FencedTx` made from it share: they are one transaction."""

    connection: Connection
    read_only: bool = False
    actor: str = ENGINE
    failed: bool = False
    """A statement has failed, so the server will turn COMMIT into ROLLBACK without an error."""
    ended: bool = False
    savepoints: int = 0
    """How many there were, so that each has a name of its own."""
    announced: tuple[tuple[str, str], ...] = ()
    """Channels and payloads of `announce`."""


_NOTIFY: LiteralString = "SELECT pg_notify($1, $2)"


class Tx:
    """A running transaction. Made by `Database.transaction` and good until its block ends.

    Statements are `LiteralString`s: text from outside can only travel as a parameter. Passing
    trouble is raised as a `TemporaryError`; what lasts is raised as the driver has it. jsonb comes
    and goes as text.
    """

    __slots__ = ("_state",)

    def __init__(
        self, connection: Connection, *, read_only: bool = False, actor: str = ENGINE
    ) -> None:
        self._state = _State(connection, read_only, actor)

    @property
    def actor(self) -> str:
        """Who changes what it changes, for the audit trail (`rota.tenants.actor`)."""
        return self._state.actor

    async def fetch(self, statement: LiteralString, *args: object) -> list[Row]:
        """All rows."""
        with self._watched() as connection:
            return await connection.fetch(statement, *args)

    async def fetch_row(self, statement: LiteralString, *args: object) -> Row | None:
        """The first row; None when there is none."""
        with self._watched() as connection:
            return await connection.fetchrow(statement, *args)

    async def fetch_value(self, statement: LiteralString, *args: object) -> Any:
        """The first column of the first row; None when there is no row."""
        with self._watched() as connection:
            return await connection.fetchval(statement, *args)

    async def execute(
        self, statement: LiteralString, *args: object, reply_timeout: timedelta | None = None
    ) -> int:
        """Run it and return how many rows it touched: 0 for statements that touch none.

        Without parameters the text may hold several statements; the count is the last one's.
        `reply_timeout` is for what takes longer than the session's other statements; the server's
        own limit must be raised beside it.
        """
        timeout = reply_timeout.total_seconds() if reply_timeout else None
        with self._watched() as connection:
            return affected(await connection.execute(statement, *args, timeout=timeout))

    async def announce(self, channel: str, payload: str) -> None:
        """NOTIFY at the commit, and call what this process has at `Database.on_notice` right then:
        what follows the commit in this process must not act on what was cached before it."""
        await self.execute(_NOTIFY, channel, payload)
        self.notified(channel, payload)

    def notified(self, channel: str, payload: str) -> None:
        """A statement of this transaction has called pg_notify: this process hears of it right at
        the commit, by `Database.on_notice`, without waiting for its listening connection."""
        self._state.announced += ((channel, payload),)

    @property
    def announced(self) -> tuple[tuple[str, str], ...]:
        """Channels and payloads of `announce` and `notified`."""
        return self._state.announced

    async def hold_to(self, tenant: UUID) -> None:
        """Be as the tenant from here to the end, as with `Database.transaction(tenant=…)`.

        For who learns on the way whose transaction it is; it costs a round trip.
        """
        with self._watched() as connection:
            await connection.execute(holding(tenant))

    @asynccontextmanager
    async def savepoint(self) -> AsyncGenerator[None]:
        """A part that may fail by itself: an exception undoes the part and passes through.

        Catch it outside the block; the transaction can go on.
        """
        before = self._state.failed
        with self._watched() as connection:
            self._state.savepoints += 1
            part = Savepoint(connection, self._state.savepoints)
            await part.start()
        try:
            yield
        except BaseException:
            if not driver.is_closed(self._state.connection):
                with self._watched():
                    await part.rollback()
                self._state.failed = before
            raise
        with self._watched():
            await part.commit()

    def end(self) -> None:
        """Called when the block ends: the session is somebody else's from now on."""
        self._state.ended = True

    def require_sound(self) -> None:
        """Called before the commit: a failed statement whose error was swallowed is a bug.

        PostgreSQL answers COMMIT of a failed transaction with a silent ROLLBACK; without this, the
        caller would believe in writes that never happened.
        """
        if self._state.failed:
            raise ContractBroken(
                "a statement of this transaction failed and its error was swallowed, so nothing "
                "of it can be committed: let the error pass, or put the statement in a savepoint"
            )

    @contextmanager
    def _watched(self) -> Generator[Connection]:
        """The connection, for one call of the driver; what that raises is noted and translated."""
        state = self._state
        if state.ended:
            raise ContractBroken("a transaction was used after its block had ended")
        try:
            yield state.connection
        except driver.ERRORS as error:
            state.failed = True
            closed = driver.is_closed(state.connection)
            temporary = as_temporary(error, closed=closed, read_only=state.read_only)
            if temporary is None:
                raise
            raise temporary from error
        except BaseException:
            # Cancelled while the statement ran: the server undoes it all.
            state.failed = True
            raise


class FencedTx(Tx):
    """A transaction that has proven a lease's fence: no newer holder can act before it ends.

    Writes that need a lease take this and nothing less, so a write without proof is a type error.
    """

    __slots__ = ("fences",)

    fences: Mapping[int, int]
    """The fence proven for each shard."""

    def __init__(self) -> NoReturn:
        raise ContractBroken("a FencedTx is made by FencedTx.prove, from a Tx whose fence is held")

    @classmethod
    def prove(cls, tx: Tx, fences: Mapping[int, int]) -> Self:
        """State that the rows `(shard, fence)` are locked by `tx`.

        For `rota.leases` alone, right after the statement that locked them: nothing here can check
        it. A test holds every other caller off.
        """
        if not fences:
            raise ContractBroken("expected at least one fence to be proven, got none")
        fenced = cls.__new__(cls)
        fenced._state = tx._state  # noqa: SLF001 - they are one transaction
        fenced.fences = MappingProxyType(dict(fences))
        return fenced


def affected(tag: str) -> int:
    """The row count in a command's tag, such as "INSERT 0 5", "UPDATE 3" or "CREATE TABLE"."""
    count = tag.rpartition(" ")[2]
    return int(count) if count.isdecimal() else 0
