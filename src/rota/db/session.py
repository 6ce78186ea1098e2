"""What every session of Rota with the server has set, whoever opens it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

SCHEMA = "rota"
"""All that Rota owns in a database lives in this schema (docs/decisions/one-schema.md)."""

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

    def server_settings(self) -> dict[str, str]:
        """As sent when the session begins; a RESET returns to these."""
        return {
            "application_name": self.application_name,
            "search_path": SCHEMA,
            "timezone": "UTC",
            # The queue is empty one moment and holds fifty thousand rows the next; a partition is
            # empty when its day begins. A plan made then, and kept, would walk the whole table for
            # every row of a batch, until somebody analyses it. Every look-up here has its index.
            "enable_seqscan": "off",
            "statement_timeout": milliseconds(self.statement_timeout),
            "lock_timeout": milliseconds(self.lock_timeout),
            "idle_in_transaction_session_timeout": milliseconds(self.idle_in_transaction_timeout),
            # Seconds, seconds, a count, milliseconds. Without effect on a Unix socket.
            "tcp_keepalives_idle": "5",
            "tcp_keepalives_interval": "2",
            "tcp_keepalives_count": "3",
            "tcp_user_timeout": "10000",
        }


def milliseconds(interval: timedelta) -> str:
    """As the server's settings take it."""
    return str(interval // timedelta(milliseconds=1))
