"""What workers say about their work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from rota.events import Event

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.queue.complete import Settlement


class About(TypedDict):
    """The fields of a `FiringEvent`."""

    firing_id: UUID
    schedule_id: UUID
    tenant_id: UUID
    attempt: int
    worker: UUID


def about(claim: Claim, worker: UUID) -> About:
    """Which firing an event is about."""
    return {
        "firing_id": claim.id,
        "schedule_id": claim.schedule_id,
        "tenant_id": claim.tenant_id,
        "attempt": claim.attempt,
        "worker": worker,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringEvent(Event):
    """Something about one claim of one firing."""

    firing_id: UUID
    schedule_id: UUID
    tenant_id: UUID
    attempt: int
    worker: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringStarted(FiringEvent):
    """An attempt begins."""

    lateness: timedelta
    """After the instant at which it might have begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringFinished(FiringEvent):
    """The firing has ended, and that is recorded."""

    status: str
    reason: str | None
    code: int | None
    took: timedelta | None
    """The last attempt; None when none was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomesRecorded(Event):
    """A batch of settlements was recorded; one event for all, so that counting costs little."""

    settlements: Sequence[Settlement]
    accepted: frozenset[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringRetried(FiringEvent):
    """The attempt failed; another is recorded for later."""

    retry_at: datetime
    error: str | None
    code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished(FiringEvent):
    """One of its steps is over, or what undoes it; the firing goes on."""

    step: str
    compensating: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringDetached(FiringEvent):
    """The target has taken the work on, and will say when it is done."""

    until: datetime
    """How long it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringOverdue(Event):
    """A target took the work on and did not complete it in time, or somebody cancelled it."""

    firing_id: UUID
    schedule_id: UUID
    tenant_id: UUID
    attempt: int
    state: str
    """retrying, or how the firing ended."""
    error: str | None
    """None when it was cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePaused(Event):
    """A schedule was paused by Rota itself, and not by its owner."""

    schedule_id: UUID
    tenant_id: UUID
    firing_id: UUID
    """The one that gave the reason."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRefused(FiringEvent):
    """The outcome came too late: the claim was somebody else's by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimLost(FiringEvent):
    """A claim that is no longer the worker's was dropped, or its attempt broken off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWithheld(FiringEvent):
    """A claim was not begun and is given back: the worker's right to begin it had ended, or the
    database did not say what it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStuck(FiringEvent):
    """An attempt goes on although it was cancelled, and cancelled again: it is settled without it.

    Its slot stays in use until it returns. A task that swallows `asyncio.CancelledError` does this.
    """

    told: str
    """Why it was: timed out, cancelled, interrupted, lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringRescued(Event):
    """A claim was taken from a worker that is gone."""

    firing_id: UUID
    attempt: int
    worker: UUID
    """The one that is gone."""
    state: str
    """waiting, or how the firing ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTroubled(Event):
    """A part of the worker failed; it goes on, and tries again."""

    worker: UUID
    part: str
    error: str


def of_settlement(settlement: Settlement, worker: UUID, *, accepted: bool) -> FiringEvent:
    """What there is to say about a settlement, once the database has answered."""
    which = about(settlement.claim, worker)
    if not accepted:
        return FinishRefused(**which)
    if settlement.retry_at is not None:
        error = None if settlement.tried is None else settlement.tried.error
        return FiringRetried(
            **which, retry_at=settlement.retry_at, error=error, code=settlement.code
        )
    if settlement.detached_until is not None:
        return FiringDetached(**which, until=settlement.detached_until)
    step, started_at = settlement.step, settlement.started_at
    if step is not None and step.state is not None:
        return StepFinished(**which, step=step.name, compensating=step.compensating)
    return FiringFinished(
        **which,
        status=settlement.status or "",
        reason=settlement.reason,
        code=settlement.code,
        took=None if started_at is None else settlement.finished_at - started_at,
    )
