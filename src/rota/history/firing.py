"""A firing and its attempts, as people see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """One slot's firing, live or ended; or a run of slots that were not fired."""

    id: UUID
    schedule_id: UUID
    tenant_id: UUID
    version: int
    scheduled_for: datetime
    last_slot_at: datetime | None
    """The last of a run of slots; None for a single one."""
    slot_count: int
    status: str
    """waiting, running, retrying, blocked; succeeded, dead, skipped, missed, cancelled."""
    reason: str | None
    attempt: int
    """How many attempts were made, or are being made."""
    triggered_by: str
    catch_up: bool
    available_at: datetime | None
    """When a live one may begin next; None for one that has ended."""
    started_at: datetime | None
    """Of its first attempt, once one has ended."""
    finished_at: datetime | None
    result_code: int | None
    result_excerpt: str | None
    replay_of: UUID | None = None
    """The firing that it repeats."""
    detached_until: datetime | None = None
    """How long its target has, having taken the work on; None otherwise."""
    progress: float | None = None
    """How far a task that runs said that it is, from 0 to 1."""
    progress_note: str | None = None
    steps: str | None = None
    """JSON: what has become of each of its steps; None for one without, or at its first."""
    due_at: datetime | None = None
    """When it was due, of one that ended at its first attempt."""

    @property
    def is_live(self) -> bool:
        return self.finished_at is None

    @property
    def duration_ms(self) -> int | None:
        """From the first attempt's start to the end."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at) // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try (RT4), as much of it as the schedule's `capture` kept (HX3)."""

    firing_id: UUID
    attempt: int
    worker: UUID
    started_at: datetime
    finished_at: datetime
    outcome: str
    """succeeded, failed, timed_out, cancelled, interrupted, lost; accepted while its target works
    on it by itself."""
    error: str | None
    request: dict[str, Any] | None
    """method, url, headers, body."""
    response_status: int | None
    response_headers: list[tuple[str, str]] | None
    response_body: bytes | None
    step: str | None = None
    """Of a firing that goes through steps: which one this was of."""
    compensating: bool = False
    """Whether it was to undo that step."""
    capture_cut: bool = False
    """Whether only excerpts were kept, as the tenant's budget of the day was used up."""

    @property
    def duration_ms(self) -> int:
        return (self.finished_at - self.started_at) // timedelta(milliseconds=1)
