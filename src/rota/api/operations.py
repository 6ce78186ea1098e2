"""Every operation of the API, with what the OpenAPI document says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rota.tenants.tenant import Scope

_AWAY = (503, "The database is away; try again")
_KEY = ((401, "No key, or one that is not in force"), (403, "A key without the scope"))
_UNKNOWN = (404, "There is no such thing of yours")
_WRONG = (422, "Something in the request cannot be taken; `errors` says what")
_TAKEN = (409, "Another schedule has this key")
_LARGE = ((400, "Not JSON"), (413, "Too large"), (415, "Not declared as JSON"))

PARAMETERS = {
    "limit": ("integer", "How many items a page has, up to 1,000."),
    "cursor": ("string", "The next_cursor of the page before."),
    "status": ("string", "Only those of this status."),
    "enabled": ("boolean", "Only those that are, or are not, paused."),
    "job_type": ("string", "Only those that run this task."),
    "tag": ("string", "Only those with this tag."),
    "key": ("string", "Only the one with this key."),
    "name": ("string", "Only those of exactly this name."),
    "q": ("string", "Only those that contain this in name, key, description or target."),
    "partial": ("boolean", "Create what can be created, with a result for each item."),
    "at": ("string", "The slot; without an offset, on the wall clock of the schedule's zone."),
    "count": ("integer", "How many."),
    "after": ("string", "From when on; now unless given."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path. `body` and `answer` name schemas of the document."""

    name: str
    method: Literal["get", "post", "put", "patch", "delete"]
    path: str
    summary: str
    scope: Scope | None = None
    query: tuple[str, ...] = ()
    body: str | None = None
    optional_body: bool = False
    answer: str | None = None
    status: int = 200
    problems: tuple[tuple[int, str], ...] = ()


def _read(name: str, path: str, summary: str, answer: str, *query: str) -> Operation:
    return Operation(
        name=name,
        method="get",
        path=path,
        summary=summary,
        scope="read",
        query=query,
        answer=answer,
        problems=(*_KEY, *((_UNKNOWN,) if "{" in path else ()), _WRONG, _AWAY),
    )


def _control(verb: str, summary: str) -> Operation:
    return Operation(
        name=f"{verb}_schedule",
        method="post",
        path=f"/v1/schedules/{{schedule_id}}/{verb}",
        summary=summary,
        scope="write",
        answer="Schedule",
        problems=(*_KEY, _UNKNOWN, _WRONG, _AWAY),
    )


_SCHEDULES = (
    Operation(
        name="create_schedule",
        method="post",
        path="/v1/schedules",
        summary="Create a schedule.",
        scope="write",
        body="ScheduleFields",
        answer="Schedule",
        status=201,
        problems=(*_KEY, _TAKEN, *_LARGE, _WRONG, _AWAY),
    ),
    _read(
        "list_schedules",
        "/v1/schedules",
        "List, filter and search schedules, the newest first.",
        "SchedulePage",
        *("enabled", "job_type", "tag", "status", "q", "key", "name", "limit", "cursor"),
    ),
    _read("get_schedule", "/v1/schedules/{schedule_id}", "One schedule.", "Schedule"),
    Operation(
        name="update_schedule",
        method="patch",
        path="/v1/schedules/{schedule_id}",
        summary="Change the fields given; null takes one back to its default. Re-arms from now.",
        scope="write",
        body="ScheduleChanges",
        answer="Schedule",
        problems=(*_KEY, _UNKNOWN, _TAKEN, *_LARGE, _WRONG, _AWAY),
    ),
    Operation(
        name="delete_schedule",
        method="delete",
        path="/v1/schedules/{schedule_id}",
        summary="Delete a schedule; its history stays.",
        scope="write",
        status=204,
        problems=(*_KEY, _UNKNOWN, _WRONG, _AWAY),
    ),
    Operation(
        name="put_schedule",
        method="put",
        path="/v1/schedules/by-key/{key}",
        summary="Create the schedule with this key, or make it what is given.",
        scope="write",
        body="ScheduleFields",
        answer="Schedule",
        problems=(*_KEY, *_LARGE, _WRONG, _AWAY),
    ),
    Operation(
        name="create_schedules",
        method="post",
        path="/v1/schedules/bulk",
        summary="Create up to 10,000 schedules: all or none, or with a result for each.",
        scope="write",
        query=("partial",),
        body="BulkFields",
        answer="BulkResult",
        status=201,
        problems=(*_KEY, _TAKEN, *_LARGE, _WRONG, _AWAY),
    ),
)

_CONTROLS = (
    _control("pause", "Stop it until it is resumed."),
    _control("resume", "Let it run again, from now on."),
    Operation(
        name="trigger_schedule",
        method="post",
        path="/v1/schedules/{schedule_id}/trigger",
        summary="Run it now, once, beside its own slots.",
        scope="write",
        body="TriggerFields",
        optional_body=True,
        answer="Firing",
        status=202,
        problems=(*_KEY, _UNKNOWN, *_LARGE, _WRONG, _AWAY),
    ),
)

_READS = (
    _read(
        "list_firings",
        "/v1/schedules/{schedule_id}/firings",
        "Its firings, the newest first, live ones included.",
        "FiringPage",
        *("status", "limit", "cursor"),
    ),
    _read(
        "why",
        "/v1/schedules/{schedule_id}/why",
        "What became of a slot, and why.",
        "Why",
        "at",
    ),
    _read(
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
        problems=(*_KEY, *_LARGE, _WRONG),
    ),
    _read("get_firing", "/v1/firings/{firing_id}", "One firing, live or ended.", "Firing"),
    _read(
        "list_attempts",
        "/v1/firings/{firing_id}/attempts",
        "Every try of a firing, with request and response.",
        "AttemptPage",
    ),
)

_OPERATING = (
    Operation(
        name="healthz",
        method="get",
        path="/healthz",
        summary="Whether the process answers.",
        answer="Health",
    ),
    Operation(
        name="readyz",
        method="get",
        path="/readyz",
        summary="Whether the process can serve: 503 while the database is away or it stops.",
        answer="Health",
        problems=((503, "Not ready"),),
    ),
)

ALL = (*_SCHEDULES, *_CONTROLS, *_READS, *_OPERATING)
