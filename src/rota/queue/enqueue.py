"""Asking for runs of a task: rows of the queue with a payload of their own.

The work is done by functions of the database (`rota.enqueue`, migration 0010), so that any program
can do the same in a transaction of its own, in any language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Database, Tx

MAX_ROWS: Final = 2_000
"""Entered by one statement: more is not faster, and holds up others for longer."""

KEY_PREFIX: Final = "task:"
"""A task's schedule has this and the task's name as its key."""

ENQUEUE_MANY: LiteralString = """
    SELECT rota.enqueue_many($1, $2::jsonb, $3, $4, $5, $6, $7)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Runs of a task that somebody wants, all for the same instant."""

    task: str
    """Its name, or the key of its schedule."""
    payloads: Sequence[bytes | None]
    """JSON; None for none."""
    delay: timedelta | None = None
    at: datetime | None = None
    """In place of a delay."""
    priority: int | None = None
    """From 0 to 9; the task's own without it."""
    key: str | None = None
    """Of one run: while it is live no other of this key is entered."""
    tenant_id: UUID | None = None
    """The default tenant without it."""

    def parts(self) -> list[tuple[object, ...]]:
        """The arguments of `rota.enqueue_many`, once for each statement."""
        return [
            (
                self.task,
                _array(self.payloads[start : start + MAX_ROWS]),
                self.delay,
                self.at,
                self.priority,
                self.key,
                self.tenant_id,
            )
            for start in range(0, len(self.payloads), MAX_ROWS)
        ]


async def enqueue(tx: Tx, order: Order) -> list[UUID]:
    """Enter them, in the caller's transaction; their firings' ids, in order."""
    return await _enter(tx, order.parts())


async def enqueue_alone(db: Database, order: Order) -> list[UUID]:
    """The same in a transaction of their own."""
    # A key makes it safe to do again: the second finds the first.
    repeatable = order.key is not None
    parts = order.parts()
    if len(parts) != 1:
        return await db.run(lambda tx: _enter(tx, parts), repeatable=repeatable)
    (row,) = await db.fetch_alone(ENQUEUE_MANY, *parts[0], repeatable=repeatable)
    return list(row[0])


async def _enter(tx: Tx, parts: Sequence[tuple[object, ...]]) -> list[UUID]:
    entered: list[UUID] = []
    for part in parts:
        entered += await tx.fetch_value(ENQUEUE_MANY, *part)
    return entered


def _array(payloads: Sequence[bytes | None]) -> str:
    return f"[{b','.join(each or b'null' for each in payloads).decode()}]"
