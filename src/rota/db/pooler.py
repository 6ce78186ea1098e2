"""What a DSN leads to: the server itself, or a pooler, and whose sessions that keeps.

A pooler in session mode is as good as the server. One in transaction mode lends a session of the
server for one transaction at a time, so that settings, prepared statements, LISTEN and session
locks are lost, or found by strangers: `Session.is_pooled` does without all of them, and a node's
lock and LISTEN have connections of their own, by `direct_dsn`.
"""

from __future__ import annotations

import enum
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString, TypeVar

from rota.backoff import Retry
from rota.clock import SystemClock
from rota.db import driver
from rota.db.pool import cannot_connect, with_retries
from rota.db.session import Session
from rota.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.db.driver import Connection

T = TypeVar("T")

_PROBE: Final = Session(application_name="rota probe", is_pooled=True)
_LOOKS: Final = 25
_PATIENCE: Final = 10.0
"""Seconds that a statement may wait for a session of the server."""
_LOCK_CLASS: Final = 0x726F7464


class Mode(enum.Enum):
    """How long a connection keeps a session of the server."""

    DIRECT = "direct"
    """There is no pooler."""
    SESSION = "session"
    TRANSACTION = "transaction"
    STATEMENT = "statement"


@dataclass(frozen=True, slots=True)
class Route:
    """How a process reaches its database."""

    mode: Mode
    """Of `dsn`."""
    direct_dsn: str | None
    """For LISTEN and session locks; None when there is no way to have them."""
    has_direct: bool = False
    """Whether that is a DSN of its own."""

    @property
    def is_pooled(self) -> bool:
        """Whether no session may be relied on beyond a transaction.

        An operator who gives a `direct_dsn` says so: that outweighs what a look at the pooler saw.
        """
        return self.mode is Mode.TRANSACTION or (self.mode is Mode.SESSION and self.has_direct)


async def find_route(dsn: str, direct_dsn: str | None, *, retry: Retry | None = None) -> Route:
    """Look at where the DSNs lead; `InvalidConfig` when Rota cannot work that way."""
    mode = await mode_of(dsn, retry=retry)
    if mode is Mode.STATEMENT:
        expected = "the server, or a pooler in session or transaction mode"
        raise InvalidConfig((f"dsn: expected {expected}, got a pooler in statement mode",))
    if direct_dsn is None:
        return Route(mode, None if mode is Mode.TRANSACTION else dsn)
    direct = await mode_of(direct_dsn, setting="direct_dsn", retry=retry)
    if direct not in (Mode.DIRECT, Mode.SESSION):
        expected = "the server, or a pooler in session mode"
        got = f"a pooler in {direct.value} mode, which keeps neither LISTEN nor session locks"
        raise InvalidConfig((f"direct_dsn: expected {expected}, got {got}",))
    shared = _tried(lambda: _share_locks(dsn, direct_dsn), setting="direct_dsn", retry=retry)
    if not await shared:
        raise InvalidConfig(
            ("direct_dsn: expected the database that dsn leads to, got another one",)
        )
    return Route(mode, direct_dsn, has_direct=True)


def require_direct(route: Route) -> str:
    """The DSN for LISTEN and session locks; `InvalidConfig` when there is none."""
    if route.direct_dsn is None:
        why = "dsn leads to a pooler in transaction mode"
        expected = "a DSN of the server itself (--direct-dsn or ROTA_DIRECT_DSN)"
        raise InvalidConfig((f"direct_dsn: {why}, expected {expected} next to it, got none",))
    return route.direct_dsn


async def mode_of(dsn: str, *, setting: str = "dsn", retry: Retry | None = None) -> Mode:
    """What the DSN leads to. A server that is away is tried again."""

    return await _tried(lambda: _look(dsn), setting=setting, retry=retry)


async def _tried(look: Callable[[], Awaitable[T]], *, setting: str, retry: Retry | None) -> T:
    async def once() -> T:
        try:
            return await look()
        except (*driver.ERRORS, ValueError) as error:
            raise cannot_connect(error, setting) from error

    return await with_retries(once, retry=retry or Retry(), clock=SystemClock(), repeatable=True)


_PID: LiteralString = "SELECT pg_backend_pid()"


async def _look(dsn: str) -> Mode:
    first = await driver.connect(dsn, _PROBE)
    try:
        # A pooler names itself when it is connected to, not the session that it will lend.
        if await first.fetchval(_PID) == first.get_server_pid():
            return Mode.DIRECT
        second = await driver.connect(dsn, _PROBE)
        try:
            if not await _are_shared(first, second):
                return Mode.SESSION
            return Mode.TRANSACTION if await _can_begin(second) else Mode.STATEMENT
        finally:
            await driver.hang_up(second)
    finally:
        await driver.hang_up(first)


async def _are_shared(first: Connection, second: Connection) -> bool:
    """Whether two connections are ever given the same session, or one of them another than before.

    A pooler that shares sessions mostly lends the one that came back last, which is the other's;
    asked again, because other clients may have been quicker.
    """
    kept = await first.fetchval(_PID)
    lent: set[int] = set()
    for _ in range(_LOOKS):
        try:
            lent.add(await second.fetchval(_PID, timeout=_PATIENCE))
        except TimeoutError:
            # Others keep all sessions. The first has its own only if the pooler lets it keep one.
            return await _is_other(first, kept)
        if len(lent) > 1 or kept in lent or await _is_other(first, kept):
            return True
    return False


async def _is_other(connection: Connection, kept: int) -> bool:
    """Whether the connection is given another session than before, or has to wait for one."""
    try:
        return await connection.fetchval(_PID, timeout=_PATIENCE) != kept
    except TimeoutError:
        return True


async def _can_begin(connection: Connection) -> bool:
    try:
        await connection.execute("BEGIN")
    except driver.ServerError:
        return False
    return True


_LOCK: LiteralString = "SELECT pg_advisory_lock_shared($1, $2)"
_UNLOCK: LiteralString = "SELECT pg_advisory_unlock_shared($1, $2)"
_IS_LOCKED: LiteralString = """
    SELECT EXISTS (
           SELECT FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND objsubid = 2
              AND classid = $1::bigint::oid AND objid = $2::bigint::oid
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""


async def _share_locks(dsn: str, direct_dsn: str) -> bool:
    """Whether a lock that is taken on one way is seen on the other: then it is one database."""
    key = secrets.randbits(31)
    direct = await driver.connect(direct_dsn, Session(application_name="rota probe"))
    try:
        await direct.execute(_LOCK, _LOCK_CLASS, key)
        pooled = await driver.connect(dsn, _PROBE)
        try:
            return await pooled.fetchval(_IS_LOCKED, _LOCK_CLASS, key)
        finally:
            await driver.hang_up(pooled)
            await direct.execute(_UNLOCK, _LOCK_CLASS, key)
    finally:
        await driver.hang_up(direct)
