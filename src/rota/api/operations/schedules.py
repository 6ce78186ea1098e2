"""Operations on schedules, and on their slots."""

from __future__ import annotations

from rota.api.operations.operation import (
    AWAY,
    CHANGED,
    KEY,
    LARGE,
    ONCE,
    SLOW,
    TAKEN,
    UNKNOWN,
    VERSION,
    WRONG,
    Operation,
    read,
)
from rota.history.queries import STATUSES as FIRING_STATUSES

STATUSES = ("active", "paused", "completed")


def _control(verb: str, summary: str, body: str | None = None) -> Operation:
    return Operation(
        name=f"{verb}_schedule",
        headers=ONCE,
        method="post",
        path=f"/v1/schedules/{{schedule_id}}/{verb}",
        summary=summary,
        scope="write",
        body=body,
        optional_body=body is not None,
        answer="Schedule",
        problems=(*KEY, UNKNOWN, *(LARGE if body else ()), WRONG, AWAY),
    )


_MAKING = (
    Operation(
        name="create_schedule",
        headers=ONCE,
        method="post",
        path="/v1/schedules",
        summary="Create a schedule.",
        scope="write",
        body="ScheduleFields",
        answer="Schedule",
        status=201,
        problems=(*KEY, TAKEN, *LARGE, WRONG, SLOW, AWAY),
    ),
    read(
        "list_schedules",
        "/v1/schedules",
        "List, filter and search schedules, the newest first.",
        "SchedulePage",
        *("enabled", "job_type", "tag", "status", "q", "key", "name", "limit", "cursor"),
        choices={"status": STATUSES},
    ),
    read("get_schedule", "/v1/schedules/{schedule_id}", "One schedule.", "Schedule"),
    Operation(
        name="update_schedule",
        headers=VERSION,
        method="patch",
        path="/v1/schedules/{schedule_id}",
        summary="Change the fields given; null takes one back to its default. Re-arms from now.",
        scope="write",
        body="ScheduleChanges",
        answer="Schedule",
        problems=(CHANGED, *KEY, UNKNOWN, TAKEN, *LARGE, WRONG, AWAY),
    ),
    Operation(
        name="delete_schedule",
        headers=VERSION,
        method="delete",
        path="/v1/schedules/{schedule_id}",
        summary="Delete a schedule; its history stays.",
        scope="write",
        status=204,
        problems=(CHANGED, *KEY, UNKNOWN, WRONG, AWAY),
    ),
    Operation(
        name="put_schedule",
        headers=VERSION,
        method="put",
        path="/v1/schedules/by-key/{key}",
        summary="Create the schedule with this key, or make it what is given.",
        scope="write",
        body="ScheduleFields",
        answer="Schedule",
        also=(201,),
        problems=(CHANGED, *KEY, *LARGE, WRONG, SLOW, AWAY),
    ),
    Operation(
        name="create_schedules",
        headers=ONCE,
        method="post",
        path="/v1/schedules/bulk",
        summary="Create up to 10,000 schedules: all or none, or with a result for each.",
        scope="write",
        query=("partial",),
        body="BulkFields",
        answer="BulkResult",
        status=201,
        also=(200,),
        problems=(*KEY, TAKEN, *LARGE, WRONG, SLOW, AWAY),
    ),
)

_CONTROLS = (
    _control("pause", "Stop it until it is resumed, or until an instant.", "PauseOneFields"),
    _control("resume", "Let it run again, from now on."),
    Operation(
        name="pause_all",
        method="post",
        path="/v1/pause",
        summary="Pause all active schedules, or those of a tag, together; again while `more`.",
        scope="write",
        body="PauseFields",
        optional_body=True,
        answer="PauseResult",
        problems=(*KEY, *LARGE, WRONG, AWAY),
    ),
    Operation(
        name="resume_all",
        method="post",
        path="/v1/resume",
        summary="Resume those that were paused together, or those of a tag; again while `more`.",
        scope="write",
        body="ResumeFields",
        optional_body=True,
        answer="ResumeResult",
        problems=(*KEY, *LARGE, WRONG, AWAY),
    ),
    Operation(
        name="trigger_schedule",
        headers=ONCE,
        method="post",
        path="/v1/schedules/{schedule_id}/trigger",
        summary="Run it now, once, beside its own slots.",
        scope="write",
        body="TriggerFields",
        optional_body=True,
        answer="Firing",
        status=202,
        problems=(*KEY, UNKNOWN, *LARGE, WRONG, AWAY),
    ),
    Operation(
        name="backfill_schedule",
        method="post",
        path="/v1/schedules/{schedule_id}/backfill",
        summary="Fire the slots of a past range, up to 1,000, one after another.",
        scope="write",
        headers=ONCE,
        body="BackfillFields",
        answer="Backfilled",
        status=202,
        problems=(*KEY, UNKNOWN, *LARGE, WRONG, AWAY),
    ),
)

_READS = (
    read(
        "list_firings",
        "/v1/schedules/{schedule_id}/firings",
        "Its firings, the newest first, live ones included.",
        "FiringPage",
        *("status", "limit", "cursor"),
        choices={"status": FIRING_STATUSES},
    ),
    read(
        "why",
        "/v1/schedules/{schedule_id}/why",
        "What became of a slot, and why.",
        "Why",
        "at",
        required=("at",),
    ),
    read(
        "next_slots",
        "/v1/schedules/{schedule_id}/next",
        "The next slots, with zone, UTC and clock-change notes.",
        "Upcoming",
        *("count", "after"),
    ),
    Operation(
        name="preview_slots",
        method="post",
        path="/v1/preview",
        summary="The next slots of a trigger that is not stored anywhere.",
        scope="read",
        body="PreviewFields",
        answer="Upcoming",
        problems=(*KEY, *LARGE, WRONG),
    ),
    read("get_firing", "/v1/firings/{firing_id}", "One firing, live or ended.", "Firing"),
    read(
        "list_attempts",
        "/v1/firings/{firing_id}/attempts",
        "Every try of a firing, with request and response.",
        "AttemptPage",
    ),
)

SCHEDULES = (*_MAKING, *_CONTROLS, *_READS)
