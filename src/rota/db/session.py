"""What every session of Rota with the server has set, whoever opens it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

SCHEMA: Final = "rota"
"""The schema of every installation (docs/decisions/one-schema.md)."""

STATEMENT_TIMEOUT = timedelta(seconds=30)
LOCK_TIMEOUT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Session:
    """The settings of a session.

    A holder of a lease that freezes inside a transaction keeps its successor waiting for the
    fence's row lock, so the server must end that transaction well before the 15 s lease would have
    run out: an idle one after `idle_in_transaction_timeout`, one whose machine is gone after the
    TCP bounds below (about 11 s), and a waiting one after `lock_timeout`. One in the middle of a
    statement has the time that `leases.hold` gives it (PostgreSQL 17).
    """

    application_name: str = "rota"
    schema: str = SCHEMA
    """Where all of Rota's tables and functions are; nothing else is on the search path."""
    is_pooled: bool = False
    """Whether a pooler lends the server's sessions for one transaction at a time, so that nothing
    outlives a transaction: no settings, no prepared statements, no session locks, no LISTEN."""
    by_index: bool = False
    """Whether no table is ever scanned in full: for the pool of the scheduler, whose statements are
    transactions by themselves, so that nothing can be set for each of them."""
    statement_timeout: timedelta = STATEMENT_TIMEOUT
    lock_timeout: timedelta = LOCK_TIMEOUT
    idle_in_transaction_timeout: timedelta = timedelta(seconds=5)
    connect_timeout: timedelta = timedelta(seconds=10)

    @property
    def reply_timeout(self) -> timedelta:
        """How long to wait for the answer to a statement.

        Longer than the server's own limit: it only ends waits for a server that has vanished.
        """
        return self.statement_timeout + timedelta(seconds=5)

    def on_connect(self) -> str:
        """What a connection of Rota's own begins with. Pure.

        Sent as statements and not as startup parameters, which poolers refuse.
        """
        keepalive = {
            # Seconds, seconds, a count, milliseconds. Without effect on a Unix socket.
            "tcp_keepalives_idle": "5",
            "tcp_keepalives_interval": "2",
            "tcp_keepalives_count": "3",
            "tcp_user_timeout": "10000",
        }
        return "; ".join(f"SET {name} = {value}" for name, value in (self._set | keepalive).items())

    def on_begin(self) -> str:
        """What a transaction begins with on a connection that is shared by transactions. Pure.

        Nothing of it is left when the transaction ends.
        """
        return "; ".join(f"SET LOCAL {name} = {value}" for name, value in self._set.items())

    @property
    def _set(self) -> dict[str, str]:
        planner = {"enable_seqscan": "off"} if self.by_index else {}
        return planner | {
            "search_path": self.schema,
            "timezone": "'UTC'",
            # Compiling a statement takes longer than any statement here runs.
            "jit": "off",
            "statement_timeout": milliseconds(self.statement_timeout),
            "lock_timeout": milliseconds(self.lock_timeout),
            "idle_in_transaction_session_timeout": milliseconds(self.idle_in_transaction_timeout),
        }


def milliseconds(interval: timedelta) -> str:
    """As the server's settings take it."""
    return str(interval // timedelta(milliseconds=1))
