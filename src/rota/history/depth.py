"""How deep the queue of the whole installation is, and how late; for operators."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from rota.history import stats_sql as sql

if TYPE_CHECKING:
    from rota.db import Tx

BOUND: Final = 100_000
"""Where counting stops: this many or more."""


@dataclass(frozen=True, slots=True)
class Depth:
    """What is in the queue."""

    rows: int
    lateness: timedelta
    """How long the one that has waited longest could have begun."""


async def of_all(tx: Tx) -> Depth:
    """Of all tenants together."""
    rows: int = await tx.fetch_value(sql.ROWS, BOUND)
    now: datetime = await tx.fetch_value("SELECT clock_timestamp()")
    oldest: datetime | None = await tx.fetch_value(sql.OLDEST_OF_ALL, BOUND)
    late = timedelta() if oldest is None else max(now - oldest, timedelta())
    return Depth(rows, late)
