"""What callers see of schedules and firings: the API's names, ids as text, instants in UTC."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from rota import durations, ids
from rota.history import firing as history
from rota.schedules.definition import Definition
from rota.schedules.fields import write
from rota.schedules.list import Standing
from rota.tenants import tenant as tenants
from rota.tenants.sql import KeyInfo
from rota.tenants.tenant import Scope
from rota.time_slicer import Steps

T = TypeVar("T")

EXCERPT = 500
"""Characters of a result that a list shows."""

_FIELDS: dict[str, Any] = dict.fromkeys(Definition.__struct_fields__)
"""Every field there is, so that a program need not ask which are there."""


class StepShown(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a firing: waiting, running, succeeded, failed, cancelled, not_run; compensating,
    compensated, compensation_failed."""

    name: str
    status: str


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
    replay_of: str | None = None
    detached_until: datetime | None = None
    progress: float | None = None
    progress_note: str | None = None
    steps: list[StepShown] | None = None


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
    step: str | None = None
    compensating: bool = False
    capture_cut: bool = False
    """Whether only excerpts were kept, as the tenant's budget of the day was used up."""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """An instant to come, in UTC and on the wall clock of its zone."""

    utc: datetime
    local: str
    note: str | None = None
    due_at: datetime | None = None
    """When it is due, where jitter or a fire window of the schedule makes that later."""


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant, and how much of the installation is its."""

    id: str
    name: str
    weight: int
    max_concurrency: int | None
    create_rate: float | None
    request_rate: float | None
    max_schedules: int | None
    capture_budget_mb: int | None
    min_interval: str
    celery_allow: tuple[str, ...]
    created_at: datetime


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """What may be shown of a key."""

    id: str
    tenant: str
    name: str
    prefix: str
    scopes: tuple[Scope, ...]
    expires_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime


class NewKey(Key, frozen=True, kw_only=True):
    """A key that was made just now, with its text: shown once."""

    key: str


def tenant(each: tenants.Tenant) -> Tenant:
    """A tenant as the API shows it."""
    return Tenant(
        id=ids.to_text(ids.Kind.TENANT, each.id),
        name=each.name,
        weight=each.weight,
        max_concurrency=each.max_concurrency,
        create_rate=each.create_rate,
        request_rate=each.request_rate,
        max_schedules=each.max_schedules,
        capture_budget_mb=each.capture_budget_mb,
        min_interval=durations.compact(each.min_interval),
        celery_allow=each.celery_allow,
        created_at=each.created_at,
    )


def key(info: KeyInfo) -> Key:
    """A key as the API shows it, without its secret."""
    return Key(**_of_key(info))


def new_key(info: KeyInfo, text: str) -> NewKey:
    """A key as it is shown once."""
    return NewKey(**_of_key(info), key=text)


def _of_key(info: KeyInfo) -> dict[str, Any]:
    return {
        "id": ids.to_text(ids.Kind.KEY, info.id),
        "tenant": ids.to_text(ids.Kind.TENANT, info.tenant_id),
        "name": info.name,
        "prefix": info.prefix,
        "scopes": info.scopes,
        "expires_at": info.expires_at,
        "last_used_at": info.last_used_at,
        "created_at": info.created_at,
    }


def schedule(standing: Standing) -> dict[str, Any]:
    """A schedule with every field it was made of, and where it stands."""
    schedule = standing.schedule
    return {
        **_FIELDS,
        **write(schedule.definition),
        "id": schedule_id(schedule.id),
        "key": schedule.key,
        "name": schedule.name,
        "status": schedule.status,
        "status_reason": standing.status_reason,
        "paused_until": standing.paused_until,
        # How it is, not how it was asked to begin.
        "enabled": schedule.status != "paused",
        "next_fire_at": standing.next_fire_at,
        "next_due_at": standing.next_due_at,
        "last_fire_at": standing.last_fire_at,
        "last_status": standing.last_status,
        "monitor_state": standing.monitor_state,
        "expected_at": standing.expected_at,
        "last_ping_at": standing.last_ping_at,
        # Shown with a single schedule alone, and to those who may write.
        "ping_url": None,
        "version": schedule.version,
        "created_at": schedule.created_at,
        "updated_at": schedule.updated_at,
        "created_by": standing.created_by,
        "updated_by": standing.updated_by,
    }


def firing(each: history.Firing, *, brief: bool = False) -> Firing:
    """A firing as the API shows it; in a list, no more of its result than an excerpt."""
    excerpt = each.result_excerpt
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
        result_excerpt=excerpt[:EXCERPT] if brief and excerpt else excerpt,
        replay_of=None if each.replay_of is None else firing_id(each.replay_of),
        detached_until=each.detached_until,
        progress=each.progress,
        progress_note=each.progress_note,
        steps=None if each.steps is None else msgspec.json.decode(each.steps, type=list[StepShown]),
    )


def brief_firing(each: history.Firing) -> Firing:
    """A firing as a list shows it."""
    return firing(each, brief=True)


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
        step=each.step,
        compensating=each.compensating,
        capture_cut=each.capture_cut,
    )


def encoded(found: Iterable[T], view: Callable[[T], Any]) -> Steps[list[msgspec.Raw]]:
    """Each as it is seen, written as JSON: a thousand at once would keep the loop for long."""
    items: list[msgspec.Raw] = []
    for each in found:
        items.append(msgspec.Raw(msgspec.json.encode(view(each))))
        yield
    return items


def schedule_id(id_: UUID) -> str:
    return ids.to_text(ids.Kind.SCHEDULE, id_)


def firing_id(id_: UUID) -> str:
    return ids.to_text(ids.Kind.FIRING, id_)
