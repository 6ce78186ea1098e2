"""What came of writing a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime

    from rota.schedules.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A schedule as it is now, and what there is to say about it."""

    schedule: Schedule
    outcome: Literal["created", "updated", "unchanged"]
    warnings: tuple[str, ...] = ()
    next_slot: datetime | None = None
    """Of one that was created: its first slot."""
