"""`/v1/schedules` and `/v1/preview`."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Unpack

from rota.sdk.client.bulk import Bulk
from rota.sdk.client.call import (
    Call,
    Listing,
    at,
    delete,
    get,
    given,
    listing,
    patch,
    post,
    post_once,
    put,
    some,
    visible,
)
from rota.sdk.client.results import (
    AuditEntry,
    Backfilled,
    Firing,
    Page,
    PauseResult,
    ResumeResult,
    SlotAudit,
    Upcoming,
    Why,
)
from rota.sdk.client.schedules import Instant, Length, Schedule, ScheduleFields, Status

Fields = Mapping[str, Any]

_ONE = "/v1/schedules/{}"


def create_schedule(
    fields: Fields | None = None,
    /,
    *,
    request_key: str | None = None,
    **more: Unpack[ScheduleFields],
) -> Call[Schedule]:
    """Create a schedule of the fields given, as keywords or as a mapping.

    Asked again with the same `request_key` the server creates nothing and answers the same; one is
    made for every call unless it is given.
    """
    return post_once(Schedule, "/v1/schedules", request_key, given(fields, more))


def create_schedules(
    schedules: Iterable[Fields], *, partial: bool = False, request_key: str | None = None
) -> Bulk:
    """Create any number of schedules, in requests of up to 10,000.

    Each request is all or nothing, unless `partial`: then what can be created is, and the result
    says of every item what became of it.
    """
    if request_key is None:
        return Bulk(items=schedules, partial=partial)
    key = visible("request_key", request_key)
    return Bulk(items=schedules, partial=partial, request_key=key)


def list_schedules(
    *,
    enabled: bool | None = None,
    job_type: str | None = None,
    tag: str | None = None,
    status: Literal["active", "paused", "completed"] | None = None,
    q: str | None = None,
    key: str | None = None,
    name: str | None = None,
    page_size: int | None = None,
) -> Listing[Schedule]:
    """The schedules that fit, the newest first. `q` searches name, key, description and target."""
    return listing(
        Page[Schedule],
        "/v1/schedules",
        page_size,
        enabled=enabled,
        job_type=job_type,
        tag=tag,
        status=status,
        q=q,
        key=key,
        name=name,
    )


def get_schedule(schedule: str | Schedule) -> Call[Schedule]:
    """One schedule, by its id."""
    return get(Schedule, at(_ONE, _id(schedule)))


def update_schedule(
    schedule: str | Schedule,
    fields: Fields | None = None,
    /,
    *,
    if_version: int | str | None = None,
    **more: Unpack[ScheduleFields],
) -> Call[Schedule]:
    """Change the fields given; None takes one back to its default. Re-arms from now.

    With `if_version` (a `version` or an `etag`) only if nobody else has changed it meanwhile.
    """
    return patch(Schedule, at(_ONE, _id(schedule)), given(fields, more), if_version)


def delete_schedule(schedule: str | Schedule, *, if_version: int | str | None = None) -> Call[None]:
    """Delete a schedule; its history stays."""
    return delete(at(_ONE, _id(schedule)), if_version)


def put_schedule(
    key: str,
    fields: Fields | None = None,
    /,
    *,
    if_version: int | str | None = None,
    **more: Unpack[ScheduleFields],
) -> Call[Schedule]:
    """Create the schedule with this key, or make it what is given."""
    path = at("/v1/schedules/by-key/{}", key)
    return put(Schedule, path, given(fields, more), if_version)


def pause(
    schedule: str | Schedule,
    *,
    reason: str | None = None,
    until: Instant | None = None,
    request_key: str | None = None,
) -> Call[Schedule]:
    """Stop it until it is resumed; with `until` it resumes then by itself."""
    body = some(reason=reason, until=until) or None
    return post_once(Schedule, at(f"{_ONE}/pause", _id(schedule)), request_key, body)


def resume(schedule: str | Schedule, *, request_key: str | None = None) -> Call[Schedule]:
    """Let it run again, from now on."""
    return post_once(Schedule, at(f"{_ONE}/resume", _id(schedule)), request_key)


def pause_all(
    *, tag: str | None = None, reason: str | None = None, until: Instant | None = None
) -> Call[PauseResult]:
    """Pause all active schedules, or those of a tag, together; with `until` they resume then.

    A call works for a few seconds; while the result says `more`, the same call again goes on.
    """
    return post(PauseResult, "/v1/pause", some(tag=tag, reason=reason, until=until) or None)


def resume_all(*, tag: str | None = None) -> Call[ResumeResult]:
    """Resume those that were paused together, all or of a tag; again while there is `more`."""
    return post(ResumeResult, "/v1/resume", some(tag=tag) or None)


def trigger(
    schedule: str | Schedule, *, payload: Any = None, request_key: str | None = None
) -> Call[Firing]:
    """Run it now, once, beside its own slots; a payload takes the place of its own."""
    body = some(payload=payload) or None
    return post_once(Firing, at(f"{_ONE}/trigger", _id(schedule)), request_key, body)


def backfill(
    schedule: str | Schedule, *, since: Instant, until: Instant, request_key: str | None = None
) -> Call[Backfilled]:
    """Fire the slots of a past range, from `since` on and before `until`, one after another."""
    body = {"from": since, "to": until}
    return post_once(Backfilled, at(f"{_ONE}/backfill", _id(schedule)), request_key, body)


def firings(
    schedule: str | Schedule, *, status: Status | None = None, page_size: int | None = None
) -> Listing[Firing]:
    """Its firings, the newest first, live ones included."""
    return listing(Page[Firing], at(f"{_ONE}/firings", _id(schedule)), page_size, status=status)


def why(schedule: str | Schedule, slot: Instant) -> Call[Why]:
    """What became of a slot, and why."""
    return get(Why, at(f"{_ONE}/why", _id(schedule)), at=slot)


def audit(
    schedule: str | Schedule | None = None,
    *,
    actor: str | None = None,
    action: str | None = None,
    since: Instant | None = None,
    page_size: int | None = None,
) -> Listing[AuditEntry]:
    """Who changed which schedule, the newest first; also of one that was deleted.

    `schedule` is an id or a key. `actor` is such as "cli:PREFIX", or one of its two parts.
    """
    which = schedule.id if isinstance(schedule, Schedule) else schedule
    return listing(
        Page[AuditEntry],
        "/v1/audit",
        page_size,
        schedule=which,
        actor=actor,
        action=action,
        since=since,
    )


def audit_slots(
    schedule: str | Schedule | None = None,
    *,
    since: Instant | None = None,
    until: Instant | None = None,
    page_size: int | None = None,
) -> Listing[SlotAudit]:
    """Expected slots against outcomes, schedule by schedule; of the last day unless `since`."""
    return listing(
        Page[SlotAudit],
        "/v1/audit/slots",
        page_size,
        schedule_id=None if schedule is None else _id(schedule),
        since=since,
        until=until,
    )


def next_slots(
    schedule: str | Schedule, *, count: int | None = None, after: Instant | None = None
) -> Call[Upcoming]:
    """Its next slots, with zone, UTC and clock-change notes."""
    return get(Upcoming, at(f"{_ONE}/next", _id(schedule)), count=count, after=after)


def preview(
    when: str | None = None,
    *,
    cron_expr: str | None = None,
    interval: Length | None = None,
    run_at: Instant | None = None,
    rrule: str | None = None,
    text: str | None = None,
    timezone: str | None = None,
    calendar: str | None = None,
    after: Instant | None = None,
    count: int | None = None,
) -> Call[Upcoming]:
    """The next slots of a trigger that is not stored anywhere: `when`, or one of the fields."""
    body = some(
        when=when,
        cron_expr=cron_expr,
        interval=interval,
        run_at=run_at,
        rrule=rrule,
        text=text,
        timezone=timezone,
        calendar=calendar,
        after=after,
        count=count,
    )
    return post(Upcoming, "/v1/preview", body)


def _id(schedule: str | Schedule) -> str:
    return schedule.id if isinstance(schedule, Schedule) else schedule
