"""Which troubles with the database pass by themselves. Pure.

An error is judged by its SQLSTATE or its type, never by its text: texts are translated and change.
"""

from __future__ import annotations

import enum
from typing import Final

import asyncpg  # pyright: ignore[reportMissingTypeStubs] - see driver.py

from rota.errors import DatabaseUnavailable, TemporaryError


class Conflict(TemporaryError):
    """The transaction was undone because of others; the same one may succeed now."""


class CommitUnknown(DatabaseUnavailable):
    """The session ended while it was committing: the changes may or may not have been made."""


class Trouble(enum.Enum):
    """What an error means for whoever might try again."""

    LASTING = "lasting"
    """Trying again would fail again: a wrong statement, a broken rule, no permission."""
    CONFLICT = "conflict"
    """The transaction is undone, the session is well: try the whole transaction again."""
    GONE = "gone"
    """The session has ended, cannot be made, or is with the wrong server: try on a new one."""


_STATES: Final[dict[str, Trouble]] = {
    "25006": Trouble.GONE,  # read_only_sql_transaction: still with a primary that was demoted
    "25P03": Trouble.GONE,  # idle_in_transaction_session_timeout
    "25P04": Trouble.GONE,  # transaction_timeout
    "40001": Trouble.CONFLICT,  # serialization_failure
    "40P01": Trouble.CONFLICT,  # deadlock_detected
    "53000": Trouble.CONFLICT,  # insufficient_resources
    "53100": Trouble.CONFLICT,  # disk_full
    "53200": Trouble.CONFLICT,  # out_of_memory
    "53300": Trouble.GONE,  # too_many_connections
    "55P03": Trouble.CONFLICT,  # lock_not_available: lock_timeout, or NOWAIT
    "57P01": Trouble.GONE,  # admin_shutdown, also pg_terminate_backend
    "57P02": Trouble.GONE,  # crash_shutdown
    "57P03": Trouble.GONE,  # cannot_connect_now: starting up, shutting down, recovering
    "57P05": Trouble.GONE,  # idle_session_timeout
}

_CONNECTION_CLASS: Final = "08"

_STALE_PLAN = (
    # Another process migrated the database: the driver has dropped its prepared statements by the
    # time it says so, and the same transaction then succeeds.
    asyncpg.InvalidCachedStatementError,
    asyncpg.OutdatedSchemaCacheError,
)


def judge_state(sqlstate: str) -> Trouble:
    """What an SQLSTATE means."""
    if sqlstate.startswith(_CONNECTION_CLASS):
        return Trouble.GONE
    return _STATES.get(sqlstate, Trouble.LASTING)


def judge(error: BaseException, *, closed: bool = False, read_only: bool = False) -> Trouble:
    """What an error of the driver means.

    `closed` says whether its connection is closed by now: the driver's own complaints
    (`InterfaceError`) do not tell a closed connection from a misuse. `read_only` says whether the
    transaction was meant to be: then a write in it is a mistake, not a demoted server.
    """
    if read_only and isinstance(error, asyncpg.ReadOnlySQLTransactionError):
        return Trouble.LASTING
    if isinstance(error, _STALE_PLAN):
        return Trouble.CONFLICT
    if isinstance(error, asyncpg.PostgresError):
        return judge_state(_sqlstate(error))
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched | OSError):
        # No route, refused, reset, no such socket yet, an unknown host, no reply in time; but a
        # Unix socket that is not ours to use stays so.
        return Trouble.LASTING if isinstance(error, PermissionError) else Trouble.GONE
    complaint = isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError)
    return Trouble.GONE if closed and complaint else Trouble.LASTING


def is_transient(error: BaseException, *, closed: bool = False) -> bool:
    """Whether the same transaction may succeed later, unchanged."""
    return judge(error, closed=closed) is not Trouble.LASTING


def is_forbidden(error: BaseException) -> bool:
    """Whether the database's user has no right to what was asked."""
    return _sqlstate(error) == "42501"


def is_session_gone(error: BaseException, *, closed: bool = False) -> bool:
    """Whether nothing more can be done on the connection that the error came from."""
    return judge(error, closed=closed) is Trouble.GONE


def as_temporary(
    error: BaseException, *, closed: bool = False, read_only: bool = False
) -> TemporaryError | None:
    """The error callers should see in its place; None when it will not pass by itself."""
    match judge(error, closed=closed, read_only=read_only):
        case Trouble.CONFLICT:
            return Conflict(f"the transaction was undone by the database: {describe(error)}")
        case Trouble.GONE:
            return DatabaseUnavailable(f"no session with the database: {describe(error)}")
        case Trouble.LASTING:
            return None


def describe(error: BaseException) -> str:
    """One line about an error. Some errors of the network have no text, so the type is named."""
    text = str(error).strip().replace("\n", " ")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _sqlstate(error: BaseException) -> str:
    """The driver leaves it None on the abstract classes of its tree."""
    state: object = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) else ""
