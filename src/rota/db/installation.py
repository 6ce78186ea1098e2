"""What was fixed when this installation was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString
from uuid import UUID

if TYPE_CHECKING:
    from rota.db.tx import Tx

_READ: LiteralString = """
    SELECT (SELECT (value #>> '{}')::uuid FROM settings WHERE name = 'installation_id') AS id,
           (SELECT (value #>> '{}')::integer FROM settings WHERE name = 'shards') AS shards
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """One database's worth of Rota, however many processes share it."""

    id: UUID
    shards: int
    """Timers are spread over this many shards, for ever."""


async def read(tx: Tx) -> Installation:
    """The installation this migrated database belongs to."""
    row = await tx.fetch_row(_READ)
    assert row is not None
    return Installation(id=UUID(str(row["id"])), shards=row["shards"])
