"""How a schedule has done lately: how often well, how long it took, how late it began."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from rota.history import days_sql as sql

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Tx

SPAN: Final = timedelta(days=30)
MOST: Final = 5_000
"""Firings that are looked at, the newest: an every-second schedule has as many in 83 minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Of the last thirty days, or the newest firings of them."""

    firings: int
    oldest_at: datetime | None
    """The oldest slot that was looked at."""
    succeeded: int
    dead: int
    missed: int
    skipped: int
    cancelled: int
    took_ms: tuple[float, float] | None
    """In the middle, and of all but one in twenty; None when nothing ran."""
    late_ms: tuple[float, float] | None
    """In the middle, and of all but one in a hundred; None when none is known."""

    @property
    def is_cut(self) -> bool:
        """Whether there were more in these days than were looked at."""
        return self.firings >= MOST

    @property
    def success(self) -> float | None:
        """The share that succeeded, of what should have: skipped and cancelled ones aside."""
        ran = self.succeeded + self.dead + self.missed
        return self.succeeded / ran if ran else None


async def record(tx: Tx, schedule_id: UUID, *, now: datetime) -> Record:
    """How it has done lately."""
    row = await tx.fetch_row(sql.RECORD, schedule_id, now - SPAN, MOST)
    assert row is not None
    values = dict(row.items())
    for name in ("took_ms", "late_ms"):
        values[name] = None if values[name] is None else tuple(map(float, values[name]))
    return Record(**values)
