"""The database: the only package that knows the driver and how PostgreSQL is reached.

A `Database` hands out transactions; a `Tx` is what a statement is run on; a `FencedTx` is a `Tx`
that has proven a lease's fence, and everything that may only be written by a lease's holder asks
for one. A `Listener` wakes loops when something changed. `migrate` brings a database up to this
program, `embedded` starts a PostgreSQL where there is none, `doctor` looks for trouble.

Statements are `LiteralString`s in the `sql.py` of the stage they belong to. What the driver raises
stays in here as far as it is passing trouble: callers see `rota.errors.TemporaryError`s.
"""

from __future__ import annotations

from rota.backoff import ONCE, Retry
from rota.db.driver import Row
from rota.db.listen import Cause, Listener, Notice, Subscription, Wake
from rota.db.pool import Database
from rota.db.session import Session
from rota.db.transient import CommitUnknown, Conflict
from rota.db.tx import FencedTx, Tx

__all__ = [
    "ONCE",
    "Cause",
    "CommitUnknown",
    "Conflict",
    "Database",
    "FencedTx",
    "Listener",
    "Notice",
    "Retry",
    "Row",
    "Session",
    "Subscription",
    "Tx",
    "Wake",
]
