"""The shapes of requests and answers, for reading them and for the OpenAPI document."""

from datetime import datetime
from typing import Any

import msgspec

from rota.api.problems import Problem
from rota.schedules.definition import Definition
from rota.tenants.fields import MAX_NAME, MAX_WEIGHT


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some items of a list; `next_cursor` asks for those that follow, null when there are none."""

    items: list[Any]
    next_cursor: str | None


class TriggerFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that is asked for; its payload takes the place of the schedule's own."""

    payload: Any = None


class CancelFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An end that is asked for; the reason is kept with the firing."""

    reason: str | None = None


class ReplayFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which to replay: dead letters of one schedule or all, of slots from `since` on and before
    `until`; or the firings with these ids."""

    schedule_id: str | None = None
    since: str | None = None
    until: str | None = None
    ids: list[str] | None = None
    limit: int | None = None


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
    error: str | None = None
    retry: bool = True


class ExtendFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work takes longer: this many seconds from now, or as long as the schedule gives."""

    token: str | None = None
    seconds: float | None = None


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
    "last_fire_at": {"type": ["string", "null"], "format": "date-time"},
    "last_status": {"type": ["string", "null"]},
    "version": {"type": "integer"},
    "created_at": {"type": "string", "format": "date-time"},
    "updated_at": {"type": "string", "format": "date-time"},
}


_TENANT: dict[str, Any] = {
    "name": {"type": "string", "maxLength": MAX_NAME},
    "weight": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_WEIGHT},
    "max_concurrency": {"type": ["integer", "null"], "minimum": 1},
    "create_rate": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "max_schedules": {"type": ["integer", "null"], "minimum": 1},
    "min_interval": {"type": ["string", "number", "null"]},
}


def schedule_schemas() -> dict[str, Any]:
    """The schemas of a schedule: as it is given, changed and read."""
    _, components = msgspec.json.schema_components((Definition,))
    fields = {name: _field(each) for name, each in components["Definition"]["properties"].items()}
    given = {"type": "object", "additionalProperties": False}
    open_ = {name: _nullable(each) for name, each in fields.items()}
    return {
        "ScheduleFields": {
            **given,
            "description": "Exactly one trigger and one target; a name, a key or both.",
            "properties": open_,
        },
        "ScheduleChanges": {
            **given,
            "description": "Fields to change; null takes one back to its default.",
            "properties": open_,
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
                    "maxItems": 10_000,
                    "items": {"$ref": "#/components/schemas/ScheduleFields"},
                }
            },
        },
        "SchedulePage": _page("Schedule"),
        "FiringPage": _page("Firing"),
        "AttemptPage": _page("Attempt"),
        "TenantPage": _page("Tenant"),
        "KeyPage": _page("Key"),
        "TenantFields": {**given, "required": ["name"], "properties": _TENANT},
        "TenantChanges": {**given, "properties": _TENANT},
        "SecretPage": _page("Secret"),
        "CircuitPage": _page("CircuitShown"),
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
