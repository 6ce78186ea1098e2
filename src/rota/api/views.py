"""What callers see of schedules and firings: the API's names, ids as text, instants in UTC."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rota import ids
from rota.history import firing as history
from rota.schedules.definition import Definition
from rota.schedules.fields import write
from rota.schedules.reading import Standing


class Firing(msgspec.Struct, frozen=True, kw_only=True):
    """One firing, live or ended; or a run of slots that were not fired, as one."""

    id: str
    schedule_id: str
    scheduled_for: datetime
    last_slot_at: datetime | None = None
    slot_count: int = 1
    status: str
    reason: str | None = None
    attempt: int = 0
    triggered_by: str
    catch_up: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None
    duration_ms: float | None = None
    result_code: int | None = None
    result_excerpt: str | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One try, as much of it as the schedule's `capture` kept."""

    attempt: int
    outcome: str
    error: str | None
    started_at: datetime
    finished_at: datetime
    duration_ms: float
    request: dict[str, Any] | None
    response_status: int | None
    response_headers: list[tuple[str, str]] | None
    response_body: str | None


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """An instant to come, in UTC and on the wall clock of its zone."""

    utc: datetime
    local: str
    note: str | None = None


def schedule(standing: Standing) -> dict[str, Any]:
    """A schedule with every field it was made of, and where it stands."""
    schedule = standing.schedule
    # Every field there is, so that a program need not ask which are there.
    made_of: dict[str, Any] = dict.fromkeys(Definition.__struct_fields__)
    return (
        made_of
        | write(schedule.definition)
        | {
            "id": schedule_id(schedule.id),
            "key": schedule.key,
            "name": schedule.name,
            "status": schedule.status,
            # How it is, not how it was asked to begin.
            "enabled": schedule.status != "paused",
            "next_fire_at": standing.next_fire_at,
            "last_fire_at": standing.last_fire_at,
            "last_status": standing.last_status,
            "version": schedule.version,
            "created_at": schedule.created_at,
            "updated_at": schedule.updated_at,
        }
    )


def firing(each: history.Firing) -> Firing:
    """A firing as the API shows it."""
    return Firing(
        id=firing_id(each.id),
        schedule_id=schedule_id(each.schedule_id),
        scheduled_for=each.scheduled_for,
        last_slot_at=each.last_slot_at,
        slot_count=each.slot_count,
        status=each.status,
        reason=each.reason,
        attempt=each.attempt,
        triggered_by=each.triggered_by,
        catch_up=each.catch_up,
        started_at=each.started_at,
        finished_at=each.finished_at,
        duration_ms=each.duration_ms,
        result_code=each.result_code,
        result_excerpt=each.result_excerpt,
    )


def attempt(each: history.Attempt) -> Attempt:
    """A try as the API shows it; what is no text in a body shows as replacement characters."""
    body = each.response_body
    return Attempt(
        attempt=each.attempt,
        outcome=each.outcome,
        error=each.error,
        started_at=each.started_at,
        finished_at=each.finished_at,
        duration_ms=each.duration_ms,
        request=each.request,
        response_status=each.response_status,
        response_headers=each.response_headers,
        response_body=None if body is None else body.decode("utf-8", errors="replace"),
    )


def schedule_id(id_: UUID) -> str:
    return ids.to_text(ids.Kind.SCHEDULE, id_)


def firing_id(id_: UUID) -> str:
    return ids.to_text(ids.Kind.FIRING, id_)
