"""An alert: one trouble, from when it was noticed until it was over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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

    @property
    def name(self) -> str:
        """What people call what it is about."""
        return self.schedule_name or self.subject
