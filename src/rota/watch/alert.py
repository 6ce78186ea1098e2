"""An alert: one trouble, from when it was noticed until it was over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.watch.kinds import KINDS

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A row of `alerts`, with the name of the schedule it is about."""

    id: UUID
    tenant_id: UUID | None
    """None for one of the whole installation."""
    kind: str
    subject: str
    schedule_id: UUID | None
    schedule_name: str | None
    schedule_key: str | None
    tags: tuple[str, ...]
    """Of the schedule; none when it is about none, or that is gone."""
    detail: str
    count: int
    told_count: int
    told: int
    told_at: datetime | None
    opened_at: datetime
    seen_at: datetime
    closed_at: datetime | None
    is_monitor: bool = False
    """Whether the schedule waits for pings: nothing of it can be backfilled or replayed."""

    @property
    def name(self) -> str:
        """What people call what it is about."""
        return self.schedule_name or self.subject

    @property
    def means(self) -> str:
        """What has happened, in a few words."""
        kind = KINDS[self.kind]
        return kind.of_monitor or kind.means if self.is_monitor else kind.means
