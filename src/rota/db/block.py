"""The statements around a transaction's own: how it begins, whom it is for, and its savepoints.

Written here and not left to the driver, which would take a round trip of its own for each: a
transaction for a tenant begins with one message, as any other does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from rota.errors import ContractBroken

if TYPE_CHECKING:
    from rota.db.driver import Connection

Isolation = Literal["read_committed", "repeatable_read", "serializable"]

TENANT_ROLE: Final = "rota_tenant"
"""Sees and changes the rows of one tenant alone (docs/decisions/row-security.md)."""

BY_INDEX: Final = "SET LOCAL enable_seqscan = off"
"""The queue is empty one moment and holds fifty thousand rows the next; a partition is empty when
its day begins. A plan that is made then, and kept, would read the whole table for every row of a
batch, until the table is analysed. What a transaction writes it finds by an index."""

_LEVELS: Final[dict[Isolation, str]] = {
    "read_committed": "READ COMMITTED",
    "repeatable_read": "REPEATABLE READ",
    "serializable": "SERIALIZABLE",
}


def opening(
    *,
    isolation: Isolation,
    read_only: bool,
    tenant: UUID | None,
    by_index: bool = False,
    settings: str = "",
) -> str:
    """What begins a transaction, with `settings` that hold until it ends. Pure.

    One that writes, or reads `by_index`, has plans that stay good while its tables grow.

    With a tenant, it is as that tenant until it ends: SET LOCAL is undone by COMMIT and ROLLBACK
    alike, so the next to use the session is the engine again. Statements without parameters cannot
    carry values apart from their text; a UUID's text has nothing in it that ends a literal.
    """
    begin = f"BEGIN ISOLATION LEVEL {_LEVELS[isolation]}{' READ ONLY' if read_only else ''}"
    planned = BY_INDEX if by_index or not read_only else ""
    parts = (begin, settings, planned, "" if tenant is None else holding(tenant))
    return "; ".join(part for part in parts if part)


def holding(tenant: UUID) -> str:
    """What holds the rest of a transaction to a tenant. Pure."""
    # The driver's own are UUIDs, too; anything else here would be text from outside.
    if not isinstance(tenant, UUID):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ContractBroken(f"expected a tenant's UUID, got {type(tenant).__name__}")
    return f"SET LOCAL ROLE {TENANT_ROLE}; SET LOCAL rota.tenant = '{UUID(int=tenant.int)}'"


class Savepoint:
    """A part of a transaction that can be undone by itself."""

    __slots__ = ("_connection", "_name")

    def __init__(self, connection: Connection, number: int) -> None:
        self._connection = connection
        self._name = f"rota_{number}"

    async def start(self) -> None:
        await self._connection.execute(f"SAVEPOINT {self._name}")

    async def commit(self) -> None:
        await self._connection.execute(f"RELEASE SAVEPOINT {self._name}")

    async def rollback(self) -> None:
        """Undo the part; its name is free again."""
        await self._connection.execute(
            f"ROLLBACK TO SAVEPOINT {self._name}; RELEASE SAVEPOINT {self._name}"
        )
