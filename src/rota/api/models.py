"""The shapes of requests and answers, for reading them and for the OpenAPI document."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from rota.api.problems import Problem
from rota.api.saying import says
from rota.schedules.definition import Definition
from rota.schedules.replay import MAX_MANY
from rota.targets.celery import PATTERN
from rota.tenants.fields import (
    FASTEST,
    MAX_BUDGET_MB,
    MAX_COUNT,
    MAX_NAME,
    MAX_PATTERNS,
    MAX_WEIGHT,
    NAME_PATTERN,
    SLOWEST,
)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some items of a list; `next_cursor` asks for those that follow, null when there are none."""

    items: list[Any]
    next_cursor: str | None


class TriggerFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that is asked for; its payload takes the place of the schedule's own."""

    payload: Any = None


class CancelFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An end that is asked for; the reason is kept with the firing."""

    reason: Annotated[str, says(minLength=1, maxLength=200)] | None = None


class ReplayFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which to replay: dead letters of one schedule or all, of slots from `since` on and before
    `until`; or the firings with these ids."""

    schedule_id: str | None = None
    since: str | None = None
    until: str | None = None
    ids: Annotated[list[str], says(minItems=1, maxItems=MAX_MANY)] | None = None
    limit: Annotated[int, says(minimum=1, maximum=MAX_MANY)] | None = None


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """The replays made, in order; `more` when there are dead letters left that fit."""

    replayed: int
    items: list[str]
    more: bool


class CompleteFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work is done. The token may come as the header Rota-Token instead."""

    token: str | None = None
    result: Any = None


class FailFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work has failed; `retry: false` when another attempt would fail as well."""

    token: str | None = None
    error: Annotated[str, says(maxLength=2_000)] | None = None
    retry: bool = True


class ExtendFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work takes longer: this many seconds from now, or as long as the schedule gives."""

    token: str | None = None
    seconds: Annotated[float, says(minimum=1, maximum=7 * 86_400)] | None = None


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the firing; `until` is how long its work may take."""

    id: str
    attempt: int
    status: str
    retry_at: datetime | None = None
    until: datetime | None = None


class BulkItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one item: a schedule, or a problem."""

    index: int
    id: str | None = None
    key: str | None = None
    name: str | None = None
    status: str | None = None
    next_fire_at: datetime | None = None
    warnings: list[str] = []
    problem: Problem | None = None


class BulkResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of all items, in their order."""

    created: int
    failed: int
    items: list[BulkItem]


_READ_ONLY: dict[str, Any] = {
    "id": {"type": "string"},
    "status": {"enum": ["active", "paused", "completed"]},
    "status_reason": {"type": ["string", "null"]},
    "paused_until": {"type": ["string", "null"], "format": "date-time"},
    "next_fire_at": {"type": ["string", "null"], "format": "date-time"},
    "next_due_at": {"type": ["string", "null"], "format": "date-time"},
    "last_fire_at": {"type": ["string", "null"], "format": "date-time"},
    "last_status": {"type": ["string", "null"]},
    "monitor_state": {"enum": ["waiting", "up", "late", "down", None]},
    "expected_at": {"type": ["string", "null"], "format": "date-time"},
    "last_ping_at": {"type": ["string", "null"], "format": "date-time"},
    "ping_url": {"type": ["string", "null"]},
    "version": {"type": "integer"},
    "created_at": {"type": "string", "format": "date-time"},
    "updated_at": {"type": "string", "format": "date-time"},
    "created_by": {"type": ["string", "null"]},
    "updated_by": {"type": ["string", "null"]},
}


_COUNT: dict[str, Any] = {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_COUNT}
_RATE: dict[str, Any] = {"type": ["number", "null"], "minimum": SLOWEST, "maximum": FASTEST}

_TENANT: dict[str, Any] = {
    "name": {"type": "string", "maxLength": MAX_NAME, "pattern": NAME_PATTERN},
    "weight": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_WEIGHT},
    "max_concurrency": _COUNT,
    "create_rate": _RATE,
    "request_rate": _RATE,
    "max_schedules": _COUNT,
    "capture_budget_mb": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_BUDGET_MB},
    "min_interval": {"type": ["string", "number", "null"]},
    "celery_allow": {
        "type": ["array", "null"],
        "maxItems": MAX_PATTERNS,
        "items": {"type": "string", "pattern": PATTERN},
        "description": "Celery tasks it may send, as TASK@QUEUE with * and ?; none without it",
    },
}


_REF = "#/components/schemas/{name}"


def schedule_schemas() -> dict[str, Any]:
    """The schemas of a schedule: as it is given, changed and read."""
    _, parts = msgspec.json.schema_components((Definition,), ref_template=_REF)
    fields = {name: _field(each) for name, each in parts.pop("Definition")["properties"].items()}
    given = {"type": "object", "additionalProperties": False}
    open_ = {name: _nullable(each) for name, each in fields.items()}
    # A key alone is the other schedule's success.
    shorter = {"after": {"anyOf": [*open_["after"]["anyOf"], {"type": "string"}]}}
    return {
        **parts,
        "ScheduleFields": {
            **given,
            "description": "Exactly one trigger and one target; a name, a key or both.",
            "properties": open_ | shorter,
        },
        "ScheduleChanges": {
            **given,
            "description": "Fields to change; null takes one back to its default.",
            "properties": open_ | shorter,
        },
        "Schedule": {
            "type": "object",
            "required": [*_READ_ONLY, *fields],
            "properties": {**open_, **_READ_ONLY},
        },
        "BulkFields": {
            **given,
            "required": ["items"],
            "properties": {
                "items": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 10_000,
                    "items": {"$ref": "#/components/schemas/ScheduleFields"},
                }
            },
        },
        "SchedulePage": _page("Schedule"),
        "FiringPage": _page("Firing"),
        "AuditPage": _page("AuditEntry"),
        "SlotAuditPage": _page("SlotAudit"),
        "AttemptPage": _page("Attempt"),
        "TenantPage": _page("Tenant"),
        "KeyPage": _page("Key"),
        "TenantFields": {**given, "required": ["name"], "properties": _TENANT},
        "TenantChanges": {**given, "properties": _TENANT},
        "SecretPage": _page("Secret"),
        "CalendarPage": _page("Calendar"),
        "CircuitPage": _page("CircuitShown"),
        "ChannelPage": _page("Channel"),
        "NotificationPage": _page("Notification"),
        "AlertPage": _page("Alert"),
    }


def _page(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["items", "next_cursor"],
        "properties": {
            "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}},
            "next_cursor": {"type": ["string", "null"]},
        },
    }


def _field(schema: dict[str, Any]) -> dict[str, Any]:
    """A length of time is written as people write it, and read as that or as seconds."""
    if schema.get("format") == "duration":
        return {"type": ["string", "number"], "description": '"5m", ISO 8601 or seconds'}
    return schema


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}
